"""What asking costs, and when it is enough."""
