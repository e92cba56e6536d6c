"""Explanations: plans in the user's units and words."""
