"""A real table with categories in three parts, and what is measured of an end on it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

#: Columns that are left out: they give the answer away, are weights, or another model's output.
LEAKING = {
    "adult": ["fnlwgt"],
    "compas": ["decile_score", "score_text"],
    "bank_marketing": ["duration"],
}

#: Columns of which the second is a function of the first.
DERIVED = {"adult": [("education", "education_num")], "compas": [("age", "age_cat")]}

#: Rows of a table that are used at most.
MOST_ROWS = 6000


@dataclass(frozen=True, eq=False)
class Task:
    """A table in three parts.

    Attributes:
        name: of the table.
        frame: all rows; the class is 1 where the outcome is favourable, else 0.
        seen: rows that methods and classifiers may use.
        unseen: rows for judges and distances.
        asked: rows to choose queries from.
        numbers: columns that are numbers.
        whole: columns that are whole numbers.
        fixed: columns that nobody can change.
    """

    name: str
    frame: pd.DataFrame
    seen: pd.DataFrame
    unseen: pd.DataFrame
    asked: pd.DataFrame
    numbers: list[str]
    whole: list[str]
    fixed: list[str]

    @classmethod
    def read(cls, name: str, *, seed: int = 0) -> Task:
        """Read a table of `$DAACE_DATA/mixed`; rows with gaps are dropped, as peers need."""
        folder = Path(os.environ["DAACE_DATA"]) / "mixed"
        schema = json.loads((folder / "schema.json").read_text())[name]
        frame = pd.read_csv(folder / schema["file"], keep_default_na=False, na_values=[""])
        frame = frame.drop(columns=LEAKING.get(name, []))
        target = schema["target"]
        frame = frame.dropna().sample(frac=1, random_state=seed).head(MOST_ROWS)
        frame["class"] = (frame.pop(target).astype(str) == str(schema["favourable"])).astype(int)
        frame = frame.reset_index(drop=True)
        features = frame.columns[:-1]
        numbers = [n for n in features if pd.api.types.is_numeric_dtype(frame[n])]
        whole = [n for n in numbers if (frame[n] == frame[n].round()).all()]
        fixed = [n for n in schema["suggested_immutable"] if n in features]
        first, second = int(0.4 * len(frame)), int(0.8 * len(frame))
        parts = frame.iloc[:first], frame.iloc[first:second], frame.iloc[second:]
        return cls(name, frame, *parts, numbers, whole, fixed)

    @property
    def features(self) -> list[str]:
        """Names of the columns without the class."""
        return list(self.frame.columns[:-1])

    def pipeline(self, model: Any) -> Any:
        """Return a classifier on raw columns."""
        from sklearn.compose import make_column_transformer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        others = [n for n in self.features if n not in self.numbers]
        columns = make_column_transformer(
            (StandardScaler(), self.numbers),
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), others),
        )
        return make_pipeline(columns, model)


@dataclass(frozen=True, eq=False)
class Ruler:
    """Measures ends on one table.

    Attributes:
        task: the table.
        model: the classifier that decides.
        judges: those that no method has seen.
    """

    task: Task
    model: Any
    judges: list[Any]

    def measure(self, row: pd.DataFrame, end: pd.DataFrame | None) -> dict[str, float]:
        """Return the measurements of one answer; only `valid` if there is none."""
        if end is None:
            return {"found": 0.0, "valid": 0.0}
        task = self.task
        end = end[task.features].astype(dict.fromkeys(task.numbers, float))
        moves = self._moves(end, row)[0]
        target = task.unseen[task.unseen["class"] == 1][task.features]
        near = np.sort(self._moves(end, target).mean(axis=1))[:5].mean()
        accepted = [float(judge.predict(end)[0] == 1) for judge in self.judges]
        return {
            "found": 1.0,
            "valid": float(self.model.predict_proba(end)[0, 1] >= 0.5),
            "L0": float((moves > 1e-9).sum()),
            "L1": float(moves.sum()),
            "L2": float(np.sqrt((moves**2).sum())),
            "near": float(near),
            "broken": float(self._broken(end)),
            "immutable": float(any(moves[task.features.index(name)] > 1e-9 for name in task.fixed)),
            "unseen": float(np.mean(accepted)),
        }

    def _moves(self, end: pd.DataFrame, rows: pd.DataFrame) -> np.ndarray:
        parts = []
        for name in self.task.features:
            old, new = rows[name], end[name].iloc[0]
            if name in self.task.numbers:
                span = float(np.ptp(self.task.frame[name])) or 1.0
                parts.append(np.abs(old.astype(float).to_numpy() - float(new)) / span)
            else:
                parts.append((old.astype(str) != str(new)).to_numpy(dtype=float))
        return np.column_stack(parts)

    def _broken(self, end: pd.DataFrame) -> bool:
        for name in self.task.features:
            known, value = self.task.frame[name], end[name].iloc[0]
            if name not in self.task.numbers:
                if str(value) not in set(known.astype(str)):
                    return True
                continue
            number = float(value)
            fraction = name in self.task.whole and number != round(number)
            if fraction or (number < 0 <= known.min()):
                return True
        row = end.iloc[0]
        return any(
            (str(row[source]), str(row[derived])) not in known
            for source, derived, known in self._derived
        )

    @cached_property
    def _derived(self) -> list[tuple[str, str, set[tuple[str, str]]]]:
        """Pairs of columns, and the pairs of values that rows have."""
        frame, numbers = self.task.frame, dict.fromkeys(self.task.numbers, float)
        text = frame.astype(numbers).astype(str)
        return [
            (one, other, set(text[[one, other]].itertuples(index=False, name=None)))
            for one, other in DERIVED.get(self.task.name, [])
        ]
