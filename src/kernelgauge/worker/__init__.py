"""What runs on the far side, started by its name. Nobody imports it."""
