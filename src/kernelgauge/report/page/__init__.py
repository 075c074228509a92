"""A run as one HTML page."""
