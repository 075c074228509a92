"""Where the time of a forward goes."""
