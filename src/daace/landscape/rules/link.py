"""Links between features: sums that keep a value, shares that are not exceeded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from daace.exceptions import InvalidInput
from daace.landscape.rules.argument import Argument, Entry
from daace.landscape.rules.base import Relaxation, Row, Rule
from daace.landscape.rules.draft import Draft
from daace.landscape.rules.link_text import read_link, write_link


@dataclass(frozen=True)
class Link:
    """A weighted sum of features that keeps a value or a bound at every waypoint.

    Args:
        terms: weight of each feature, in the user's units.
        equals: the value of the sum.
        at_least: lowest value of the sum.
        at_most: highest value of the sum.

    Raises:
        InvalidInput: no feature, no bound, or bounds that exclude each other.

    Example:
        The total is the sum of its parts, and rent takes at most a third of the income:

        >>> total = Link({"total": 1, "rent": -1, "food": -1}, equals=0)
        >>> Link({"rent": 3, "income": -1}, at_most=0)
        Link(3 rent - 1 income <= 0)
    """

    terms: Mapping[str, float]
    equals: float | None = field(default=None, kw_only=True)
    at_least: float | None = field(default=None, kw_only=True)
    at_most: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.terms, Mapping) or not self.terms:
            raise InvalidInput(
                argument="terms", expected="map features to their weights", got=repr(self.terms)
            )
        given = {name: getattr(self, name) for name in ("equals", "at_least", "at_most")}
        try:
            terms = {str(feature): float(weight) for feature, weight in self.terms.items()}
            bounds = {name: float(value) for name, value in given.items() if value is not None}
        except (TypeError, ValueError, OverflowError):
            raise InvalidInput(
                f"A link must be made of numbers. Got {dict(self.terms)!r} and {given!r}."
            ) from None
        wrong = [f for f, weight in terms.items() if not np.isfinite(weight) or weight == 0]
        if wrong:
            raise InvalidInput(
                argument="terms",
                expected="be finite and not 0",
                got=f"{terms[wrong[0]]} for '{wrong[0]}'",
            )
        if not bounds or ("equals" in bounds and len(bounds) > 1):
            raise InvalidInput("A link must have 'equals', or 'at_least' or 'at_most' or both.")
        if not all(map(np.isfinite, bounds.values())):
            raise InvalidInput(f"The bounds of a link must be finite. Got {bounds!r}.")
        if bounds.get("at_least", -np.inf) > bounds.get("at_most", np.inf):
            raise InvalidInput(
                argument="at_least",
                expected="not exceed 'at_most'",
                got=f"{bounds['at_least']:g} > {bounds['at_most']:g}",
            )
        object.__setattr__(self, "terms", terms)
        for name, value in bounds.items():
            object.__setattr__(self, name, value)

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest value of the sum."""
        if self.equals is not None:
            return self.equals, self.equals
        low = -np.inf if self.at_least is None else self.at_least
        return low, np.inf if self.at_most is None else self.at_most

    def value(self, row: Mapping[str, float]) -> float:
        """Return the sum for one row, in the user's units."""
        return sum(weight * float(row[feature]) for feature, weight in self.terms.items())

    def __str__(self) -> str:
        words = ""
        for feature, weight in self.terms.items():
            sign = ("-" if weight < 0 else "") if not words else (" - " if weight < 0 else " + ")
            words += f"{sign}{abs(weight):g} {feature}"
        low, high = self.bounds
        if low == high:
            return f"{words} = {low:g}"
        before = f"{low:g} <= " if np.isfinite(low) else ""
        return before + words + (f" <= {high:g}" if np.isfinite(high) else "")

    def __repr__(self) -> str:
        return f"Link({self})"


class LinkList(Argument):
    """A list of links, or of mappings with the fields of links."""

    empty: tuple[Link, ...] = ()
    metavar = "EQUATION"

    def check(self, name: str, value: Any) -> tuple[Link, ...]:
        expected = "be a list of daace.Link"
        if isinstance(value, Link | str) or not isinstance(value, Iterable):
            raise InvalidInput(argument=name, expected=expected, got=repr(value))
        links = [Link(**link) if isinstance(link, Mapping) else link for link in value]
        if not all(isinstance(link, Link) for link in links):
            raise InvalidInput(argument=name, expected=expected, got=repr(links))
        return tuple(links)

    def entries(self, value: tuple[Link, ...]) -> Iterable[Entry]:
        return ((link,) for link in value)

    def join(self, entries: Sequence[Entry]) -> tuple[Link, ...]:
        return tuple(link for (link,) in entries)

    def subject(self, entry: Entry) -> object:
        return self.write_text(entry)

    def features(self, entry: Entry) -> tuple[str, ...]:
        return tuple(entry[0].terms)

    def number(self, entry: Entry) -> float:
        low, high = entry[0].bounds
        return float(high if np.isfinite(high) else low)

    def words(self, name: str, entry: Entry) -> str:
        return f"the link {entry[0]}"

    def listed(self, entry: Entry) -> str:
        return str(entry[0])

    def read_text(self, name: str, text: str) -> Entry:
        try:
            return (Link(**read_link(text)),)
        except InvalidInput as error:  # the message is about parts of the link
            raise error.at(f"Link '{text}': ") from None
        except ValueError as error:
            raise InvalidInput(
                argument=name,
                expected="be like 'income - 3*rent >= 0'",
                got=f"'{text}'",
                remedy=str(error),
            ) from None

    def write_text(self, entry: Entry) -> str:
        return write_link(entry[0].terms, *entry[0].bounds)


@dataclass(frozen=True)
class Linked(Rule):
    """A weighted sum of features keeps its bounds."""

    name = "links"
    option = "--link"
    help = "Weighted sum of features that keeps a bound, such as 'income - 3*rent >= 0'."
    argument = LinkList()
    kinds = ("number", "whole")

    link: Link

    def compile(self, draft: Draft) -> None:
        weights = np.zeros(len(draft.x))
        for feature, weight in self.link.terms.items():
            weights[draft.position[feature]] += weight
        if not draft.bound_sum(weights, *self.link.bounds):
            now = weights @ (draft.x * draft.scale + draft.mean)
            raise InvalidInput(
                argument="links",
                expected="allow the start",
                got=f"{self.link}, where the sum is {now:g} now",
                remedy="move the bound or leave it out",
            )

    def relaxation(self, start: Row) -> Relaxation | None:
        low, high = self.link.bounds
        if low == high:
            return None
        side, now = ("at_most", high) if np.isfinite(high) else ("at_least", low)

        def moved(number: float) -> tuple[Rule, ...]:
            bounds = {"at_least": self.link.at_least, "at_most": self.link.at_most, side: number}
            return (Linked(Link(self.link.terms, **bounds)),)

        return Relaxation(now, self.link.value, moved)
