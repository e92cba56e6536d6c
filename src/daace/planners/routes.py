"""Ways over a graph to points that meet the goal of a problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daace._typing import BoolArray, FloatArray
from daace.landscape.problem import Problem
from daace.planners.graph import Graph
from daace.planners.seeds import best_reached, spread_out


@dataclass(frozen=True, eq=False)
class Routes:
    """What a query to a graph found.

    Attributes:
        paths: the start and the points on the way, each of shape `(waypoints, n)`, the shortest
            first; none when no way leads to the goal.
        reachable: the best slacks of the goal's thresholds, in nats, among the points that the
            start can get to: relaxed to these, the goal is found.
        joined: points that the start is joined to.
        reached: points that the start can get to.
        meeting: points that meet the goal, whether it can get there or not.
        shifted: whether weights were negative and were shifted, as in the paper's experiments:
            the shortest way is then not the cheapest.
    """

    paths: list[FloatArray]
    reachable: tuple[float, float]
    joined: int
    reached: int
    meeting: int
    shifted: bool


def find_routes(
    graph: Graph, problem: Problem, count: int = 1, *, relief: float = 0.0, n_jobs: int = 1
) -> Routes:
    """Return the shortest ways over a graph from the start to points that meet the goal.

    Args:
        graph: on points of the problem's density.
        problem: start, terrain, goal and constraints.
        count: ways, to different ends: one half the nearest by weight, the others far apart.
        relief: nats by which the ground is raised, at most to the level of dense ground.
        n_jobs: processes, where the graph has no cache.
    """
    ways = graph.shortest(
        problem.x, problem.landscape, problem.feasible, relief=relief, n_jobs=n_jobs
    )
    slack = problem.region.slack_of(graph.log_joint, graph.points)
    meets: BoolArray = np.all(slack >= 0, axis=1)
    reached = np.isfinite(ways.distance)
    ends = np.flatnonzero(meets & reached)
    ends = ends[np.argsort(ways.distance[ends], kind="stable")]
    if count > 1 and len(ends):
        ends = ends[spread_out(graph.points[ends], ways.distance[ends], count)]
    paths: list[FloatArray] = []
    for end in ends:
        if len(paths) < count and problem.met_by(graph.points[end]):  # alone it may round down
            paths.append(np.concatenate([problem.x[None], graph.points[ways.route(int(end))]]))
    return Routes(
        paths,
        best_reached(slack[reached]),
        ways.joined,
        int(reached.sum()),
        int(meets.sum()),
        ways.shifted,
    )
