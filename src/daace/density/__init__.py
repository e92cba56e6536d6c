"""Densities: p(x, y), learned once."""
