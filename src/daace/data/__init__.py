"""Tables: what a user has."""
