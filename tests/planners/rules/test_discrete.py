from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
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
    Wachter,
    load_table,
)
from daace.exceptions import InvalidInput
from daace.planners.base import Clock, Plan
from daace.planners.rules import discrete
from daace.planners.rules.whole_numbers import round_plan


def solve(problem: Problem, **settings: object) -> Plan:
    planner = PathOptimizer(**settings)  # type: ignore[arg-type]
    return planner.solve(problem, rng=np.random.default_rng(0))


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


def test_more_features_change_where_those_of_the_sparse_path_have_no_whole_numbers(
    counted: LinearGaussianNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = {"visits": 2, "misses": 12, "score": -1.0}
    rules = Constraints(integer=["visits", "misses"])
    problem = Problem(start, Landscape(counted), Goal(1), rules)
    tried = []

    def fail_where_features_are_held(narrow: Problem, plan: Plan, clock: Clock) -> object:
        tried.append(int((narrow.feasible.lower == narrow.feasible.upper).sum()))
        return None if tried[-1] else round_plan(narrow, plan, clock)

    monkeypatch.setattr(discrete, "round_plan", fail_where_features_are_held)
    plan = solve(problem, sparsity=5.0)
    assert len(tried) == 2
    assert tried[0] > tried[1] == 0
    assert plan.found


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


def test_planners_that_cannot_limit_changes_say_so(counted: LinearGaussianNetwork) -> None:
    start = {"visits": 2, "misses": 12, "score": -1.0}
    problem = Problem(start, Landscape(counted), Goal(1), Constraints(max_changed=2))
    rows = counted.sample(200, rng=np.random.default_rng(0))[0]
    planners = (NSGA2(), Roadmap(refine=False), Face(rows), Wachter(rows, search="gradient"))
    for planner in planners:
        with pytest.raises(InvalidInput, match="plan with PathOptimizer or Roadmap"):
            planner.solve(problem, rng=np.random.default_rng(0))


def test_roadmap_limits_changes(counted: LinearGaussianNetwork) -> None:
    start = {"visits": 2, "misses": 12, "score": -1.0}
    problem = Problem(start, Landscape(counted), Goal(1), Constraints(max_changed=2))
    plan = Roadmap(samples=100, vertices=0).solve(problem, rng=np.random.default_rng(0))
    assert plan.found
    assert problem.feasible.contains(plan.waypoints)
    assert (plan.waypoints[-1] != problem.x).sum() <= 2


def test_every_planner_keeps_integers(counted: LinearGaussianNetwork) -> None:
    start = {"visits": 2, "misses": 12, "score": -1.0}
    rules = Constraints(integer=["visits", "misses"])
    problem = Problem(start, Landscape(counted), Goal(1), rules)
    rows = counted.to_user(counted.sample(300, rng=np.random.default_rng(0))[0])
    whole = {name: rows[name].round() for name in ("visits", "misses")}
    rows = counted.to_model(rows.assign(**whole))
    planners = (
        NSGA2(vertices=(0, 1), population=40, generations=40),
        Roadmap(samples=200, vertices=(0, 1)),
        Roadmap(samples=200, refine=False),
        Face(rows),
        Wachter(rows),
        Wachter(rows, search="gradient"),
    )
    for planner in planners:
        plan = planner.solve(problem, rng=np.random.default_rng(0))
        assert plan.found
        assert problem.met_by(plan.waypoints[-1])
        assert problem.feasible.contains(plan.waypoints)
        user = problem.to_user(plan.waypoints)[:, :2]
        np.testing.assert_array_equal(user, np.rint(user))


def test_every_planner_keeps_to_links(
    network: LinearGaussianNetwork, question: Callable[..., Problem]
) -> None:
    rows = network.sample(400, rng=np.random.default_rng(0))[0]
    problem = question(0)
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
