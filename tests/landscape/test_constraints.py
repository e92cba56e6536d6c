from __future__ import annotations

import json
import pickle
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from daace._typing import FloatArray
from daace.data.encoding import Encoding
from daace.data.kinds import Feature
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.density.mixture import GaussianMixture
from daace.exceptions import InvalidInput
from daace.landscape.constraints import Constraints
from daace.landscape.feasible import FeasibleSet, isotonic
from daace.landscape.rules import Fixed, Link, Lower, MaxChanged


@pytest.fixture(scope="module")
def flowers(iris: Table) -> LinearGaussianNetwork:
    return LinearGaussianNetwork().fit(iris)


def _start(flowers: LinearGaussianNetwork) -> FloatArray:
    return np.asarray(flowers.to_model([6.0, 3.0, 4.0, 1.2])[0])


def _feasible(
    rules: Constraints,
    density: ConditionalDensity,
    start: FloatArray,
    box: tuple[FloatArray, FloatArray] | None = None,
) -> FeasibleSet:
    draws = (density.draws_.lower, density.draws_.upper)
    return rules.compile(density, start).finish(draws if box is None else box).feasible


# Compilation --------------------------------------------------------------------------------------


def test_without_rules_the_box_is_that_of_the_draws(flowers: LinearGaussianNetwork) -> None:
    feasible = _feasible(Constraints(), flowers, _start(flowers))
    assert np.array_equal(feasible.lower, flowers.draws_.lower)
    assert np.array_equal(feasible.upper, flowers.draws_.upper)
    assert not feasible.direction.any()
    assert not feasible.weighted


def test_the_box_stretches_to_the_start(flowers: LinearGaussianNetwork) -> None:
    start = np.array([30.0, -30.0, 0.0, 0.0])
    feasible = _feasible(Constraints(), flowers, start)
    assert feasible.upper[0] == 30
    assert feasible.lower[1] == -30
    assert feasible.contains(start[None])


def test_a_box_of_ones_own(flowers: LinearGaussianNetwork) -> None:
    box = (np.full(4, -0.5), np.full(4, 9.0))
    feasible = _feasible(Constraints(), flowers, np.array([0.0, -2.0, 0.0, 0.0]), box)
    assert feasible.lower.tolist() == [-0.5, -2.0, -0.5, -0.5]
    assert feasible.upper.tolist() == [9.0] * 4
    assert box[0].tolist() == [-0.5] * 4


def test_rules_in_the_users_units(flowers: LinearGaussianNetwork) -> None:
    start = _start(flowers)
    feasible = _feasible(
        Constraints(
            fixed=["sepal length"],
            lower={"sepal width": 2.5, "petal length": -100},
            upper={"sepal width": 3.2},
            only_up=["petal width"],
            only_down=["petal length"],
            weights={"petal length": 3},
        ),
        flowers,
        start,
    )
    lower, upper = flowers.to_user(np.stack([feasible.lower, feasible.upper])).to_numpy()
    assert lower[0] == pytest.approx(6.0) == upper[0]
    assert feasible.lower[0] == start[0] == feasible.upper[0]
    assert (lower[1], upper[1]) == (pytest.approx(2.5), pytest.approx(3.2))
    assert feasible.lower[2] == flowers.draws_.lower[2]  # a bound outside the box changes nothing
    assert feasible.upper[2] == start[2]
    assert feasible.lower[3] == start[3]
    assert feasible.direction.tolist() == [0, 0, -1, 1]
    assert feasible.weights.tolist() == [1, 1, 3, 1]
    assert feasible.weighted


def test_fixed_goes_before_directions(flowers: LinearGaussianNetwork) -> None:
    rules = Constraints(fixed=["petal width"], only_up=["petal width"])
    feasible = _feasible(rules, flowers, _start(flowers))
    assert feasible.direction.tolist() == [0, 0, 0, 0]
    assert feasible.lower[3] == feasible.upper[3]


def test_a_bound_at_the_start_holds_in_spite_of_rounding(flowers: LinearGaussianNetwork) -> None:
    start = _start(flowers)
    rules = Constraints(lower={"sepal length": 6.0}, upper={"petal width": 1.2})
    feasible = _feasible(rules, flowers, start)
    assert feasible.contains(start[None])
    assert feasible.lower[0] == pytest.approx(start[0], abs=1e-9)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"lower": {"sepal length": 6.5}}, "'lower' must allow the start. Got lower=6.5 for"),
        ({"upper": {"petal width": 1.0}}, "which is 1.2 now: move the bound or leave it out."),
        ({"fixed": ["colour"]}, "'constraints' must name features of the model. Got 'colour'."),
        ({"fixed": ["petal widht"]}, "Got 'petal widht'. Did you mean 'petal width'?"),
        ({"weights": {"x": 1}, "only_up": ["y"]}, "must name features of the model. Got 'x', 'y'."),
    ],
)
def test_rules_that_do_not_fit(
    flowers: LinearGaussianNetwork, rules: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        Constraints(**rules).compile(flowers, _start(flowers))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"fixed": "age"}, "'fixed' must be a list of features. Got 'age'."),
        ({"lower": ["age"]}, "'lower' must map features to numbers. Got list."),
        ({"upper": {"age": np.nan}}, "'upper' must be numbers. Got nan for 'age'."),
        ({"upper": {"age": -np.inf}}, "'upper' must be numbers. Got -inf for 'age'."),
        ({"weights": {"age": 0}}, "'weights' must be positive numbers. Got 0.0 for 'age'."),
        ({"weights": {"age": -1}}, "'weights' must be positive numbers. Got -1.0 for 'age'."),
        ({"weights": {"age": np.inf}}, "'weights' must be positive numbers. Got inf for 'age'."),
        (
            {"only_up": ["age"], "only_down": ["age"]},
            "'only_up' and 'only_down' must differ. Got 'age' in both: use 'fixed'.",
        ),
        (
            {"lower": {"age": 3}, "upper": {"age": 2}},
            "'lower' must not exceed 'upper'. Got 3.0 > 2.0 for 'age'.",
        ),
    ],
)
def test_rules_that_cannot_be(rules: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Constraints(**rules)
    assert str(caught.value) == message


def test_rules_are_kept_as_they_were_given() -> None:
    names = ["b", "a"]
    rules = Constraints(fixed=names, lower={"c": 1}, weights={"d": 2})
    names.append("z")
    assert rules.fixed == ("b", "a")
    assert rules.lower == {"c": 1.0}
    assert rules.features() == {"a", "b", "c", "d"}


# Membership and projection ------------------------------------------------------------------------


def _set(direction: list[int]) -> FeasibleSet:
    n = len(direction)
    return FeasibleSet(np.full(n, -1.0), np.full(n, 2.0), np.array(direction), np.ones(n))


def test_membership() -> None:
    feasible = _set([0, 1, -1])
    assert feasible.contains(np.array([[0.0, 0.0, 0.0], [2.0, 0.5, -0.5], [-1.0, 0.5, -1.0]]))
    assert not feasible.contains(np.array([[0.0, 0.0, 0.0], [2.1, 0.0, 0.0]]))
    assert not feasible.contains(np.array([[0.0, 0.5, 0.0], [0.0, 0.4, 0.0]]))
    assert not feasible.contains(np.array([[0.0, 0.0, -0.5], [0.0, 0.0, -0.4]]))


@given(values=st.lists(st.floats(-10, 10), min_size=1, max_size=8))
def test_isotonic_is_that_of_scikit_learn(values: list[float]) -> None:
    from sklearn.isotonic import isotonic_regression

    expected = isotonic_regression(np.array(values))
    assert isotonic(np.array(values)) == pytest.approx(expected, abs=1e-9)
    batch = np.tile(values, (2, 3, 1))
    assert isotonic(batch)[1, 2] == pytest.approx(expected, abs=1e-9)


@given(seed=st.integers(0, 10_000), waypoints=st.integers(2, 5))
def test_projection_is_allowed_idempotent_and_keeps_the_start(seed: int, waypoints: int) -> None:
    rng = np.random.default_rng(seed)
    feasible = FeasibleSet(
        np.array([-1.0, 0.0, -1.0, 0.3]),
        np.array([1.0, 1.5, 0.0, 0.3]),
        np.array([0, 1, -1, 0]),
        np.ones(4),
    )
    paths = rng.normal(scale=2, size=(3, waypoints, 4))
    paths[:, 0] = [0.0, 0.0, 0.0, 0.3]
    projected = feasible.project(paths)
    assert np.array_equal(projected[:, 0], paths[:, 0])
    assert all(feasible.contains(path) for path in projected)
    assert feasible.project(projected) == pytest.approx(projected, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_projection_is_the_nearest(seed: int) -> None:
    """Against a general solver, one monotone coordinate of four waypoints."""
    feasible = FeasibleSet(np.array([0.0]), np.array([1.0]), np.array([1]), np.ones(1))
    path = np.random.default_rng(seed).normal(0.5, 1.0, size=(5, 1))
    path[0] = 0.0
    projected = feasible.project(path)
    solved = minimize(
        lambda z: ((z - path[1:, 0]) ** 2).sum(),
        np.linspace(0.2, 0.8, 4),
        bounds=[(0, 1)] * 4,
        constraints={"type": "ineq", "fun": np.diff},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert projected[1:, 0] == pytest.approx(solved.x, abs=1e-5)


def test_projection_does_not_change_its_argument() -> None:
    paths = np.random.default_rng(0).normal(size=(2, 4, 3))
    kept = paths.copy()
    _set([0, 1, -1]).project(paths)
    assert np.array_equal(paths, kept)


# Rules beyond bounds ------------------------------------------------------------------------------


def test_changes_are_bounded_from_the_start(flowers: LinearGaussianNetwork) -> None:
    start = _start(flowers)
    rules = Constraints(max_rise={"petal width": 0.5}, max_fall={"petal width": 0.0})
    feasible = _feasible(rules, flowers, start)
    user = flowers.to_user(np.stack([feasible.lower, feasible.upper]))["petal width"]
    assert user.tolist() == pytest.approx([1.2, 1.7])


def test_steps_whole_numbers_and_links_in_the_users_units(flowers: LinearGaussianNetwork) -> None:
    start = _start(flowers)
    rules = Constraints(
        max_step={"petal width": 0.25, "petal length": 2.5},
        integer=["petal length"],
        links=[
            Link(
                {"sepal length": 1, "sepal width": -2},
                equals=0,
            )
        ],
        max_changed=2,
    )
    feasible = _feasible(rules, flowers, start)
    scale = flowers.standardizer_.scale
    assert (feasible.steps * scale).tolist() == pytest.approx([np.inf, np.inf, 2.0, 0.25])
    assert feasible.grid.features.tolist() == [2]
    assert feasible.grid.counts(start).tolist() == pytest.approx([4.0])
    assert feasible.slabs.hold(start)
    moved = flowers.to_model([5.0, 2.5, 4.0, 1.2])[0]
    assert feasible.slabs.hold(moved)
    assert feasible.allows(moved)
    assert not feasible.allows(flowers.to_model([5.0, 2.5, 5.0, 1.2])[0])
    assert not feasible.allows(flowers.to_model([5.0, 2.6, 4.0, 1.2])[0])


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"max_rise": {"petal width": -1}}, "'max_rise' must be numbers from 0 on"),
        ({"max_step": {"petal width": 0}}, "'max_step' must be positive"),
        ({"max_step": {"petal length": 0.5}, "integer": ["petal length"]}, "at least 1 where"),
        ({"max_changed": 0}, "'max_changed'"),
        ({"integer": "petal length"}, "'integer' must be a list"),
        ({"links": Link({"petal width": 1}, at_most=3)}, "'links' must be a list"),
        ({"links": ["petal width"]}, "'links' must be a list"),
    ],
)
def test_rules_that_mean_nothing(rules: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Constraints(**rules)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"integer": ["petal width"]}, "'petal width', which is 1.2 now"),
        ({"links": [Link({"petal width": 1}, at_most=1)]}, "where the sum is 1.2 now"),
        ({"links": [Link({"wings": 1}, at_most=1)]}, "'wings'"),
        ({"max_rise": {"wings": 1}}, "'wings'"),
    ],
)
def test_rules_that_exclude_the_start(
    flowers: LinearGaussianNetwork, rules: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        Constraints(**rules).compile(flowers, _start(flowers))


def test_rules_come_back_from_plain_values() -> None:
    rules = Constraints(
        links=[Link({"a": 1, "b": -1}, at_most=0)], integer=["a"], max_step={"b": 2}
    )
    again = Constraints(**json.loads(json.dumps(asdict(rules))))
    assert again == rules


def test_rules_by_themselves_make_the_same_constraints() -> None:
    rules = Constraints(fixed=["a", "b"], lower={"c": 1}, max_changed=2)
    assert rules.rules == (Fixed("a"), Fixed("b"), Lower("c", 1.0), MaxChanged(2))
    assert Constraints.of(rules.rules) == rules
    assert rules.without(Fixed("a")) == Constraints(fixed=["b"], lower={"c": 1}, max_changed=2)
    assert Constraints.of([Lower("c", 1.0), Lower("c", 2.0)]).lower == {"c": 2.0}
    assert rules.describe() == "fixed: a, b; lower: c 1; max_changed: 2"


def test_rules_that_have_been_used_are_equal_printed_and_stored_as_before() -> None:
    used, fresh = (Constraints(fixed=["a"], weights={"b": 2}) for _ in range(2))
    assert len(used.rules) == 2
    assert used == fresh
    assert repr(used) == repr(fresh)
    assert asdict(used) == asdict(fresh)
    assert pickle.loads(pickle.dumps(used)) == fresh
    assert replace(used, fixed=["c"]).rules[0] == Fixed("c")


def test_a_step_that_would_take_thousands_of_waypoints_is_refused(
    flowers: LinearGaussianNetwork,
) -> None:
    rules = Constraints(max_step={"petal length": 1e-5})
    with pytest.raises(InvalidInput, match=r"'max_step' must be at least .*, a thousandth of its"):
        _feasible(rules, flowers, _start(flowers))


def test_a_step_between_whole_numbers_is_refused() -> None:
    density = GaussianMixture(
        [1, 1], [[2.0], [5.0]], [[[1.0]], [[1.0]]], ["a", "b"],
        encoding=Encoding((Feature("rooms", "whole"),)),
    )  # fmt: skip
    with pytest.raises(InvalidInput, match="at least 1 where numbers are whole"):
        Constraints(max_step={"rooms": 0.5}).check(density)
