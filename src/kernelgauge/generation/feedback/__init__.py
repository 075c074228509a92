"""What a contestant hears of its earlier answer: short, and about what it can change."""
