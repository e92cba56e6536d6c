"""Can a model and its answers be trusted? Checks, stability, neighbours, the network."""
