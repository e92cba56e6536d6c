"""The exceptions of this package."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Self


class DaaceError(Exception):
    """Base class of all errors that this package raises."""


def quoted(argument: str) -> str:
    """Return the name of an argument in quotes, a phrase such as "The row" as it is."""
    phrase = " " in argument or argument.startswith("'")
    return argument if phrase else f"'{argument}'"


class InvalidInput(DaaceError, ValueError):
    """An argument or a table is invalid; the message includes a remedy.

    An error about one argument has four parts, from which its message is made, so that the command
    line can replace arguments by options: `'ARGUMENT' must EXPECTED. Got GOT: REMEDY.`

    Args:
        message: the whole message, for errors that do not fit these parts; it may begin with the
            argument in quotes.
        argument: name of the argument, or the subject of the message, such as "The row".
        expected: what it must be or do, after "must".
        got: the invalid value.
        remedy: what to do about it.
        in_shell: the remedy on the command line, if it differs.

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
        """Return the message.

        Args:
            name: returns the name of an argument in the message.
            shell: whether to give the remedy of the command line.
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
