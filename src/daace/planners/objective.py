"""What descent asks about a batch of paths: cost, slacks of the goal, and their gradients."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.landscape.cost import Landscape
from daace.landscape.feasible import project_paths
from daace.landscape.goal import GoalRegion
from daace.landscape.linear_constraints import Slabs
from daace.landscape.path import Quadrature
from daace.planners.tangent import Tangent

#: Slack to keep to the goal's edge, in nats.
MARGIN = 1e-6


@dataclass(frozen=True, eq=False)
class Lines:
    """The slack of a classifier's log-odds, continued straight from a point; one for each path.

    Attributes:
        points: where it was asked, shape `(paths, n)`.
        slack: what it said there, above the threshold, shape `(paths,)`.
        slopes: of the slack, shape `(paths, n)`.
    """

    points: FloatArray
    slack: FloatArray
    slopes: FloatArray

    def take(self, rows: np.ndarray) -> Lines:
        """Return the lines of some of the paths."""
        return Lines(self.points[rows], self.slack[rows], self.slopes[rows])

    def at(self, X: FloatArray, rows: np.ndarray) -> tuple[FloatArray, FloatArray]:
        """Return the slack, and its gradient, at the ends of some of the paths."""
        slopes = self.slopes[rows]
        ways = X - self.points[rows]
        return self.slack[rows] + np.einsum("bn,bn->b", slopes, ways), slopes


@dataclass(frozen=True, eq=False)
class Objective:
    """Cost and goal slacks of a batch of paths; row i of every array belongs to path i.

    Attributes:
        starts: shape `(paths, n)`.
        lower, upper: bounds of the free waypoints, shape `(paths, waypoints, n)`.
        direction, slabs: as in `FeasibleSet`.
        unit: roughness that counts as 1 inside the optimiser.
        margin: slack to keep, in nats.
        lines: what a classifier is taken to say of the ends; it is asked itself when left out.
        pull: a slope of the cost at the ends besides that of the terrain, shape `(paths, n)`.
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
    margin: float = MARGIN
    lines: Lines | None = None
    pull: FloatArray | None = None

    def take(self, rows: np.ndarray, lines: Lines | None) -> Objective:
        """Return the objective of some of the paths."""
        return replace(
            self,
            starts=self.starts[rows],
            lower=self.lower[rows],
            upper=self.upper[rows],
            unit=self.unit[rows],
            lines=lines,
            pull=None if self.pull is None else self.pull[rows],
        )

    def project(self, Z: FloatArray, rows: np.ndarray) -> FloatArray:
        """Return the nearest allowed waypoints."""
        return project_paths(Z, self.lower[rows], self.upper[rows], self.direction, self.slabs)

    def tangent(
        self, Z: FloatArray, wish: FloatArray, rows: np.ndarray, *, share: float = 0.0
    ) -> Tangent:
        """Return where waypoints that wish to move may go."""
        lower, upper = self.lower[rows], self.upper[rows]
        return Tangent.of(Z, wish, lower, upper, self.direction, self.slabs, share=share)

    def paths(self, Z: FloatArray, rows: np.ndarray) -> FloatArray:
        """Return the full paths of free waypoints Z."""
        return np.concatenate([self.starts[rows][:, None], Z], axis=1)

    def evaluate(self, Z: FloatArray, rows: np.ndarray) -> Values:
        """Return costs, slacks and their gradients."""
        paths, end = self.paths(Z, rows), Z[:, -1]
        region, nodes = self.region, self.rule.nodes
        joint, there, pullback = region.density.log_joint_to_end(paths, nodes, region.looks)
        segments = self.landscape.price_segments(
            joint, paths, self.rule, unit=self.unit[rows], weights=self.weights
        )
        if region.differentiable:
            odds = None if self.lines is None else self.lines.at(end, rows)
            slack, shares, known = region.slack_and_shares(there, end, odds)
        else:  # the bounds hold the end where it is, inside the goal
            slack, shares, known = np.ones((len(Z), 2)), 0.0 * there[:, None], [np.zeros_like(end)]
        gradient, slopes = pullback(segments.shares(), shares)
        gradient += segments.stretching()
        slopes = np.concatenate([slopes, *(slope[:, None] for slope in known)], axis=1)
        cost, downhill = segments.costs.sum(axis=1), gradient[:, 1:]
        if self.pull is not None:
            pull = self.pull[rows]
            cost = cost + np.einsum("bn,bn->b", pull, end - self.starts[rows])
            downhill[:, -1] += pull
        slack -= self.margin
        return Values(cost, downhill, slack, slopes, segments.costs, segments.lengths)


@dataclass(eq=False)
class Values:
    """What is known about a batch of paths where they are; row i belongs to path i.

    Attributes:
        cost: of each path, with its pull, shape `(paths,)`.
        gradient: of the cost, with respect to the free waypoints.
        slack: of the two thresholds of the goal at the end, less the margin, shape `(paths, 2)`.
        slopes: of the slacks, shape `(paths, 2, n)`.
        costs, lengths: of the segments.
    """

    cost: FloatArray
    gradient: FloatArray
    slack: FloatArray
    slopes: FloatArray
    costs: FloatArray
    lengths: FloatArray

    def put(self, rows: np.ndarray, other: Values, chosen: np.ndarray) -> None:
        for name in self.__dataclass_fields__:
            getattr(self, name)[rows] = getattr(other, name)[chosen]

    def take(self, rows: np.ndarray) -> Values:
        return Values(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    def lagrangian(self, multipliers: FloatArray) -> FloatArray:
        """Return the gradient of cost minus multipliers times slacks."""
        gradient = self.gradient.copy()
        gradient[:, -1] -= np.einsum("bc,bcn->bn", multipliers, self.slopes)
        return gradient

    @property
    def violation(self) -> FloatArray:
        total: FloatArray = np.maximum(-self.slack, 0.0).sum(axis=1)
        return total

    def merit(self, rho: FloatArray) -> FloatArray:
        """Return the l1 merit: cost, and rho for each nat of violation."""
        return self.cost + rho * self.violation
