"""Explanations of many rows, in their order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import overload

import numpy as np
import pandas as pd

from daace.explain.answers.summary import Summary, Tally
from daace.explain.answers.tables import Layout, to_outcome
from daace.explain.explanation import Explanation
from daace.explain.pages.frames import SHOWN, render_frame


@dataclass(frozen=True, eq=False)
class Batch:
    """Explanations of many rows, in their order.

    Attributes:
        explanations: one per row.
        index: of the frame that was explained.
        features: names, in the model's order.
        others: the columns of that frame that the model does not know.

    Example:
        >>> from daace import Explainer, GaussianMixture
        >>> density = GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["ill", "well"])
        >>> many = Explainer(density).explain_batch([[0.0], [1.0]], target="well")
        >>> many.to_frame()["status"].tolist()
        ['found', 'found']
    """

    explanations: tuple[Explanation, ...]
    index: pd.Index
    features: tuple[str, ...]
    others: pd.DataFrame | None = None

    def __len__(self) -> int:
        return len(self.explanations)

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self.explanations)

    @overload
    def __getitem__(self, position: int) -> Explanation: ...
    @overload
    def __getitem__(self, position: slice) -> Batch: ...
    def __getitem__(self, position: int | slice) -> Explanation | Batch:
        if isinstance(position, slice):
            others = None if self.others is None else self.others.iloc[position]
            return Batch(self.explanations[position], self.index[position], self.features, others)
        return self.explanations[position]

    def __repr__(self) -> str:
        return f"Batch(rows={len(self)}, found={sum(e.found for e in self)})"

    def _repr_html_(self) -> str:
        outcomes = [to_outcome(e) for e in self.explanations[:SHOWN]]
        frame = pd.DataFrame(
            {
                name: [outcome[name] for outcome in outcomes]
                for name in ("status", "current", "target", "posterior", "cost", "changes")
            },
            index=self.index[:SHOWN],
        )
        rest = max(0, len(self) - SHOWN)
        said = [str(self.summary()), *([f"And {rest:,} more rows."] if rest else [])]
        return render_frame(f"{len(self):,} explanations", frame, said=said)

    def summary(self) -> Summary:
        """Return how many were found, and what they cost."""
        tally = Tally()
        for e in self:
            notes = [note.to_record() for note in e.notes]
            tally.add(str(e.status), cost=e.cost, steps=e.step_count, notes=notes)
        return tally.summary()

    def to_frame(self, *, detail: bool = False) -> pd.DataFrame:
        """Return one row per explanation: outcome, then the counterfactual in user units.

        Columns that the model does not know come first, as they were given. The last column of
        the outcome, `notes`, is what else the search has to say, such as that the time limit
        cut it off, or why a row is invalid; it is empty where there is nothing. The features are
        missing where no counterfactual was found. Where a column that was given has the name of a
        column of the outcome, the latter is called 'explanation_...'.

        Args:
            detail: as in the files of `explain_file`: also `changes`, the largest changes in
                words, and for each feature x `x_start` and `x_change`, which is missing where
                nothing changes.
        """
        outcomes = [to_outcome(e, detail=detail) for e in self]
        return self._layout.wide(outcomes, self.index, self._others, detail=detail)

    def changes(self) -> pd.DataFrame:
        """Return one row per change: feature, from, to, change and change_sd, as `e.changes()`.

        Columns that the model does not know come first. Rows without a change are not there.
        """
        outcomes = [to_outcome(e) for e in self]
        sd = self.explanations[0].sd if self.explanations else np.ones(len(self.features))
        return self._layout.long(outcomes, self.index, self._others, sd=sd)

    @property
    def _others(self) -> pd.DataFrame:
        return pd.DataFrame(index=self.index) if self.others is None else self.others

    @property
    def _layout(self) -> Layout:
        return Layout(self.features, list(self._others.columns))
