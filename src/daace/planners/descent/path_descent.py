"""Descent of many paths over the terrain of one problem: quadrature, bounds and scale for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.landscape.cost import Landscape
from daace.landscape.goal import GoalRegion
from daace.landscape.path import gauss_rule, segment_lengths
from daace.landscape.problem import Problem
from daace.planners.base import Clock
from daace.planners.descent.linearized import minimize_linearized
from daace.planners.descent.objective import Objective
from daace.planners.descent.quasi_newton import Metric
from daace.planners.descent.sqp import DescentResult, minimize

#: Smallest and largest number of quadrature nodes per segment.
MIN_NODES = 8
MAX_NODES = 128

#: Largest number of nodes before two rules have been compared.
FIRST_NODES = 32

#: Largest number of rounds in which paths are moved to rest.
ITERATIONS = 100


class PathTerrain(NamedTuple):
    """The landscape and goal of paths, which may have their own ground and threshold of log p."""

    landscape: Landscape
    region: GoalRegion

    @classmethod
    def of(cls, problem: Problem) -> PathTerrain:
        """Return the terrain of one problem, for any number of paths."""
        return cls(problem.landscape, problem.region)

    def take(self, rows: np.ndarray) -> PathTerrain:
        """Return the terrain of some of the paths."""
        return PathTerrain(self.landscape.take(rows), self.region.take(rows))


@dataclass(frozen=True, eq=False)
class PathDescent:
    """Minimises the cost of paths of problems that share landscape, goal and constraints.

    Args:
        problem: one of these problems.
        metric: shape of the terrain.
        tolerance: a path rests when a step promises less than this share of its cost.
        clock: counts evaluations and limits the time.
    """

    problem: Problem
    metric: Metric
    tolerance: float
    clock: Clock

    @classmethod
    def over(cls, problem: Problem, *, tolerance: float, clock: Clock) -> PathDescent:
        """Return the descent for a problem, with the metric of its target class.

        Args:
            problem: the problem.
            tolerance: a path rests when a step promises less than this share of its cost.
            clock: counts evaluations and limits the time.
        """
        pool = problem.landscape.density.pool(problem.goal.target)
        switches = problem.landscape.switches
        codes = None if switches is None else switches.columns
        return cls(problem, Metric.of(pool, _weights(problem), codes), tolerance, clock)

    @property
    def weights(self) -> FloatArray | None:
        """Weight of each feature in the length; None if all are 1."""
        return _weights(self.problem)

    def minimize(
        self,
        paths: FloatArray,
        *,
        nodes: int,
        lower: FloatArray,
        upper: FloatArray,
        unit: FloatArray,
        terrain: PathTerrain | None = None,
        iterations: int = ITERATIONS,
        pull: FloatArray | None = None,
    ) -> DescentResult:
        """Move paths to local minima; where the posterior has no gradient, the ends stay.

        Args:
            paths: shape `(paths, waypoints, n)`, the start first.
            nodes: quadrature nodes per segment.
            lower: lower bounds, shape `(paths, n)` or, without the start, `(paths, waypoints, n)`.
            upper: upper bounds, of the same shape.
            unit: roughness that counts as 1, shape `(paths,)`; see `roughness_unit`.
            terrain: of the paths; that of the descent's problem when left out.
            iterations: largest number of rounds.
            pull: gradient of a linear term that is added to the cost at the ends, in units of
                `unit ** penalty`, shape `(paths, n)`.
        """
        Z = paths[:, 1:]
        if lower.ndim == 2:
            lower, upper = lower[:, None], upper[:, None]
        lower, upper = (np.broadcast_to(side, Z.shape).copy() for side in (lower, upper))
        codes = self.problem.feasible.codes
        if codes is not None:  # descent moves numbers only
            lower, upper = codes.hold(Z, lower, upper)
        if not self.problem.region.differentiable:
            lower[:, -1] = upper[:, -1] = Z[:, -1]
        landscape, region = PathTerrain.of(self.problem) if terrain is None else terrain
        objective = Objective(
            landscape=landscape,
            region=region,
            rule=gauss_rule(nodes),
            starts=paths[:, 0],
            lower=lower,
            upper=upper,
            direction=self.problem.feasible.direction,
            slabs=self.problem.feasible.slabs,
            weights=self.weights,
            unit=unit,
            pull=pull,
            switching=None
            if landscape.switches is None
            else landscape.switches.points(paths, self.weights),
        )
        with np.errstate(over="ignore", invalid="ignore"):  # a step that overflows is not accepted
            run = minimize if self.problem.region.smooth_posterior is None else minimize_linearized
            result = run(
                objective,
                Z,
                self.metric,
                iterations=iterations,
                tolerance=self.tolerance,
                expired=lambda: self.clock.expired,
            )
        self.clock.evaluations += result.evaluations
        return result

    def costs(
        self,
        paths: FloatArray,
        *,
        nodes: int,
        unit: FloatArray,
        landscape: Landscape | None = None,
    ) -> FloatArray:
        """Return the cost of every segment, in units of `unit ** penalty`.

        Args:
            paths: shape `(paths, waypoints, n)`.
            nodes: quadrature nodes per segment.
            unit: roughness that counts as 1, shape `(paths,)`.
            landscape: of the paths; that of the descent's problem when left out.
        """
        self.clock.evaluations += len(paths)
        land = self.problem.landscape if landscape is None else landscape
        return land.segment_costs(paths, gauss_rule(nodes), unit=unit, weights=self.weights)

    def nodes(self, paths: FloatArray) -> IntArray:
        """Return, for each path, the power of two of nodes that resolves the terrain."""
        landscape = self.problem.landscape
        longest = segment_lengths(landscape.travel_vectors(paths)).max(axis=1)
        least = max(MIN_NODES, landscape.penalty + 1)
        needed = np.maximum(least, longest / landscape.density.resolution_)
        powers = np.exp2(np.ceil(np.log2(needed)))
        nodes: IntArray = np.minimum(MAX_NODES, powers).astype(np.intp)
        return nodes

    def by_nodes(self, paths: FloatArray, owner: IntArray) -> Iterator[tuple[int, np.ndarray]]:
        """Yield numbers of nodes, the smallest first, and the rows of the paths that need them.

        The paths of a problem share a number, at most `FIRST_NODES`, so that they are moved
        together; those of other problems do not change their result.

        Args:
            paths: shape `(paths, waypoints, n)`.
            owner: index of the problem of each path.
        """
        most = np.zeros(int(owner.max(initial=-1)) + 1, dtype=np.intp)
        np.maximum.at(most, owner, np.minimum(self.nodes(paths), FIRST_NODES))
        nodes = most[owner]
        for count in np.unique(nodes):
            yield int(count), np.flatnonzero(nodes == count)


def _weights(problem: Problem) -> FloatArray | None:
    return problem.feasible.weights if problem.feasible.weighted else None


def roughness_unit(problem: Problem, points: FloatArray) -> FloatArray:
    """Return the roughness at points, at least 1: the unit of roughness during descent."""
    landscape = problem.landscape
    rough = np.abs(landscape.roughness(landscape.density.log_prob(points)))
    return np.maximum(1.0, rough)
