"""Who judges the class beside the density: a committee, or a user's classifier."""
