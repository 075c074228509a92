"""A process for a stranger's program: isolation layers, limits, start, freeze, kill."""
