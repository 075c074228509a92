"""Reference and candidate, each in its worker, and the oracle that knows the right outputs."""
