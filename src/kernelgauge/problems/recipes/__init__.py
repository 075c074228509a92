"""Fresh problems on demand: texts drawn from a recipe under a seed. Nothing here runs a problem."""
