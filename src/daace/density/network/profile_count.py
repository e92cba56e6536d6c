"""The number of profiles of a class: the smallest that predicts held-out rows well enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd

from daace._progress import Bar
from daace._typing import FloatArray, IntArray, Labels
from daace.density.bayes import log_sum_exp
from daace.density.codes import CodeLayout
from daace.density.network.expectation import MonomialRows
from daace.density.network.families import SufficientStatistics
from daace.density.network.graph import Structure
from daace.density.network.mixed_profiles import MixedLearner
from daace.density.network.mixed_rows import MixedParameters, MixedRows
from daace.density.network.profiles import Climb, ProfileLearner, ProfileParameters
from daace.density.privacy import count_copies
from daace.density.splits import sets_of_copies

#: Numbers of profiles that are tried, until two in a row are no improvement.
LADDER = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)

#: Number of parts that the rows of a class are split into. Each is held out once; of a class with
#: many rows only the first.
FOLDS, MANY_ROWS = 5, 2_000

#: A number of profiles is good enough if the best is not better by more than this, in nats per
#: row, or by more than its standard error.
NEARLY = 0.05

#: A class keeps one profile unless the best number is better by this many standard errors: on a
#: few dozen rows, folds differ by chance.
SURELY = 2.0


class ProfileTrial(NamedTuple):
    """A number of profiles that was tried on a class.

    Attributes:
        profiles: the number.
        held_out: mean log p(x | y) of held-out rows.
        bic: BIC per row on the training rows; higher is better.
    """

    profiles: int
    held_out: float
    bic: float


class Learner(Protocol):
    """Learns a network of the rows of one class, with a given number of profiles."""

    @property
    def rows(self) -> int: ...

    @property
    def fewest(self) -> int: ...

    def learn(self, profiles: Sequence[int]) -> tuple[Any, Structure, float]: ...

    def bic(self, parameters: Any, structure: Structure, mean: float) -> float: ...


class Trade(Protocol):
    """The learning and evaluation of networks of some kind."""

    def learner(self, X: FloatArray) -> Learner:
        """Return a learner of rows."""

    def judge(self, X: FloatArray) -> Callable[[Any], FloatArray]:
        """Return what takes parameters to log p(x | y) of rows."""


@dataclass(frozen=True, eq=False)
class NumbersOnly:
    """Networks over numbers.

    Attributes:
        grid: variance that whole numbers get for being rounded, by feature.
        climb: learns a graph.
    """

    grid: FloatArray
    climb: Climb

    def learner(self, X: FloatArray) -> ProfileLearner:
        """Return a learner of rows."""
        one: IntArray = np.zeros(len(X), dtype=np.intp)
        stats = SufficientStatistics.of(X, one, 1)
        return ProfileLearner([MonomialRows(X, count_copies(X, one))], stats, self.grid, self.climb)

    def judge(self, X: FloatArray) -> Callable[[ProfileParameters], FloatArray]:
        """Return what takes parameters to log p(x | y) of rows."""
        rows = MonomialRows(X, np.ones(len(X)))
        return lambda p: rows.log_prob(p.log_weights, *p.whitened())


@dataclass(frozen=True, eq=False)
class NumbersAndCodes:
    """Networks over numbers and codes.

    Attributes:
        layout: layout of the columns.
        grid: variance that whole numbers get for being rounded, by number.
        climb: learns a graph of the numbers.
    """

    layout: CodeLayout
    grid: FloatArray
    climb: Climb

    def learner(self, X: FloatArray) -> MixedLearner:
        """Return a learner of rows."""
        one: IntArray = np.zeros(len(X), dtype=np.intp)
        counted = count_copies(X[:, self.layout.numbers], one)
        return MixedLearner([MixedRows(X, self.layout, counted)], self.grid, self.climb)

    def judge(self, X: FloatArray) -> Callable[[MixedParameters], FloatArray]:
        """Return what takes parameters to log p(x, d | y) of rows."""
        rows = MixedRows(X, self.layout, np.ones(len(X)))
        return lambda p: log_sum_exp(rows.log_components(p))


def choose_profiles(
    X: FloatArray, *, trade: Trade, advance: Callable[[str], None]
) -> tuple[int, list[ProfileTrial]]:
    """Return the number of profiles of a class, and the trials.

    The number is the smallest whose held-out log-likelihood is below the best by no more than the
    standard error of the difference, or by no more than `NEARLY`. A single profile is replaced
    only if it is below by more than `SURELY` standard errors.

    Args:
        X: rows of the class in model space, in an order that does not depend on the table's.
        trade: how networks are learned.
        advance: called with a note after every number.
    """
    splits = _splits(X)
    learners = [trade.learner(X[~held]) for held in splits]
    tests = [trade.judge(X[held]) for held in splits]
    most = min((p.rows // p.fewest for p in learners), default=1)
    judged: list[FloatArray] = []
    trials: list[ProfileTrial] = []
    for profiles in (number for number in LADDER if number <= most and most > 1):
        logs, bics = [], []
        for learner, test in zip(learners, tests, strict=True):
            parameters, structure, mean = learner.learn([profiles])
            logs.append(test(parameters))
            bics.append(learner.bic(parameters, structure, mean) / learner.rows)
        judged.append(np.concatenate(logs))
        trials.append(ProfileTrial(profiles, float(judged[-1].mean()), float(np.mean(bics))))
        advance(f"{profiles} profiles: {trials[-1].held_out:.2f} nats")
        means = [trial.held_out for trial in trials]
        if len(means) > 2 and max(means[-2:]) <= max(means[:-2]):
            break
    best = np.argmax([trial.held_out for trial in trials]) if trials else 0
    for trial, theirs in zip(trials, judged, strict=True):
        behind = judged[best] - theirs
        error = float(behind.std()) / np.sqrt(len(behind))
        allowed = SURELY * error if trial.profiles == 1 else error
        if behind.mean() <= max(allowed, NEARLY):
            return trial.profiles, trials
    return 1, trials


def count_profiles(
    rows: Sequence[FloatArray], trade: Trade, *, progress: bool
) -> tuple[list[int], list[list[ProfileTrial]]]:
    """Choose the number of profiles of each class.

    Args:
        rows: rows of each class.
        trade: how networks are learned.
        progress: show a bar on stderr.
    """
    counts, trials = [], []
    with Bar("Profiles", len(rows) * len(LADDER), shown=progress) as bar:
        for group in rows:
            count, tried = choose_profiles(group, trade=trade, advance=bar.advance)
            bar.advance(steps=len(LADDER) - len(tried))
            counts.append(count)
            trials.append(tried)
    return counts, trials


def trials_frame(
    trials: Sequence[Sequence[ProfileTrial]], classes: Labels, target: str
) -> pd.DataFrame:
    """Return the trials as a frame: class, profiles, held-out log-likelihood and BIC.

    Args:
        trials: trials of each class; none if nothing was tried.
        classes: the class labels.
        target: name of the class.
    """
    rows = [
        (label, *trial)
        for label, tried in zip(classes.tolist(), trials, strict=False)
        for trial in tried
    ]
    return pd.DataFrame(rows, columns=[target, *ProfileTrial._fields])


def _splits(X: FloatArray) -> list[np.ndarray]:
    """Return which rows are held out, for each split; copies of a row stay together."""
    order = np.random.default_rng(0).permutation(len(X))
    fold = np.empty(len(X), dtype=np.intp)
    fold[order] = sets_of_copies(X[order]) % FOLDS
    splits = [fold == f for f in range(FOLDS)]
    kept = [held for held in splits if held.any() and not held.all()]
    return kept[:1] if len(X) >= MANY_ROWS else kept
