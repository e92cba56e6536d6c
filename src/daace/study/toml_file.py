"""A TOML file whose mistakes are reported with their line and a remedy."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from daace._checks import check_choice, check_integer, check_number
from daace._wording import quote
from daace.exceptions import InvalidInput

Place = tuple[str, ...]

_MISSING = object()


@dataclass(frozen=True, eq=False)
class TomlFile:
    """The text of a TOML file, and the line of each key.

    Attributes:
        name: name of the file, for messages.
        text: its content.
        data: the content as Python values.
        lines: the line of each key that begins one, by its place.
    """

    name: str
    text: str
    data: dict[str, Any]
    lines: dict[Place, int]

    @classmethod
    def read(cls, path: str | Path) -> TomlFile:
        """Read a file.

        Args:
            path: the file.

        Raises:
            InvalidInput: there is no such file, or it is not TOML.
        """
        file = Path(path)
        if not file.is_file():
            raise InvalidInput(f"'{path}' must be a study in TOML. There is no such file.")
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise InvalidInput(f"'{path}' must be a study in TOML. It is not text.") from None
        return cls.parse(text, name=str(path))

    @classmethod
    def parse(cls, text: str, *, name: str = "study") -> TomlFile:
        """Read a text.

        Args:
            text: in TOML.
            name: what messages call it.

        Raises:
            InvalidInput: it is not TOML.

        Example:
            >>> TomlFile.parse("seed = 1").line(("seed",))
            1
        """
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InvalidInput(f"'{name}' must be TOML: {error}.") from None
        return cls(name, text, data, _key_lines(text))

    def line(self, place: Place) -> int:
        """Return the line of a key; inside a value of several lines, the first that names it.

        Args:
            place: the names of the tables that hold the key, and the key.
        """
        for size in range(len(place), 0, -1):
            begin = self.lines.get(place[:size])
            if begin is None:
                continue
            for name in place[size:]:
                word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
                rest = self.text.splitlines()[begin - 1 :]
                begin += next((k for k, line in enumerate(rest) if word.search(line)), 0)
            return begin
        return 1

    def refuse(self, place: Place, sentence: str) -> NoReturn:
        """Raise `InvalidInput` with file and line in front.

        Args:
            place: place of the key that is wrong.
            sentence: what is wrong; it names keys of the file, which are not arguments.
        """
        raise InvalidInput(f"'{self.name}', line {self.line(place)}: {sentence}")

    @contextmanager
    def blaming(self, place: Place) -> Iterator[None]:
        """Put file and line in front of any complaint about the value of a key.

        Args:
            place: place of the key.
        """
        try:
            yield
        except InvalidInput as error:
            self.refuse(place, str(error))


@dataclass(eq=False)
class Section:
    """One table of a TOML file; each key is taken once, and `close` refuses the others.

    Attributes:
        source: the file.
        place: the names that lead to the table.
        data: its content.
        taken: the keys that were taken so far.
    """

    source: TomlFile
    place: Place
    data: dict[str, Any]
    taken: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, source: TomlFile, place: Place, data: Any) -> Section:
        """Return a section; refuse any other value."""
        if not isinstance(data, dict):
            source.refuse(place, f"'{'.'.join(place)}' must be a table. Got {data!r}.")
        return cls(source, place, data)

    def take(self, key: str, default: Any = _MISSING) -> Any:
        """Return the value of a key; refuse the file if it is missing and has no default."""
        self.taken.append(key)
        if key in self.data:
            return self.data[key]
        if default is _MISSING:
            for near in difflib.get_close_matches(key, list(self.rest()), n=1, cutoff=0.8):
                self.refuse(near, unknown_key(near, [key]))
            where = f"[{'.'.join(self.place)}]" if self.place else "the study"
            self.source.refuse(self.place, f"'{key}' must be given in {where}. It is missing.")
        return default

    def text(self, key: str, default: Any = _MISSING) -> str:
        """Return a non-empty text."""
        value = self.take(key, default)
        if not isinstance(value, str) or (not value and key in self.data):
            self.refuse(key, f"'{key}' must be a text. Got {value!r}.")
        return value

    def choice(self, key: str, choices: Collection[str], default: Any = _MISSING) -> str:
        """Return a text that must be one of some."""
        value = self.take(key, default)
        if value not in choices:
            with self.source.blaming((*self.place, key)):
                check_choice(key, value, tuple(choices))
        return str(value)

    def flag(self, key: str) -> bool:
        """Return true or false; false if it is not given."""
        value = self.take(key, False)
        if not isinstance(value, bool):
            self.refuse(key, f"'{key}' must be true or false. Got {value!r}.")
        return value

    def integer(self, key: str, default: Any = _MISSING, *, at_least: int) -> int:
        """Return an integer in range."""
        value = self.take(key, default)
        with self.source.blaming((*self.place, key)):
            check_integer(key, value, at_least=at_least)
        return int(value)

    def number(self, key: str, default: Any = _MISSING, *, at_least: float) -> float:
        """Return a number in range."""
        value = self.take(key, default)
        with self.source.blaming((*self.place, key)):
            check_number(key, value, at_least=at_least)
        return float(value)

    def numbers(
        self, key: str, default: Any = _MISSING, *, at_least: float = float("-inf")
    ) -> tuple[float, ...]:
        """Return distinct numbers, at least one."""
        values = self.take(key, default)
        if not isinstance(values, list | tuple) or (not values and default is _MISSING):
            self.refuse(key, f"'{key}' must be a list of numbers. Got {values!r}.")
        with self.source.blaming((*self.place, key)):
            for value in values:
                check_number(key, value, at_least=at_least)
        return self._distinct(key, tuple(float(value) for value in values))

    def texts(self, key: str, default: Any = _MISSING) -> tuple[str, ...]:
        """Return distinct texts."""
        values = self.take(key, default)
        if not isinstance(values, list | tuple) or not all(isinstance(v, str) for v in values):
            self.refuse(key, f"'{key}' must be a list of texts. Got {values!r}.")
        return self._distinct(key, tuple(values))

    def sections(self, key: str) -> dict[str, Section]:
        """Return the named tables below a key, in the order of the file."""
        whole = Section.of(self.source, (*self.place, key), self.take(key, {}))
        return {
            name: Section.of(self.source, (*whole.place, name), data)
            for name, data in whole.data.items()
        }

    def rest(self) -> dict[str, Any]:
        """Return the keys that were not taken, with their values."""
        return {key: value for key, value in self.data.items() if key not in self.taken}

    def close(self, *, known: Collection[str] = ()) -> None:
        """Refuse the first key that was not taken, and suggest the nearest one that exists."""
        for key in self.rest():
            self.refuse(key, unknown_key(key, [*self.taken, *known]))

    def refuse(self, key: str, sentence: str) -> NoReturn:
        """Raise `InvalidInput` with the line of a key in front."""
        self.source.refuse((*self.place, key), sentence)

    def _distinct(self, key: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(set(values)) < len(values):
            self.refuse(key, f"'{key}' must not repeat a value. Got {list(values)!r}.")
        return values


def unknown_key(key: str, known: Collection[str]) -> str:
    """Return the sentence about a key that does not exist.

    Args:
        key: as it is in the file.
        known: the keys that exist.

    Example:
        >>> unknown_key("penaltys", ["penalties", "seed"])
        "'penaltys' is no setting here. Did you mean 'penalties'?"
    """
    near = difflib.get_close_matches(key, list(known), n=1, cutoff=0.5)
    hint = f"Did you mean '{near[0]}'?" if near else f"There are {quote(sorted(known), limit=20)}."
    return f"'{key}' is no setting here. {hint}"


def _key_lines(text: str) -> dict[Place, int]:
    """Return the line of every header and of every key that begins a line."""
    found: dict[Place, int] = {}
    header: Place = ()
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        title = re.fullmatch(r"\[([^\[\]]+)\]\s*(#.*)?", stripped)
        key = _dotted(title.group(1)) if title else ()
        if key:
            header = key
            found.setdefault(header, number)
            continue
        match = re.match(r"""((?:"[^"]*"|'[^']*'|[\w.\-\s])+)=""", stripped)
        key = _dotted(match.group(1)) if match else ()
        if key:
            found.setdefault(header + key, number)
    return found


def _dotted(text: str) -> Place:
    """Return the parts of a key as TOML reads it; nothing if it is not a key."""
    try:
        value: Any = tomllib.loads(f"{text} = 0")
    except tomllib.TOMLDecodeError:
        return ()
    place: list[str] = []
    while isinstance(value, dict) and len(value) == 1:
        name, value = next(iter(value.items()))
        place.append(name)
    return tuple(place)
