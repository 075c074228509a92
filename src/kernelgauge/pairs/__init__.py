"""Pairs of a PyTorch module and a kernel, judged: where modules come from, what is refused, the file."""
