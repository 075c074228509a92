"""The figures of runs, without their looks."""
