"""What to try next: strategies as pure functions of the history of attempts."""
