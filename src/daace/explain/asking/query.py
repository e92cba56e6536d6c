"""Queries: rows, and the class that each is to reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from daace._typing import FloatArray, IntArray
from daace._wording import quote
from daace.exceptions import InvalidInput
from daace.explain.asking.rows import Rows, read_row
from daace.explain.asking.settings import Settings
from daace.explain.judging.classifier import ClassifierPosterior
from daace.explain.judging.committee import Committee
from daace.explain.judging.judges import judge_rows
from daace.landscape.goal import Goal
from daace.landscape.problem import Problem
from daace.landscape.rows import UserRow


@dataclass(frozen=True, eq=False)
class Query:
    """Rows in user units, with target and goal of each.

    Problems are built from it when they are solved, each once.

    Attributes:
        settings: settings that the rows share.
        values: shape `(rows, features)`, in the model's order; NaN where there is no number.
        targets: target of each row; None if it was not given and does not follow from the row.
        goals: one for each target. Rows with the same target share one object.
        goal_of: the index of each row's goal; -1 for rows that cannot be explained.
        invalid: why a row cannot be explained, by its position.
        labels: the recorded class of each row, None if unknown.
        first: number of the first row, where these are part of a longer table.
        start_logs: the classifier's log p(y | x) of each row; None if there is no classifier.
        raw: as in `Rows`.
    """

    settings: Settings
    values: FloatArray
    targets: Sequence[Any]
    goals: Sequence[Goal]
    goal_of: IntArray
    invalid: Mapping[int, str]
    labels: Sequence[Any]
    first: int = 0
    start_logs: FloatArray | None = None
    raw: pd.DataFrame | None = None

    @classmethod
    def of(
        cls, settings: Settings, rows: Rows, target: object, *, strict: bool, first: int = 0
    ) -> Query:
        """Build the query about some rows.

        Args:
            settings: settings that the rows share.
            rows: the rows as they were read.
            target: one class, one per row, or None for the less probable of two.
            strict: raise for a row that cannot be explained.
            first: number of the first row, where these are part of a longer table.

        Raises:
            InvalidInput: a target is not known or missing; with `strict`, a row cannot be read or
                judged.
        """
        density, invalid = settings.density, dict(rows.invalid)
        wanted = target_of_each(target, len(rows))
        logs = None
        if settings.classifier_posterior is not None:
            valid = [row for row in range(len(rows)) if row not in invalid]
            logs = np.full((len(rows), len(density.classes_)), np.nan)
            raw = None if rows.raw is None else rows.raw.iloc[valid]
            logs[valid], unjudged = judge_rows(
                settings.classifier_posterior, rows.values[valid], raw
            )
            invalid.update({valid[row]: reason for row, reason in unjudged.items()})
        if strict:
            refuse(invalid, len(rows))
        valid = [row for row in range(len(rows)) if row not in invalid]
        index = np.full(len(rows), -1, dtype=np.intp)
        index[valid] = _class_indices(
            settings,
            None if target is None else [wanted[row] for row in valid],
            rows.values[valid],
            None if logs is None else logs[valid],
        )
        classes, place = np.unique(index[valid], return_inverse=True)
        goal_of = np.full(len(rows), -1, dtype=np.intp)
        goal_of[valid] = place
        goals = tuple(settings.goal(density.classes_.item(k)) for k in classes)
        labels = rows.labels if rows.labels is not None else [None] * len(rows)
        return cls(
            settings, rows.values, wanted, goals, goal_of, invalid, labels, first, logs, rows.raw
        )

    @classmethod
    def of_row(cls, settings: Settings, row: object, target: object) -> Query:
        """Build the query about one row.

        Args:
            settings: the settings: everything besides row and target.
            row: a Series, dict, one-row frame or array in user units.
            target: a class, or None for the less probable of two.

        Raises:
            InvalidInput: as in `of`; or it is not one row.
        """
        return cls.of(settings, read_row(settings.density, row), target, strict=True)

    def __len__(self) -> int:
        return len(self.values)

    def take(self, part: slice) -> Query:
        """Return some of the rows, which keep their numbers."""
        begin, end, _ = part.indices(len(self))
        return replace(
            self,
            values=self.values[part],
            targets=self.targets[part],
            goal_of=self.goal_of[part],
            invalid={row - begin: why for row, why in self.invalid.items() if begin <= row < end},
            labels=self.labels[part],
            first=self.first + begin,
            start_logs=None if self.start_logs is None else self.start_logs[part],
            raw=None if self.raw is None else self.raw.iloc[part],
        )

    def like(self, row: int) -> pd.DataFrame | None:
        """Return the cells of a row that the model does not name; None if it names them all."""
        encoding = self.settings.density.encoding_
        pools = {j: encoding.features[j].pool_code for j in encoding.unnamed.values()}
        if self.raw is None or not any(self.values[row, j] == code for j, code in pools.items()):
            return None
        return self.raw.iloc[[row]]

    def judge(self, row: int) -> ClassifierPosterior | Committee | None:
        """Return the judge of a row in place of the density; None if the density judges.

        A classifier gets the original cells of levels that the model does not name.
        """
        judge, like = self.settings.other_judge, self.like(row)
        if like is None or not isinstance(judge, ClassifierPosterior):
            return judge
        return judge.beside(like)

    def problem(self, row: int, posterior: Any) -> Problem:
        """Build the problem of a row.

        Args:
            row: its position.
            posterior: judge of the class; None for the density.

        Raises:
            InvalidInput: the constraints exclude the start.
        """
        goal = self.goals[self.goal_of[row]]
        return Problem(
            start=UserRow(self.values[row]),
            landscape=self.settings.landscape,
            goal=goal,
            constraints=self.settings.rules,
            box=self.settings.box(goal.target),
            posterior=posterior,
        )

    def generator(self, row: int) -> np.random.Generator:
        """Return a row's own generator: `np.random.default_rng(seed).spawn(rows)[row]`."""
        key = (self.first + row,)
        return np.random.default_rng(np.random.SeedSequence(self.settings.seed, spawn_key=key))


def refuse(invalid: Mapping[int, str], rows: int, *, place: str = "", first: int = 0) -> None:
    """Raise `InvalidInput` if there are rows that cannot be explained, with rows and reasons.

    Args:
        invalid: the reasons by position.
        rows: number of rows; a single one is not named.
        place: beginning of the message.
        first: number of the first row.
    """
    if not invalid:
        return
    row = min(invalid)
    others = ""
    if len(invalid) > 1:
        listed = quote([first + number for number in sorted(invalid)]).replace("'", "")
        others = f" {len(invalid)} rows cannot be explained: {listed}."
    number = f"Row {first + row}: " if rows > 1 else ""
    sentence = f"{place}{number}{invalid[row]}{others}"
    raise InvalidInput(sentence, argument="row" if rows == 1 else "frame")


def target_of_each(target: object, rows: int) -> list[Any]:
    """Return the class that each row is to reach; None for rows without a given one.

    Raises:
        InvalidInput: there are several, but not one per row.
    """
    several = isinstance(
        target,
        list | tuple | np.ndarray | pd.Series | pd.Index | pd.api.extensions.ExtensionArray,
    )
    labels = list(target) if several else [target] * rows  # type: ignore[call-overload]
    if len(labels) != rows:
        raise InvalidInput(
            argument="target",
            expected=f"be one class, or one per row ({rows})",
            got=str(len(labels)),
        )
    return labels


def _class_indices(
    settings: Settings,
    target: Sequence[Any] | None,
    values: FloatArray,
    logs: FloatArray | None,
) -> IntArray:
    """Return the class index that each row is to reach."""
    density = settings.density
    if target is not None:
        return np.array([density.class_index(label) for label in target], dtype=np.intp)
    if len(density.classes_) != 2:
        raise InvalidInput(
            argument="target",
            expected=f"be given, as there are {len(density.classes_)} classes",
            remedy=quote(density.classes_.tolist(), limit=20),
        )
    if logs is None:
        judge = density if settings.other_judge is None else settings.other_judge
        logs = judge.log_posterior(density.standardizer_.transform(values))
    least: IntArray = logs.argmin(axis=1)
    return least
