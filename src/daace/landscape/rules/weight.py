"""How hard it is to change a feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daace.landscape.rules.argument import Numbers
from daace.landscape.rules.base import Rule
from daace.landscape.rules.draft import Draft


@dataclass(frozen=True)
class Weight(Rule):
    """The change of a feature is multiplied by a weight in the length of a path."""

    name = "weights"
    option = "--weight"
    help = "How hard it is to change a feature, such as income=2; 1 if not given."
    argument = Numbers("positive numbers", lambda number: 0 < number < np.inf, max)
    can_block = False

    feature: str
    number: float

    def compile(self, draft: Draft) -> None:
        draft.weights[draft.position[self.feature]] = self.number
