"""Cheap, certain and plausible at once: paths of which none beats another in all three."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from daace.explain.asking import Asked
from daace.planners.base import Plan, Status
from daace.planners.nsga2 import NSGA2

if TYPE_CHECKING:
    from daace.explain.explanation import Explanation
    from daace.explain.plots import Plot


@dataclass(frozen=True, eq=False)
class ExplanationFront:
    """Explanations of one row, the cheapest first; a dearer one is more certain or plausible.

    Attributes:
        explanations: members of the front; none where no path to the goal was found.
    """

    explanations: tuple[Explanation, ...]

    def __len__(self) -> int:
        return len(self.explanations)

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self.explanations)

    def __getitem__(self, position: int) -> Explanation:
        return self.explanations[position]

    def __repr__(self) -> str:
        return f"ExplanationFront(members={len(self)})"

    def to_frame(self) -> pd.DataFrame:
        """Return cost, posterior, log_prob and percentile (at the end) of each member."""
        rows = [
            (e.cost, e.posterior, e.log_prob, float(e.profile["percentile"].iloc[-1])) for e in self
        ]
        return pd.DataFrame(rows, columns=["cost", "posterior", "log_prob", "percentile"])

    def plot(self) -> Plot:
        """Draw cost against probability of the target, coloured by plausibility."""
        from daace.explain.figures import draw_front

        return draw_front(self)


def search_front(asked: Asked, search: NSGA2, *, vertices: int) -> ExplanationFront:
    """Return the front of one row's problem as explanations."""
    rng = np.random.default_rng(asked.rows.seed)
    found = search.solve_front(asked.problems[0], rng=rng, vertices=vertices)
    plans = [
        Plan(Status.FOUND, path, float(cost), 0, 0.0)
        for path, cost in zip(found.paths, found.costs, strict=True)
    ]
    return ExplanationFront(tuple(asked.answer(0, plan, search) for plan in plans))
