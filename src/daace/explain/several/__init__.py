"""Several answers at once: batches, trade-offs, fronts, groups, alternatives."""
