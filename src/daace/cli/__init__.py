"""The command `daace`."""

from daace.cli.main import app, main

__all__ = ["app", "main"]
