"""What those who wait may expect: their place, what is in the way, and when they would start."""
