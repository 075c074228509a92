"""Is the candidate right, and is it a kernel?"""
