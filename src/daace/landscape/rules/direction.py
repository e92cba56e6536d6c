"""Features that keep their value, or move one way only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daace._wording import quote
from daace.exceptions import InvalidInput
from daace.landscape.rules.argument import Names
from daace.landscape.rules.base import Relaxation, Row, Rule
from daace.landscape.rules.bounds import Lower, Upper
from daace.landscape.rules.draft import Draft


@dataclass(frozen=True)
class Fixed(Rule):
    """A feature keeps its value."""

    name = "fixed"
    option = "--fixed"
    help = "Feature that keeps its value."
    argument = Names()

    feature: str

    def compile(self, draft: Draft) -> None:
        draft.fix(draft.position[self.feature])

    def relaxation(self, start: Row) -> Relaxation:
        here = start[self.feature]

        def moved(number: float) -> tuple[Rule, ...]:
            low, high = sorted((number, here))
            return Lower(self.feature, low), Upper(self.feature, high)

        return Relaxation(now=here, needed=lambda end: end[self.feature], moved=moved)


@dataclass(frozen=True)
class OnlyUp(Rule):
    """A feature never falls, from waypoint to waypoint."""

    name = "only_up"
    option = "--only-up"
    help = "Feature that may only rise."
    argument = Names()
    kinds = ("number", "whole", "ordered")

    feature: str

    @classmethod
    def check_together(cls, given: Mapping[str, Any]) -> None:
        both = sorted(set(given["only_up"]) & set(given["only_down"]))
        if both:
            raise InvalidInput(
                f"'only_up' and 'only_down' must differ. Got {quote(both)} in both: use 'fixed'."
            )

    def compile(self, draft: Draft) -> None:
        draft.only_rise(draft.position[self.feature])


@dataclass(frozen=True)
class OnlyDown(Rule):
    """A feature never rises, from waypoint to waypoint."""

    name = "only_down"
    option = "--only-down"
    help = "Feature that may only fall."
    argument = Names()
    kinds = ("number", "whole", "ordered")

    feature: str

    def compile(self, draft: Draft) -> None:
        draft.only_fall(draft.position[self.feature])
