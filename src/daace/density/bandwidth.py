"""Bandwidth and smoothing of a kernel density, by cross-validated likelihood."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.data.encoding import Encoding
from daace.density.codes import CodeLayout
from daace.density.kernels import (
    BLOCK,
    ClassKernels,
    KernelShape,
    broad_gaussians,
    code_kernels,
    exp_where_it_counts,
)
from daace.density.splits import sets_of_copies

#: Candidates for the bandwidth, in standard deviations, and for the smoothing of codes.
BANDWIDTHS, SMOOTHINGS = np.logspace(-1, 0, 10), np.logspace(-2, 0, 10)

#: Folds of a table of numbers, and rows of a class of a table with codes that are left out in turn.
FOLDS, TESTED = 10, 1_000

#: Initial bandwidth and smoothing, and the number of times that both are chosen in turn.
FIRST, TURNS = (0.3, 0.1), 3


def best_bandwidth(
    rows: list[FloatArray], *, folds: int = FOLDS, candidates: FloatArray = BANDWIDTHS
) -> float:
    """Return the bandwidth with the highest cross-validated log p(x | y) of rows of numbers.

    One matrix of distances per class and fold is used for all candidates.

    Args:
        rows: model-space rows of each class.
        folds: number of folds, assigned by a fixed shuffle.
        candidates: 10 log-spaced values in 0.1..1 when left out.
    """
    n = rows[0].shape[1]
    scores = np.zeros(len(candidates))
    rng = np.random.default_rng(0)
    for members in rows:
        parts = min(folds, len(members))
        fold = rng.permutation(len(members)) % parts
        for f in range(parts):
            train, test = members[fold != f], members[fold == f]
            scores += _held_out(test, train, candidates)
            scores -= len(test) * (n * np.log(candidates) + np.log(len(train)))
    return float(candidates[int(np.argmax(scores))])


def _held_out(test: FloatArray, train: FloatArray, grid: FloatArray) -> FloatArray:
    """Sum over the test rows of the log-sum of kernels, for each bandwidth."""
    total = np.zeros(len(grid))
    squares = np.einsum("rn,rn->r", train, train)
    step = max(1, BLOCK // len(train))
    for begin in range(0, len(test), step):
        part = test[begin : begin + step]
        distance = squares - 2 * (part @ train.T) + np.einsum("rn,rn->r", part, part)[:, None]
        np.maximum(distance, 0.0, out=distance)
        nearest = distance.min(axis=1)
        distance -= nearest[:, None]
        for b, h in enumerate(grid):
            kernels = exp_where_it_counts(distance * (-0.5 / h**2))
            total[b] += (np.log(kernels.sum(axis=1)) - 0.5 * nearest / h**2).sum()
    return total


def best_bandwidths(
    rows: Sequence[FloatArray],
    encoding: Encoding,
    layout: CodeLayout,
    *,
    bandwidth: float | None = None,
    smoothing: float | None = None,
) -> tuple[float, float]:
    """Return bandwidth and smoothing with the highest cross-validated log p(x, d | y).

    Each is chosen in turn, the other held, until neither changes or each was chosen three times.
    Rows are left out one at a time, with their copies; of a class with more than 1,000 rows, a
    random 1,000.

    Args:
        rows: model-space rows of each class, in an order that does not depend on the table's.
        encoding: encoding of the columns.
        layout: layout of the columns in model space.
        bandwidth: the bandwidth if it is known.
        smoothing: the smoothing if it is known.
    """
    tests = [_tested(members) for members in rows]
    known: dict[tuple[float, float], float] = {}

    def score(pair: tuple[float, float]) -> float:
        if pair not in known:
            known[pair] = _score(rows, tests, encoding, layout, pair)
        return known[pair]

    chosen = (
        FIRST[0] if bandwidth is None else bandwidth,
        FIRST[1] if smoothing is None else smoothing,
    )
    for _ in range(TURNS):
        before = chosen
        if smoothing is None:
            chosen = max(((chosen[0], other) for other in SMOOTHINGS.tolist()), key=score)
        if bandwidth is None:
            chosen = max(((other, chosen[1]) for other in BANDWIDTHS.tolist()), key=score)
        if chosen == before:
            break
    return chosen


def _tested(rows: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the rows to leave out in turn, and the number of each row's set of copies."""
    sets = sets_of_copies(rows)
    if not sets.any():  # all rows are equal
        sets = np.arange(len(rows))
    return np.random.default_rng(0).permutation(len(rows))[:TESTED], sets


def _score(
    rows: Sequence[FloatArray],
    tests: Sequence[tuple[IntArray, IntArray]],
    encoding: Encoding,
    layout: CodeLayout,
    pair: tuple[float, float],
) -> float:
    """Return the log-likelihood of all rows that are left out, by bandwidth and smoothing."""
    bandwidth, smoothing = pair
    shape, total = KernelShape(layout, bandwidth, code_kernels(encoding, smoothing)), 0.0
    broad = broad_gaussians(layout, rows)
    for members, own, (tested, sets) in zip(rows, broad, tests, strict=True):
        kernels = ClassKernels(shape, members, own)
        logs, _ = kernels.log_sums(shape.points(members[tested]), apart=(sets[tested], sets))
        others = len(sets) - np.bincount(sets)[sets[tested]]
        total += float((logs - np.log(others)).sum()) + len(tested) * shape.constant
    return total
