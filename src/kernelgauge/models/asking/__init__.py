"""A language model is asked: solver, agent, tools."""
