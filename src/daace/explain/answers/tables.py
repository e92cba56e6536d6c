"""Answers as tables: one row an answer, or one row a change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from daace._formats import shorten
from daace._typing import FloatArray
from daace.explain.answers.answer import Answer
from daace.explain.answers.words import format_change, smaller_changes

#: What a table says of an answer, besides its features.
OUTCOME = (
    "status", "found", "current", "target", "cost", "log_prob", "posterior", "steps", "notes",
)  # fmt: skip

#: Changes that are named in words.
MOST_NAMED = 5


def to_outcome(e: Answer, *, detail: bool = True) -> dict[str, Any]:
    """Return what a table says of an explanation.

    Args:
        e: the explanation.
        detail: also which features change, and how that reads.
    """
    outcome: dict[str, Any] = {
        "status": str(e.status),
        "found": e.found,
        "current": e.current,
        "target": e.target,
        "cost": e.cost,
        "log_prob": e.log_prob,
        "posterior": e.posterior,
        "steps": e.step_count,
        "notes": [note.to_record() for note in e.notes],
        "start": e.path.iloc[0].to_numpy(),
        "end": e.path.iloc[-1].to_numpy() if e.found else None,
    }
    if detail:
        changes = e.changes()
        names = list(e.path.columns)
        outcome["changes"] = describe_changes(e, changes)
        outcome["moved"] = [names.index(name) for name in changes["feature"]]
    return outcome


def describe_changes(e: Answer, changes: pd.DataFrame) -> str:
    """Return the largest changes in a line: 'income 1,200 -> 1,850; debts 3 -> 1'."""
    shown = changes.head(MOST_NAMED)
    parts = []
    for name, before, after in zip(shown["feature"], shown["from"], shown["to"], strict=True):
        old, new = format_change(e, name, before, after)
        parts.append(f"{shorten(name)} {old} -> {new}")
    rest = smaller_changes(changes, MOST_NAMED)
    return "; ".join([*parts, rest] if rest else parts)


class Layout:
    """Names and order of the columns of a table of answers.

    Columns of the user keep their names; one of ours that is taken is called 'explanation_...'.

    Args:
        features: of the model.
        others: names of the columns that are passed through, in front.
        classes: kind of the class labels: 'U' text, 'i' integers, 'b' booleans; None to see.
    """

    def __init__(
        self, features: Sequence[str], others: Sequence[str] = (), *, classes: str | None = None
    ) -> None:
        self.features = list(features)
        self._taken = {*features, *others}
        self._classes = classes

    def name(self, column: str) -> str:
        """Return what a column of ours is called.

        Example:
            >>> Layout(["age"], ["status"]).name("status"), Layout(["age"]).name("status")
            ('explanation_status', 'status')
        """
        while column in self._taken:
            column = f"explanation_{column}"
        return column

    def wide(
        self,
        outcomes: Sequence[Mapping[str, Any]],
        index: pd.Index,
        others: pd.DataFrame,
        *,
        detail: bool = False,
    ) -> pd.DataFrame:
        """Return one row an answer, the columns that are passed through in front.

        Args:
            outcomes: as `to_outcome` makes them, or read from JSON.
            index: of the rows.
            others: the columns that are passed through.
            detail: also the changes in words, and the start and change of each feature.
        """
        count = len(outcomes)
        columns: dict[str, Any] = {}
        for column in OUTCOME:
            if column == "notes" and detail:
                words = [outcome["changes"] for outcome in outcomes]
                columns[self.name("changes")] = self._column("changes", words)
            columns[self.name(column)] = self._column(column, [o[column] for o in outcomes])
        gaps = [np.nan] * len(self.features)
        ends = _matrix([gaps if o["end"] is None else o["end"] for o in outcomes], self.features)
        if detail:
            starts = _matrix([o["start"] for o in outcomes], self.features)
            moved = np.zeros((count, len(self.features)), dtype=bool)
            for row, outcome in enumerate(outcomes):
                moved[row, outcome["moved"]] = True
            changes = np.where(moved, ends - starts, np.nan)
        for j, feature in enumerate(self.features):
            if detail:
                columns[self.name(f"{feature}_start")] = starts[:, j]
            columns[feature] = ends[:, j]
            if detail:
                columns[self.name(f"{feature}_change")] = changes[:, j]
        return pd.concat([others.set_axis(index), pd.DataFrame(columns, index=index)], axis=1)

    def long(
        self,
        outcomes: Sequence[Mapping[str, Any]],
        index: pd.Index,
        others: pd.DataFrame,
        *,
        sd: FloatArray,
    ) -> pd.DataFrame:
        """Return one row per change: feature, from, to, change and change_sd, largest first.

        The outcome stands in front. An answer without changes has one row, without a feature.

        Args:
            outcomes: as in `wide`.
            index: as in `wide`.
            others: as in `wide`.
            sd: standard deviation of each feature, in user units.
        """
        moves = [list(o["moved"]) or [None] for o in outcomes]
        rows = np.repeat(np.arange(len(outcomes)), [len(some) for some in moves])
        named, before, after, unit = [], [], [], []
        for outcome, some in zip(outcomes, moves, strict=True):
            for j in some:
                named.append(None if j is None else self.features[j])
                before.append(np.nan if j is None else float(outcome["start"][j]))
                after.append(np.nan if j is None else float(outcome["end"][j]))
                unit.append(np.nan if j is None else float(sd[j]))
        change = np.array(after) - np.array(before)
        columns = {
            **{
                self.name(column): self._column(
                    column, [outcomes[int(row)][column] for row in rows]
                )
                for column in ("status", "target", "cost", "posterior", "notes")
            },
            self.name("feature"): pd.Series(named, dtype=object).to_numpy(),
            self.name("from"): np.array(before, dtype=np.float64),
            self.name("to"): np.array(after, dtype=np.float64),
            self.name("change"): change,
            self.name("change_sd"): change / np.array(unit, dtype=np.float64),
        }
        here = index[rows]
        front = others.iloc[rows].set_axis(here)
        return pd.concat([front, pd.DataFrame(columns, index=here)], axis=1)

    def _column(self, name: str, values: list[Any]) -> Any:
        if name == "notes":
            values = [" ".join(note["text"] for note in notes) for notes in values]
        if name in ("cost", "log_prob", "posterior"):
            return np.array([float(value) for value in values], dtype=np.float64)
        if name == "found":
            return np.array(values, dtype=bool)
        if name == "steps":
            return np.array(values, dtype=np.int64)
        if name not in ("current", "target"):
            return pd.Series(values, dtype=object).to_numpy()
        known = [value for value in values if value is not None]
        kind = np.array(known).dtype.kind if self._classes is None and known else self._classes
        gaps = len(known) < len(values)
        if kind in ("i", "b"):
            types = {"i": ("int64", "Int64"), "b": ("bool", "boolean")}[str(kind)]
            return pd.array(values, dtype=types[gaps])  # type: ignore[call-overload]
        return pd.Series(values, dtype=object).to_numpy()


def _matrix(rows: list[Any], features: list[str]) -> FloatArray:
    """Return rows of numbers, of which some may have come through JSON, as an array."""
    flat = [np.array(row, dtype=np.float64) for row in rows]
    return np.reshape(flat, (len(rows), len(features))).astype(np.float64)
