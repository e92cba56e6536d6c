from __future__ import annotations

import itertools

import numpy as np
import pytest

from daace import Constraints, GaussianMixture, Goal, Landscape, Problem
from daace.data.synthetic import moons
from daace.planners.graphs import restrict_graph, roadmap_graph
from daace.planners.seeding.route_seeds import LONGEST_ROUTE, find_route_seeds, simplify_route


@pytest.fixture(scope="module")
def density() -> GaussianMixture:
    return GaussianMixture(*moons(width=0.12))


def problem(density: GaussianMixture, penalty: float = 5.0, **rules: object) -> Problem:
    constraints = Constraints(**rules)  # type: ignore[arg-type]
    landscape = Landscape(density, penalty=penalty)
    return Problem(np.array([-1.0, 0.05]), landscape, Goal("lower"), constraints)


def test_routes_lead_from_the_start_to_the_goal(density: GaussianMixture) -> None:
    p = problem(density)
    routes = find_route_seeds(p, roadmap_graph(density), 4)
    assert len(routes) == 4
    for route in routes:
        np.testing.assert_array_equal(route[0], p.x)
        assert p.met_by(route[-1])
        assert len(route) <= LONGEST_ROUTE


def test_half_of_them_are_found_on_raised_ground(density: GaussianMixture) -> None:
    """At a high penalty the scatter of draws costs more than the wall: relief shows the way."""
    p = problem(density, penalty=15.0)
    routes = find_route_seeds(p, roadmap_graph(density), 2)
    lengths = [np.linalg.norm(np.diff(route, axis=0), axis=1).sum() for route in routes]
    assert abs(lengths[0] - lengths[1]) > 1e-3


def test_no_routes_where_there_is_no_goal(density: GaussianMixture) -> None:
    goal = Goal("lower", min_log_prob=100.0)
    p = Problem(np.array([-1.0, 0.05]), Landscape(density), goal)
    assert find_route_seeds(p, roadmap_graph(density), 4) == []


def test_rules_that_leave_many_nodes_keep_the_graph(density: GaussianMixture) -> None:
    graph = roadmap_graph(density)
    p = problem(density, upper={"x1": 0.9})
    assert restrict_graph(graph, p) is graph
    assert all((route[:, 0] <= 0.9).all() for route in find_route_seeds(p, graph, 4))


@pytest.mark.parametrize("vertices", [0, 1, 2, 3])
def test_simplify_finds_the_cheapest_shortcut(density: GaussianMixture, vertices: int) -> None:
    landscape = Landscape(density, penalty=2.0)
    route = np.random.default_rng(0).normal(size=(7, 2))
    simple = simplify_route(landscape, route, vertices, unit=1.0)
    oracle = min(
        landscape.path_cost(route[[0, *middle, 6]])
        for middle in itertools.combinations(range(1, 6), vertices)
    )
    assert landscape.path_cost(simple) == pytest.approx(oracle, rel=1e-3)


def test_simplify_counts_weights(density: GaussianMixture) -> None:
    """Where x2 is dear, the shortcut that changes it less is taken."""
    landscape = Landscape(density, penalty=0.0)
    route = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.1], [2.0, 0.0]])
    weights = np.array([1.0, 100.0])
    simple = simplify_route(landscape, route, 1, unit=1.0, weights=weights)
    np.testing.assert_array_equal(simple[1], route[2])


def test_simplify_adds_waypoints_where_the_route_has_too_few(density: GaussianMixture) -> None:
    route = np.array([[0.0, 0.0], [1.0, 0.0]])
    simple = simplify_route(Landscape(density), route, 3, unit=1.0)
    assert simple.shape == (5, 2)
    assert (np.diff(simple[:, 0]) > 0).all()
