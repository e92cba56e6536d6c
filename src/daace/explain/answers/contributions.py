"""The contribution of each change along a path to the target, according to the judge.

The gain in log-odds over a small piece of the path is shared among the features that change there:
they change one after the other, and each gets the gain of its turn, as a mean over orders (its
Shapley value, estimated). The shares of all pieces add up to the gain between start and end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from daace._typing import FloatArray, IntArray
from daace.density.base import ConditionalDensity
from daace.explain.answers.answer import Answer
from daace.explain.answers.terrain import log_odds
from daace.landscape.goal import Posterior
from daace.landscape.path import segment_vectors

#: Pieces that the move of a step is cut into. Each is shared in two opposite orders, so that the
#: error falls with the square of a piece.
PIECES = 24

#: Pairs of opposite orders in which the switches of a step are tried.
ORDERS = 32

#: Log-odds of rows.
Odds = Callable[[FloatArray], FloatArray]


def contributions(e: Answer) -> pd.DataFrame:
    """Return the contribution of each change to the log-odds of the target.

    All contributions add up to the log-odds gained between start and counterfactual.

    Returns:
        feature, from, to, change_sd and contribution (nats), largest contribution first. If the
        judge is not available, or is a classifier of the user's, contributions are missing and the
        order is that of the changes.
    """
    changes = e.changes()[["feature", "from", "to", "change_sd"]].assign(contribution=np.nan)
    judge = deciding_judge(e)
    if e.density is None or judge is None or e.step_count == 0 or len(judge.classes_) < 2:
        return changes
    gained = _along_path(_odds_of(e, judge), e.density, e.density.to_model(e.states))
    total = pd.Series(gained, index=list(e.states.columns))
    changes["contribution"] = total[changes["feature"]].to_numpy()
    order = np.argsort(-changes["contribution"].abs().to_numpy(), kind="stable")
    return changes.iloc[order].reset_index(drop=True)


def deciding_judge(e: Answer) -> ConditionalDensity | Posterior | None:
    """Return the judge of the class; None for a user's classifier, or if it is not available."""
    if e.provenance.classifier is not None:
        return None
    return e.density if e.provenance.judge == "density" else e.judge


def target_log_odds(e: Answer) -> FloatArray:
    """Return the log-odds of the target at every waypoint, according to the judge."""
    judge = deciding_judge(e)
    assert e.density is not None
    assert judge is not None
    return _odds_of(e, judge)(e.density.to_model(e.states))


def _odds_of(e: Answer, judge: ConditionalDensity | Posterior) -> Odds:
    index = [str(label) for label in judge.classes_.tolist()].index(str(e.target))
    return lambda rows: log_odds(judge.log_posterior(rows)[:, index])


def _along_path(odds: Odds, density: ConditionalDensity, path: FloatArray) -> FloatArray:
    """Return the gain of each feature along a model-space path; in a step, switches are first."""
    atoms, codes = density.encoding_.atom_columns, list(density.encoding_.code_sizes)
    owned = [[j] if j not in atoms else [j, atoms[j]] for j in range(len(density.features_))]
    rng = np.random.default_rng(0)
    gained = np.zeros(len(owned))
    vectors = segment_vectors(path)
    vectors[:, codes] = 0.0
    for (before, after), move in zip(pairwise(path), vectors, strict=True):
        there = before.copy()
        there[codes] = after[codes]
        moved = [j for j, columns in enumerate(owned) if (before != there)[columns].any()]
        orders = [rng.permutation(len(moved)) for _ in range(ORDERS)]
        gained[moved] += _shares(odds, before, there, [owned[j] for j in moved], orders)
        moved = [j for j in range(len(owned)) if move[j] != 0]
        onwards = [np.arange(len(moved))]
        for k in range(PIECES):
            ends = there + k / PIECES * move, there + (k + 1) / PIECES * move
            gained[moved] += _shares(odds, *ends, [[j] for j in moved], onwards)
    return gained


def _shares(
    odds: Odds,
    before: FloatArray,
    after: FloatArray,
    groups: Sequence[Sequence[int]],
    orders: Sequence[IntArray],
) -> FloatArray:
    """Return the gain of each group of columns between two rows, as a mean over orders.

    Args:
        odds: log-odds of rows.
        before: one row.
        after: another row, which differs in these columns only.
        groups: columns that change together.
        orders: orders in which the groups change; each is tried backwards, too.
    """
    if not groups:
        return np.zeros(0)
    both = [order[::way] for order in orders for way in (1, -1)]
    rows = np.tile(before, (len(both), len(groups) + 1, 1))
    for sequence, order in zip(rows, both, strict=True):
        for turn, number in enumerate(order, 1):
            sequence[turn:, groups[number]] = after[groups[number]]
    gains = np.diff(odds(rows.reshape(-1, len(before))).reshape(rows.shape[:2]), axis=1)
    shares = np.zeros(len(groups))
    for order, gain in zip(both, gains, strict=True):
        shares[order] += gain / len(both)
    return shares
