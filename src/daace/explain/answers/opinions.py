"""Opinions of the judges on an answer: its path, its ends, and rows near the last one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from daace._typing import FloatArray
from daace.density.base import ConditionalDensity
from daace.density.bayes import log_posterior, log_sum_exp
from daace.exceptions import InvalidInput
from daace.explain.asking.settings import Settings
from daace.landscape.goal import GoalRegion, Posterior
from daace.landscape.problem import Problem
from daace.planners.base import Plan

#: Columns of the frame of judges.
VIEWS = ("judge", "decides", "start", "end")

#: Number of small deviations from the end that are judged, and their size in standard deviations of
#: the target class.
NEARBY, DEVIATION = 100, 0.2

#: Share of each change that is undone to test whether less would be enough.
LESS = 0.1

#: The threshold that the end misses if less is changed.
Limit = Literal["posterior", "plausibility"]


def judge_path(problem: Problem, plan: Plan, path: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log p and the class probabilities of waypoints in user units.

    One row at a time, as in the check of the goal: BLAS rounds differently in a batch.
    """
    density: ConditionalDensity = problem.landscape.density
    rows = [density.standardizer_.transform(row)[None] for row in path]
    joint = np.concatenate([density.log_joint(row) for row in rows])
    if plan.judged is not None:
        shares = np.exp(plan.judged.log_posterior)
    elif problem.posterior is None:
        shares = np.exp(log_posterior(joint))
    else:
        shares = np.exp([problem.posterior.log_posterior(row)[0] for row in rows])
    return log_sum_exp(joint), shares


def make_views(
    names: list[str], decides: list[bool], start: FloatArray, end: FloatArray
) -> pd.DataFrame:
    """Return one row for each judge: its name, whether it decides, its probabilities."""
    return pd.DataFrame(dict(zip(VIEWS, (names, decides, start, end), strict=True)))


#: Without opinions: for an invalid row, or a record of an earlier version.
NO_VIEWS = make_views([], [], np.empty(0), np.empty(0)).astype({"judge": "str", "decides": "bool"})


def find_views(
    settings: Settings, ends: FloatArray, shares: FloatArray, index: int
) -> pd.DataFrame:
    """Return the probability of the target that each judge gives at the start and at the end.

    Judges that decide come first, then the others.

    Args:
        settings: settings of the query.
        ends: start and end in user units, shape `(2, features)`.
        shares: probability of the target there, according to the deciding judge.
        index: index of the target.
    """
    density, names, views = settings.density, list[str](), list[FloatArray]()
    if settings.classifier is not None:
        names, views = [settings.classifier], [shares]
    rows = [density.standardizer_.transform(row[None]) for row in ends]  # alone, as it was judged
    if settings.committee is not None:
        names += settings.committee.names
        each = np.concatenate([settings.committee.probabilities(row, index) for row in rows])
        views += list(each.T)
    else:
        names.append("density")
        views.append(np.exp([density.log_posterior(row)[0, index] for row in rows]))
    start, end = np.array(views).T
    decides = [settings.decides == "committee"] * len(names)
    if settings.decides == "committee" and settings.committee is not None:
        decides[0] = bool(settings.committee.votes[index])
    if settings.decides == "classifier":
        decides[0] = True
    elif settings.decides == "density":
        decides[names.index("density")] = True
    return make_views(names, decides, start, end)


@dataclass(frozen=True)
class Certainty:
    """The certainty of the end, and changes that it does not need.

    Attributes:
        nearby: share of small deviations from the end that still get the target. Numbers that
            change deviate by 0.2 standard deviations of the target class, correlated as they are
            in it; everything else is as at the end. None if no number changes, or the judge was
            not evaluated.
        follow: features that change, but that the judge does not need for the target: they move
            along because rows like the end have such values. There are none if the density
            judges, as it does not describe rows that do not move along.
        limit: threshold that the end would miss if each number changed a tenth less: the required
            probability, or otherwise the plausibility. None if it would miss neither, no number
            changes, or the judge was not evaluated.
    """

    nearby: float | None = None
    follow: tuple[str, ...] = ()
    limit: Limit | None = None


#: Without evaluations of the judge.
UNKNOWN = Certainty()


@dataclass(frozen=True, eq=False)
class Ends:
    """Start and end of a path, and the judge of the class.

    Attributes:
        region: the goal.
        judge: judge of the class; None for the density.
        start: the start in model space.
        end: the end in model space.
    """

    region: GoalRegion
    judge: Posterior | None
    start: FloatArray
    end: FloatArray

    @property
    def density(self) -> ConditionalDensity:
        """The density of the features."""
        return self.region.density

    @property
    def index(self) -> int:
        """Index of the target."""
        return self.region.index

    def measure(self, min_posterior: float) -> Certainty:
        """Judge rows close to the end, and the end without some changes.

        Args:
            min_posterior: required probability of the target.
        """
        moved = self._moved_numbers()
        nearby, limit = (self._nearby(moved), self._limit(moved)) if moved else (None, None)
        return Certainty(nearby, self._follow(min_posterior), limit)

    def _moved_numbers(self) -> list[int]:
        encoding = self.density.encoding_
        at_atom = {j for j, column in encoding.atom_columns.items() if self.end[column] > 0}
        free = [j for j in encoding.number_columns if j not in at_atom]
        return [j for j in free if self.start[j] != self.end[j]]

    def _limit(self, moved: list[int]) -> Limit | None:
        """Return the threshold missed with a tenth less of each change; the end meets the goal."""
        row = self.end.copy()
        row[moved] += LESS * (self.start[moved] - self.end[moved])
        plausible, probable = self.region.slack(row[None])[0]
        if probable < 0:
            return "posterior"
        return "plausibility" if plausible < 0 else None

    def _nearby(self, moved: list[int]) -> float:
        rows = np.tile(self.end, (NEARBY, 1))
        cases = self.density.pool(self.density.classes_.item(self.index)).X[:, moved]
        differences = cases[:NEARBY] - cases[NEARBY : 2 * NEARBY]
        rows[:, moved] += DEVIATION / np.sqrt(2) * differences
        judge = self.density if self.judge is None else self.judge
        return float((judge.log_posterior(rows).argmax(axis=1) == self.index).mean())

    def _follow(self, min_posterior: float) -> tuple[str, ...]:
        """Set features back to the start, smallest changes first, while the target is kept."""
        if self.judge is None:
            return ()
        columns = self.density.encoding_.atom_columns
        moves, row, spare = np.abs(self.end - self.start), self.end, []
        sizes = [
            max(moves[j], moves[columns.get(j, j)]) for j in range(len(self.density.features_))
        ]
        for j in np.argsort(sizes, kind="stable").tolist():
            if sizes[j] > 0:
                tried = row.copy()
                tried[[j, columns.get(j, j)]] = self.start[[j, columns.get(j, j)]]
                logs = self.judge.log_posterior(tried[None])[0]
                if np.exp(logs[self.index]) >= min_posterior:
                    row = tried
                    spare.append(self.density.features_[j])
        return tuple(spare)


def find_certainty(
    settings: Settings, problem: Problem, path: FloatArray, judge: Posterior | None
) -> Certainty:
    """Judge rows near the end, unless the judge is a classifier with a budget.

    Args:
        settings: settings of the query.
        problem: problem of the row.
        path: waypoints in user units.
        judge: judge of the row in place of the density; None if the density judges.
    """
    if len(path) < 2 or (settings.judges is not None and settings.classifier_budget is not None):
        return UNKNOWN
    start, end = settings.density.standardizer_.transform(path[[0, -1]])
    ends = Ends(problem.region, judge, start, end)
    try:
        return ends.measure(problem.goal.min_posterior)
    except InvalidInput:  # a classifier that cannot judge such rows
        return UNKNOWN
