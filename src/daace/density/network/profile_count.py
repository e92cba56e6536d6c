"""How many profiles a class has: the fewest that predict held-out rows about as well as any."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.density.network.expectation import MonomialRows
from daace.density.network.families import SufficientStatistics
from daace.density.network.profiles import Climb, ProfileLearner
from daace.density.splits import sets_of_copies

#: Numbers of profiles that are tried, until two in a row bring nothing.
LADDER = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)

#: Parts that the rows of a class are split into. Each is held out once; of a class with many rows
#: only the first.
FOLDS, MANY_ROWS = 5, 2_000

#: A number of profiles is good enough if the best is not better by more than this, in nats per
#: row, or by more than its standard error. One profile is kept until the best is better by this
#: many standard errors: of several numbers, one is often better by chance on some dozen rows.
NEARLY, DOUBT = 0.05, 2.0


class Trial(NamedTuple):
    """A number of profiles that was tried on a class.

    Attributes:
        profiles: the number.
        held_out: mean log p(x | y) of held-out rows.
        bic: BIC on the rows that it was learned from, per row; higher is better.
    """

    profiles: int
    held_out: float
    bic: float


def choose_profiles(
    X: FloatArray, *, grid: FloatArray, climb: Climb, advance: Callable[[str], None]
) -> tuple[int, list[Trial]]:
    """Return the number of profiles of a class, and what was tried.

    The number is the smallest whose held-out log-likelihood is below the best by no more than the
    standard error of the difference (one profile: `DOUBT` of them), or by no more than `NEARLY`.

    Args:
        X: rows of the class in model space, in an order that does not depend on the table's.
        grid: variance that whole numbers get for being rounded, by feature.
        climb: learns a graph.
        advance: called with a note after every number.
    """
    splits = _splits(X)
    learners = [_learner(X[~held], grid, climb) for held in splits]
    tests = [MonomialRows(X[held]) for held in splits]
    most = min((len(p.classes[0]) // p.fewest for p in learners), default=1)
    judged: list[FloatArray] = []
    trials: list[Trial] = []
    for profiles in (number for number in LADDER if number <= most and most > 1):
        logs, bics = [], []
        for learner, test in zip(learners, tests, strict=True):
            parameters, structure, mean = learner.learn([profiles])
            logs.append(test.log_prob(parameters.log_weights, *parameters.whitened()))
            bics.append(learner.bic(parameters, structure, mean) / len(learner.classes[0]))
        judged.append(np.concatenate(logs))
        trials.append(Trial(profiles, float(judged[-1].mean()), float(np.mean(bics))))
        advance(f"{profiles} profiles: {trials[-1].held_out:.2f} nats")
        means = [trial.held_out for trial in trials]
        if len(means) > 2 and max(means[-2:]) <= max(means[:-2]):
            break
    best = np.argmax([trial.held_out for trial in trials]) if trials else 0
    for trial, theirs in zip(trials, judged, strict=True):
        behind = judged[best] - theirs
        error = float(behind.std()) / np.sqrt(len(behind))
        errors = DOUBT if trial.profiles == 1 else 1.0
        if behind.mean() <= max(errors * error, NEARLY):
            return trial.profiles, trials
    return 1, trials


def _learner(X: FloatArray, grid: FloatArray, climb: Climb) -> ProfileLearner:
    one: IntArray = np.zeros(len(X), dtype=np.intp)
    return ProfileLearner([MonomialRows(X)], SufficientStatistics.of(X, one, 1), grid, climb)


def _splits(X: FloatArray) -> list[np.ndarray]:
    """Return which rows are held out, for each split; copies of a row stay together."""
    order = np.random.default_rng(0).permutation(len(X))
    fold = np.empty(len(X), dtype=np.intp)
    fold[order] = sets_of_copies(X[order]) % FOLDS
    splits = [fold == f for f in range(FOLDS)]
    kept = [held for held in splits if held.any() and not held.all()]
    return kept[:1] if len(X) >= MANY_ROWS else kept
