"""How paths are moved downhill: nodes that resolve the terrain, bounds, a scale for each path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.landscape.path import gauss_rule, segment_lengths, segment_vectors
from daace.landscape.problem import Problem
from daace.planners.base import Clock
from daace.planners.following import follow
from daace.planners.objective import Objective
from daace.planners.quasi_newton import Metric
from daace.planners.sqp import Outcome, minimize

#: Nodes of the quadrature inside the optimiser: at least, and at most.
MIN_NODES = 8
MAX_NODES = 128

#: Steps of a path that is moved to rest.
ITERATIONS = 100


@dataclass(frozen=True, eq=False)
class Descent:
    """Minimises paths of problems that share landscape, goal and constraints.

    Args:
        problem: one of them.
        metric: shape of the terrain.
        tolerance: a path rests when a step promises less than this share of its cost.
        clock: counts evaluations, and says when time is over.
    """

    problem: Problem
    metric: Metric
    tolerance: float
    clock: Clock

    @classmethod
    def over(cls, problem: Problem, *, tolerance: float, clock: Clock) -> Descent:
        """Prepare to move paths over the terrain of a problem."""
        pool = problem.landscape.density.pool(problem.goal.target)
        return cls(problem, Metric.of(pool, _weights(problem)), tolerance, clock)

    @property
    def weights(self) -> FloatArray | None:
        """Of each feature in the length; None where all are 1."""
        return _weights(self.problem)

    def minimize(
        self,
        paths: FloatArray,
        *,
        nodes: int,
        lower: FloatArray,
        upper: FloatArray,
        unit: FloatArray,
        iterations: int = ITERATIONS,
        pull: FloatArray | None = None,
    ) -> Outcome:
        """Move paths to rest, within bounds of shape `(paths, n)` or `(paths, waypoints, n)`.

        An end whose posterior has no gradient stays where it is. `pull` is a slope of the cost at
        the ends besides that of the terrain, in the same units, shape `(paths, n)`.
        """
        Z = paths[:, 1:]
        if lower.ndim == 2:
            lower, upper = lower[:, None], upper[:, None]
        lower, upper = (np.broadcast_to(side, Z.shape).copy() for side in (lower, upper))
        if not self.problem.region.differentiable:
            lower[:, -1] = upper[:, -1] = Z[:, -1]
        objective = Objective(
            landscape=self.problem.landscape,
            region=self.problem.region,
            rule=gauss_rule(nodes),
            starts=paths[:, 0],
            lower=lower,
            upper=upper,
            direction=self.problem.feasible.direction,
            slabs=self.problem.feasible.slabs,
            weights=self.weights,
            unit=unit,
            pull=pull,
        )
        with np.errstate(over="ignore", invalid="ignore"):  # a step too far is not accepted
            run = minimize if self.problem.region.smooth_posterior is None else follow
            outcome = run(
                objective,
                Z,
                self.metric,
                iterations=iterations,
                tolerance=self.tolerance,
                expired=lambda: self.clock.expired,
            )
        self.clock.evaluations += outcome.evaluations
        return outcome

    def costs(self, paths: FloatArray, *, nodes: int, unit: FloatArray) -> FloatArray:
        """Return the cost of every segment, in units of `unit ** penalty`."""
        self.clock.evaluations += len(paths)
        return self.problem.landscape.segment_costs(
            paths, gauss_rule(nodes), unit=unit, weights=self.weights
        )

    def nodes(self, paths: FloatArray) -> IntArray:
        """Return, path by path, a number of nodes that resolves the terrain: a power of two."""
        longest = segment_lengths(segment_vectors(paths)).max(axis=1)
        landscape = self.problem.landscape
        least = max(MIN_NODES, landscape.penalty + 1)
        wanted = np.maximum(least, longest / landscape.density.resolution_)
        powers = np.exp2(np.ceil(np.log2(wanted)))
        nodes: IntArray = np.minimum(MAX_NODES, powers).astype(np.intp)
        return nodes

    def by_nodes(self, paths: FloatArray) -> Iterator[tuple[int, np.ndarray]]:
        """Yield numbers of nodes and the paths that need so many, few first.

        Each path has its own: one long path does not make the others dearer, nor change them.
        """
        nodes = self.nodes(paths)
        for count in np.unique(nodes):
            yield int(count), np.flatnonzero(nodes == count)


def _weights(problem: Problem) -> FloatArray | None:
    return problem.feasible.weights if problem.feasible.weighted else None
