"""What every command does at the terminal: remarks, spinners, files, errors in one sentence."""

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
    """Say what went wrong; return the exit code."""
    note(f"Error: {sentence}")
    return 2


def show_warning(message: Warning | str, *_: object) -> None:
    """Write a warning to stderr, without the place in the code."""
    note(f"Warning: {message}")


def check_file(option: str, path: str | Path, *used: Path | None) -> None:
    """Refuse what cannot be written to, or would be lost by it, before the work begins.

    Args:
        option: that named the file.
        path: of the file.
        used: other files that the command reads or writes.

    Raises:
        InvalidInput: it is not a file, or one of the others.
        OSError: it cannot be written to.
    """
    if str(path) in {"", "-"}:
        raise InvalidInput(argument=option, expected="name a file", got=f"'{path}'")
    check_writable(path, *used)


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Turn a spinner on stderr while something takes its time, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{what} ..."):
        yield
