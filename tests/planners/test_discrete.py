from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from daace import (
    NSGA2,
    Constraints,
    Face,
    Goal,
    Landscape,
    LinearGaussianNetwork,
    Link,
    PathOptimizer,
    Problem,
    Roadmap,
    Table,
    Wachter,
    load_table,
)
from daace.data.synthetic import draw_table, random_mixture
from daace.exceptions import InvalidInput
from daace.planners.base import Plan


def solve(problem: Problem, **settings: object) -> Plan:
    planner = PathOptimizer(**settings)  # type: ignore[arg-type]
    return planner.solve(problem, rng=np.random.default_rng(0))


@pytest.fixture(scope="module")
def network() -> LinearGaussianNetwork:
    rng = np.random.default_rng(1)
    return LinearGaussianNetwork().fit(draw_table(random_mixture(4, rng=rng), 3000, rng=rng))


def question(network: LinearGaussianNetwork, seed: int, **rules: object) -> Problem:
    rng = np.random.default_rng(seed)
    while True:
        x = network.sample(1, rng=rng)[0][0]
        other = network.classes_[1 - int(network.predict_proba(x[None])[0].argmax())]
        problem = Problem(x, Landscape(network, penalty=2.0), Goal(other), Constraints(**rules))  # type: ignore[arg-type]
        if not problem.met_by(x):
            return problem


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("most", [1, 2])
def test_few_changes_are_close_to_the_best_of_all_choices(
    network: LinearGaussianNetwork, seed: int, most: int
) -> None:
    problem = question(network, seed, max_changed=most)
    plan = solve(problem)
    names = network.features_
    costs = []
    for free in combinations(names, most):
        rules = Constraints(fixed=[name for name in names if name not in free])
        costs.append(solve(replace(problem, constraints=rules)).cost)
    assert plan.found == np.isfinite(min(costs))
    if plan.found:
        assert problem.feasible.contains(plan.waypoints)
        assert problem.met_by(plan.waypoints[-1])
        assert plan.cost <= 1.3 * min(costs)


def test_when_too_few_may_change_it_says_so(network: LinearGaussianNetwork) -> None:
    held = {"fixed": list(network.features_[:3]), "max_changed": 1}
    plans = [solve(question(network, seed, **held)) for seed in range(12)]
    lost = [plan for plan in plans if not plan.found]
    assert lost
    assert all(np.isinf(plan.cost) for plan in lost)


def test_the_number_that_would_be_enough_is_enough() -> None:
    table = load_table("breast_cancer")
    landscape = Landscape(LinearGaussianNetwork().fit(table))
    start = table.to_frame().iloc[14][list(table.features)]

    def few(most: int) -> Plan:
        rules = Constraints(max_changed=most)
        return solve(Problem(start, landscape, Goal("benign"), rules))

    lost = few(5)
    (note,) = lost.notes
    assert not lost.found
    found = few(int(note.split()[-4]))  # "... at most 5 features: 6 would be enough."
    assert found.found


def test_fewer_changes_for_a_little_more_cost(network: LinearGaussianNetwork) -> None:
    for seed in range(4):
        problem = question(network, seed)
        plain, sparse = solve(problem), solve(problem, sparsity=0.3)
        assert sparse.found
        assert sparse.cost <= 1.3 * plain.cost * (1 + 1e-9)
        moved = [(plan.waypoints != problem.x).any(axis=0).sum() for plan in (plain, sparse)]
        assert moved[1] <= moved[0]
    many = solve(question(network, 0), sparsity=10.0)
    assert (many.waypoints != many.waypoints[0]).any(axis=0).sum() < 4


@pytest.fixture(scope="module")
def counted() -> LinearGaussianNetwork:
    """Two whole numbers and one that is not."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, size=2000)
    X = np.column_stack(
        [rng.poisson(4 + 3 * y), rng.poisson(9 - 4 * y), rng.normal(2.0 * y, 1.0)]
    ).astype(float)
    frame = pd.DataFrame(X, columns=["visits", "misses", "score"]).assign(group=y)
    return LinearGaussianNetwork().fit(Table.from_frame(frame, target="group"))


@pytest.mark.parametrize("row", [(2, 12, -1.0), (5, 9, 0.0), (3, 10, 0.5)])
def test_whole_numbers_are_the_best_of_all(
    counted: LinearGaussianNetwork, row: tuple[float, ...]
) -> None:
    start = dict(zip(counted.features_, row, strict=True))
    rules = Constraints(integer=["visits", "misses"])
    problem = Problem(start, Landscape(counted), Goal(1), rules)
    plan = solve(problem, vertices=0)
    assert plan.found
    assert problem.feasible.contains(plan.waypoints)
    assert problem.met_by(plan.waypoints[-1])
    costs = []
    for visits in range(16):
        for misses in range(16):
            end = counted.to_model({"visits": visits, "misses": misses, "score": row[2]})[0]
            lower, upper = problem.feasible.lower.copy(), problem.feasible.upper.copy()
            lower[:2] = upper[:2] = end[:2]
            best = best_end(problem, end, lower, upper)
            if best is not None:
                costs.append(problem.path_cost(np.stack([problem.x, best])))
    assert plan.cost <= 1.02 * min(costs)


def best_end(
    problem: Problem, end: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray | None:
    """Return the cheapest end among many values of the third feature."""
    ends = np.tile(end, (200, 1))
    ends[:, 2] = np.linspace(lower[2], upper[2], 200)
    ends = np.concatenate([end[None], ends])
    ends = ends[problem.region.contains(ends)]
    if len(ends) == 0:
        return None
    return min(ends, key=lambda e: problem.path_cost(np.stack([problem.x, e])))


def test_all_rules_at_once(counted: LinearGaussianNetwork) -> None:
    start = {"visits": 2, "misses": 12, "score": -1.0}
    rules = Constraints(
        integer=["visits", "misses"],
        max_step={"misses": 2, "visits": 1.5},
        only_up=["visits"],
        max_rise={"score": 4.0},
        links=[Link({"visits": 1, "misses": 1}, at_most=14)],
    )
    problem = Problem(start, Landscape(counted), Goal(1), rules)
    plan = solve(problem)
    assert plan.found
    assert problem.feasible.contains(plan.waypoints)
    user = counted.to_user(plan.waypoints)
    assert np.allclose(user[["visits", "misses"]], user[["visits", "misses"]].round())
    assert user["misses"].diff().abs().max() <= 2 + 1e-6
    assert user["visits"].diff().abs().max() <= 1 + 1e-6
    assert (user["visits"] + user["misses"]).max() <= 14 + 1e-6
    assert problem.met_by(plan.waypoints[-1])


@pytest.mark.parametrize("row", [(2, 12, -1.0), (5, 9, 0.0), (3, 10, 0.5)])
def test_whole_numbers_tied_to_another_by_an_equation(
    counted: LinearGaussianNetwork, row: tuple[float, ...]
) -> None:
    """Whoever comes once more scores a third higher: at the waypoints on the way as well."""
    start = dict(zip(counted.features_, row, strict=True))
    link = Link({"score": 3, "visits": -1}, equals=3 * row[2] - row[0])
    rules = Constraints(integer=["visits", "misses"], links=[link])
    problem = Problem(start, Landscape(counted, penalty=5.0), Goal(1), rules)
    free = Problem(start, Landscape(counted, penalty=5.0), Goal(1), Constraints(links=[link]))
    plan, smooth = (solve(p, vertices=2, vertex_tolerance=0) for p in (problem, free))
    assert plan.found
    assert len(plan.waypoints) == 4
    assert problem.feasible.contains(plan.waypoints)
    assert smooth.cost <= plan.cost <= 2 * smooth.cost


def test_an_equation_that_the_table_itself_keeps() -> None:
    table = load_table("iris")
    network = LinearGaussianNetwork().fit(table)
    start = network.to_user(network.sample(1, rng=np.random.default_rng(0), label="setosa")[0])
    row = start.iloc[0]
    terms = {"petal length": 1.0, "petal width": -2.0}
    value = float(row["petal length"] - 2 * row["petal width"])
    rules = Constraints(links=[Link(terms, equals=value)])
    problem = Problem(row, Landscape(network), Goal("versicolor"), rules)
    free = Problem(row, Landscape(network), Goal("versicolor"))
    plan, plain = solve(problem), solve(free)
    assert plan.found
    user = network.to_user(plan.waypoints)
    assert np.allclose(user["petal length"] - 2 * user["petal width"], value, atol=1e-6)
    assert plan.cost >= plain.cost * (1 - 1e-6)


@pytest.mark.parametrize("rule", [{"integer": ["visits"]}, {"max_changed": 2}])
def test_planners_that_cannot_say_so(
    counted: LinearGaussianNetwork, rule: dict[str, object]
) -> None:
    start = {"visits": 2, "misses": 12, "score": -1.0}
    problem = Problem(start, Landscape(counted), Goal(1), Constraints(**rule))  # type: ignore[arg-type]
    rows = counted.sample(200, rng=np.random.default_rng(0))[0]
    planners = (NSGA2(), Roadmap(), Face(rows), Wachter(rows, search="gradient"))
    for planner in planners:
        with pytest.raises(InvalidInput, match="plan with PathOptimizer"):
            planner.solve(problem, rng=np.random.default_rng(0))


def test_every_planner_keeps_to_links(network: LinearGaussianNetwork) -> None:
    rows = network.sample(400, rng=np.random.default_rng(0))[0]
    problem = question(network, 0)
    a, b = network.features_[:2]
    user = network.to_user(problem.x[None]).iloc[0]
    link = Link({a: 1.0, b: 1.0}, at_most=float(user[a] + user[b]) + 0.1)
    problem = replace(problem, constraints=Constraints(links=[link]))
    planners = (
        PathOptimizer(),
        NSGA2(population=20, generations=10, vertices=1),
        Roadmap(samples=300),
        Roadmap(samples=300, refine=False),
        Face(rows),
        Wachter(rows),
        Wachter(rows, search="gradient"),
    )
    costs = []
    for planner in planners:
        plan = planner.solve(problem, rng=np.random.default_rng(0))
        if plan.found:
            assert problem.feasible.contains(plan.waypoints), planner
            assert problem.met_by(plan.waypoints[-1]), planner
            costs.append(plan.cost)
    assert len(costs) >= 5
    assert costs[0] <= 1.01 * min(costs)  # a vertex less is worth a hundredth
