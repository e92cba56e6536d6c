"""Tables of codes, and which code depends on which, from expected counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.density.privacy import FEWEST_ROWS

#: Rows that the shares of a class count like in the table of a profile, and those of a profile in
#: its tables given a parent's code.
PRIOR_ROWS = 5.0

#: Gains closer than this (relative to the largest) are ties, broken by the order of the codes:
#: both directions of an arc often gain the same, and rounding must not decide.
TIE = 1e-9

#: Expected counts below this are none: they would underflow.
TINY = 1e-100


def fit_tables(counts: Sequence[FloatArray], owner: IntArray) -> list[FloatArray]:
    """Return log-probabilities of codes, smoothed towards those of the profile and the class.

    A profile's table given a parent's code rests on at least 10 rows, else it is the one without
    parent.

    Args:
        counts: expected counts of each code, shape `(codes of the parent or 1, codes, components)`.
        owner: class of each component, in order.
    """
    member = (owner[:, None] == np.arange(owner[-1] + 1)).astype(np.float64)
    tables = []
    for count in counts:
        total = count.sum(axis=0)
        everyone = total.sum(axis=1) + 0.5
        of_class = _smooth(total @ member, (everyone / everyone.sum())[:, None])
        own = _smooth(total, of_class[:, owner])
        table = own[None]
        if len(count) > 1:
            enough = count.sum(axis=1, keepdims=True) >= FEWEST_ROWS
            table = np.where(enough, _smooth(count, own[None]), own)
        tables.append(np.log(table))
    return tables


def _smooth(counts: FloatArray, towards: FloatArray) -> FloatArray:
    """Return shares of codes, the last but one axis, with `PRIOR_ROWS` more rows."""
    rows = counts.sum(axis=-2, keepdims=True)
    shares: FloatArray = (counts + PRIOR_ROWS * towards) / (rows + PRIOR_ROWS)
    return shares


def choose_parents(
    count_pairs: Callable[[int, int], FloatArray], sizes: Sequence[int], rows: int
) -> IntArray:
    """Return the parent of each code among the codes, or -1: greedily, by what the BIC gains.

    Args:
        count_pairs: expected counts of codes j and k together, shape `(codes of k, codes of j,
            components)`.
        sizes: number of codes of each.
        rows: number of rows, for the penalty.
    """
    m = len(sizes)
    gains = np.full((m, m), -np.inf)  # [parent, child]
    for j in range(m):
        for k in range(j):
            pairs = count_pairs(j, k)
            gains[k, j] = _gain(pairs, rows)
            gains[j, k] = _gain(pairs.transpose(1, 0, 2), rows)
    parents = np.full(m, -1, dtype=np.intp)
    tie = TIE * max(1.0, float(gains.max(initial=0.0)))
    while m and (best := float(gains.max())) > tie:
        k, j = divmod(int(np.argmax(gains >= best - tie)), m)  # the first among equals
        if j in _ancestors(k, parents):
            gains[k, j] = -np.inf
        else:
            parents[j] = k
            gains[:, j] = -np.inf
    return parents


def _gain(pairs: FloatArray, rows: int) -> float:
    """Return what the BIC of a code gains from a parent; axes: parent, child, component."""
    above = pairs.sum(axis=1, keepdims=True)
    alone = pairs.sum(axis=0, keepdims=True)
    shares = alone / np.maximum(alone.sum(axis=1, keepdims=True), 1e-300)
    expected = above * shares
    enough = above >= FEWEST_ROWS
    counted = enough & (pairs > TINY)
    ratios = np.where(counted, pairs, 1.0) / np.where(counted, expected, 1.0)
    gained = float((np.where(counted, pairs, 0.0) * np.log(ratios)).sum())
    free = float(enough.sum()) * (int(pairs.shape[1]) - 1)
    return gained - 0.5 * math.log(rows) * float(free)


def _ancestors(code: int, parents: IntArray) -> list[int]:
    """Return a code and all above it."""
    found = [code]
    while parents[found[-1]] >= 0:
        found.append(int(parents[found[-1]]))
    return found
