"""Prices of switches, by hand; and the rules on codes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from daace import Constraints, GaussianMixture, Goal, Landscape, PathOptimizer, Problem
from daace.data.encoding import Encoding
from daace.data.kinds import Feature
from daace.exceptions import InvalidInput
from daace.landscape.switches import SwitchPoints, switch_lengths
from tests.contracts.test_switch_laws import loans

#: savings, debt, housing, schooling, atom of savings.
START = np.array([0.0, 1.0, 0.0, 0.0, 1.0])


@pytest.fixture(scope="module")
def density() -> GaussianMixture:
    return loans()


def test_points_of_some_of_the_paths_are_numbered_anew() -> None:
    points = SwitchPoints(
        np.array([0, 2, 2, 5]), np.array([0, 1, 0, 0]), np.arange(4.0)[:, None], np.arange(4.0)
    )
    some = points.take(np.array([1, 2, 5]))
    assert some is not None
    assert some.path.tolist() == [1, 1, 2]
    assert some.waypoint.tolist() == [1, 0, 0]
    assert some.share.tolist() == some.codes[:, 0].tolist() == [1.0, 2.0, 3.0]
    assert points.take(np.array([1, 3])) is None


def test_lengths_of_switches() -> None:
    category = Feature("c", "category", levels=("a", "b", "c"))
    shares = np.array([0.5, 0.3, 0.2])
    expected = np.sqrt(2 / (1 - 0.38))
    assert switch_lengths(category, shares)[0, 1:] == pytest.approx([expected, expected])
    ordered = Feature("o", "ordered", levels=(1, 2, 3), gaps=True)
    lengths = switch_lengths(ordered, np.array([0.25, 0.25, 0.25, 0.25]))
    assert lengths[0] == pytest.approx(
        [0, 1 / np.sqrt(2 / 3), 2 / np.sqrt(2 / 3), np.sqrt(2 / 0.75)]
    )
    number = Feature("n", atoms=(0.0, np.nan))
    lengths = switch_lengths(number, np.array([0.5, 0.25, 0.25]))
    assert lengths[0, 1] == 0
    assert lengths[0, 2] == pytest.approx(np.sqrt(2 / (1 - 0.375)))


def test_a_switch_costs_its_length_times_the_mean_of_both_ends(density: GaussianMixture) -> None:
    land = Landscape(density, penalty=2.0)
    assert land.switches is not None
    there = START.copy()
    there[2] = 2.0
    price = land.local_cost(np.stack([START, there])).mean()
    length = land.switches.lengths[0][0, 2]
    assert land.path_cost(np.stack([START, there])) == pytest.approx(length * price)
    weights = np.array([1.0, 1.0, 3.0, 1.0, 1.0])
    weighted = land.path_cost(np.stack([START, there]), weights=weights)
    assert weighted == pytest.approx(3 * length * price)


def test_an_ordered_feature_pays_for_every_level(density: GaussianMixture) -> None:
    land = Landscape(density, penalty=2.0)
    assert land.switches is not None
    ladder = np.repeat(START[None], 4, axis=0)
    ladder[:, 3] = np.arange(4)
    price = land.local_cost(ladder)
    step = land.switches.lengths[1][0, 1]
    expected = step * (price[:-1] + price[1:]).sum() / 2
    assert land.path_cost(ladder[[0, 3]]) == pytest.approx(expected)
    assert land.path_cost(ladder) == pytest.approx(expected)


def test_a_number_leaves_its_atom_without_a_switch(density: GaussianMixture) -> None:
    land = Landscape(density, penalty=0.0)
    path = np.stack([START, [0.5, 1.0, 0.0, 0.0, 0.0]])
    assert land.path_cost(path) == pytest.approx(0.5)


def test_gradient_of_a_path_with_switches(density: GaussianMixture) -> None:
    land = Landscape(density, penalty=2.0)
    path = np.array([START, [0.5, 0.2, 0, 0, 0], [1, 1, 2, 3, 0]])
    gradient = land.path_cost_and_grad(path)[1]
    for k in range(3):
        for j in range(2):
            step = np.zeros_like(path)
            step[k, j] = 1e-5
            slope = (land.path_cost(path + step) - land.path_cost(path - step)) / 2e-5
            assert gradient[k, j] == pytest.approx(slope, rel=1e-5, abs=1e-7)
    assert not gradient[:, 2:].any()


def problem_of(density: GaussianMixture, constraints: Constraints) -> Problem:
    goal = Goal("granted", min_posterior=0.7)
    return Problem(START, Landscape(density), goal, constraints)


@pytest.mark.parametrize(
    ("constraints", "kept", "broken"),
    [
        (Constraints(allowed={"housing": ["own"]}), (2, 1.0), (2, 2.0)),
        (Constraints(forbidden={"housing": [("free", "own")]}), (2, 2.0), (2, 1.0)),
        (Constraints(only_up=["schooling"]), (3, 2.0), None),
        (Constraints(fixed=["housing"]), (3, 1.0), (2, 1.0)),
        (Constraints(allowed={"schooling": [1, 2]}), (3, 1.0), (3, 2.0)),
        (Constraints(fixed=["savings"]), (1, 0.0), (4, 0.0)),
    ],
)
def test_rules_on_codes(
    density: GaussianMixture,
    constraints: Constraints,
    kept: tuple[int, float],
    broken: tuple[int, float] | None,
) -> None:
    feasible = problem_of(density, constraints).feasible
    free = problem_of(density, Constraints()).feasible
    for (column, code), good in ((kept, True), (broken or kept, broken is None)):
        end = START.copy()
        end[column] = code
        if column == 4:
            end[0] = 0.7
        path = np.stack([START, end])
        assert free.contains(path)
        assert feasible.contains(path) == good


def test_paths_keep_rules_on_codes(density: GaussianMixture) -> None:
    rules = Constraints(allowed={"housing": ["own"]}, only_up=["schooling"], max_changed=2)
    asked = problem_of(density, rules)
    if asked.met_by(asked.x):
        asked = replace(asked, goal=Goal("refused", min_posterior=0.7))
    plan = PathOptimizer().solve(asked, rng=np.random.default_rng(0))
    assert plan.found
    assert asked.feasible.contains(plan.waypoints)
    changed = (plan.waypoints != asked.x).any(axis=0)
    assert (changed[0] or changed[4]) + changed[1:4].sum() <= 2
    assert set(plan.waypoints[:, 2].tolist()) <= {0.0, 1.0}


def test_categories_switch_once_and_atoms_are_exact(density: GaussianMixture) -> None:
    feasible = problem_of(density, Constraints()).feasible
    back = np.repeat(START[None], 3, axis=0)
    back[1, 2] = 1.0
    assert not feasible.contains(back)
    up_and_down = np.repeat(START[None], 3, axis=0)
    up_and_down[1, 3] = 2.0
    up_and_down[2, 3] = 1.0
    assert not feasible.contains(up_and_down)
    beside = START.copy()
    beside[4] = 0.0
    assert not feasible.allows(beside)
    moved = START.copy()
    moved[0] = 0.3
    assert not feasible.allows(moved)


def test_messages_name_features_and_levels(density: GaussianMixture) -> None:
    with pytest.raises(InvalidInput, match=r"'housing': 'free', 'own', 'rent'\. Got 'tent'"):
        problem_of(density, Constraints(allowed={"housing": ["tent"]}))
    with pytest.raises(InvalidInput, match="'housing', which is a category"):
        problem_of(density, Constraints(lower={"housing": 1}))
    with pytest.raises(InvalidInput, match="'debt', which is a number"):
        problem_of(density, Constraints(allowed={"debt": ["low"]}))


def test_gaps_and_pools_are_no_targets() -> None:
    features = (
        Feature("income", atoms=(np.nan,), fill=1.0, lower=0.0),
        Feature("age", "whole", dtype="int64"),
        Feature("job", "category", levels=("a", "b"), pooled=2, gaps=True, dtype="str"),
    )
    tables = [np.full((2, 4), 0.25), np.full((2, 2), 0.5)]
    means = [[2.0, 30.0], [5.0, 50.0]]
    gaussians = [1, 1], means, [np.diag([1.0, 25.0])] * 2, ["poor", "rich"]
    density = GaussianMixture(*gaussians, tables=tables, encoding=Encoding(features))
    start = np.array([1.0, 30.0, 0.0, 1.0])
    goal, land = Goal("rich"), Landscape(density)
    bare = Problem(start, land, goal)
    natural = replace(bare, constraints=Constraints(natural=True))
    named = replace(bare, constraints=Constraints(allowed={"income": ["elsewhere"]}))
    pool, gap, known = (np.array([1.0, 30.0, code, 1.0]) for code in (2.0, 3.0, 1.0))
    fraction = np.array([1.0, 30.5, 0.0, 1.0])
    there = np.array([2.0, 30.0, 0.0, 0.0])
    assert bare.feasible.allows(np.stack([pool, gap, known, fraction, there])).tolist() == [
        False, True, True, True, False,
    ]  # fmt: skip
    assert natural.feasible.allows(np.stack([pool, gap, known, fraction, there])).tolist() == [
        False, False, True, False, False,
    ]  # fmt: skip
    assert named.feasible.allows(there)
    plan = PathOptimizer().solve(natural, rng=np.random.default_rng(0))
    assert plan.found
    assert (plan.waypoints[:, 3] == 1).all()
    rows = natural.to_user(plan.waypoints)
    assert np.array_equal(rows[:, 1], np.rint(rows[:, 1]))
