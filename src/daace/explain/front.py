"""Cheap, certain and plausible at once: paths of which none beats another in all three."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

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
