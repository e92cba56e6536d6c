from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from daace import Constraints, GaussianMixture, Goal, Landscape, Problem
from daace.data.synthetic import moons
from daace.planners.corridors import FEWEST, ROUTE, corridors, draw_graph, simplify, within


@pytest.fixture(scope="module")
def density() -> GaussianMixture:
    return GaussianMixture(*moons(width=0.12))


def problem(density: GaussianMixture, penalty: float = 5.0, **rules: object) -> Problem:
    constraints = Constraints(**rules)  # type: ignore[arg-type]
    landscape = Landscape(density, penalty=penalty)
    return Problem(np.array([-1.0, 0.05]), landscape, Goal("lower"), constraints)


def test_the_graph_joins_crowds_that_are_apart(density: GaussianMixture) -> None:
    graph = draw_graph(density)
    matrix = np.zeros((len(graph.points), len(graph.points)))
    matrix[graph.begins(), graph.indices] = 1
    assert connected_components(matrix, directed=False)[0] == 1


def test_it_is_made_once_and_is_the_same_when_made_again(density: GaussianMixture) -> None:
    graph = draw_graph(density)
    assert draw_graph(density) is graph
    again = draw_graph(GaussianMixture(*moons(width=0.12)))
    np.testing.assert_array_equal(again.points, graph.points)
    np.testing.assert_array_equal(again.indices, graph.indices)
    assert draw_graph(density, draws=50) is not graph


def test_routes_lead_from_the_start_to_the_goal(density: GaussianMixture) -> None:
    p = problem(density)
    routes = corridors(p, draw_graph(density), 4)
    assert len(routes) == 4
    for route in routes:
        np.testing.assert_array_equal(route[0], p.x)
        assert p.met_by(route[-1])
        assert len(route) <= ROUTE


def test_half_of_them_are_found_on_raised_ground(density: GaussianMixture) -> None:
    """At a high penalty the scatter of draws costs more than the wall: relief shows the way."""
    p = problem(density, penalty=15.0)
    routes = corridors(p, draw_graph(density), 2)
    lengths = [np.linalg.norm(np.diff(route, axis=0), axis=1).sum() for route in routes]
    assert abs(lengths[0] - lengths[1]) > 1e-3


def test_no_routes_where_there_is_no_goal(density: GaussianMixture) -> None:
    goal = Goal("lower", min_log_prob=100.0)
    p = Problem(np.array([-1.0, 0.05]), Landscape(density), goal)
    assert corridors(p, draw_graph(density), 4) == []


def test_rules_that_leave_few_nodes_move_them_instead(density: GaussianMixture) -> None:
    p = problem(density, fixed=["x2"])
    graph = within(draw_graph(density), p)
    assert len(graph.points) == FEWEST
    assert (graph.points[:, 1] == p.x[1]).all()


def test_rules_that_leave_many_nodes_keep_the_graph(density: GaussianMixture) -> None:
    graph = draw_graph(density)
    p = problem(density, upper={"x1": 0.9})
    assert within(graph, p) is graph
    assert all((route[:, 0] <= 0.9).all() for route in corridors(p, graph, 4))


@pytest.mark.parametrize("vertices", [0, 1, 2, 3])
def test_simplify_finds_the_cheapest_shortcut(density: GaussianMixture, vertices: int) -> None:
    landscape = Landscape(density, penalty=2.0)
    route = np.random.default_rng(0).normal(size=(7, 2))
    simple = simplify(landscape, route, vertices, unit=1.0)
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
    simple = simplify(landscape, route, 1, unit=1.0, weights=weights)
    np.testing.assert_array_equal(simple[1], route[2])


def test_simplify_adds_waypoints_where_the_route_has_too_few(density: GaussianMixture) -> None:
    route = np.array([[0.0, 0.0], [1.0, 0.0]])
    simple = simplify(Landscape(density), route, 3, unit=1.0)
    assert simple.shape == (5, 2)
    assert (np.diff(simple[:, 0]) > 0).all()
