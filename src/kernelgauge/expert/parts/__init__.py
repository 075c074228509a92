"""Kernels that several candidates share. Their text is copied into each candidate that imports them."""
