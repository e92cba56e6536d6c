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
    """A feature does not fall below a number, or below a level if it is ordered."""

    name = "lower"
    option = "--lower"
    help = "Lowest value of a feature, such as age=18, or lowest level of an ordered one."
    argument = Numbers("numbers", lambda number: number < np.inf, max, levels=True)
    kinds = ("number", "whole", "ordered")

    feature: str
    number: float | str

    @classmethod
    def check_together(cls, given: Mapping[str, Any]) -> None:
        upper = given["upper"]
        for feature, number in given["lower"].items():
            other = upper.get(feature, number)
            if not isinstance(number, str) and not isinstance(other, str) and number > other:
                got = f"{number} > {upper[feature]} for '{feature}'"
                raise InvalidInput(argument="lower", expected="not exceed 'upper'", got=got)

    def named_levels(self) -> tuple[object, ...]:
        return (self.number,) if isinstance(self.number, str) else ()

    def compile(self, draft: Draft) -> None:
        number = _number_of_bound(self, draft, side=1)
        if number is not None:
            value = _in_model_space(self, number, draft, side=1)
            draft.bound_below(draft.position[self.feature], model=value, user=number)

    def relaxation(self, start: Row) -> Relaxation | None:
        return _by_moving(self, lambda end: end[self.feature])


@dataclass(frozen=True)
class Upper(Rule):
    """A feature does not rise above a number, or above a level if it is ordered."""

    name = "upper"
    option = "--upper"
    help = "Highest value of a feature, such as debt=20000, or highest level of an ordered one."
    argument = Numbers("numbers", lambda number: number > -np.inf, min, levels=True)
    kinds = ("number", "whole", "ordered")

    feature: str
    number: float | str

    def named_levels(self) -> tuple[object, ...]:
        return (self.number,) if isinstance(self.number, str) else ()

    def compile(self, draft: Draft) -> None:
        number = _number_of_bound(self, draft, side=-1)
        if number is not None:
            value = _in_model_space(self, number, draft, side=-1)
            draft.bound_above(draft.position[self.feature], model=value, user=number)

    def relaxation(self, start: Row) -> Relaxation | None:
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

    def relaxation(self, start: Row) -> Relaxation | None:
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

    def relaxation(self, start: Row) -> Relaxation | None:
        return _by_moving(self, lambda end: -(end[self.feature] - start[self.feature]))


def _number_of_bound(rule: Lower | Upper, draft: Draft, *, side: int) -> float | None:
    """Return the number of a bound; None for an ordered feature, whose levels are bounded here.

    Raises:
        InvalidInput: the start is beyond the bound.
    """
    j = draft.position[rule.feature]
    feature = None if draft.encoding is None else draft.encoding.features[j]
    if feature is not None and draft.codes is not None and feature.coded:
        draft.codes.bound(j, rule.number, side=side, argument=rule.name)
        if not draft.codes.holds(j, draft.x[j]):
            raise _start_beyond(rule, feature.words[int(draft.x[j])])
        return None
    assert not isinstance(rule.number, str)  # `check` refuses levels of a number
    return rule.number


def _start_beyond(rule: Lower | Upper, here: str) -> InvalidInput:
    bound = rule.number if isinstance(rule.number, str) else f"{rule.number:g}"
    return InvalidInput(
        argument=rule.name,
        expected="allow the start",
        got=f"{rule.name}={bound} for '{rule.feature}', which is {here} now",
        remedy="move the bound or leave it out",
    )


def _in_model_space(rule: Lower | Upper, number: float, draft: Draft, *, side: int) -> float:
    """Return a bound in model space.

    Args:
        rule: a bound.
        number: the bound, in user units.
        draft: the draft, with the start and the scaling.
        side: 1 for a lower bound, -1 for an upper one.

    Raises:
        InvalidInput: the start is beyond the bound.
    """
    j = draft.position[rule.feature]
    value = float((number - draft.mean[j]) / draft.scale[j])
    if side * (draft.x[j] - value) < -ROUNDING * max(1.0, abs(value)):
        here = draft.x[j] * draft.scale[j] + draft.mean[j]
        raise _start_beyond(rule, f"{here:g}")
    return value


def _by_moving(
    rule: Lower | Upper | MaxRise | MaxFall, needed: Callable[[Row], float]
) -> Relaxation | None:
    """Return how a rule is relaxed by moving its number to what the end of a path needs."""
    if isinstance(rule.number, str):
        return None
    return Relaxation(rule.number, needed, lambda number: (replace(rule, number=number),))
