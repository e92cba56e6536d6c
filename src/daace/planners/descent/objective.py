"""The functions that descent works on: cost of a batch of paths, slacks of the goal, gradients."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.landscape.cost import Landscape
from daace.landscape.feasible import project_paths
from daace.landscape.goal import GoalRegion
from daace.landscape.linear_constraints import Slabs
from daace.landscape.path import Quadrature
from daace.landscape.switches import SwitchPoints
from daace.planners.descent.tangent import Tangent

#: Slack that an end must keep from the edge of the goal, in nats.
MARGIN = 1e-6


@dataclass(frozen=True, eq=False)
class LinearOdds:
    """A linear model of a classifier's log-odds around one point for each path.

    Attributes:
        points: where the classifier was evaluated, shape `(paths, n)`.
        slack: its log-odds there minus the threshold, shape `(paths,)`.
        slopes: gradient of the slack there, shape `(paths, n)`.
    """

    points: FloatArray
    slack: FloatArray
    slopes: FloatArray

    def take(self, rows: np.ndarray) -> LinearOdds:
        """Return the models of some of the paths."""
        return LinearOdds(self.points[rows], self.slack[rows], self.slopes[rows])

    def at(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return slack and gradient at the ends X of the paths, each by its own model."""
        offsets = X - self.points
        return self.slack + np.einsum("bn,bn->b", self.slopes, offsets), self.slopes


@dataclass(frozen=True, eq=False)
class Objective:
    """Cost and goal slacks of a batch of paths; row i of every array belongs to path i.

    The free waypoints Z of a path are those after its start.

    Attributes:
        landscape: the terrain.
        region: the goal.
        rule: quadrature on each segment.
        starts: shape `(paths, n)`.
        lower: lower bounds of the free waypoints, shape `(paths, waypoints, n)`.
        upper: upper bounds, of the same shape.
        direction: 1 for features that may only rise along a path, -1 only fall, 0 free.
        slabs: linear links between features.
        weights: of each feature in the length; None if all are 1.
        unit: roughness that counts as 1, so that powers of it neither overflow nor vanish, shape
            `(paths,)`.
        odds_model: replaces the classifier at the ends; None to evaluate the classifier itself.
        pull: gradient of a linear term that is added to the cost at the ends, shape `(paths, n)`.
        switching: where switches are priced, which descent does not move; None if there are none.
    """

    landscape: Landscape
    region: GoalRegion
    rule: Quadrature
    starts: FloatArray
    lower: FloatArray
    upper: FloatArray
    direction: IntArray
    slabs: Slabs
    weights: FloatArray | None
    unit: FloatArray
    odds_model: LinearOdds | None = None
    pull: FloatArray | None = None
    switching: SwitchPoints | None = None

    def take(self, rows: np.ndarray) -> Objective:
        """Return the objective of some of the paths, in ascending order."""
        if len(rows) == len(self.starts):
            return self
        return replace(
            self,
            landscape=self.landscape.take(rows),
            region=self.region.take(rows),
            starts=self.starts[rows],
            lower=self.lower[rows],
            upper=self.upper[rows],
            unit=self.unit[rows],
            odds_model=None if self.odds_model is None else self.odds_model.take(rows),
            pull=None if self.pull is None else self.pull[rows],
            switching=None if self.switching is None else self.switching.take(rows),
        )

    def project(self, Z: FloatArray) -> FloatArray:
        """Return the nearest allowed waypoints."""
        return project_paths(Z, self.lower, self.upper, self.direction, self.slabs)

    def tangent(self, Z: FloatArray, wish: FloatArray, *, share: float = 0.0) -> Tangent:
        """Return the directions in which waypoints that would move by `wish` may move."""
        sides = self.lower, self.upper
        return Tangent.of(Z, wish, *sides, self.direction, self.slabs, share=share)

    def evaluate(self, Z: FloatArray) -> PathValues:
        """Return costs, slacks and their gradients at free waypoints Z."""
        region, land, end = self.region, self.landscape, Z[:, -1]
        paths = np.concatenate([self.starts[:, None], Z], axis=1)
        joint, there, pullback = region.density.log_joint_to_end(
            paths, self.rule.nodes, region.looks
        )
        segments = land.price_segments(
            joint, paths, self.rule, unit=self.unit, weights=self.weights
        )
        if region.differentiable:
            odds = None if self.odds_model is None else self.odds_model.at(end)
            slack, shares, known = region.slack_and_shares(there, end, odds)
        else:  # bounds fix the end, which is inside the goal
            slack, shares, known = np.ones((len(Z), 2)), 0.0 * there[:, None], [np.zeros_like(end)]
        gradient, slopes = pullback(segments.shares(), shares)
        gradient += segments.stretching()
        costs, switched = segments.costs, np.zeros_like(segments.costs)
        if self.switching is not None:
            switching = land.price_switch_points(self.switching, paths, unit=self.unit)
            switched = switching.costs
            costs = costs + switched
            gradient += switching.gradient()
        if known:
            slopes = np.concatenate([slopes, *(slope[:, None] for slope in known)], axis=1)
        cost, downhill = costs.sum(axis=1), gradient[:, 1:]
        if self.pull is not None:
            cost = cost + np.einsum("bn,bn->b", self.pull, end - self.starts)
            downhill[:, -1] += self.pull
        slack -= MARGIN
        violation = np.maximum(-slack, 0.0).sum(axis=1)
        lengths = segments.lengths
        return PathValues(cost, downhill, slack, slopes, costs, lengths, switched, violation)


@dataclass(eq=False)
class PathValues:
    """Cost, slacks and gradients of a batch of paths; row i belongs to path i.

    Attributes:
        cost: of each path, with its pull, shape `(paths,)`.
        gradient: of the cost, with respect to the free waypoints, shape `(paths, waypoints, n)`.
        slack: of the goal at the end, less `MARGIN`: of log p, then of each judge, shape
            `(paths, slacks)`.
        slopes: gradients of the slacks, shape `(paths, slacks, n)`.
        costs: of the segments, shape `(paths, segments)`, each with the switches before it.
        lengths: of the segments, of the same shape.
        switched: share of `costs` that switches have, of the same shape.
        violation: sum of the shortfalls of log p and of each judge, in nats, shape `(paths,)`.
    """

    cost: FloatArray
    gradient: FloatArray
    slack: FloatArray
    slopes: FloatArray
    costs: FloatArray
    lengths: FloatArray
    switched: FloatArray
    violation: FloatArray

    def put(self, rows: np.ndarray, other: PathValues) -> None:
        """Overwrite some rows with those of another batch."""
        for name in self.__dataclass_fields__:
            getattr(self, name)[rows] = getattr(other, name)

    def take(self, rows: np.ndarray) -> PathValues:
        """Return some of the rows."""
        return PathValues(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    def lagrangian(self, multipliers: FloatArray) -> FloatArray:
        """Return the gradient of cost minus multipliers times slacks."""
        gradient = self.gradient.copy()
        gradient[:, -1] -= np.einsum("bc,bcn->bn", multipliers, self.slopes)
        return gradient

    def merit(self, rho: FloatArray) -> FloatArray:
        """Return the l1 merit function: cost plus rho times the violation."""
        return self.cost + rho * self.violation
