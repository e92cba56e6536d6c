"""The forms that a rule's argument can have: names, numbers by name, a single number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daace._formats import exact
from daace._json import NOT_FINITE
from daace.exceptions import InvalidInput

#: One entry of an argument: the fields of one rule.
Entry = tuple[Any, ...]


class Argument(ABC):
    """The form in which rules of one kind are given: as a keyword, on a page, in a shell.

    The value of the keyword is a collection; each of its entries makes one rule. An entry is a
    tuple, the fields of that rule.

    Attributes:
        empty: the value without any rule.
        metavar: placeholder of one entry in the help text of the shell.
        repeated: whether there can be more than one entry.
    """

    empty: Any
    metavar: str
    repeated: bool = True

    @abstractmethod
    def check(self, name: str, value: Any) -> Any:
        """Return the value of the keyword `name` in its stored form.

        Raises:
            InvalidInput: it has the wrong form or is out of range.
        """

    @abstractmethod
    def entries(self, value: Any) -> Iterable[Entry]:
        """Split a checked value."""

    @abstractmethod
    def join(self, entries: Sequence[Entry]) -> Any:
        """Return the value that has these entries."""

    def subject(self, entry: Entry) -> object:
        """Return the subject of an entry; a later entry with the same subject replaces it."""
        return entry[0]

    @abstractmethod
    def features(self, entry: Entry) -> tuple[str, ...]:
        """Return the features that an entry names."""

    def number(self, entry: Entry) -> float | None:
        """Return the number of an entry, if it has one."""
        return None

    @abstractmethod
    def words(self, name: str, entry: Entry) -> str:
        """Return the rule as part of a sentence."""

    @abstractmethod
    def listed(self, entry: Entry) -> str:
        """Return an entry as part of a list of settings."""

    @abstractmethod
    def read_text(self, name: str, text: str) -> Entry:
        """Return the entry that the text of an option stands for.

        Raises:
            InvalidInput: the text has the wrong form.
        """

    @abstractmethod
    def write_text(self, entry: Entry) -> str:
        """Return the text that `read_text` reads as this entry."""


class Names(Argument):
    """A list of features."""

    empty: tuple[str, ...] = ()
    metavar = "FEATURE"

    def check(self, name: str, value: Any) -> tuple[str, ...]:
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise InvalidInput(argument=name, expected="be a list of features", got=repr(value))
        return tuple(str(feature) for feature in value)

    def entries(self, value: tuple[str, ...]) -> Iterable[Entry]:
        return ((feature,) for feature in value)

    def join(self, entries: Sequence[Entry]) -> tuple[str, ...]:
        return tuple(feature for (feature,) in entries)

    def features(self, entry: Entry) -> tuple[str, ...]:
        return entry

    def words(self, name: str, entry: Entry) -> str:
        return f"'{name}' for '{entry[0]}'"

    def listed(self, entry: Entry) -> str:
        return str(entry[0])

    def read_text(self, name: str, text: str) -> Entry:
        return (text,)

    def write_text(self, entry: Entry) -> str:
        return str(entry[0])


@dataclass(frozen=True)
class Numbers(Argument):
    """A mapping from features to numbers or, of ordered features, to levels that are text.

    Args:
        expected: description of valid numbers, for messages.
        good: whether a number is valid.
        stricter: returns the stricter of two numbers for the same feature.
        levels: whether levels are accepted, too.
    """

    expected: str
    good: Callable[[float], bool]
    stricter: Callable[[float, float], float]
    levels: bool = False

    empty = {}  # noqa: RUF012  # copied by every owner
    metavar = "FEATURE=NUMBER"

    def check(self, name: str, value: Any) -> dict[str, Any]:
        expected = "map features to numbers"
        if not isinstance(value, Mapping):
            raise InvalidInput(argument=name, expected=expected, got=type(value).__name__)
        known = {str(f): entry for f, entry in value.items()}
        texts = {f: entry for f, entry in known.items() if self.levels and _is_level(entry)}
        try:
            numbers = {f: float(entry) for f, entry in known.items() if f not in texts}
        except (TypeError, ValueError, OverflowError):
            raise InvalidInput(argument=name, expected=expected, got=repr(dict(value))) from None
        for feature, number in numbers.items():
            if not self.good(number):
                got = f"{number} for '{feature}'"
                raise InvalidInput(argument=name, expected=f"be {self.expected}", got=got)
        return {f: texts[f] if f in texts else numbers[f] for f in known}

    def entries(self, value: dict[str, Any]) -> Iterable[Entry]:
        return value.items()

    def join(self, entries: Sequence[Entry]) -> dict[str, Any]:
        joined: dict[str, Any] = {}
        for feature, entry in entries:
            known: Any = joined.get(feature, entry)
            levels = _is_level(known) or _is_level(entry)
            joined[feature] = entry if levels else self.stricter(known, entry)
        return joined

    def features(self, entry: Entry) -> tuple[str, ...]:
        return entry[:1]

    def number(self, entry: Entry) -> float | None:
        return None if _is_level(entry[1]) else float(entry[1])

    def words(self, name: str, entry: Entry) -> str:
        return f"'{name}' of '{entry[0]}' ({_exact(entry[1])})"

    def listed(self, entry: Entry) -> str:
        return f"{entry[0]} {_exact(entry[1])}"

    def read_text(self, name: str, text: str) -> Entry:
        feature, _, number = text.rpartition("=")  # the last one: a name may contain others
        try:
            if feature:
                return feature, float(number)
        except ValueError:
            if self.levels and number:
                return feature, number
        raise InvalidInput(argument=name, expected="be like age=30", got=f"'{text}'")

    def write_text(self, entry: Entry) -> str:
        return f"{entry[0]}={_exact(entry[1])}"


def _is_level(value: object) -> bool:
    """Whether a bound is a level; 'inf' is what JSON has for an infinite number."""
    return isinstance(value, str) and value not in NOT_FINITE


def _exact(value: float | str) -> str:
    return value if isinstance(value, str) else exact(value)


@dataclass(frozen=True)
class Single(Argument):
    """One number for the whole path; None where there is no such rule.

    Args:
        check_number: takes the argument's name and a value; raises `InvalidInput` if it is invalid.
        read: converts text to the number, or raises `ValueError`.
    """

    check_number: Callable[[str, object], None]
    read: Callable[[str], float]

    empty = None
    metavar = "NUMBER"
    repeated = False

    def check(self, name: str, value: Any) -> Any:
        if value is not None:
            self.check_number(name, value)
        return value

    def entries(self, value: Any) -> Iterable[Entry]:
        return () if value is None else ((value,),)

    def join(self, entries: Sequence[Entry]) -> Any:
        return min((number for (number,) in entries), default=None)

    def subject(self, entry: Entry) -> object:
        return None

    def features(self, entry: Entry) -> tuple[str, ...]:
        return ()

    def number(self, entry: Entry) -> float:
        return float(entry[0])

    def words(self, name: str, entry: Entry) -> str:
        return f"'{name}' ({exact(entry[0])})"

    def listed(self, entry: Entry) -> str:
        return exact(entry[0])

    def read_text(self, name: str, text: str) -> Entry:
        try:
            value: object = self.read(text)
        except ValueError:
            value = text
        self.check_number(name, value)
        return (value,)

    def write_text(self, entry: Entry) -> str:
        return exact(entry[0])
