"""Routes over a graph to points that meet the goal of a problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daace._typing import BoolArray, FloatArray
from daace.landscape.problem import Problem
from daace.planners.base import best_slacks
from daace.planners.graphs.graph import Graph


@dataclass(frozen=True, eq=False)
class GoalRoutes:
    """The result of a query to a graph.

    Attributes:
        paths: the start and the points of each route, each of shape `(waypoints, n)`, the shortest
            first; empty if no route leads to the goal.
        reachable: the best slacks of the goal's thresholds, in nats, among the points that the
            start is connected to: relaxed by these amounts, the goal is found.
        joined: number of points that the start is joined to.
        reached: number of points that the start is connected to.
        meeting: number of points that meet the goal, connected or not.
        shifted: whether weights were negative and were shifted, as in the paper's experiments:
            the shortest route is then not the cheapest.
    """

    paths: list[FloatArray]
    reachable: tuple[float, float]
    joined: int
    reached: int
    meeting: int
    shifted: bool


def find_goal_routes(
    graph: Graph, problem: Problem, count: int = 1, *, relief: float = 0.0, n_jobs: int = 1
) -> GoalRoutes:
    """Return the shortest routes over a graph from the start to points that meet the goal.

    Args:
        graph: on points of the problem's density.
        problem: start, terrain, goal and constraints.
        count: number of routes, to different ends: one half the nearest by weight, the others far
            apart.
        relief: nats added to log p along the edges, up to the level of dense regions.
        n_jobs: processes, if the graph has no cache.
    """
    feasible = problem.feasible
    shortest = graph.shortest(problem.x, problem.landscape, feasible, relief=relief, n_jobs=n_jobs)
    slack = problem.region.slack_of(graph.log_joint, graph.points)
    meets: BoolArray = np.all(slack >= 0, axis=1)
    reached = np.isfinite(shortest.distance)
    ends = np.flatnonzero(meets & reached)
    ends = ends[np.argsort(shortest.distance[ends], kind="stable")]
    if count > 1 and len(ends):
        ends = ends[choose_cheap_and_diverse(graph.points[ends], shortest.distance[ends], count)]
    paths: list[FloatArray] = []
    for end in ends:
        # Checked alone: in a batch it may round to the other side.
        if len(paths) < count and problem.met_by(graph.points[end]):
            route = graph.points[shortest.route(int(end))]
            path = np.concatenate([problem.x[None], route])
            if feasible.codes is None or feasible.contains(feasible.divide(path)):
                paths.append(path)
    return GoalRoutes(
        paths,
        best_slacks(slack[reached]),
        shortest.joined,
        int(reached.sum()),
        int(meets.sum()),
        shortest.shifted,
    )


def choose_cheap_and_diverse(points: FloatArray, costs: FloatArray, count: int) -> np.ndarray:
    """Return the indices of points: one half the cheapest, the others far from those before.

    Args:
        points: shape `(points, n)`.
        costs: cost of each point.
        count: number of points to choose; all if there are fewer.

    Example:
        >>> points = np.array([[0.0], [0.1], [0.2], [5.0]])
        >>> choose_cheap_and_diverse(points, np.array([1.0, 2.0, 3.0, 9.0]), 3).tolist()
        [0, 1, 3]
    """
    order = np.argsort(costs, kind="stable")
    chosen = list(order[: max(1, count - count // 2)])
    distance = np.min([((points - points[c]) ** 2).sum(axis=1) for c in chosen], axis=0)
    while len(chosen) < min(count, len(points)):
        far = int(np.argmax(distance))
        chosen.append(far)
        distance = np.minimum(distance, ((points - points[far]) ** 2).sum(axis=1))
    return np.array(chosen, dtype=np.intp)
