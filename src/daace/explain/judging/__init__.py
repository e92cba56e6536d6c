"""A user's classifier as the judge of the class."""
