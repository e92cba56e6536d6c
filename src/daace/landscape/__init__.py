"""The density as terrain: costs, goals, constraints."""
