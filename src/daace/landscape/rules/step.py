"""How far a feature may move from one waypoint to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daace.data.kinds import Feature
from daace.exceptions import InvalidInput
from daace.landscape.rules.argument import Numbers
from daace.landscape.rules.base import Rule
from daace.landscape.rules.draft import Draft

#: Smallest step, in standard deviations of the feature: a path has a waypoint for each.
SMALLEST = 1e-3


@dataclass(frozen=True)
class MaxStep(Rule):
    """A feature changes by no more than a number in one step.

    It blocks no path: long segments get more waypoints, on the same line and at the same cost.
    """

    name = "max_step"
    option = "--max-step"
    help = "Largest change of a feature in one step, such as income=300."
    argument = Numbers("positive numbers", lambda number: number > 0, min)
    kinds = ("number", "whole")
    can_block = False

    feature: str
    number: float

    @classmethod
    def check_together(cls, given: Mapping[str, Any]) -> None:
        steps = given["max_step"]
        small = [feature for feature in given["integer"] if steps.get(feature, 1.0) < 1]
        if small:
            raise _too_small(small[0], steps[small[0]])

    def check_feature(self, feature: Feature) -> None:
        if feature.kind == "whole" and self.number < 1:
            raise _too_small(self.feature, self.number)

    def compile(self, draft: Draft) -> None:
        j = draft.position[self.feature]
        smallest = SMALLEST * draft.scale[j]
        if self.number < smallest:
            raise InvalidInput(
                argument="max_step",
                expected=f"be at least {smallest:.3g} for '{self.feature}', "
                "a thousandth of its standard deviation",
                got=f"{self.number:g}",
            )
        draft.steps[j] = self.number


def _too_small(feature: str, step: float) -> InvalidInput:
    """Return the error about a step between two whole numbers."""
    return InvalidInput(
        argument="max_step",
        expected="be at least 1 where numbers are whole",
        got=f"{step:g} for '{feature}'",
    )
