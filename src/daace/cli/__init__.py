"""The command `daace`: the package's words, from a shell."""

from daace.cli.main import app, main

__all__ = ["app", "main"]
