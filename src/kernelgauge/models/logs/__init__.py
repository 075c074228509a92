"""Logs of Inspect, read as runs."""
