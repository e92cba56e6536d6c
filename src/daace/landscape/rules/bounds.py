"""Bounds of a feature, and of its change from the start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daace.exceptions import InvalidInput
from daace.landscape.rules.argument import Numbers
from daace.landscape.rules.base import Relaxation, Row, Rule
from daace.landscape.rules.draft import Draft

#: Share of a bound by which the start may miss it because of rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Lower(Rule):
    """A feature does not fall below a number."""

    name = "lower"
    option = "--lower"
    help = "Lowest value of a feature, such as age=18."
    argument = Numbers("numbers", lambda number: number < np.inf, max)
    kinds = ("number", "whole")

    feature: str
    number: float

    @classmethod
    def check_together(cls, given: Mapping[str, Any]) -> None:
        upper = given["upper"]
        for feature, number in given["lower"].items():
            if number > upper.get(feature, np.inf):
                got = f"{number} > {upper[feature]} for '{feature}'"
                raise InvalidInput(argument="lower", expected="not exceed 'upper'", got=got)

    def compile(self, draft: Draft) -> None:
        value = _in_model_space(self, draft, side=1)
        draft.bound_below(draft.position[self.feature], model=value, user=self.number)

    def relaxation(self, start: Row) -> Relaxation:
        return _by_moving(self, lambda end: end[self.feature])


@dataclass(frozen=True)
class Upper(Rule):
    """A feature does not rise above a number."""

    name = "upper"
    option = "--upper"
    help = "Highest value of a feature, such as debt=20000."
    argument = Numbers("numbers", lambda number: number > -np.inf, min)
    kinds = ("number", "whole")

    feature: str
    number: float

    def compile(self, draft: Draft) -> None:
        value = _in_model_space(self, draft, side=-1)
        draft.bound_above(draft.position[self.feature], model=value, user=self.number)

    def relaxation(self, start: Row) -> Relaxation:
        return _by_moving(self, lambda end: end[self.feature])


@dataclass(frozen=True)
class MaxRise(Rule):
    """A feature rises by no more than a number, from the start."""

    name = "max_rise"
    option = "--max-rise"
    help = "Largest rise of a feature from the start, such as income=500."
    argument = Numbers("numbers from 0 on", lambda number: number >= 0, min)
    kinds = ("number", "whole")

    feature: str
    number: float

    def compile(self, draft: Draft) -> None:
        j = draft.position[self.feature]
        model = draft.x[j] + self.number / draft.scale[j]
        draft.bound_above(j, model=model, user=draft.row[j] + self.number)

    def relaxation(self, start: Row) -> Relaxation:
        return _by_moving(self, lambda end: end[self.feature] - start[self.feature])


@dataclass(frozen=True)
class MaxFall(Rule):
    """A feature falls by no more than a number, from the start."""

    name = "max_fall"
    option = "--max-fall"
    help = "Largest fall of a feature from the start, such as income=100."
    argument = Numbers("numbers from 0 on", lambda number: number >= 0, min)
    kinds = ("number", "whole")

    feature: str
    number: float

    def compile(self, draft: Draft) -> None:
        j = draft.position[self.feature]
        model = draft.x[j] - self.number / draft.scale[j]
        draft.bound_below(j, model=model, user=draft.row[j] - self.number)

    def relaxation(self, start: Row) -> Relaxation:
        return _by_moving(self, lambda end: -(end[self.feature] - start[self.feature]))


def _in_model_space(rule: Lower | Upper, draft: Draft, *, side: int) -> float:
    """Return a bound in model space.

    Args:
        rule: a bound in user units.
        draft: knows the start and the scaling.
        side: 1 for a lower bound, -1 for an upper one.

    Raises:
        InvalidInput: the start is beyond the bound.
    """
    j = draft.position[rule.feature]
    value = float((rule.number - draft.mean[j]) / draft.scale[j])
    if side * (draft.x[j] - value) < -ROUNDING * max(1.0, abs(value)):
        here = draft.x[j] * draft.scale[j] + draft.mean[j]
        raise InvalidInput(
            argument=rule.name,
            expected="allow the start",
            got=f"{rule.name}={rule.number:g} for '{rule.feature}', which is {here:g} now",
            remedy="move the bound or leave it out",
        )
    return value


def _by_moving(
    rule: Lower | Upper | MaxRise | MaxFall, needed: Callable[[Row], float]
) -> Relaxation:
    """Return how a rule is relaxed by moving its number to what the end of a path needs."""
    return Relaxation(rule.number, needed, lambda number: (replace(rule, number=number),))
