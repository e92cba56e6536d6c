from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from daace import Constraints, GaussianMixture, Goal, Landscape, Problem
from daace.data.synthetic import moons
from daace.planners.corridors import FEWEST, DrawGraph, draw_graph, nearest, simplify


@pytest.fixture(scope="module")
def density() -> GaussianMixture:
    return GaussianMixture(*moons(width=0.12))


def test_the_graph_joins_crowds_that_are_apart(density: GaussianMixture) -> None:
    graph = draw_graph(density)
    matrix = np.zeros((len(graph.X), len(graph.X)))
    matrix[graph.edges[:, 0], graph.edges[:, 1]] = 1
    assert connected_components(matrix, directed=False)[0] == 1


def test_it_is_made_once_and_is_the_same_when_made_again(density: GaussianMixture) -> None:
    assert draw_graph(density) is draw_graph(density)
    np.testing.assert_array_equal(DrawGraph.of(density).edges, draw_graph(density).edges)


def test_edge_costs_are_those_of_the_landscape(density: GaussianMixture) -> None:
    graph, landscape = draw_graph(density), Landscape(density, penalty=2.0)
    costs = graph.edge_costs(landscape, 1.0)
    short = np.flatnonzero(graph.lengths < 0.2)[:50]
    for e in short:
        assert costs[e] == pytest.approx(landscape.path_cost(graph.X[graph.edges[e]]), rel=0.02)


def test_routes_lead_from_the_start_to_the_goal(density: GaussianMixture) -> None:
    problem = Problem(np.array([-1.0, 0.05]), Landscape(density, penalty=5.0), Goal("lower"))
    routes = draw_graph(density).routes(problem, 4)
    assert len(routes) == 4
    for route in routes:
        np.testing.assert_array_equal(route[0], problem.x)
        assert problem.met_by(route[-1])


def test_no_routes_where_there_is_no_goal(density: GaussianMixture) -> None:
    goal = Goal("lower", min_log_prob=100.0)
    problem = Problem(np.array([-1.0, 0.05]), Landscape(density), goal)
    assert draw_graph(density).routes(problem, 3) == []


def test_nearest_equals_sorting_all(rng: np.random.Generator) -> None:
    X, queries = rng.normal(size=(50, 3)), rng.normal(size=(4, 3))
    distance = ((queries[:, None] - X) ** 2).sum(axis=2)
    np.testing.assert_array_equal(nearest(queries, X, 5), np.argsort(distance, axis=1)[:, :5])


@pytest.mark.parametrize("vertices", [0, 1, 2, 3])
def test_simplify_finds_the_cheapest_shortcut(density: GaussianMixture, vertices: int) -> None:
    landscape = Landscape(density, penalty=2.0)
    rng = np.random.default_rng(0)
    route = np.cumsum(rng.normal(scale=0.4, size=(6, 2)), axis=0)
    path = simplify(landscape, route, vertices, unit=1.0)
    costs = [
        landscape.path_cost(route[[0, *middle, 5]])
        for middle in itertools.combinations(range(1, 5), vertices)
    ]
    assert path.shape == (vertices + 2, 2)
    assert landscape.path_cost(path) == pytest.approx(min(costs), rel=1e-3)


def test_simplify_adds_waypoints_where_the_route_has_too_few(density: GaussianMixture) -> None:
    path = simplify(Landscape(density), np.array([[0.0, 0.0], [1.0, 1.0]]), 3, unit=1.0)
    assert path.shape == (5, 2)


def test_rules_that_leave_few_nodes_move_them_instead(density: GaussianMixture) -> None:
    fixed = Constraints(fixed=["x2"])
    start = np.array([-1.0, 0.05])
    problem = Problem(start, Landscape(density), Goal("lower", plausibility=-9), fixed)
    graph = draw_graph(density).within(problem)
    assert len(graph.X) == FEWEST
    assert (graph.X[:, 1] == start[1]).all()
    np.testing.assert_allclose(graph.log_joint, density.log_joint(graph.X))


def test_rules_that_leave_many_nodes_keep_them(density: GaussianMixture) -> None:
    whole = draw_graph(density)
    problem = Problem(
        np.array([-1.0, 0.05]),
        Landscape(density),
        Goal("lower"),
        Constraints(upper={"x1": 0.9}),
    )
    part = whole.within(problem)
    allowed = whole.X[:, 0] <= 0.9
    np.testing.assert_array_equal(part.X, whole.X[allowed])
    np.testing.assert_allclose(
        part.lengths, np.linalg.norm(np.diff(part.X[part.edges], axis=1)[:, 0], axis=1)
    )
    assert len(part.edges) == allowed[whole.edges].all(axis=1).sum()
