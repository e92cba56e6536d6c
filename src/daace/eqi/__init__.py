"""The Environmental Quality Index of US counties: what would improve one, and at what price."""
