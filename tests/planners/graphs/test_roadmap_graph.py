from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from daace import Constraints, GaussianMixture, Goal, Landscape, Problem
from daace.data.synthetic import moons
from daace.planners.base import TimeIsUp
from daace.planners.graphs import edges
from daace.planners.graphs.roadmap_graph import FEWEST, restrict_graph, roadmap_graph

from ..clocks import Countdown


@pytest.fixture(scope="module")
def density() -> GaussianMixture:
    return GaussianMixture(*moons(width=0.12))


def test_the_graph_joins_clusters_that_are_apart(density: GaussianMixture) -> None:
    graph = roadmap_graph(density)
    matrix = np.zeros((len(graph.points), len(graph.points)))
    matrix[graph.begins(), graph.indices] = 1
    assert connected_components(matrix, directed=False)[0] == 1


def test_long_edges_over_a_wall_cost_about_what_they_cost() -> None:
    """With 4 nodes an edge, the weights of these were 0.35 to 2.8 times the cost."""
    islands = [[0.0, -2.0], [0.0, 2.0]]
    density = GaussianMixture([1, 1], islands, [0.25 * np.eye(2)] * 2, ["a", "b"])
    land, graph = Landscape(density, penalty=5.0), roadmap_graph(density)
    begin, end = graph.points[graph.begins()], graph.points[graph.indices]
    over = (begin[:, 1] < 0) != (end[:, 1] < 0)
    pairs = np.stack([begin[over], end[over]], axis=1)
    ratio = graph.weights(land)[over] / [land.path_cost(pair) for pair in pairs]
    assert 0.5 < ratio.min() < ratio.max() < 1.5


def test_it_is_made_once_and_is_the_same_when_made_again(density: GaussianMixture) -> None:
    graph = roadmap_graph(density)
    assert roadmap_graph(density) is graph
    again = roadmap_graph(GaussianMixture(*moons(width=0.12)))
    np.testing.assert_array_equal(again.points, graph.points)
    np.testing.assert_array_equal(again.indices, graph.indices)
    assert roadmap_graph(density, samples=50) is not graph


def test_rules_that_leave_few_nodes_move_them_instead(density: GaussianMixture) -> None:
    rules = Constraints(fixed=["x2"])
    p = Problem(np.array([-1.0, 0.05]), Landscape(density), Goal("lower"), rules)
    graph = restrict_graph(roadmap_graph(density), p)
    assert len(graph.points) == FEWEST
    assert (graph.points[:, 1] == p.x[1]).all()


def test_it_is_left_when_time_is_over_and_completed_later(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(edges, "BLOCK", 512)
    expected = roadmap_graph(GaussianMixture(*moons(width=0.12)))
    evaluate, evaluated = edges._evaluate_block, []

    def counted(*arguments):  # type: ignore[no-untyped-def]
        evaluated.append(len(arguments[-1][0]))
        return evaluate(*arguments)

    monkeypatch.setattr(edges, "_evaluate_block", counted)
    density = GaussianMixture(*moons(width=0.12))
    for looks in (0, 1, 4, 6):
        before = len(evaluated)
        with pytest.raises(TimeIsUp):
            roadmap_graph(density, clock=Countdown(looks))
        assert len(evaluated) - before <= looks + 1
    assert 4 < len(evaluated) < len(edges.blocks(expected.edges))
    graph = roadmap_graph(density)
    np.testing.assert_array_equal(graph.log_prob, expected.log_prob)
    np.testing.assert_array_equal(graph.indices, expected.indices)
    assert sum(evaluated) == expected.edges  # none twice
    assert roadmap_graph(density, clock=Countdown(0)) is graph  # it takes no time any more


def test_moved_nodes_are_not_joined_when_time_is_over(density: GaussianMixture) -> None:
    rules = Constraints(fixed=["x2"])
    p = Problem(np.array([-1.0, 0.05]), Landscape(density), Goal("lower"), rules)
    with pytest.raises(TimeIsUp):
        restrict_graph(roadmap_graph(density), p, clock=Countdown(0))
