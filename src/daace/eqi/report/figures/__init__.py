"""Figures of the application; the only folder here that imports matplotlib."""
