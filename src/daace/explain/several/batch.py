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
        index: index of the frame.
        features: names of the features, in the model's order.
        others: columns of the frame that the model does not use.

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
        sentences = [str(self.summary()), *([f"And {rest:,} more rows."] if rest else [])]
        return render_frame(f"{len(self):,} explanations", frame, sentences=sentences)

    def summary(self) -> Summary:
        """Return the number of paths found, and their mean cost and length."""
        tally = Tally()
        for e in self:
            notes = [note.to_record() for note in e.notes]
            tally.add(str(e.status), cost=e.cost, steps=e.step_count, notes=notes)
        return tally.summary()

    def to_frame(self, *, detail: bool = False) -> pd.DataFrame:
        """Return one row per explanation: outcome, then the counterfactual in user units.

        Columns that the model does not use come first, unchanged. The last column of the outcome,
        `notes`, contains remarks, such as that the time limit ended the search or why a row is
        invalid; it may be empty. The features are missing if no counterfactual was found. If a
        column of the frame has the name of a column of the outcome, the latter is called
        'explanation_...'.

        Args:
            detail: as in the files of `explain_file`: also `changes`, the largest changes in
                words, and for each feature x `x_start` and `x_change`, which is missing if the
                feature does not change.
        """
        outcomes = [to_outcome(e, detail=detail) for e in self]
        return self._layout.wide(outcomes, self.index, self._others, detail=detail)

    def changes(self) -> pd.DataFrame:
        """Return one row per change: feature, from, to, change and change_sd, as `e.changes()`.

        Columns that the model does not use come first. Rows without a change are left out.
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
