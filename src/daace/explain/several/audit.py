"""Audits: answers compared by group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from daace.data.table import Table
from daace.exceptions import InvalidInput
from daace.explain.pages.frames import render_frame
from daace.explain.several.batch import Batch
from daace.explain.trust.check import as_frame

if TYPE_CHECKING:
    from daace.explain.pictures.canvas import Plot

#: Maximum number of groups; a column with more is a measurement.
MOST_GROUPS = 30


@dataclass(frozen=True, eq=False)
class Audit:
    """Share, length and cost of the paths to the target, by group.

    Attributes:
        answers: one explanation per row.
        groups: the group of each row.
        by: name of the grouping.

    Example:
        >>> from daace import Explainer, GaussianMixture
        >>> import pandas as pd
        >>> density = GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["ill", "well"])
        >>> frame = pd.DataFrame({"x1": [0.0, 0.5, -1.0], "group": ["a", "a", "b"]})
        >>> audit = Explainer(density).audit(frame, by="group", target="well")
        >>> audit.to_frame()["rows"].to_dict()
        {'a': 2, 'b': 1}
    """

    answers: Batch
    groups: pd.Series
    by: str

    def __repr__(self) -> str:
        return f"Audit(by={self.by!r}, rows={len(self.answers)}, groups={self.groups.nunique()})"

    def __str__(self) -> str:
        lines = [f"Paths to '{self.target_name}' by {self.by}:"]
        for group, some in self.each().groupby("group", observed=True, sort=True):
            valid = some[~some["invalid"]]
            need = valid[~valid["already_there"]]
            paths = need[need["found"]]
            rows = "1 row" if len(some) == 1 else f"{len(some)} rows"
            text = f"{group}: {rows}, {len(valid) - len(need)} already there"
            if len(valid) < len(some):
                text += f", {len(some) - len(valid)} invalid"
            if len(need):
                text += f"; a path was found for {len(paths)} of {len(need)}"
            if len(paths):
                text += (
                    f", median cost {paths['cost'].median():.3g}, median length "
                    f"{paths['length'].median():.3g} sd, {paths['changes'].mean():.1f} features "
                    f"change in {paths['steps'].mean():.1f} steps on average"
                )
            lines.append(f"{text}.")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return render_frame(f"Paths to '{self.target_name}' by {self.by}", self.to_frame())

    @property
    def target_name(self) -> str:
        """The target class; 'the other class' if the targets of the rows differ."""
        targets = {str(e.target) for e in self.answers if e.target is not None}
        return targets.pop() if len(targets) == 1 else "the other class"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per group.

        Columns: rows; already_there (share of the valid rows that need no change); found (share
        with a path, of those that need one); cost and length (medians over the paths; the
        length in standard deviations); changes (mean number of features that
        `Explanation.changes` lists); steps (mean); invalid (number of rows that cannot be
        explained; of the other columns, only `rows` counts them).
        """
        each = self.each()
        rows = {}
        for group, some in each.groupby("group", observed=True, sort=True):
            valid = some[~some["invalid"]]
            need = valid[~valid["already_there"]]
            paths = need[need["found"]]
            rows[group] = {
                "rows": len(some),
                "already_there": float(valid["already_there"].mean()),
                "found": float(need["found"].mean()) if len(need) else np.nan,
                "cost": float(paths["cost"].median()),
                "length": float(paths["length"].median()),
                "changes": float(paths["changes"].mean()),
                "steps": float(paths["steps"].mean()),
                "invalid": len(some) - len(valid),
            }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis(self.by)

    def each(self) -> pd.DataFrame:
        """Return group, outcome, cost, length, number of changes and steps of every row."""
        columns = {
            "group": self.groups.to_numpy(),
            "already_there": [e.status == "already_there" for e in self.answers],
            "found": [e.found for e in self.answers],
            "cost": [e.cost for e in self.answers],
            "length": [
                float(np.linalg.norm(np.diff(e.moves(), axis=0), axis=1).sum())
                for e in self.answers
            ],
            "changes": [len(e.changes()) for e in self.answers],
            "steps": [e.step_count for e in self.answers],
            "invalid": [e.status == "invalid_row" for e in self.answers],
        }
        return pd.DataFrame(columns, index=self.answers.index)

    def changes(self) -> pd.DataFrame:
        """Return the mean change of every feature (standard deviations) by group."""
        moved = [i for i, e in enumerate(self.answers) if e.status == "found"]
        ends = [e.moves_between(0, -1) for e in (self.answers[i] for i in moved)]
        features = list(self.answers.features)
        frame = pd.DataFrame(np.reshape(ends, (len(moved), len(features))), columns=features)
        groups = self.groups.iloc[moved].reset_index(drop=True)
        return frame.groupby(groups, observed=True, sort=True).mean().rename_axis(self.by)

    def plot(self) -> Plot:
        """Draw found rate, cost, length and number of changes by group."""
        from daace.explain.pictures.choice_plots import draw_audit

        return draw_audit(self.to_frame(), target=self.target_name, by=self.by)


def split_groups(frame: object, by: object, features: tuple[str, ...]) -> tuple[object, pd.Series]:
    """Return the rows to explain, and the group of each.

    Args:
        frame: rows in user units, as a frame or a `Table`.
        by: a column of the frame, or a group for each row.
        features: the features of the model; a group that is not one of them is not passed on to it.

    Raises:
        InvalidInput: there is no such column, a group is missing, or there are too many.
    """
    classes = [frame.target] if isinstance(frame, Table) else []
    frame = as_frame(frame, name="frame")
    rows = frame.drop(columns=classes)
    if isinstance(by, str):
        if by not in frame.columns:
            raise InvalidInput(argument="by", expected="be a column of the frame", got=f"'{by}'")
        groups = frame[by]
        rows = rows if by in (*features, *classes) else rows.drop(columns=by)
    else:
        try:
            values = list(by)  # type: ignore[call-overload]
        except TypeError:
            raise InvalidInput(
                argument="by", expected="be a column, or a group per row", got=repr(by)
            ) from None
        if len(values) != len(frame):
            raise InvalidInput(
                argument="by",
                expected=f"have {len(frame)} groups, one per row",
                got=str(len(values)),
            )
        groups = pd.Series(values, index=frame.index, name=getattr(by, "name", None) or "group")
    if groups.isna().any():
        raise InvalidInput(
            f"'by' must name a group for every row. {int(groups.isna().sum())} have none: "
            "drop these rows, or give them a group.",
            argument="by",
        )
    if groups.nunique() > MOST_GROUPS:
        raise InvalidInput(
            argument="by",
            expected=f"have at most {MOST_GROUPS} groups",
            got=str(groups.nunique()),
            remedy="cut it into categories first, for example with pandas.cut",
        )
    return rows, groups
