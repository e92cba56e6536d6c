"""Pictures; the only rooms that load matplotlib."""
