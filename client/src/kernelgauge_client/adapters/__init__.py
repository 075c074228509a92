"""Adapters: the judge in the words of each framework. A module imports its framework alone, which is an extra."""
