from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from benchmarks.mixed_oracle import make_problem
from daace import (
    Constraints,
    GaussianMixture,
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


def cheapest(problems: list[Problem], **settings: object) -> float:
    """The lowest cost of a path of any of these problems, solved together."""
    planner = PathOptimizer(**settings)  # type: ignore[arg-type]
    rngs = [np.random.default_rng(0) for _ in problems]
    return min((plan.cost for plan in planner.solve_many(problems, rngs=rngs)), default=np.inf)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("most", [1, 2])
def test_few_changes_are_close_to_the_best_of_all_choices(
    network: LinearGaussianNetwork, question: Callable[..., Problem], seed: int, most: int
) -> None:
    problem = question(seed, max_changed=most)
    plan = solve(problem)
    names = network.features_
    least = cheapest(
        [
            replace(problem, constraints=Constraints(fixed=[n for n in names if n not in free]))
            for free in combinations(names, most)
        ]
    )
    assert plan.found == np.isfinite(least)
    if plan.found:
        assert problem.feasible.contains(plan.waypoints)
        assert problem.met_by(plan.waypoints[-1])
        assert plan.cost <= 1.3 * least


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


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_hardly_more_changes_than_the_fewest_of_all_choices(
    name: str, request: pytest.FixtureRequest
) -> None:
    if name == "wine":
        request.getfixturevalue("data_folder")
    table = load_table(name)
    table = table.select(list(table.features)[:6])
    density = LinearGaussianNetwork().fit(table)
    landscape, more = Landscape(density), []
    for x, label in zip(*density.sample(6, rng=np.random.default_rng(1)), strict=True):
        target = density.classes_[(density.class_index(label) + 1) % len(density.classes_)]
        problem = Problem(x, landscape, Goal(target))
        plain, sparse = solve(problem), solve(problem, sparsity=0.25)
        assert sparse.found == plain.found
        if not plain.found or len(plain.waypoints) < 2:
            continue
        assert sparse.cost <= 1.25 * plain.cost * (1 + 1e-9)
        assert problem.met_by(sparse.waypoints[-1])
        count = int((sparse.waypoints != problem.x).any(axis=0).sum())
        names = density.features_
        fewer = [
            replace(problem, constraints=Constraints(fixed=[n for n in names if n not in free]))
            for size in range(1, count - 1)
            for free in combinations(names, size)
        ]
        more.append(cheapest(fewer, vertices=(0, 1)) <= 1.25 * plain.cost)
    assert len(more) >= 5
    assert sum(more) <= 0.1 * len(more)  # at most one change more than needed, on nine in ten


def test_several_rows_together_as_each_alone(question: Callable[..., Problem]) -> None:
    problems = [question(seed) for seed in range(6)]
    planner = PathOptimizer(sparsity=0.25)
    together = planner.solve_many(problems, rngs=[np.random.default_rng(0)] * 6)
    for problem, plan in zip(problems, together, strict=True):
        alone = planner.solve(problem, rng=np.random.default_rng(0))
        assert plan.found
        assert plan.cost == pytest.approx(alone.cost, rel=1e-3)
        moved = [(p.waypoints != problem.x).any(axis=0) for p in (plan, alone)]
        np.testing.assert_array_equal(*moved)


def test_a_held_category_does_not_switch_and_an_atom_counts_once() -> None:
    problem = make_problem(11)  # with two numbers and three codes
    plain, sparse = solve(problem), solve(problem, sparsity=1.0)
    assert sparse.found
    assert problem.feasible.contains(sparse.waypoints)
    assert problem.met_by(sparse.waypoints[-1])
    assert sparse.cost <= 2.0 * plain.cost * (1 + 1e-9)
    moved = [(plan.waypoints != problem.x).any(axis=0).sum() for plan in (plain, sparse)]
    assert moved[1] < moved[0]


def test_the_number_of_changes_with_atoms() -> None:
    problem = replace(question_on_loans(), constraints=Constraints(max_changed=2, natural=True))
    plan = solve(problem)
    assert plan.found
    assert problem.feasible.changes is not None
    assert len(problem.feasible.changes.of(plan.waypoints)) <= 2
    assert problem.feasible.contains(plan.waypoints)


def test_without_time_the_plain_path_is_the_answer(question: Callable[..., Problem]) -> None:
    problem = question(0)
    plan = solve(problem, sparsity=0.25, time_limit=1e-9)
    assert not plan.found or problem.met_by(plan.waypoints[-1])


def question_on_loans() -> Problem:
    """A refused applicant of the simulated loans, on a table with categories and atoms."""
    table = load_table("loans")
    density = LinearGaussianNetwork().fit(table)
    rows = table.to_frame()[list(density.features_)]
    goal = Goal(table.classes[-1])
    for place in range(len(rows)):
        problem = Problem(rows.iloc[place], Landscape(density), goal, Constraints(natural=True))
        if not problem.met_by(problem.x):
            return problem
    raise AssertionError("every row meets the goal")


def test_features_are_tried_one_by_one_where_the_order_leads_no_further() -> None:
    """Among profiles, the shape of the terrain at one end says little about other ends."""
    rng = np.random.default_rng(1)
    means = rng.normal(size=(6, 12)) * 1.2
    roots = rng.normal(size=(6, 12, 12)) * 0.35
    covariances = [root @ root.T + 0.2 * np.eye(12) for root in roots]
    density = GaussianMixture([1.0] * 6, means, covariances, ["a", "b"] * 3)
    X, _ = density.sample(24, rng=np.random.default_rng(1))
    x = X[density.predict_proba(X)[:, 1] < 0.5][2]
    problem = Problem(x, Landscape(density), Goal("b", min_posterior=0.9))
    plain, sparse = solve(problem), solve(problem, sparsity=0.25)
    assert problem.met_by(sparse.waypoints[-1])
    assert sparse.cost <= 1.25 * plain.cost * (1 + 1e-9)
    assert (sparse.waypoints != x).any(axis=0).sum() <= 5
