"""Where waypoints may be, in model space: the only form in which planners see the rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from daace._typing import BoolArray, FloatArray, IntArray
from daace.landscape.code_rules import CodeRules
from daace.landscape.linear_constraints import Slabs, nearest

#: Share of a step or a whole number that counts as rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class FeasibleSet:
    """Where waypoints may be, in model space.

    Attributes:
        lower: lower bounds of the box.
        upper: upper bounds; equal to the lower ones where a feature is fixed.
        direction: 1 where a feature may only rise along the path, -1 only fall, 0 free.
        weights: weight of each feature in the length.
        slabs: links between features.
        steps: largest change of each feature from one waypoint to the next.
        grid: the whole numbers of those features that must be whole.
        changes: how many features may change at all; None for no limit.
        codes: rules of the codes; None if all features are plain numbers.
    """

    lower: FloatArray
    upper: FloatArray
    direction: IntArray
    weights: FloatArray
    slabs: Slabs = field(default_factory=lambda: Slabs.none())
    steps: FloatArray = field(default_factory=lambda: np.array(np.inf))
    grid: Grid = field(default_factory=lambda: Grid.none())
    changes: Changes | None = None
    codes: CodeRules | None = None

    @property
    def weighted(self) -> bool:
        """Whether any weight differs from 1."""
        return bool((self.weights != 1.0).any())

    @property
    def discrete(self) -> bool:
        """Whether gradient descent cannot keep a rule: whole numbers, or a number of changes."""
        return len(self.grid) > 0 or self.changes is not None

    def allows(self, X: FloatArray) -> BoolArray:
        """Whether points, shape `(..., n)`, are allowed, each alone."""
        inside: BoolArray = np.all((self.lower <= X) & (self.upper >= X), axis=-1)
        if len(self.slabs):
            inside = inside & self.slabs.hold(X)
        if len(self.grid):
            inside = inside & self.grid.holds(X)
        if self.changes is not None:
            inside = inside & (self.changes.count(X) <= self.changes.most)
        if self.codes is not None:
            inside = inside & self.codes.allows(X)
        return inside

    def contains(self, waypoints: FloatArray) -> bool:
        """Whether a path is allowed: every waypoint, every step, and how many features change."""
        steps = np.diff(waypoints, axis=0)
        together = self.changes is None or self.changes.most >= len(self.changes.of(waypoints))
        return bool(
            together
            and self.allows(waypoints).all()
            and (steps * self.direction >= 0).all()
            and (np.abs(steps) <= self.steps * (1 + ROUNDING)).all()
            and (self.codes is None or self.codes.contains(waypoints))
        )

    def nearest(self, X: FloatArray) -> FloatArray:
        """Return the nearest points that keep bounds and links, and whole numbers near them.

        No whole numbers may keep all links; the result is then not allowed.
        """
        none = np.zeros_like(self.direction)
        if self.codes is not None:
            X = self.codes.reachable(X, self.lower, self.upper)
        points = project_paths(X[:, None], self.lower, self.upper, none, self.slabs)[:, 0]
        if self.codes is not None:  # links are about numbers, but rounding errors reach all columns
            points[:, self.codes.columns] = X[:, self.codes.columns]
        if len(self.grid):
            points = np.clip(self.grid.round(points), self.lower, self.upper)
        return points if self.codes is None else self.codes.place(points)

    def project(self, paths: FloatArray) -> FloatArray:
        """Return the nearest paths within bounds, directions and links; their first waypoints stay.

        Bounded isotonic regression along the path where a direction is given, clipping elsewhere.
        """
        free = project_paths(paths[..., 1:, :], self.lower, self.upper, self.direction, self.slabs)
        return np.concatenate([paths[..., :1, :], free], axis=-2)

    def divide(self, waypoints: FloatArray) -> FloatArray:
        """Return the same path with more waypoints, so that no step is larger than allowed.

        Smaller steps along the same line cost the same in total.
        """
        if not np.isfinite(self.steps).any() or len(waypoints) < 2:
            return waypoints
        pieces = []
        for begin, end in pairwise(waypoints):
            count = max(1, int(np.ceil(np.max(np.abs(end - begin) / self.steps) - ROUNDING)))
            shares = np.linspace(0.0, 1.0, count + 1)[1:-1, None]
            middle = self.grid.round(begin + shares * (end - begin))
            if self.codes is not None:
                middle = self.codes.between(begin, end, middle)
            pieces += [begin[None], middle]
        return np.concatenate([*pieces, waypoints[-1:]])


@dataclass(frozen=True, eq=False)
class Grid:
    """Whole numbers in the user's units, seen from model space.

    Attributes:
        features: indices of the features that must be whole.
        origin: the position of 0, in model space.
        unit: the distance between 0 and 1, in model space.
    """

    features: IntArray
    origin: FloatArray
    unit: FloatArray

    @classmethod
    def none(cls) -> Grid:
        return cls(np.empty(0, dtype=np.intp), np.empty(0), np.empty(0))

    @classmethod
    def of(cls, features: IntArray, mean: FloatArray, scale: FloatArray) -> Grid:
        """Return the whole numbers of some features, given the mean and scale of all."""
        return cls(features, -mean[features] / scale[features], 1 / scale[features])

    def __len__(self) -> int:
        return len(self.features)

    def counts(self, X: FloatArray) -> FloatArray:
        """Return the numbers in the user's units."""
        numbers: FloatArray = (X[..., self.features] - self.origin) / self.unit
        return numbers

    def at(self, X: FloatArray, counts: FloatArray) -> FloatArray:
        """Return the points with other numbers."""
        moved = np.array(X, dtype=np.float64)
        moved[..., self.features] = self.origin + self.unit * counts
        return moved

    def round(self, X: FloatArray) -> FloatArray:
        """Return the points with the nearest whole numbers; whole numbers stay bit for bit."""
        if len(self) == 0:
            return X
        rounded = self.at(X, np.rint(self.counts(X)))
        here = X[..., self.features]
        rounded[..., self.features] = np.where(self._whole(X), here, rounded[..., self.features])
        return rounded

    def narrow(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return bounds rounded inwards to whole numbers, where lower and upper ones differ."""
        if len(self) == 0:
            return lower, upper
        least, most = self.counts(lower), self.counts(upper)
        slip = ROUNDING * np.maximum(1.0, np.abs(most))
        inner = (self.at(lower, np.ceil(least - slip)), self.at(upper, np.floor(most + slip)))
        apart = lower < upper
        return np.where(apart, inner[0], lower), np.where(apart, inner[1], upper)

    def holds(self, X: FloatArray) -> BoolArray:
        """Whether points have whole numbers, up to rounding."""
        return np.all(self._whole(X), axis=-1)  # type: ignore[no-any-return]

    def _whole(self, X: FloatArray) -> BoolArray:
        counts = self.counts(X)
        size = np.maximum(1.0, np.abs(counts))
        whole: BoolArray = np.abs(counts - np.rint(counts)) <= ROUNDING * size
        return whole


@dataclass(frozen=True, eq=False)
class Changes:
    """How many features may ever differ from the start.

    Attributes:
        x: the start.
        most: number of features that may change.
        atoms: column of the atom code of each number that has one.
    """

    x: FloatArray
    most: int
    atoms: Mapping[int, int] = field(default_factory=dict)

    def of(self, waypoints: FloatArray) -> IntArray:
        """Return the features that change along a path."""
        return np.flatnonzero(self._by_feature((waypoints != self.x).any(axis=0)))

    def count(self, X: FloatArray) -> IntArray:
        """Return how many features of points, shape `(..., n)`, differ from the start."""
        number: IntArray = self._by_feature(self.x != X).sum(axis=-1)
        return number

    def _by_feature(self, changed: BoolArray) -> BoolArray:
        """Count a number and its atom code as one."""
        if not self.atoms:
            return changed
        features = changed[..., : changed.shape[-1] - len(self.atoms)].copy()
        for j, column in self.atoms.items():
            features[..., j] |= changed[..., column]
        return features


def project_paths(
    free: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    direction: IntArray,
    slabs: Slabs,
) -> FloatArray:
    """Return the nearest allowed waypoints after the start, shape `(paths, waypoints, n)`.

    Clipping to the bounds, which broadcast; isotonic along the path first where a direction is
    given: together the exact projection. Paths that then break a link are projected with the links.
    """
    moved, j = free, np.flatnonzero(direction)
    if len(j):
        moved, sign = free.copy(), direction[j][:, None]
        ordered = sign * isotonic(sign * np.swapaxes(free[..., j], -1, -2))
        moved[..., j] = np.swapaxes(ordered, -1, -2)
    inside: FloatArray = np.clip(moved, lower, upper)
    if len(slabs) == 0:
        return inside
    lower, upper = (np.broadcast_to(side, free.shape) for side in (lower, upper))
    broken = ~slabs.hold(inside)
    if len(j) == 0:
        level = slabs.onto_equations(free)  # the nearest points unless a bound interferes
        easy = broken & ((lower <= level) & (level <= upper)).all(axis=-1) & slabs.hold(level)
        inside[easy] = level[easy]
        for at in zip(*np.nonzero(broken & ~easy), strict=True):
            point, low, high = free[at][None], lower[at][None], upper[at][None]
            inside[at] = _nearest_path(point, low, high, direction, slabs)[0]
        return inside
    for i in np.flatnonzero(broken.any(axis=-1)):
        inside[i] = _nearest_path(free[i], lower[i], upper[i], direction, slabs)
    return inside


def _nearest_path(
    free: FloatArray, lower: FloatArray, upper: FloatArray, direction: IntArray, slabs: Slabs
) -> FloatArray:
    """Return the nearest waypoints, shape `(waypoints, n)`, that keep all rules at once."""
    waypoints, n = free.shape
    one, every = np.eye(free.size), np.eye(waypoints)
    order = np.diff(one.reshape(waypoints, n, -1), axis=0) * direction[:, None]
    linked = np.kron(every, slabs.A)
    rows = [one, -one, order.reshape(-1, free.size), linked, -linked]
    sides = [
        lower.ravel(),
        -upper.ravel(),
        np.zeros((waypoints - 1) * n),
        np.tile(slabs.low, waypoints),
        -np.tile(slabs.high, waypoints),
    ]
    G, h = np.concatenate(rows), np.concatenate(sides)
    real = np.isfinite(h) & G.any(axis=1)
    found = nearest(free.ravel(), G[real], h[real]).reshape(free.shape)
    inside: FloatArray = np.clip(found, lower, upper)
    return inside


def isotonic(values: FloatArray, crowd: IntArray | None = None) -> FloatArray:
    """Return the nearest non-decreasing sequence along the last axis.

    The min-max formula: entry k is the maximum over i <= k of the minimum over j >= k of the mean
    of the entries i..j.

    Args:
        values: shape `(..., size)`.
        crowd: numbers of groups, non-decreasing along the last axis; only entries of one group
            need to be in order. A single group when left out.
    """
    size = values.shape[-1]
    if size == 1:
        return values.copy()
    sums = np.concatenate([np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1)], axis=-1)
    begin, end = np.indices((size, size))
    length = np.maximum(end - begin + 1, 1)
    together = end >= begin
    if crowd is not None:
        together = together & (crowd[..., begin] == crowd[..., end])
    means = np.where(together, (sums[..., end + 1] - sums[..., begin]) / length, np.inf)
    smallest = np.minimum.accumulate(means[..., ::-1], axis=-1)[..., ::-1]
    largest: FloatArray = np.where(together, smallest, -np.inf).max(axis=-2)
    return largest if crowd is not None else np.maximum.accumulate(largest, axis=-1)
