"""From rows and settings to plans: each question is built once."""
