"""Measurements: ratios within one run."""
