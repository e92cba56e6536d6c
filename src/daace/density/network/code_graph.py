"""Tables of codes, and the graph between codes, from expected counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

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
    smallest = float(counts[0].sum(axis=(0, 1)).min()) if len(counts) else 0.0
    tables = []
    for count in counts:
        total = count.sum(axis=0)
        of_class, everyone = total @ member, total.sum(axis=1)
        rare = everyone < FEWEST_ROWS - NEARLY
        needed = _fewest(int((~rare).sum()) + bool(rare.any()))
        if smallest < needed + NEARLY:
            classes = join_small(of_class.sum(axis=0), needed)
            of_class = _join(of_class, classes)
            groups = _join_profiles(total.sum(axis=0), owner, classes, needed)
            total, count = _join(total, groups), _join(count, groups)
        everyone += 0.5
        of_class = _smooth(of_class, (everyone / everyone.sum())[:, None])
        table = own = _smooth(total, of_class[:, owner])[None]
        if len(count) > 1:
            small = _small_parts(count.sum(axis=1), needed)[:, None]
            together = np.where(small, count, 0.0).sum(axis=0)
            table = _smooth(np.where(small, together, count), own)
        tables.append(np.log(_hide(table, rare, everyone)))
    return tables


def _join(counts: FloatArray, groups: IntArray) -> FloatArray:
    """Return counts in which the members of a group, along the last axis, have their sum."""
    joined: FloatArray = counts @ (groups[:, None] == groups).astype(np.float64)
    return joined


def _small_parts(sizes: FloatArray, fewest: float) -> BoolArray:
    """Return which parts, along the first axis, `join_small` would join, column by column."""
    small = sizes < fewest
    if not small.any():
        return small
    order = np.argsort(sizes, axis=0, kind="stable")
    total = np.take_along_axis(sizes, order, axis=0).cumsum(axis=0)
    count = np.maximum(small.sum(axis=0), (total < fewest).sum(axis=0) + 1)
    count[~small.any(axis=0)] = 0
    place = np.argsort(order, axis=0, kind="stable")
    joined: BoolArray = place < count
    return joined


def _join_profiles(
    sizes: FloatArray, owner: IntArray, classes: IntArray, needed: float
) -> IntArray:
    """Return the group of each profile: small profiles of a class share one, as do joined classes.

    Args:
        sizes: sizes of the profiles.
        owner: class of each profile.
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
    """Return a table that does not reveal the rows with rare codes."""
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


def choose_parents(pairs: FloatArray, sizes: Sequence[int], rows: int) -> IntArray:
    """Return the parent of each code among the codes, or -1: greedily, by what the BIC gains.

    Args:
        pairs: expected counts of all pairs of codes, see `PairCells`, shape `(cells, components)`.
        sizes: number of codes of each.
        rows: number of rows, for the penalty.
    """
    m = len(sizes)
    gains = _gains(pairs, PairCells.of(tuple(sizes)), rows)
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


@dataclass(frozen=True, eq=False)
class PairCells:
    """Where pairs of codes are counted: a cell for the code of k and that of j, for all j > k.

    Attributes:
        sizes: number of codes of each.
        later: j of each pair.
        earlier: k of each pair.
        begins: first cell of each pair, and the number of cells.
        places: number of each cell's code of k and of j, among the codes of all, shape
            `(2, cells)`.
    """

    sizes: IntArray
    later: IntArray
    earlier: IntArray
    begins: IntArray
    places: IntArray

    @classmethod
    @lru_cache(maxsize=8)
    def of(cls, sizes: tuple[int, ...]) -> PairCells:
        """Return the cells of codes with these sizes; a pair's cells run over j first."""
        count = np.array(sizes, dtype=np.intp)
        later, earlier = np.tril_indices(len(sizes), k=-1)
        cells = count[later] * count[earlier]
        begins = np.append(0, np.cumsum(cells))
        pair = np.repeat(np.arange(len(cells)), cells)
        within = np.arange(begins[-1]) - begins[pair]
        offsets = np.append(0, np.cumsum(count))
        of_earlier, of_later = np.divmod(within, count[later][pair])
        places = np.stack([of_earlier + offsets[earlier[pair]], of_later + offsets[later[pair]]])
        return cls(count, later, earlier, begins, places)

    def sum_pairs(self, values: FloatArray) -> FloatArray:
        """Return the sum of values of cells over each pair."""
        sums: FloatArray = np.add.reduceat(values, self.begins[:-1])
        return sums


def _gains(pairs: FloatArray, cells: PairCells, rows: int) -> FloatArray:
    """Return what the BIC of each code gains from each parent, shape `(parents, children)`."""
    m = len(cells.sizes)
    gains = np.full((m, m), -np.inf)
    if m < 2:
        return gains
    singles = np.zeros((int(cells.sizes.sum()), pairs.shape[1]))  # from pairs with the first code
    beside = slice(cells.begins[0], cells.begins[1])
    np.add.at(singles, cells.places[0, beside], pairs[beside])
    first = np.flatnonzero(cells.earlier == 0)
    chosen = np.concatenate([np.arange(*cells.begins[[p, p + 1]]) for p in first])
    np.add.at(singles, cells.places[1, chosen], pairs[chosen])
    ends = np.append(0, np.cumsum(cells.sizes))
    totals = np.add.reduceat(singles, ends[:-1])
    shares = singles / np.maximum(np.repeat(totals, cells.sizes, axis=0), 1e-300)
    fewest = np.array([_fewest(size) for size in cells.sizes.tolist()])
    ways = (
        (cells.places, cells.earlier, cells.later),
        (cells.places[::-1], cells.later, cells.earlier),
    )
    for (above, below), parents, children in ways:
        needed = np.repeat(fewest[children], np.diff(cells.begins))[:, None]
        enough = singles[above] >= needed
        counted = enough & (pairs > TINY)
        expected = np.where(counted, singles[above] * shares[below], 1.0)
        ratios = np.where(counted, pairs, 1.0) / expected
        gained = cells.sum_pairs((np.where(counted, pairs, 0.0) * np.log(ratios)).sum(axis=1))
        tables = cells.sum_pairs(enough.sum(axis=1)) / cells.sizes[children]  # a cell for each code
        free = tables * (cells.sizes[children] - 1.0)
        gains[parents, children] = gained - 0.5 * math.log(rows) * free
    return gains


def _ancestors(code: int, parents: IntArray) -> list[int]:
    """Return a code and all above it."""
    found = [code]
    while parents[found[-1]] >= 0:
        found.append(int(parents[found[-1]]))
    return found
