"""The task of Inspect, its parameters, and what Inspect finds."""
