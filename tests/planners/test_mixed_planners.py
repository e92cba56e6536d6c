"""Face, Wachter and the search over codes against slow references."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from daace import (
    Constraints,
    Face,
    GaussianMixture,
    Goal,
    Landscape,
    PathOptimizer,
    Problem,
    Wachter,
)
from daace.data.encoding import Encoding
from daace.data.kinds import Feature
from daace.planners.seeding.code_seeds import vary_stops
from daace.planners.wachter import median_deviation


@pytest.fixture(scope="module")
def density() -> GaussianMixture:
    rng = np.random.default_rng(4)
    features = (
        Feature("savings", atoms=(0.0,)),
        Feature("debt"),
        Feature("housing", "category", levels=("free", "own", "rent"), dtype="str"),
        Feature("school", "ordered", levels=("low", "mid", "high"), dtype="str"),
    )
    tables = [rng.dirichlet(np.full(size, 2.0), 2) for size in (3, 3, 2)]
    gaussians = [1, 1], [[-1.0, 0.0], [1.5, 1.0]], [np.eye(2)] * 2, ["a", "b"]
    return GaussianMixture(*gaussians, tables=tables, encoding=Encoding(features))


def problems(density: GaussianMixture, **rules: object) -> list[Problem]:
    starts = density.sample(40, rng=np.random.default_rng(1), label="a")[0]
    goal, land = Goal("b", min_posterior=0.7), Landscape(density, penalty=2.0)
    made = [Problem(x, land, goal, Constraints(**rules)) for x in starts]  # type: ignore[arg-type]
    return [problem for problem in made if not problem.met_by(problem.x)][:4]


RULES = (
    {},
    {"weights": {"housing": 3.0, "debt": 0.5}},
    {"only_up": ["school"], "forbidden": {"housing": [("rent", "own"), ("own", "free")]}},
    {"allowed": {"housing": ["own"]}, "fixed": ["school"]},
)


@pytest.mark.parametrize("rules", RULES)
def test_face_finds_the_cheapest_route_that_keeps_the_rules(
    density: GaussianMixture, rules: dict[str, object]
) -> None:
    rows = density.sample(200, rng=np.random.default_rng(2))[0]
    found = 0
    for problem in problems(density, **rules):
        same = np.array(problem.x)
        good = [row for row in rows if problem.feasible.allows(row)][:3]
        ends = [row for row in rows if problem.feasible.allows(row) and problem.met_by(row)][:2]
        nodes = np.array([*good, *ends]).reshape(-1, len(same))
        if len(ends) == 0:
            continue
        plan = Face(nodes, pieces=32).solve(problem, rng=np.random.default_rng(0))
        costs = []
        for size in range(1, len(nodes) + 1):
            for order in permutations(range(len(nodes)), size):
                path = np.concatenate([problem.x[None], nodes[list(order)]])
                if problem.met_by(path[-1]) and problem.feasible.contains(path):
                    costs.append(problem.path_cost(path))
        assert plan.found == bool(costs)
        if costs:
            found += 1
            assert problem.feasible.contains(plan.waypoints)
            assert plan.cost == pytest.approx(min(costs), rel=1e-5)
    assert found


def test_weights_of_a_graph_are_costs_of_segments(density: GaussianMixture) -> None:
    rows = density.sample(12, rng=np.random.default_rng(3))[0]
    land = Landscape(density, penalty=3.0)
    graph = Face(rows, pieces=32).build(density)
    expected = [
        land.path_cost(graph.points[[i, j]])
        for i, j in zip(graph.begins(), graph.indices, strict=True)
    ]
    np.testing.assert_allclose(graph.weights(land), expected, rtol=1e-3)  # f has a kink
    assert graph.edges == 12 * 11


@pytest.mark.parametrize("rules", RULES)
def test_wachter_takes_the_nearest_row(density: GaussianMixture, rules: dict[str, object]) -> None:
    rows = density.sample(300, rng=np.random.default_rng(2))[0]
    mad, weights = (
        median_deviation(rows),
        {"housing": 1.0, "debt": 1.0}
        | dict(
            rules.get("weights", {})  # type: ignore[call-overload]
        ),
    )
    for problem in problems(density, **rules):
        plan = Wachter(rows).solve(problem, rng=np.random.default_rng(0))
        switches = problem.landscape.switches
        assert switches is not None
        housing, school = switches.lengths[:2]

        def distance(row: np.ndarray, x: np.ndarray = problem.x) -> float:
            a, b = x.astype(int), row.astype(int)
            return float(
                abs(row[0] - x[0]) / mad[0]
                + weights["debt"] * abs(row[1] - x[1]) / mad[1]
                + weights["housing"] * housing[a[2], b[2]]  # noqa: B023
                + school[a[3], b[3]]  # noqa: B023
            )

        good = [
            row
            for row in rows
            if problem.met_by(row) and problem.feasible.contains(np.stack([problem.x, row]))
        ]
        assert plan.found == bool(good)
        if good:
            nearest = min(good, key=distance)
            assert distance(plan.waypoints[-1]) == pytest.approx(distance(nearest))


def test_stops_keep_the_rules_and_visit_atoms(density: GaussianMixture) -> None:
    problem = problems(density)[0]
    codes = problem.feasible.codes
    assert codes is not None
    path = PathOptimizer(vertices=2).solve(problem, rng=np.random.default_rng(0)).waypoints
    varied = vary_stops(codes, path)
    assert len(varied)
    for other in varied:
        assert codes.contains(other)
        assert codes.allows(other[1:]).all()
    assert len({tuple(other[:, -1]) for other in varied}) > 1
