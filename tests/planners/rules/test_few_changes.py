from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from daace import (
    Constraints,
    Goal,
    Landscape,
    LinearGaussianNetwork,
    PathOptimizer,
    Plan,
    Problem,
    load_table,
)


def solve(problem: Problem, **settings: object) -> Plan:
    planner = PathOptimizer(**settings)  # type: ignore[arg-type]
    return planner.solve(problem, rng=np.random.default_rng(0))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("most", [1, 2])
def test_few_changes_are_close_to_the_best_of_all_choices(
    network: LinearGaussianNetwork, question: Callable[..., Problem], seed: int, most: int
) -> None:
    problem = question(seed, max_changed=most)
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


def test_when_too_few_may_change_it_says_so(
    network: LinearGaussianNetwork, question: Callable[..., Problem]
) -> None:
    held = {"fixed": list(network.features_[:3]), "max_changed": 1}
    plans = [solve(question(seed, **held)) for seed in range(12)]
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
    assert (note.code, note.fields["allowed"]) == ("too_many_changes", 5)
    enough = note.fields["enough"]
    assert f"at most 5 features: {enough} would be enough" in note
    assert few(enough).found


def test_fewer_changes_for_a_little_more_cost(question: Callable[..., Problem]) -> None:
    for seed in range(4):
        problem = question(seed)
        plain, sparse = solve(problem), solve(problem, sparsity=0.3)
        assert sparse.found
        assert sparse.cost <= 1.3 * plain.cost * (1 + 1e-9)
        moved = [(plan.waypoints != problem.x).any(axis=0).sum() for plan in (plain, sparse)]
        assert moved[1] <= moved[0]
    many = solve(question(0), sparsity=10.0)
    assert (many.waypoints != many.waypoints[0]).any(axis=0).sum() < 4
