"""Slim headers: a fast way to build what includes PyTorch, given up wherever it could differ from the long one."""
