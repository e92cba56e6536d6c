"""Answers as tables: one row per answer, or one row per change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from daace._formats import shorten
from daace._typing import BoolArray, FloatArray
from daace.explain.answers.answer import Answer, is_number
from daace.explain.answers.words import format_change, smaller_changes

#: Columns of an answer, besides its features.
OUTCOME = (
    "status", "found", "current", "target", "cost", "log_prob", "posterior", "steps", "notes",
)  # fmt: skip

#: Number of changes that are given in words.
MOST_NAMED = 5


def to_outcome(e: Answer, *, detail: bool = True) -> dict[str, Any]:
    """Return the row of an explanation in a table.

    Args:
        e: the explanation.
        detail: also which features change, as numbers and in words.
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
        "start": _cells(e.states.iloc[0]),
        "end": _cells(e.states.iloc[-1]) if e.found else None,
    }
    if detail:
        changes = e.changes()
        names = list(e.states.columns)
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

    The user's columns keep their names; if one of ours is taken, ours is called 'explanation_...'.

    Args:
        features: features of the model.
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
        """Return the name of one of our columns.

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
        """Return one row per answer, the columns that are passed through first.

        Args:
            outcomes: outcomes from `to_outcome`, or read from JSON.
            index: index of the rows.
            others: the columns that are passed through.
            detail: also the changes in words, and the start and change of each feature.
        """
        columns: dict[str, Any] = {}
        for column in OUTCOME:
            if column == "notes" and detail:
                words = [outcome["changes"] for outcome in outcomes]
                columns[self.name("changes")] = self._column("changes", words)
            columns[self.name(column)] = self._column(column, [o[column] for o in outcomes])
        for j, feature in enumerate(self.features):
            ends = _values([None if o["end"] is None else o["end"][j] for o in outcomes])
            if detail:
                starts = _values([o["start"][j] for o in outcomes])
                columns[self.name(f"{feature}_start")] = starts
            columns[feature] = ends
            if detail:
                moved = np.array([j in outcome["moved"] for outcome in outcomes], dtype=bool)
                columns[self.name(f"{feature}_change")] = _differences(starts, ends, moved)
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

        The outcome comes first. An answer without changes has one row, without a feature.

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
                before.append(None if j is None else outcome["start"][j])
                after.append(None if j is None else outcome["end"][j])
                unit.append(np.nan if j is None else float(sd[j]))
        old, new = _values(before), _values(after)
        pairs = [_difference(x, y) for x, y in zip(before, after, strict=True)]
        change = np.array(pairs, dtype=np.float64)
        switched = np.isnan(change) & np.array([name is not None for name in named], dtype=bool)
        columns = {
            **{
                self.name(column): self._column(
                    column, [outcomes[int(row)][column] for row in rows]
                )
                for column in ("status", "target", "cost", "posterior", "notes")
            },
            self.name("feature"): pd.Series(named, dtype=object).to_numpy(),
            self.name("from"): old,
            self.name("to"): new,
            self.name("change"): change,
            self.name("change_sd"): np.where(switched, 1.0, change)
            / np.array(unit, dtype=np.float64),
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


def _cells(row: pd.Series) -> list[Any]:
    """Return the cells of a row in JSON's types, None for missing ones."""
    return [None if pd.isna(cell) else cell for cell in row.tolist()]


def _values(cells: list[Any]) -> Any:
    """Return a column of cells, some of which may have come through JSON: numbers, or objects."""
    if all(cell is None or is_number(cell) for cell in cells):
        return np.array([np.nan if cell is None else float(cell) for cell in cells], np.float64)
    return pd.Series(cells, dtype=object).to_numpy()


def _differences(starts: Any, ends: Any, moved: BoolArray) -> FloatArray:
    """Return the changes of a column; missing where nothing moved or levels were switched."""
    changes = [_difference(x, y) for x, y in zip(starts, ends, strict=True)]
    return np.where(moved, np.array(changes, dtype=np.float64), np.nan)


def _difference(before: Any, after: Any) -> float:
    if not (is_number(before) and is_number(after)):
        return np.nan
    return float(after) - float(before)
