"""The density as terrain: dense regions are flat ground, empty regions are mountains.

The idea of the method, in three lines: at a point x the ground is rough by `u(x)`, which grows as
log p(x) falls; crossing it costs `f(u) = sign(u) |u|^penalty` per unit of length; a path costs the
integral of f along it. The cheapest path to a goal goes where people like you already are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from daace._checks import check_choice, check_integer, check_number
from daace._typing import FloatArray, IntArray
from daace.density.base import ConditionalDensity
from daace.density.bayes import log_sum_exp
from daace.exceptions import InvalidInput
from daace.landscape.ground import Ground, PathGround, Segments, Switching
from daace.landscape.path import (
    EPSILON,
    PANEL,
    Quadrature,
    gauss_rule,
    midpoint_rule,
    segment_lengths,
    segment_vectors,
)
from daace.landscape.switches import Switches, SwitchPoints

#: Two rules that agree to this, relative to the size of the integrand, have converged.
CONVERGED = 1e-7
MAX_NODES = 1024

#: Beyond it the powers of a roughness of a thousand, that of an outlier, no longer fit a number.
MAX_PENALTY = 100.0

#: exp(709) is the largest number; a path may be rougher between its waypoints than at them.
LARGEST_POWER = 500.0


@dataclass(frozen=True, eq=False)
class Landscape:
    """Local cost, cost of a path, and gradients.

    Args:
        density: a fitted density.
        penalty: how much more rough ground costs; 0 gives the plain length.
        scale: 'relative' measures log p in robust standard deviations s below the level L of
            dense ground, `u = max(1, 1 + (L - log p) / s)`, so that a cost is never below the
            length and a penalty means the same on every table. 'nll' is the paper's
            `u = -log p`: negative where p > 1, where it rewards detours.
        ground: level and spread of log p for 'relative'; those of the density's draws when left
            out. A `Problem` sets it: to those of draws that share what is fixed, or to its
            argument `draws`.

    Example:
        >>> from daace import GaussianMixture
        >>> density = GaussianMixture([1, 1], [[0.0], [3.0]], [[[1.0]], [[1.0]]], ["a", "b"])
        >>> round(Landscape(density, penalty=0).path_cost(np.array([[0.0], [2.0]])), 6)
        2.0
    """

    density: ConditionalDensity
    penalty: float = 1.0
    scale: Literal["relative", "nll"] = "relative"
    ground: Ground | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.density, ConditionalDensity):
            raise InvalidInput(
                argument="density",
                expected="be a ConditionalDensity",
                got=type(self.density).__name__,
            )
        self.density.draws_  # noqa: B018  # raises if the density is not fitted
        check_choice("scale", self.scale, ("relative", "nll"))
        check_number("penalty", self.penalty, at_least=0, at_most=MAX_PENALTY)

    @cached_property
    def switches(self) -> Switches | None:
        """Lengths of the switches between codes; None if all features are plain numbers."""
        return Switches.of(self.density)

    def roughness(self, log_prob: FloatArray) -> FloatArray:
        """Return u, on this landscape's scale."""
        if self.scale == "nll":
            return -log_prob
        level, spread = self._level_and_spread(log_prob)
        u: FloatArray = np.maximum(1.0, 1.0 + (level - log_prob) / spread)
        return u

    @property
    def level(self) -> Any:
        """Smallest log p of flat ground: a number, or one for each path."""
        return (self.density.draws_ if self.ground is None else self.ground).level

    @property
    def spread(self) -> Any:
        """Spread of log p: a number, or one for each path."""
        return (self.density.draws_ if self.ground is None else self.ground).spread

    def _level_and_spread(self, along: FloatArray) -> tuple[Any, Any]:
        """Return both in a shape that fits an array whose first axis is that of the paths."""
        level, spread = self.level, self.spread
        if isinstance(level, np.ndarray):
            shape = (-1, *(1 for _ in range(along.ndim - 1)))
            return level.reshape(shape), spread.reshape(shape)
        return level, spread

    def take(self, rows: np.ndarray) -> Landscape:
        """Return the landscape of some of the paths."""
        if not isinstance(self.ground, PathGround):
            return self
        return replace(self, ground=PathGround(self.ground.level[rows], self.ground.spread[rows]))

    def alike(self, other: Landscape) -> bool:
        """Whether another landscape differs only in its ground, if at all."""
        same = self.density is other.density and self.scale == other.scale
        return same and self.penalty == other.penalty

    @property
    def rewards_detours(self) -> bool:
        """Whether dense ground is so dense (p > 1, on the raw scale) that crossing it pays."""
        return self.scale == "nll" and self.density.draws_.level > 0

    def roughness_slope(self, u: FloatArray) -> FloatArray:
        """Return du / dlog p."""
        if self.scale == "nll":
            return np.full_like(u, -1.0)
        return np.where(u > 1.0, -1.0 / self._level_and_spread(u)[1], 0.0)

    def price(self, u: FloatArray) -> FloatArray:
        """Return `f(u) = sign(u) |u|^penalty`, and 1 everywhere when the penalty is 0."""
        if self.penalty in (0, 1):
            return u if self.penalty else np.ones_like(u)
        return np.sign(u) * np.abs(u) ** self.penalty

    def price_slope(self, u: FloatArray) -> FloatArray:
        """Return `f'(u) = penalty |u|^(penalty - 1)`."""
        if self.penalty in (0, 1):
            return np.full_like(u, self.penalty)
        floor = 0.0 if self.penalty >= 1 else 1e-12  # a root has no slope at zero
        return self.penalty * np.maximum(np.abs(u), floor) ** (self.penalty - 1)

    def local_cost(self, X: FloatArray) -> FloatArray:
        """Return f(u(x)) for each row."""
        return self.price(self.roughness(self.density.log_prob(X)))

    def path_cost(
        self,
        waypoints: FloatArray,
        *,
        rule: Literal["gauss", "midpoint"] = "gauss",
        pieces: int = 19,
        weights: FloatArray | None = None,
    ) -> float:
        """Return the cost of a polyline: sum over segments of the integral of f(u) ds.

        Where codes change from one waypoint to the next, the switch is priced at the first of them,
        and the segment is travelled with the codes of the second.

        Args:
            waypoints: shape `(waypoints, n)`, model space.
            rule: 'gauss' refines until it has converged; 'midpoint' takes `pieces` equal pieces
                per segment, as the paper's experiments did.
            pieces: for 'midpoint' only.
            weights: weight of each feature in the length; all 1 when left out.
        """
        path = self._check_path(waypoints)
        check_choice("rule", rule, ("gauss", "midpoint"))
        check_integer("pieces", pieces, at_least=1)
        if rule == "gauss":
            return float(self.path_costs(path[None], weights=weights)[0])
        unit = self._units(path[None])
        costs = self.segment_costs(path[None], midpoint_rule(pieces), unit=unit, weights=weights)
        with np.errstate(over="ignore"):  # what exceeds the largest number is infinite
            return float(costs.sum() * unit[0] ** self.penalty)

    def path_costs(self, paths: FloatArray, *, weights: FloatArray | None = None) -> FloatArray:
        """Return the cost of many polylines of shape `(paths, waypoints, n)`, together.

        Each is evaluated by a rule of its own, refined until it has converged, as if alone.
        """
        unit = self._units(paths)
        _, costs = self._converge(paths, unit, weights)
        with np.errstate(over="ignore"):
            total: FloatArray = costs.sum(axis=1) * unit**self.penalty
            return total

    def path_cost_and_grad(self, waypoints: FloatArray) -> tuple[float, FloatArray]:
        """Return the cost of a polyline and its gradient, shape `(waypoints, n)`."""
        path = self._check_path(waypoints)
        unit = self._units(path[None])
        rule = self.converged_rule(path)
        costs, gradient = self.segment_costs_and_gradient(path[None], rule, unit=unit)
        with np.errstate(over="ignore"):
            scale = unit[0] ** self.penalty
            return float(costs.sum() * scale), gradient()[0] * scale

    def segment_costs(
        self,
        paths: FloatArray,
        rule: Quadrature,
        *,
        unit: FloatArray | float = 1.0,
        weights: FloatArray | None = None,
    ) -> FloatArray:
        """Return the cost of every segment of many paths, as `segment_costs_and_gradient` does."""
        return self.segment_costs_and_gradient(paths, rule, unit=unit, weights=weights)[0]

    def segment_costs_and_gradient(
        self,
        paths: FloatArray,
        rule: Quadrature,
        *,
        unit: FloatArray | float = 1.0,
        weights: FloatArray | None = None,
    ) -> tuple[FloatArray, Callable[[], FloatArray]]:
        """Return the cost of every segment of many paths, and a function giving the gradient.

        Args:
            paths: shape `(paths, waypoints, n)`.
            rule: where to evaluate each segment.
            unit: u is divided by it, path by path, so that no power overflows.
            weights: weight of each feature in the length, shape `(n,)` or `(paths, n)`.

        Returns:
            Costs of shape `(paths, segments)`, in units of `unit ** penalty`, each with the
            switches at its first waypoint, and a function that returns the gradient of each path's
            total, shape `(paths, waypoints, n)`.
        """
        joint, pullback = self.density.log_joint_along(paths, rule.nodes)
        segments = self.price_segments(joint, paths, rule, unit=unit, weights=weights)
        switching = self.price_switches(paths, unit=unit, weights=weights)
        costs = segments.costs if switching is None else segments.costs + switching.costs

        def gradient() -> FloatArray:
            slopes = pullback(segments.shares()) + segments.stretching()
            return slopes if switching is None else slopes + switching.gradient()

        return costs, gradient

    def price_switches(
        self,
        paths: FloatArray,
        *,
        unit: FloatArray | float = 1.0,
        weights: FloatArray | None = None,
    ) -> Switching | None:
        """Return the costs of the switches of many paths; None if there are none.

        Args:
            paths: as in `segment_costs_and_gradient`.
            unit: as in `segment_costs_and_gradient`.
            weights: as in `segment_costs_and_gradient`.
        """
        points = None if self.switches is None else self.switches.points(paths, weights)
        return None if points is None else self.price_switch_points(points, paths, unit=unit)

    def price_switch_points(
        self, points: SwitchPoints, paths: FloatArray, *, unit: FloatArray | float = 1.0
    ) -> Switching:
        """Return what the switches of many paths cost where it is known where they are.

        Args:
            points: where the switches are priced.
            paths: as in `segment_costs_and_gradient`.
            unit: as in `segment_costs_and_gradient`.
        """
        assert self.switches is not None
        X = paths[points.path, points.waypoint]
        X[:, self.switches.columns] = points.codes
        joint, pullback = self.density.log_joint_and_pullback(X)
        log_prob = log_sum_exp(joint)
        here = self.take(points.path)
        u = here.roughness(log_prob)
        units = np.broadcast_to(unit, paths.shape[:1])[points.path]
        at = (points.path, points.waypoint)
        costs = np.zeros((len(paths), paths.shape[1] - 1))
        np.add.at(costs, at, points.share * self.price(u / units))

        def gradient() -> FloatArray:
            slope = points.share * self.price_slope(u / units) * here.roughness_slope(u) / units
            total = np.zeros_like(paths)
            shares = slope[:, None] * np.exp(joint - log_prob[:, None])
            np.add.at(total, at, pullback(shares))
            return total

        return Switching(costs, gradient)

    def price_segments(
        self,
        joint: FloatArray,
        paths: FloatArray,
        rule: Quadrature,
        *,
        unit: FloatArray | float = 1.0,
        weights: FloatArray | None = None,
    ) -> Segments:
        """Return the costs of segments along which log p(x, y) is known, and their derivatives.

        Args:
            joint: log p(x, y) at the nodes of the rule, shape `(paths, segments, nodes, classes)`.
            paths: as in `segment_costs_and_gradient`.
            rule: as in `segment_costs_and_gradient`.
            unit: as in `segment_costs_and_gradient`.
            weights: as in `segment_costs_and_gradient`.
        """
        vectors = segment_vectors(paths)
        weights = self._travel(weights)
        metric = 1.0 if weights is None else np.broadcast_to(weights, paths[:, 0].shape)[:, None]
        lengths = segment_lengths(vectors * metric)
        log_prob = log_sum_exp(joint)
        u = self.roughness(log_prob)
        units = np.broadcast_to(unit, paths.shape[:1])[:, None, None]
        average = self.price(u / units) @ rule.weights

        def shares() -> FloatArray:
            slope = self.price_slope(u / units) * self.roughness_slope(u) / units
            share = slope * (lengths[..., None] * rule.weights)
            result: FloatArray = share[..., None] * np.exp(joint - log_prob[..., None])
            return result

        def stretching() -> FloatArray:
            along = vectors * (average / np.maximum(lengths, EPSILON))[..., None] * metric**2
            total = np.zeros_like(paths)
            total[:, 1:] += along
            total[:, :-1] -= along
            return total

        return Segments(lengths * average, lengths, shares, stretching)

    def converged_rule(self, path: FloatArray) -> Quadrature:
        """Return the shortest rule that has converged on this path, compared with a doubled one."""
        nodes, _ = self._converge(path[None], self._units(path[None]), None)
        return gauss_rule(int(nodes[0]))

    def _converge(
        self, paths: FloatArray, unit: FloatArray, weights: FloatArray | None
    ) -> tuple[IntArray, FloatArray]:
        """Double rules until they have converged; return their nodes, and the segments' costs."""

        def costs_with(nodes: IntArray, rows: IntArray) -> FloatArray:
            costs = np.empty((len(rows), paths.shape[1] - 1))
            for count in np.unique(nodes):
                same = nodes == count
                costs[same] = self.take(rows[same]).segment_costs(
                    paths[rows[same]],
                    gauss_rule(int(count)),
                    unit=unit[rows[same]],
                    weights=weights,
                )
            return costs

        longest = segment_lengths(self.travel_vectors(paths)).max(axis=1, initial=0.0)
        least = PANEL * max(1, int(np.ceil((self.penalty + 1) / PANEL)))
        doublings = np.ceil(np.log2(np.maximum(longest / self.density.resolution_ / least, 1.0)))
        nodes = np.minimum(least * 2.0**doublings, max(least, MAX_NODES)).astype(np.intp)
        rows = np.arange(len(paths))
        costs = costs_with(nodes, rows)
        rows = rows[nodes < MAX_NODES]
        while len(rows):
            nodes[rows] *= 2
            fine = costs_with(nodes[rows], rows)
            change = np.abs(fine - costs[rows]).sum(axis=1)
            costs[rows] = fine
            open_ = (change > CONVERGED * np.abs(fine).sum(axis=1)) & (nodes[rows] < MAX_NODES)
            rows = rows[open_]
        return nodes, costs

    def travel_vectors(self, paths: FloatArray) -> FloatArray:
        """Return the vectors between consecutive waypoints, 0 for codes."""
        vectors = segment_vectors(paths)
        return vectors if self.switches is None else vectors * self.switches.travel

    def _travel(self, weights: FloatArray | None) -> FloatArray | None:
        """Return weights in the length of a segment, with 0 for codes."""
        if self.switches is None:
            return weights
        return self.switches.travel if weights is None else weights * self.switches.travel

    def _units(self, paths: FloatArray) -> FloatArray:
        """Return the unit of roughness, mostly 1, so that no power overflows."""
        log_prob = self.density.log_prob(paths.reshape(-1, paths.shape[-1]))
        roughest = np.abs(self.roughness(log_prob.reshape(paths.shape[:2]))).max(axis=1)
        large = self.penalty * np.log(np.maximum(roughest, 1.0)) > LARGEST_POWER
        units: FloatArray = np.where(large, roughest, 1.0)
        return units

    def _check_path(self, waypoints: FloatArray) -> FloatArray:
        path = np.asarray(waypoints, dtype=np.float64)
        n = self.density.encoding_.width
        if path.ndim != 2 or path.shape[1] != n or not len(path):
            shape = f"have shape (waypoints, {n})"
            raise InvalidInput(argument="waypoints", expected=shape, got=str(path.shape))
        return path
