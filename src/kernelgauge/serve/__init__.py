"""The leaderboard live: accounts, candidates handed in over the web, a queue that judges share, pages with verdicts.

Nothing is imported here: most of it needs SQLAlchemy or a web server, which the extra `serve` installs.
"""
