"""What can go wrong, named by what the user can do about it."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Self


class DaaceError(Exception):
    """Base of every error that this package raises on purpose."""


def quoted(argument: str) -> str:
    """Return the name of an argument in quotes, a phrase such as "The row" as it is."""
    phrase = " " in argument or argument.startswith("'")
    return argument if phrase else f"'{argument}'"


class InvalidInput(DaaceError, ValueError):
    """An argument or a table is not what was expected; the message says what to do.

    An error about one argument has four parts, from which its sentence is made, so that the
    command line can word it with its own options: `'ARGUMENT' must EXPECTED. Got GOT: REMEDY.`

    Args:
        message: the whole sentence, for errors that do not fit these parts; it may begin with the
            argument in quotes.
        argument: name of the argument; or what the sentence is about, such as "The row".
        expected: what it must be or do, after "must".
        got: what came instead.
        remedy: what to do about it.
        in_shell: the remedy for users of the command line, where it differs.

    Attributes:
        place: where it happened, such as "Row 3: ", in front of the sentence.

    Example:
        >>> error = InvalidInput(argument="n_jobs", expected="be at least 1", got="0")
        >>> str(error), error.wording(lambda argument: "--jobs")
        ("'n_jobs' must be at least 1. Got 0.", '--jobs must be at least 1. Got 0.')
    """

    def __init__(
        self,
        message: str = "",
        *,
        argument: str = "",
        expected: str = "",
        got: str = "",
        remedy: str = "",
        in_shell: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.argument = argument
        self.expected = expected
        self.got = got
        self.remedy = remedy
        self.in_shell = in_shell
        self.place = ""

    def __str__(self) -> str:
        return self.wording(quoted)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message,), dict(self.__dict__)

    def at(self, place: str) -> Self:
        """Return the same error with a place in front, such as "Row 3: "."""
        other = copy(self)
        other.place = f"{place}{self.place}"
        return other

    def wording(self, name: Callable[[str], str], *, shell: bool = False) -> str:
        """Return the sentence.

        Args:
            name: what an argument is called.
            shell: whether the remedy is for users of the command line.
        """
        if self.message:
            known = quoted(self.argument)
            if self.argument and self.message.startswith(known):
                return f"{self.place}{name(self.argument)}{self.message.removeprefix(known)}"
            return f"{self.place}{self.message}"
        remedy = self.in_shell if shell and self.in_shell else self.remedy
        text = f"{self.place}{name(self.argument)} must {self.expected}"
        if self.got:
            text += f". Got {self.got}"
        return f"{text}{': ' if remedy else ''}{remedy}."


class MissingFile(FileNotFoundError, DaaceError):
    """A file to be read, or the folder of a file to be written, does not exist."""

    def __str__(self) -> str:
        return f"'{self.filename}' {self.strerror}"


class NotFitted(DaaceError, AttributeError):
    """A density was used before `fit`."""


class PrivacyError(DaaceError):
    """Saving would write training rows to disk without an explicit request."""


class ModelFileError(DaaceError):
    """A model file is damaged, hostile, or of another version."""


class MissingDependency(DaaceError, ImportError):
    """An optional package is needed for this feature."""
