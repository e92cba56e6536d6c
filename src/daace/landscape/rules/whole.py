"""Features that are whole numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daace.exceptions import InvalidInput
from daace.landscape.feasible import Grid
from daace.landscape.rules.argument import Names
from daace.landscape.rules.base import Rule
from daace.landscape.rules.draft import Draft


@dataclass(frozen=True)
class Whole(Rule):
    """A feature is a whole number at every waypoint."""

    name = "integer"
    option = "--integer"
    help = "Feature that is a whole number."
    argument = Names()
    kinds = ("number", "whole", "ordered")

    feature: str

    def compile(self, draft: Draft) -> None:
        j = draft.position[self.feature]
        if draft.encoding is not None and draft.encoding.features[j].coded:
            return  # levels stay what they are
        draft.whole[j] = True
        if not Grid.of(np.array([j]), draft.mean, draft.scale).holds(draft.x):
            raise _excluded(draft)


def _excluded(draft: Draft) -> InvalidInput:
    """Return the error about the feature that is farthest from a whole number."""
    features = {rule.feature for rule in draft.rules if isinstance(rule, Whole)}
    j = np.array(sorted(draft.position[feature] for feature in features))
    counts = Grid.of(j, draft.mean, draft.scale).counts(draft.x)
    worst = int(np.argmax(np.abs(counts - np.rint(counts))))
    name = list(draft.position)[j[worst]]
    return InvalidInput(
        argument="integer",
        expected="allow the start",
        got=f"'{name}', which is {counts[worst]:g} now",
        remedy="round it, or leave it out",
    )
