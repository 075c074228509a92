"""What runs teach: where candidates fail, what feedback repairs, what winners have in common."""
