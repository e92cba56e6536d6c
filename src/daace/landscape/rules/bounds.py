"""Bounds of a feature, and of its change from the start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
        j = draft.position[self.feature]
        value = (self.number - draft.mean[j]) / draft.scale[j]
        if draft.x[j] - value < -ROUNDING * max(1.0, abs(value)):
            raise _excluded(self.name, self.feature, self.number, draft)
        draft.bound_below(j, model=value, user=self.number)

    def relaxation(self, start: Row) -> Relaxation:
        return Relaxation(
            now=self.number,
            needed=lambda end: end[self.feature],
            moved=lambda number: (Lower(self.feature, number),),
        )


@dataclass(frozen=True)
class Upper(Rule):
    """A feature does not rise above a number."""

    name = "upper"
    option = "--upper"
    help = "Highest value of a feature, such as debt=20000."
    argument = Numbers("numbers", lambda number: number > -np.inf, min)

    feature: str
    number: float

    def compile(self, draft: Draft) -> None:
        j = draft.position[self.feature]
        value = (self.number - draft.mean[j]) / draft.scale[j]
        if value - draft.x[j] < -ROUNDING * max(1.0, abs(value)):
            raise _excluded(self.name, self.feature, self.number, draft)
        draft.bound_above(j, model=value, user=self.number)

    def relaxation(self, start: Row) -> Relaxation:
        return Relaxation(
            now=self.number,
            needed=lambda end: end[self.feature],
            moved=lambda number: (Upper(self.feature, number),),
        )


@dataclass(frozen=True)
class MaxRise(Rule):
    """A feature rises by no more than a number, from the start."""

    name = "max_rise"
    option = "--max-rise"
    help = "Largest rise of a feature from the start, such as income=500."
    argument = Numbers("numbers from 0 on", lambda number: number >= 0, min)

    feature: str
    number: float

    def compile(self, draft: Draft) -> None:
        j = draft.position[self.feature]
        model = draft.x[j] + self.number / draft.scale[j]
        draft.bound_above(j, model=model, user=draft.row[j] + self.number)

    def relaxation(self, start: Row) -> Relaxation:
        return Relaxation(
            now=self.number,
            needed=lambda end: end[self.feature] - start[self.feature],
            moved=lambda number: (MaxRise(self.feature, number),),
        )


@dataclass(frozen=True)
class MaxFall(Rule):
    """A feature falls by no more than a number, from the start."""

    name = "max_fall"
    option = "--max-fall"
    help = "Largest fall of a feature from the start, such as income=100."
    argument = Numbers("numbers from 0 on", lambda number: number >= 0, min)

    feature: str
    number: float

    def compile(self, draft: Draft) -> None:
        j = draft.position[self.feature]
        model = draft.x[j] - self.number / draft.scale[j]
        draft.bound_below(j, model=model, user=draft.row[j] - self.number)

    def relaxation(self, start: Row) -> Relaxation:
        return Relaxation(
            now=self.number,
            needed=lambda end: -(end[self.feature] - start[self.feature]),
            moved=lambda number: (MaxFall(self.feature, number),),
        )


def _excluded(name: str, feature: str, bound: float, draft: Draft) -> InvalidInput:
    j = draft.position[feature]
    here = draft.x[j] * draft.scale[j] + draft.mean[j]
    return InvalidInput(
        argument=name,
        expected="allow the start",
        got=f"{name}={bound:g} for '{feature}', which is {here:g} now",
        remedy="move the bound or leave it out",
    )
