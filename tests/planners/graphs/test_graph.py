from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest

from daace import ConditionalDensity, Constraints, GaussianMixture, Goal, Landscape, Problem
from daace.exceptions import InvalidInput
from daace.landscape.feasible import FeasibleSet
from daace.planners.graphs.edges import BLOCK, EdgeRule
from daace.planners.graphs.graph import SHIFT, Graph

KINDS = ("integral", "density", "epsilon", "knn")


@pytest.fixture(scope="module")
def points(mixture: GaussianMixture) -> np.ndarray:
    return mixture.sample(25, rng=np.random.default_rng(1))[0]


@pytest.fixture(scope="module")
def free() -> FeasibleSet:
    return FeasibleSet(np.full(3, -99.0), np.full(3, 99.0), np.zeros(3, dtype=np.intp), np.ones(3))


def reference_weight(
    land: Landscape, rule: EdgeRule, a: np.ndarray, b: np.ndarray, count: int
) -> float:
    """The formulas, one edge at a time."""
    d, n = math.dist(a, b), len(a)

    def f(u: float) -> float:
        return math.copysign(abs(u) ** land.penalty, u) if land.penalty else 1.0

    if rule.kind == "integral":
        t, w = rule.quadrature.nodes, rule.quadrature.weights  # type: ignore[union-attr]
        along = land.local_cost(np.stack([a + ti * (b - a) for ti in t]))
        return d * sum(wi * cost for wi, cost in zip(w, along, strict=True))
    if rule.kind == "density":
        return d * float(land.local_cost((a + b)[None] / 2)[0])
    if rule.kind == "epsilon":
        return d if rule.epsilon == math.inf else d * f(-math.log(rule.epsilon**n / d))
    ball = math.pi ** (n / 2) / math.gamma(n / 2 + 1)
    return d * f(-math.log(rule.k / (count * ball) / d))  # type: ignore[operator]


def reference_edges(X: np.ndarray, rule: EdgeRule) -> set[tuple[int, int]]:
    """Pairs closer than epsilon; with k, where one is among the k nearest of the other."""
    far = [[math.dist(a, b) or math.inf for b in X] for a in X]
    edges = set()
    for i, row in enumerate(far):
        near = np.argsort(row)[: rule.k or len(X)]
        edges |= {(min(i, int(j)), max(i, int(j))) for j in near if row[j] < rule.epsilon}
    return edges


def reference_distances(weight: np.ndarray, start: int) -> np.ndarray:
    """Bellman-Ford; `weight[i, j]` is infinite where there is no edge."""
    distance = np.full(len(weight), math.inf)
    distance[start] = 0.0
    for _ in range(len(weight)):
        distance = np.minimum(distance, (distance[:, None] + weight).min(axis=0))
    return distance


def rule_of(kind: str, **settings: object) -> EdgeRule:
    k = {"k": 6} if kind == "knn" else {}
    return EdgeRule(kind=kind, **(k | settings))  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [math.inf, 3.0])
@pytest.mark.parametrize("kind", KINDS)
def test_edges_are_those_of_the_definition(
    mixture: GaussianMixture, points: np.ndarray, kind: str, epsilon: float
) -> None:
    rule = rule_of(kind, epsilon=epsilon)
    graph = Graph.build(points, mixture, rule)
    pairs = list(zip(graph.begins().tolist(), graph.indices.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs) == graph.edges
    assert set(pairs) == reference_edges(points, rule)


@pytest.mark.parametrize("scale", ["relative", "nll"])
@pytest.mark.parametrize("penalty", [0.0, 1.0, 4.5])
@pytest.mark.parametrize("epsilon", [math.inf, 3.0])
@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_those_of_the_formulas(
    mixture: GaussianMixture,
    points: np.ndarray,
    kind: str,
    epsilon: float,
    penalty: float,
    scale: str,
) -> None:
    rule = rule_of(kind, epsilon=epsilon)
    land = Landscape(mixture, penalty=penalty, scale=scale)  # type: ignore[arg-type]
    graph = Graph.build(points, mixture, rule)
    weights = graph.weights(land)
    for e in range(0, graph.edges, 7):
        a, b = points[graph.begins()[e]], points[graph.indices[e]]
        expected = reference_weight(land, rule, a, b, len(points))
        assert weights[e] == pytest.approx(expected, rel=1e-11)


def test_the_integral_is_the_cost_of_the_segment(
    mixture: GaussianMixture, points: np.ndarray
) -> None:
    land = Landscape(mixture, penalty=5.0)
    exact = [land.path_cost(points[[0, j]]) for j in range(1, len(points))]
    graph = Graph.build(points, mixture, EdgeRule(pieces=128))
    np.testing.assert_allclose(graph.weights(land)[: len(points) - 1], exact, rtol=1e-4)
    paper = Graph.build(points, mixture, EdgeRule(rule="midpoint", pieces=19))
    theirs = [land.path_cost(points[[0, j]], rule="midpoint") for j in range(1, len(points))]
    np.testing.assert_allclose(paper.weights(land)[: len(points) - 1], theirs, rtol=1e-11)


@pytest.mark.parametrize("rules", [{}, {"only_up": ["x1"]}, {"weights": {"x2": 3.0}}])
@pytest.mark.parametrize("kind", KINDS)
def test_ways_are_the_shortest(
    mixture: GaussianMixture, points: np.ndarray, kind: str, rules: dict[str, object]
) -> None:
    """Of a directed, weighted graph with the start among its points, by an independent method."""
    rule, land = rule_of(kind, epsilon=4.0), Landscape(mixture, penalty=3.0)
    x = points.mean(axis=0) + 0.1
    constraints = Constraints(lower={"x3": -2.5}, **rules)  # type: ignore[arg-type]
    feasible = Problem(x, land, Goal("c1"), constraints, box=(x - 50, x + 50)).feasible
    graph = Graph.build(points, mixture, rule)
    ways = graph.shortest(x, land, feasible)

    X = np.concatenate([points, x[None]])
    weight = np.full((len(X), len(X)), math.inf)
    start_edges = {e for e in reference_edges(X, rule) if e[1] == len(points)}
    for i, j in reference_edges(points, rule) | start_edges:
        w = reference_weight(land, rule, X[i], X[j], len(points))
        w *= math.dist(X[i] * feasible.weights, X[j] * feasible.weights) / math.dist(X[i], X[j])
        for a, b in ((i, j), (j, i)):
            if feasible.contains(X[[a, b]]):
                weight[a, b] = w
    lowest = weight.min()
    assert ways.shifted == (lowest < 0)
    if lowest < 0:
        weight = weight - lowest + SHIFT
    expected = reference_distances(weight, len(points))[:-1]
    np.testing.assert_allclose(ways.distance, expected, rtol=1e-9)
    assert 0 < np.isfinite(expected).sum() <= len(points)
    for node in np.flatnonzero(np.isfinite(expected)):
        way = [len(points), *ways.route(int(node))]
        total = sum(weight[a, b] for a, b in itertools.pairwise(way))
        assert total == pytest.approx(expected[node], rel=1e-9)


def test_negative_weights_are_shifted_and_it_is_said(free: FeasibleSet) -> None:
    density = GaussianMixture(
        [1, 1], [[0.0] * 3, [1.0] * 3], [0.01 * np.eye(3), 0.01 * np.eye(3)], ["a", "b"]
    )
    X, _ = density.sample(20, rng=np.random.default_rng(0))
    graph = Graph.build(X, density)
    assert graph.weights(Landscape(density, scale="nll")).min() < 0
    ways = graph.shortest(np.zeros(3), Landscape(density, scale="nll"), free)
    assert ways.shifted
    assert (ways.distance > 0).all()
    assert not graph.shortest(np.zeros(3), Landscape(density), free).shifted


def test_a_new_penalty_needs_no_density(
    points: np.ndarray, free: FeasibleSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    density = GaussianMixture([1, 1], [[0.0] * 3, [3.0] * 3], [np.eye(3)] * 2, ["a", "b"])
    graph = Graph.build(points, density)
    bare = Graph.build(points, density, cache=False)
    land = Landscape(density, penalty=7.0)
    expected = bare.weights(land)
    assert (bare.cache_nbytes, graph.cache_nbytes) == (0, 8 * 16 * graph.edges)
    assert graph.nbytes - graph.cache_nbytes == bare.nbytes
    assert f"nbytes={graph.nbytes}, cache_nbytes={graph.cache_nbytes}" in repr(graph)
    monkeypatch.setattr(
        type(density), "log_joint_and_pullback", lambda *_: pytest.fail("the density was asked")
    )
    np.testing.assert_array_equal(graph.weights(land), expected)
    assert graph.weights(Landscape(density, penalty=2.0, scale="nll")).shape == expected.shape


def test_processes_change_nothing(kde: ConditionalDensity) -> None:
    X, _ = kde.sample(70, rng=np.random.default_rng(0))
    one, two = (Graph.build(X, kde, EdgeRule(pieces=3), n_jobs=jobs) for jobs in (1, 2))
    assert one.edges > BLOCK
    assert one.log_prob is not None
    assert two.log_prob is not None
    np.testing.assert_array_equal(one.log_prob, two.log_prob)
    bare = Graph.build(X, kde, EdgeRule(pieces=3), cache=False)
    land = Landscape(kde, penalty=3.0)
    np.testing.assert_array_equal(bare.weights(land, n_jobs=2), one.weights(land))


def test_no_query_changes_the_graph(
    mixture: GaussianMixture, points: np.ndarray, free: FeasibleSet
) -> None:
    land = Landscape(mixture, penalty=2.0)
    graph = Graph.build(points, mixture)
    before = pickle.dumps(graph)
    first = graph.shortest(points[0] + 0.5, land, free)
    graph.shortest(points[1] + 0.5, Landscape(mixture, penalty=9.0), free)
    again = graph.shortest(points[0] + 0.5, land, free)
    np.testing.assert_array_equal(first.distance, again.distance)
    np.testing.assert_array_equal(first.previous, again.previous)
    assert pickle.dumps(graph) == before
    with pytest.raises(ValueError, match="read-only"):
        graph.points[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        graph.weights(land)[0] = 1.0


def test_points_in_one_place(mixture: GaussianMixture, free: FeasibleSet) -> None:
    X = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    for kind in KINDS:
        graph = Graph.build(X, mixture, rule_of(kind, epsilon=5.0, k=2))
        ways = graph.shortest(X[0], Landscape(mixture, penalty=2.0), free)
        assert not np.isnan(ways.distance).any()
        assert np.isfinite(ways.distance[1:]).all()


def test_no_power_overflows(
    mixture: GaussianMixture, points: np.ndarray, free: FeasibleSet
) -> None:
    graph = Graph.build(points, mixture)
    for scale in ("relative", "nll"):
        land = Landscape(mixture, penalty=100.0, scale=scale)  # type: ignore[arg-type]
        assert np.isfinite(graph.shortest(points[0] + 90.0, land, free).distance).all()


def test_one_point_is_a_graph(mixture: GaussianMixture, free: FeasibleSet) -> None:
    graph = Graph.build(np.zeros((1, 3)), mixture, EdgeRule(kind="knn"))
    assert graph.edges == 0
    ways = graph.shortest(np.ones(3), Landscape(mixture), free)
    assert ways.route(0).tolist() == [0]


def test_strides_join_crowds_that_are_apart(mixture: GaussianMixture, free: FeasibleSet) -> None:
    rng = np.random.default_rng(0)
    crowds = np.concatenate([rng.normal(size=(40, 3)), 30 + rng.normal(size=(40, 3))])
    X = rng.permutation(crowds)
    near = Graph.build(X, mixture, EdgeRule(k=3))
    far = Graph.build(X, mixture, EdgeRule(k=3, strides=(1, 8, 20)))
    reached = [
        np.isfinite(g.shortest(np.zeros(3), Landscape(mixture), free).distance).sum()
        for g in (near, far)
    ]
    assert reached == [40, 80]


def test_points_are_checked(mixture: GaussianMixture) -> None:
    for wrong in (np.empty((0, 3)), np.zeros(3), np.full((2, 3), np.nan)):
        with pytest.raises(InvalidInput, match="'points' must be finite"):
            Graph.build(wrong, mixture)
