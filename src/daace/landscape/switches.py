"""Switches: what it costs to change a category, an ordered feature, or a missing number.

A path changes codes at its waypoints: at waypoint k they change from d_k to d_{k+1}, where the path
is, and the segment that follows is travelled with the new ones. A switch costs its length times the
mean of f(u) at both ends; an ordered feature pays for every level in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.data.kinds import Feature
from daace.density.base import ConditionalDensity
from daace.density.draws import DRAWS, DRAWS_SEED, DrawStatistics


@dataclass(frozen=True, eq=False)
class SwitchPoints:
    """The points at which the switches of many paths are priced: point i costs `share[i] * f(u)`.

    Attributes:
        path: index of the path of each point.
        waypoint: index of the waypoint at which the switch happens.
        codes: codes of each point, shape `(points, code columns)`.
        share: share of the switch's length.
    """

    path: IntArray
    waypoint: IntArray
    codes: FloatArray
    share: FloatArray

    def take(self, rows: IntArray) -> SwitchPoints | None:
        """Return the points of some of the paths, in ascending order; None if there are none."""
        kept = np.flatnonzero(np.isin(self.path, rows))
        if len(kept) == 0:
            return None
        place = np.searchsorted(rows, self.path[kept])
        return SwitchPoints(place, self.waypoint[kept], self.codes[kept], self.share[kept])


@dataclass(frozen=True, eq=False)
class Switches:
    """Lengths of the switches of a density's codes.

    Attributes:
        columns: columns that hold codes, ascending.
        owner: index of the feature that each column belongs to.
        lengths: length of each pair of codes, an array of shape `(codes, codes)` for each column.
        levels: number of codes of an ordered feature; 0 for others.
        width: number of columns of the model array.
    """

    columns: IntArray
    owner: IntArray
    lengths: tuple[FloatArray, ...]
    levels: IntArray
    width: int

    @classmethod
    def of(cls, density: ConditionalDensity) -> Switches | None:
        """Return the switches of a density, measured once; None if it has no codes."""
        if not density.encoding_.code_sizes:
            return None
        if density.draws_ not in _measured:
            _measured[density.draws_] = cls._measure(density)
        return _measured[density.draws_]

    @classmethod
    def _measure(cls, density: ConditionalDensity) -> Switches:
        encoding = density.encoding_
        draws, _ = density.sample(DRAWS, rng=np.random.default_rng(DRAWS_SEED))
        owners = {at: j for j, at in encoding.atom_columns.items()}
        columns, owner, lengths, levels = [], [], [], []
        for column, size in encoding.code_sizes.items():
            feature = encoding.features[owners.get(column, column)]
            shares = np.bincount(draws[:, column].astype(np.intp), minlength=size) / len(draws)
            columns.append(column)
            owner.append(owners.get(column, column))
            lengths.append(switch_lengths(feature, shares))
            levels.append(len(feature.levels) if feature.kind == "ordered" else 0)
        return cls(
            np.array(columns), np.array(owner), tuple(lengths), np.array(levels), encoding.width
        )

    @cached_property
    def travel(self) -> FloatArray:
        """Weight of each column in the length of a segment: 1 for numbers, 0 for codes."""
        weights = np.ones(self.width)
        weights[self.columns] = 0.0
        return weights

    def points(self, paths: FloatArray, weights: FloatArray | None = None) -> SwitchPoints | None:
        """Return where the switches of paths are priced; None if there are none.

        Args:
            paths: shape `(paths, waypoints, n)`.
            weights: weight of each feature, shape `(n,)` or `(paths, n)`; all 1 when left out.
        """
        codes = paths[..., self.columns]
        path, waypoint = np.nonzero((codes[:, 1:] != codes[:, :-1]).any(axis=2))
        if len(path) == 0:
            return None
        before, after = codes[path, waypoint], codes[path, waypoint + 1]
        length = self.length(before, after, None if weights is None else _rows(weights, path))
        paid = length > 0
        path, waypoint, length = path[paid], waypoint[paid], length[paid]
        before, after = before[paid], after[paid]
        if len(path) == 0:
            return None
        climbs = (np.maximum(before, after) < self.levels) & (before != after)
        rungs = np.where(climbs, np.abs(after - before), 1.0).max(axis=1)
        stage = np.arange(int(rungs.max()) + 1)[:, None]
        switch = np.nonzero(stage <= rungs)
        step, which = switch
        part = (step / rungs[which])[:, None]
        old, new = before[which], after[which]
        between = np.where(climbs[which], np.rint(old + part * (new - old)), new)
        stops = np.where(part == 0, old, np.where(part == 1, new, between))
        ends = (step == 0) | (step == rungs[which])
        share = length[which] / rungs[which] * np.where(ends, 0.5, 1.0)
        return SwitchPoints(path[which], waypoint[which], stops, share)

    def length(
        self, before: FloatArray, after: FloatArray, weights: FloatArray | None = None
    ) -> FloatArray:
        """Return the length of switches: the root of the sum of squares over the columns.

        Args:
            before: codes, shape `(switches, code columns)`.
            after: codes, of the same shape.
            weights: weight of each feature, shape `(switches, n)` or `(n,)`; all 1 when left out.
        """
        total = np.zeros(len(before))
        for k, lengths in enumerate(self.lengths):
            part = lengths[before[:, k].astype(np.intp), after[:, k].astype(np.intp)]
            if weights is not None:
                part = part * weights[..., self.owner[k]]
            total += part**2
        root: FloatArray = np.sqrt(total)
        return root


#: Kept as long as the statistics of a fitted density are.
_measured: WeakKeyDictionary[DrawStatistics, Switches] = WeakKeyDictionary()


def switch_lengths(feature: Feature, shares: FloatArray) -> FloatArray:
    """Return the length of a switch between every two codes of a feature.

    `sqrt(2 / (1 - sum p^2))` for categories and for "missing"; |a - b| / sd of the codes for an
    ordered feature; 0 between the atoms of a number, whose distance on the axis counts instead.

    Args:
        feature: the feature.
        shares: shares of its codes, summing to 1.

    Example:
        >>> sex = Feature("sex", "category", levels=("f", "m"))
        >>> switch_lengths(sex, np.array([0.5, 0.5])).tolist()
        [[0.0, 2.0], [2.0, 0.0]]
    """
    size = len(shares)
    spread = max(1.0 - float((shares**2).sum()), 1e-3)  # nearly all rows share one code
    lengths = np.full((size, size), np.sqrt(2.0 / spread))
    count = size if feature.gap_code is None else size - 1
    if feature.kind == "ordered":
        code = np.arange(count)
        p = shares[:count] / max(float(shares[:count].sum()), 1e-300)
        sd = np.sqrt(max(float(p @ (code - p @ code) ** 2), 1e-3))
        lengths[:count, :count] = np.abs(code[:, None] - code) / sd
    elif not feature.coded:
        lengths[:count, :count] = 0.0
    np.fill_diagonal(lengths, 0.0)
    return lengths


def _rows(weights: FloatArray, path: IntArray) -> FloatArray:
    return weights if weights.ndim == 1 else weights[path]
