"""How far a feature may move from one waypoint to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daace.exceptions import InvalidInput
from daace.landscape.rules.argument import Numbers
from daace.landscape.rules.base import Rule
from daace.landscape.rules.draft import Draft


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
            raise InvalidInput(
                argument="max_step",
                expected="be at least 1 where numbers are whole",
                got=f"{steps[small[0]]:g} for '{small[0]}'",
            )

    def compile(self, draft: Draft) -> None:
        draft.steps[draft.position[self.feature]] = self.number
