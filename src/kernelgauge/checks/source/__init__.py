"""Reading a candidate's text without running it: Python by its syntax tree, C++ and CUDA by their tokens.

What is found here is a lead with line and reason. It refuses by itself only where no run of the candidate could say
more; see `checks.rules`.
"""
