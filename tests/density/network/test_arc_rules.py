from __future__ import annotations

import numpy as np
import pytest

from daace.density.network.arc_rules import first_graph, read_arcs
from daace.density.network.families import SufficientStatistics
from daace.exceptions import InvalidInput


def test_arcs_are_read_by_name() -> None:
    graph = read_arcs([("a", "b"), ("class", "a")], "forced", ["a", "b"], "class")
    assert np.argwhere(graph.arcs).tolist() == [[0, 1]]
    assert graph.class_arcs.tolist() == [True, False]
    both = read_arcs([("a", "b"), ("b", "a"), ("a", "class")], "forbidden", ["a", "b"], "class")
    assert both.arcs.sum() == 2
    with pytest.raises(InvalidInput, match="'arcs' must not make a cycle"):
        read_arcs([("a", "b"), ("b", "a")], "arcs", ["a", "b"], "class")


@pytest.mark.parametrize(("start", "expected"), [("naive", [True, False]), ("empty", [False] * 2)])
def test_the_first_graph_has_the_class_where_it_may(start, expected) -> None:
    rng = np.random.default_rng(0)
    stats = SufficientStatistics.of(rng.normal(size=(40, 2)), np.arange(40) % 2, 2)
    forbidden = read_arcs([("class", "b")], "forbidden", ["a", "b"], "class")
    forced = read_arcs([], "forced", ["a", "b"], "class")
    graph = first_graph(
        forced, forbidden, stats, start=start, max_parents=None, features=["a", "b"]
    )
    assert graph.class_arcs.tolist() == expected
