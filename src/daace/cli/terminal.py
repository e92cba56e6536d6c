"""Terminal output of every command: remarks, spinners, and errors in one sentence."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from daace._files import check_writable
from daace.exceptions import InvalidInput


def note(text: str) -> None:
    """Write a remark to stderr."""
    typer.echo(text, err=True)


def fail(sentence: str) -> int:
    """Write an error to stderr; return its exit code."""
    note(f"Error: {sentence}")
    return 2


def show_warning(message: Warning | str, *_: object) -> None:
    """Write a warning to stderr, without the place in the code."""
    note(f"Warning: {message}")


def check_file(option: str, path: str | Path, *used: Path | None) -> None:
    """Reject an output file that cannot be written, or that the command uses, before it starts.

    Args:
        option: the option that names the file.
        path: the output file.
        used: other files that the command reads or writes.

    Raises:
        InvalidInput: the path is empty, '-', or one of the other files.
        OSError: the file cannot be written.
    """
    if str(path) in {"", "-"}:
        raise InvalidInput(argument=option, expected="name a file", got=f"'{path}'")
    check_writable(path, *used)


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Show a spinner on stderr while the block runs, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{what} ..."):
        yield
