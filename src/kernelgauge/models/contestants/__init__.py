"""Contestants that Inspect can ask like a model."""
