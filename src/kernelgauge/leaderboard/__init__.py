"""Who is fastest on what, with the code: run folders in, standings, top kernels and a static site out.

Pages are in `kernelgauge.leaderboard.static_site`, apart because jinja2 is not imported for standings alone.
"""

from kernelgauge.leaderboard.boards import Board, ProblemTable, Standing, boards
from kernelgauge.leaderboard.entries import BoardSetting, Contestant, Entry, Published, published
from kernelgauge.leaderboard.ranking import Kernel, Lead, leads, ranked

__all__ = [
    "Board",
    "BoardSetting",
    "Contestant",
    "Entry",
    "Kernel",
    "Lead",
    "ProblemTable",
    "Published",
    "Standing",
    "boards",
    "leads",
    "published",
    "ranked",
]
