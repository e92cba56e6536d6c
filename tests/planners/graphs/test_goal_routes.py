from __future__ import annotations

import numpy as np
import pytest

from daace import GaussianMixture, Goal, Landscape, Problem
from daace.data.synthetic import moons
from daace.planners.graphs import Graph, choose_cheap_and_diverse, find_goal_routes


@pytest.fixture(scope="module")
def problem() -> Problem:
    density = GaussianMixture(*moons(width=0.12))
    return Problem(np.array([-1.0, 0.05]), Landscape(density, penalty=2.0), Goal("lower"))


@pytest.fixture(scope="module")
def graph(problem: Problem) -> Graph:
    density = problem.landscape.density
    points = density.sample(60, rng=np.random.default_rng(0))[0]
    return Graph.build(points, density)


def test_the_first_route_is_the_cheapest_way_to_any_point_of_the_goal(
    problem: Problem, graph: Graph
) -> None:
    """Oracle: Floyd's algorithm over all pairs, the start included."""
    points = np.concatenate([problem.x[None], graph.points])
    land = problem.landscape
    far = np.array([[land.path_cost(np.stack([a, b])) for b in points] for a in points])
    for k in range(len(points)):
        far = np.minimum(far, far[:, k, None] + far[None, k])
    cheapest = far[0, 1:][problem.region.contains(graph.points)].min()
    routes = find_goal_routes(graph, problem)
    assert land.path_cost(routes.paths[0]) == pytest.approx(cheapest, rel=1e-3)
    assert routes.meeting == problem.region.contains(graph.points).sum()
    assert (routes.reached, routes.joined) == (60, 60)


def test_several_routes_lead_to_different_ends(problem: Problem, graph: Graph) -> None:
    ends = {tuple(path[-1]) for path in find_goal_routes(graph, problem, 4).paths}
    assert len(ends) == 4


def test_raised_ground_makes_ways_shorter(problem: Problem, graph: Graph) -> None:
    """With all ground at the level of dense ground, the cheapest way is the shortest one."""
    plain, raised = (
        find_goal_routes(graph, problem, relief=relief).paths[0] for relief in (0.0, 1e6)
    )
    lengths = [np.linalg.norm(np.diff(path, axis=0), axis=1).sum() for path in (plain, raised)]
    assert lengths[1] < lengths[0]


def test_the_cheapest_points_and_those_far_away_are_chosen() -> None:
    points = np.array([[0.0], [0.1], [0.2], [9.0]])
    chosen = choose_cheap_and_diverse(points, np.array([1.0, 0.5, 2.0, 50.0]), 3)
    assert set(chosen) == {0, 1, 3}
