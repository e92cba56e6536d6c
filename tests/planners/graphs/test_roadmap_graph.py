from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from daace import Constraints, GaussianMixture, Goal, Landscape, Problem
from daace.data.synthetic import moons
from daace.planners.graphs.roadmap_graph import FEWEST, restrict_graph, roadmap_graph


@pytest.fixture(scope="module")
def density() -> GaussianMixture:
    return GaussianMixture(*moons(width=0.12))


def test_the_graph_joins_clusters_that_are_apart(density: GaussianMixture) -> None:
    graph = roadmap_graph(density)
    matrix = np.zeros((len(graph.points), len(graph.points)))
    matrix[graph.begins(), graph.indices] = 1
    assert connected_components(matrix, directed=False)[0] == 1


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
