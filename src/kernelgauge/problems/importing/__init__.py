"""Other people's problems become a suite: read from where they lie, checked without running them, written at once.

`folders` and `parquet` find drafts, `naming` gives them our kind of name, `importer` checks and writes them.
"""
