"""Contestant `expert`: kernels of our own, for problems whose bound is far below what PyTorch does.

`candidates/levelN/` holds one file a problem, with a note of what bounds it, what it does and what was tried.
`parts/` holds the kernels that several of them share; a candidate has their text in it, since it must stand alone.
"""
