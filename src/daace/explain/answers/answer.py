"""The answer as data: the one object that words, tables, pictures and pages consume."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
import pandas as pd

from daace._checks import check_integer
from daace._typing import FloatArray
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput
from daace.explain.answers.opinions import NO_VIEWS, UNKNOWN, Certainty
from daace.explain.answers.provenance import Provenance
from daace.landscape.goal import Posterior
from daace.notes import Note
from daace.planners.base import Plan, Status

Label = str | int | bool

#: Columns of numbers of `Answer.along`; the last column, 'profile', holds names.
ALONG = ("log_prob", "plausibility", "percentile", "posterior")


def is_number(cell: object) -> bool:
    """Whether a cell holds a number; a truth value is a level.

    Example:
        >>> is_number(2.5), is_number(True), is_number("2.5")
        (True, False, False)
    """
    return isinstance(cell, int | float | np.number) and not isinstance(cell, bool | np.bool_)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Answer(ABC):
    """A plan in the user's units; `Explanation` adds words, pictures and pages.

    Attributes:
        status: how the search ended; true if a counterfactual was found.
        current: the most probable class at the start; None for an invalid row.
        target: the target class; None for an invalid row without a given one.
        path: waypoints in user units; the first row is the start, the last the counterfactual.
            Only the start if none was found. Columns that the density computes from features
            have their place in the user's frame.
        along: for each waypoint `log_prob` (model space), `plausibility` (the same in standard
            deviations from the mean of the density's draws, the unit of the argument
            `plausibility`), `percentile` (share of draws that are less plausible),
            `posterior` (probability of the target) and `profile` (class and number of the most
            probable profile, such as 'benign 2'; empty text if the density has no profiles).
        judges: for each judge its name, whether it `decides`, and its probability of the target at
            `start` and `end`. `posterior` is the smallest of those that decide; no rows if the
            answer was read from JSON of an earlier version.
        cost: cost of the path; infinite if none was found.
        relax: if none was found, sufficient thresholds, each alone, by argument name.
        sd: standard deviation of each feature, in user units.
        units: unit by feature name, where known.
        provenance: settings, seed, version.
        alternatives: other answers to the same question, cheapest first, which change other
            features or end elsewhere; none unless requested from `explain`.
        notes: remarks on the answer, each a sentence with a code.
        certainty: the judge's predictions near the end, and changes that the end does not need.
        profiles: what distinguishes each profile of `along`, by its name.
        plan: the path in model space; None if the answer was read from JSON.
        density: the density, for pictures of the landscape; None if read from JSON without one.
        judge: judge of the class other than the density, if any; None if read from JSON.
        derived: names of the columns of `path` that are computed from features.
    """

    status: Status
    current: Label | None
    target: Label | None
    path: pd.DataFrame
    along: pd.DataFrame
    cost: float
    relax: Mapping[str, float]
    sd: FloatArray
    units: Mapping[str, str]
    provenance: Provenance
    judges: pd.DataFrame = field(default_factory=NO_VIEWS.copy)
    alternatives: tuple[Self, ...] = ()
    notes: tuple[Note, ...] = ()
    certainty: Certainty = UNKNOWN
    profiles: Mapping[str, str] = field(default_factory=dict)
    plan: Plan | None = None
    density: ConditionalDensity | None = None
    judge: Posterior | None = None
    derived: tuple[str, ...] = ()

    @property
    def states(self) -> pd.DataFrame:
        """The path without derived columns: one column for each feature, in the order of `sd`."""
        return self.path.drop(columns=list(self.derived)) if self.derived else self.path

    @property
    def found(self) -> bool:
        """Whether there is a counterfactual."""
        return bool(self.status)

    @property
    def counterfactual(self) -> pd.Series | None:
        """The last waypoint, in user units; None if none was found."""
        return self.path.iloc[-1].rename("counterfactual") if self.found else None

    @property
    def log_prob(self) -> float:
        """Log-density of the counterfactual (model space); of the start if none was found."""
        return float(self.along["log_prob"].iloc[-1])

    @property
    def posterior(self) -> float:
        """Probability of the target at the counterfactual; at the start if none was found."""
        return float(self.along["posterior"].iloc[-1])

    @property
    def step_count(self) -> int:
        """Number of steps from the start to the counterfactual."""
        return len(self.path) - 1

    def plausible_scale(self) -> tuple[float, float]:
        """Return mean and standard deviation of log p over the draws plausibility refers to."""
        source = self.provenance
        if source.mean_log_prob is not None and source.sd_log_prob is not None:
            return source.mean_log_prob, source.sd_log_prob
        assert self.density is not None  # a record of an earlier version, with its model
        return self.density.draws_.mean, self.density.draws_.sd

    def changes(self, step: int | None = None) -> pd.DataFrame:
        """Return the features that change, in order of size: along the whole path, or in one step.

        Args:
            step: 1 is the first step; the whole path when left out.

        Returns:
            feature, from, to, change (user units; missing for a switch between levels) and
            change_sd (standard deviations; for a switch, its length).

        Raises:
            InvalidInput: there is no such step.
        """
        if step is not None:
            check_integer("step", step, at_least=1)
            if step > self.step_count:
                raise InvalidInput(
                    argument="step",
                    expected=f"be one of the {self.step_count} steps",
                    got=repr(step),
                )
        begin, end = (0, -1) if step is None else (step - 1, step)
        before, after = self.states.iloc[begin], self.states.iloc[end]
        sizes = self.moves_between(begin, end)
        changed = np.flatnonzero(np.nan_to_num(sizes))  # an invalid row has no sizes
        changed = changed[np.argsort(-np.abs(sizes[changed]), kind="stable")]
        change = [
            float(after.iloc[j]) - float(before.iloc[j]) if self.measured[j] else np.nan
            for j in changed
        ]
        frame = pd.DataFrame(
            {
                "feature": pd.Series(self.states.columns[changed]),
                "from": [before.iloc[j] for j in changed],
                "to": [after.iloc[j] for j in changed],
                "change": np.array(change, dtype=np.float64),
                "change_sd": sizes[changed],
            }
        )
        if all(self.measured):
            frame = frame.astype({"from": np.float64, "to": np.float64})
        return frame

    @cached_property
    def measured(self) -> list[bool]:
        """Which features are numbers at every waypoint; the others switch between levels."""
        return [
            pd.api.types.is_numeric_dtype(self.states[name].dtype)
            and not pd.api.types.is_bool_dtype(self.states[name].dtype)
            and (self.status == "invalid_row" or not bool(self.states[name].isna().any()))
            for name in self.states.columns
        ]

    def moves_between(self, begin: int, end: int) -> FloatArray:
        """Return how far each feature moves between two waypoints, in standard deviations.

        A switch between levels has the length of its category's switches, without a sign.

        Args:
            begin: number of the first waypoint.
            end: number of the second; -1 is the last.
        """
        moves = np.empty(len(self.states.columns))
        for j, (name, number) in enumerate(zip(self.states.columns, self.measured, strict=True)):
            old, new = self.states[name].iloc[begin], self.states[name].iloc[end]
            if number:
                moves[j] = float(new) - float(old)
            else:
                same = (pd.isna(old) and pd.isna(new)) or old == new
                moves[j] = 0.0 if same else 1.0
        return moves / self.sd

    def moves(self) -> FloatArray:
        """Return how far each feature is from the start at every waypoint, in sd."""
        return np.stack([self.moves_between(0, k) for k in range(len(self.states))])

    def __repr__(self) -> str:
        return (
            f"Explanation(status='{self.status}', current={self.current!r}, "
            f"target={self.target!r}, steps={self.step_count}, cost={self.cost:.4g})"
        )
