"""Tables of codes, and which code depends on which, from expected counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from daace._typing import BoolArray, FloatArray, IntArray
from daace.density.privacy import FEWEST_ROWS, join_small

#: Rows that the shares of a class count like in the table of a profile, and those of a profile in
#: its tables given a parent's code.
PRIOR_ROWS = 5.0

#: Gains closer than this (relative to the largest) are ties, broken by the order of the codes:
#: both directions of an arc often gain the same, and rounding must not decide.
TIE = 1e-9

#: Rounding errors of expected counts.
NEARLY = 1e-6

#: Expected counts below this are none: they would underflow.
TINY = 1e-100


def fit_tables(counts: Sequence[FloatArray], owner: IntArray) -> list[FloatArray]:
    """Return log-probabilities of codes, smoothed towards those of the profile and the class.

    A table rests on at least 10 rows, and two more than it has parameters: smaller classes,
    profiles of a class, and codes of a parent share theirs, see `join_small`. Codes that fewer than
    10 rows have, of all classes together, are equally likely, and as likely in every table.

    Args:
        counts: expected counts of each code, shape `(codes of the parent or 1, codes, components)`.
        owner: class of each component, in order.
    """
    member = (owner[:, None] == np.arange(owner[-1] + 1)).astype(np.float64)
    tables = []
    for count in counts:
        total = count.sum(axis=0)
        rare = total.sum(axis=1) < FEWEST_ROWS - NEARLY
        needed = _fewest(int((~rare).sum()) + bool(rare.any()))
        everyone = total.sum(axis=1) + 0.5
        of_class = total @ member
        classes = join_small(of_class.sum(axis=0), needed)
        of_class = _smooth(_join(of_class, classes), (everyone / everyone.sum())[:, None])
        groups = _join_profiles(total.sum(axis=0), owner, classes, needed)
        table = own = _smooth(_join(total, groups), of_class[:, owner])[None]
        if len(count) > 1:
            above = _join(count, groups)
            sizes = above.sum(axis=1)
            for c in np.flatnonzero((sizes < needed).any(axis=0)):
                codes = join_small(sizes[:, c], needed)
                above[:, :, c] = _join(above[:, :, c].T, codes).T
            table = _smooth(above, own)
        tables.append(np.log(_hide(table, rare, everyone)))
    return tables


def _join(counts: FloatArray, groups: IntArray) -> FloatArray:
    """Return counts in which the members of a group, along the last axis, have their sum."""
    if len(np.unique(groups)) == len(groups):
        return counts.copy()
    joined: FloatArray = counts @ (groups[:, None] == groups).astype(np.float64)
    return joined


def _join_profiles(
    sizes: FloatArray, owner: IntArray, classes: IntArray, needed: float
) -> IntArray:
    """Return a group for each profile: small ones of a class, and all of classes that are joined.

    Args:
        sizes: of the profiles.
        owner: class of each.
        classes: group of each class.
        needed: the smallest size of a group.
    """
    groups = np.arange(len(owner))
    for group in np.unique(classes).tolist():
        some = np.flatnonzero(classes[owner] == group)
        alone = (classes == group).sum() == 1
        groups[some] = some[join_small(sizes[some], needed)] if alone else some[0]
    return groups


def _fewest(codes: int) -> float:
    """Return the smallest number of rows of a table, which has a parameter less than codes."""
    return max(FEWEST_ROWS, codes + 1) - NEARLY


def _hide(table: FloatArray, rare: BoolArray, everyone: FloatArray) -> FloatArray:
    """Return a table that says nothing of who has rare codes."""
    if not rare.any():
        return table
    share = float(everyone[rare].sum() / everyone.sum())
    hidden = np.where(rare[:, None], 0.0, table)
    hidden *= (1 - share) / np.maximum(hidden.sum(axis=1, keepdims=True), 1e-300)
    hidden[:, rare] = share / rare.sum()
    return hidden


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
    enough = above >= _fewest(int(pairs.shape[1]))
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
