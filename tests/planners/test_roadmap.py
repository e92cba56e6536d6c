from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from daace import (
    Constraints,
    Explainer,
    GaussianMixture,
    Goal,
    Landscape,
    LinearGaussianNetwork,
    PathOptimizer,
    Plan,
    Planner,
    Problem,
    Roadmap,
    Table,
)
from daace.data.synthetic import moons
from daace.exceptions import InvalidInput


@pytest.fixture(scope="module")
def wall() -> Problem:
    density = GaussianMixture(*moons(width=0.12))
    return Problem(np.array([-1.0, 0.05]), Landscape(density, penalty=5.0), Goal("lower"))


def solve(planner: Planner, problem: Problem) -> Plan:
    return planner.solve(problem, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"samples": 1}, "'samples' must be an integer of at least 2"),
        ({"refine": "yes"}, "'refine' must be one of True, False"),
        ({"seed": -1}, "'seed' must be"),
        ({"vertices": -1}, "'vertices' must be"),
        ({"vertex_tolerance": -1}, "'vertex_tolerance' must be"),
    ],
)
def test_settings_are_checked(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Roadmap(**settings)  # type: ignore[arg-type]


def test_around_a_wall_it_is_as_good_as_the_optimizer(wall: Problem) -> None:
    ours = solve(Roadmap(vertex_tolerance=0), wall)
    peer = solve(PathOptimizer(vertex_tolerance=0), wall)
    assert ours.cost <= 1.01 * peer.cost


def test_refining_pays(wall: Problem) -> None:
    raw, refined = (solve(Roadmap(refine=refine), wall) for refine in (False, True))
    graph = Roadmap().build(wall.landscape.density)
    assert {tuple(x) for x in raw.waypoints[1:]} <= {tuple(x) for x in graph.points}
    assert refined.cost < raw.cost
    assert refined.vertices <= 3


def test_the_graph_is_shared_by_all_queries(wall: Problem) -> None:
    density = wall.landscape.density
    graph = Roadmap(samples=100).build(density)
    assert Roadmap(samples=100, refine=False).build(density) is graph
    assert Roadmap(samples=100, seed=1).build(density) is not graph
    again = Roadmap(samples=100).build(GaussianMixture(*moons(width=0.12)))
    np.testing.assert_array_equal(again.points, graph.points)
    assert len(graph.points) == 100


def test_every_class_has_its_share() -> None:
    rare = GaussianMixture([1, 99], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["a", "b"])
    X = Roadmap(samples=100).build(rare).points
    assert 35 < (X < 2).sum() < 65


def test_a_fixed_feature_leaves_no_draw_but_a_path(network: LinearGaussianNetwork) -> None:
    x = network.sample(1, rng=np.random.default_rng(1), label="malignant")[0][0]
    rules = Constraints(fixed=[network.features_[4]])
    problem = Problem(x, Landscape(network), Goal("benign"), rules)
    assert solve(Roadmap(samples=200), problem).found
    raw = solve(Roadmap(samples=200, refine=False), problem)
    assert raw.status == "goal_unreachable"
    assert raw.reachable == (-np.inf, -np.inf)


def test_a_classifier_may_judge(iris: Table) -> None:
    network = LinearGaussianNetwork().fit(iris)
    frame = iris.to_frame()
    classifier = LogisticRegression(max_iter=1000).fit(frame[list(iris.features)], iris.y)
    explainer = Explainer(network, classifier=classifier, planner=Roadmap(samples=200))
    found = explainer.explain(frame.iloc[[0]].drop(columns="class"), target="virginica")
    assert found.found
    assert found.posterior >= 0.5
