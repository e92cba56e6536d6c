"""Which levels a category, an ordered feature or an atom may switch to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daace.exceptions import InvalidInput
from daace.landscape.rules.argument import Argument, Entry
from daace.landscape.rules.base import Rule
from daace.landscape.rules.draft import Draft


@dataclass(frozen=True)
class Levels(Argument):
    """A mapping from features to lists of levels, or of pairs of levels.

    Args:
        pairs: whether each entry of a list is a pair.
    """

    pairs: bool = False

    empty = {}  # noqa: RUF012  # copied by every owner

    @property
    def metavar(self) -> str:  # type: ignore[override]
        """Placeholder of one entry in the help text of the shell."""
        return "FEATURE=FROM>TO,..." if self.pairs else "FEATURE=LEVEL,..."

    def check(self, name: str, value: Any) -> dict[str, tuple[Any, ...]]:
        what = "lists of pairs (from, to)" if self.pairs else "lists of levels"
        wrong = InvalidInput(argument=name, expected=f"map features to {what}", got=repr(value))
        if not isinstance(value, Mapping):
            raise wrong
        found = {}
        for feature, levels in value.items():
            if isinstance(levels, str) or not isinstance(levels, Iterable):
                raise wrong
            listed = tuple(levels)
            if self.pairs:
                if any(isinstance(p, str) or not hasattr(p, "__len__") for p in listed):
                    raise wrong
                listed = tuple(tuple(pair) for pair in listed)
                if any(len(pair) != 2 for pair in listed):
                    raise wrong
            if not listed:
                raise wrong
            found[str(feature)] = listed
        return found

    def entries(self, value: dict[str, tuple[Any, ...]]) -> Iterable[Entry]:
        return value.items()

    def join(self, entries: Sequence[Entry]) -> dict[str, tuple[Any, ...]]:
        joined: dict[str, tuple[Any, ...]] = {}
        for feature, levels in entries:
            known = joined.get(feature)
            if known is None:
                joined[feature] = levels
            elif self.pairs:
                joined[feature] = (*known, *(pair for pair in levels if pair not in known))
            else:
                joined[feature] = tuple(level for level in known if level in levels) or levels
        return joined

    def features(self, entry: Entry) -> tuple[str, ...]:
        return entry[:1]

    def words(self, name: str, entry: Entry) -> str:
        return f"'{name}' of '{entry[0]}' ({self._listed(entry[1])})"

    def listed(self, entry: Entry) -> str:
        return f"{entry[0]} {self._listed(entry[1])}"

    def _listed(self, levels: tuple[Any, ...]) -> str:
        if self.pairs:
            return ", ".join(f"{before} to {after}" for before, after in levels)
        return ", ".join(str(level) for level in levels)

    def read_text(self, name: str, text: str) -> Entry:
        feature, _, listed = text.partition("=")
        parts = [part.strip() for part in listed.split(",") if part.strip()]
        example = "marital=married>single" if self.pairs else "purpose=repairs,education"
        wrong = InvalidInput(argument=name, expected=f"be like {example}", got=f"'{text}'")
        if not feature or not parts:
            raise wrong
        if not self.pairs:
            return feature, tuple(parts)
        pairs = [tuple(side.strip() for side in part.split(">")) for part in parts]
        if any(len(pair) != 2 or not all(pair) for pair in pairs):
            raise wrong
        return feature, tuple(pairs)

    def write_text(self, entry: Entry) -> str:
        feature, levels = entry
        parts = (f"{a}>{b}" for a, b in levels) if self.pairs else map(str, levels)
        return f"{feature}={','.join(parts)}"


@dataclass(frozen=True)
class Allowed(Rule):
    """A feature switches to some of its levels only."""

    name = "allowed"
    option = "--allowed"
    help = "Levels that a feature may switch to, such as purpose=repairs,education."
    argument = Levels()
    kinds = ("category", "ordered", "atoms")

    feature: str
    levels: tuple[Any, ...]

    def named_levels(self) -> tuple[object, ...]:
        return self.levels

    def compile(self, draft: Draft) -> None:
        assert draft.codes is not None
        draft.codes.allow(draft.position[self.feature], self.levels, self.name)


@dataclass(frozen=True)
class Forbidden(Rule):
    """A feature does not switch from one level to another."""

    name = "forbidden"
    option = "--forbidden"
    help = "Switches of a feature that are ruled out, such as marital=married>single."
    argument = Levels(pairs=True)
    kinds = ("category", "ordered", "atoms")

    feature: str
    pairs: tuple[tuple[Any, Any], ...]

    def named_levels(self) -> tuple[object, ...]:
        return tuple(level for pair in self.pairs for level in pair)

    def compile(self, draft: Draft) -> None:
        assert draft.codes is not None
        draft.codes.forbid(draft.position[self.feature], self.pairs, self.name)
