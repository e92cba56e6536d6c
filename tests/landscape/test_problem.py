from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from daace.data.table import Table
from daace.density.kde import KernelDensity
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.exceptions import InvalidInput
from daace.landscape.constraints import Constraints
from daace.landscape.cost import Landscape
from daace.landscape.goal import Goal
from daace.landscape.problem import Problem
from daace.landscape.rules import Draft, Fixed, Rule


@pytest.fixture(scope="module")
def flowers(iris: Table) -> LinearGaussianNetwork:
    return LinearGaussianNetwork().fit(iris)


ROW = {"sepal length": 6.0, "sepal width": 3.0, "petal length": 4.0, "petal width": 1.2}


def _problem(flowers: LinearGaussianNetwork, start: object, **rules: object) -> Problem:
    return Problem(
        start,
        Landscape(flowers, penalty=2.0),
        Goal(target="setosa"),
        Constraints(**rules),  # type: ignore[arg-type]
    )


def test_a_start_in_any_form(flowers: LinearGaussianNetwork) -> None:
    model = flowers.to_model(ROW)[0]
    for start in (model, model[None], ROW, pd.Series(ROW), pd.DataFrame([ROW])):
        assert _problem(flowers, start).x == pytest.approx(model, rel=1e-12)


def test_the_start_is_copied_and_cannot_be_written(flowers: LinearGaussianNetwork) -> None:
    start = flowers.to_model(ROW)[0].copy()
    problem = _problem(flowers, start)
    start[0] = 99.0
    assert problem.x[0] != 99.0
    with pytest.raises(ValueError, match="read-only"):
        problem.x[0] = 1.0
    with pytest.raises(FrozenInstanceError):
        problem.goal = Goal(target="virginica")  # type: ignore[misc]


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (np.zeros(3), "'start' must have 4 values. Got 3."),
        (np.zeros((2, 4)), "'start' must have 4 values. Got 8."),
        (np.array([0.0, np.nan, 0.0, 0.0]), "'start' must be finite. Got NaN or infinity."),
        (["a", 1, 2, 3], "'start' must be numbers in model space, or a row by feature names."),
        (np.array([1e160, 0.0, 0.0, 0.0]), "'start' must be below 1e+100 in size."),
        (pd.DataFrame([ROW, ROW]), "'start' must be one row. Got 2."),
        ({**ROW, "petal width": "thin"}, "numeric features only"),
        ({"petal width": 1.0}, "The row must have every feature."),
    ],
)
def test_starts_that_cannot_be(flowers: LinearGaussianNetwork, start: object, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        _problem(flowers, start)
    assert message in str(caught.value)


def test_goal_and_constraints_are_compiled(flowers: LinearGaussianNetwork) -> None:
    problem = _problem(flowers, ROW, fixed=["sepal width"], only_up=["petal width"])
    assert problem.region.index == 0
    assert problem.feasible.lower[1] == problem.x[1] == problem.feasible.upper[1]
    assert problem.feasible.direction.tolist() == [0, 0, 0, 1]
    assert problem.feasible.contains(problem.x[None])
    with pytest.raises(InvalidInput, match="Got 'rose'"):
        Problem(ROW, Landscape(flowers), Goal(target="rose"))


def test_cost_with_and_without_weights(flowers: LinearGaussianNetwork) -> None:
    path = np.stack([flowers.to_model(ROW)[0], flowers.pool("setosa").X[0]])
    plain = _problem(flowers, ROW)
    assert plain.path_cost(path) == plain.landscape.path_cost(path)
    middle = plain.landscape.path_cost(path, rule="midpoint", pieces=7)
    assert plain.path_cost(path, rule="midpoint", pieces=7) == middle

    weights = {"petal width": 4.0, "sepal length": 0.5}
    weighted = _problem(flowers, ROW, weights=weights)
    expected = plain.landscape.path_cost(path, weights=np.array([0.5, 1.0, 1.0, 4.0]))
    assert weighted.path_cost(path) == pytest.approx(expected, rel=1e-12)
    assert weighted.path_cost(path) != pytest.approx(plain.path_cost(path), rel=0.01)
    same = _problem(flowers, ROW, weights=dict.fromkeys(weights, 1.0))
    assert same.path_cost(path) == plain.path_cost(path)


def test_the_goal_is_judged_alone(flowers: LinearGaussianNetwork) -> None:
    problem = _problem(flowers, ROW)
    pool = flowers.pool("setosa").X
    judged = [problem.met_by(x) for x in pool[:200]]
    assert judged == [problem.goal.check(flowers, x) for x in pool[:200]]
    assert any(judged)
    assert not all(judged)
    assert not problem.met_by(problem.x)


def test_a_box_and_a_judge_of_ones_own(flowers: LinearGaussianNetwork) -> None:
    class Sure:
        classes_ = np.array(["virginica", "versicolor", "setosa"])

        def log_posterior(self, X: np.ndarray) -> np.ndarray:
            return np.asarray(np.log(np.tile([0.01, 0.01, 0.98], (len(X), 1))))

    box = (np.full(4, -3.0), np.full(4, 3.0))
    problem = Problem(
        ROW, Landscape(flowers), Goal(target="setosa", plausibility=-5), box=box, posterior=Sure()
    )
    assert problem.feasible.lower.tolist() == [-3.0] * 4
    assert problem.met_by(problem.x)
    assert not problem.region.differentiable


def test_a_changed_problem_is_right_in_every_part(flowers: LinearGaussianNetwork) -> None:
    problem = _problem(flowers, ROW, only_up=["petal width"])
    narrow = replace(problem, box=(problem.x - 0.1, problem.x + 0.1))
    again = replace(narrow, goal=Goal(target="virginica"))
    np.testing.assert_array_equal(again.feasible.lower, narrow.feasible.lower)
    np.testing.assert_array_equal(again.feasible.upper, narrow.feasible.upper)
    assert again.feasible.upper[0] == pytest.approx(problem.x[0] + 0.1)
    free = replace(narrow, constraints=Constraints())
    assert free.feasible.direction.tolist() == [0, 0, 0, 0]
    assert free.to_user.lower.tolist() == [-np.inf] * 4
    elsewhere = replace(narrow, start={**ROW, "sepal width": 3.5})
    assert elsewhere.feasible.allows(elsewhere.x)
    assert elsewhere.to_user.start[1] == 3.5


def test_a_problem_keeps_no_draws_of_another_question(
    flowers: LinearGaussianNetwork, iris: Table
) -> None:
    fixed = Constraints(fixed=["sepal width"], given=True)
    landscape, goal = Landscape(flowers), Goal(target="setosa")
    problem = Problem(ROW, landscape, goal, fixed)
    there = {**ROW, "sepal width": 3.5}
    other = KernelDensity(bandwidth=0.4).fit(iris)
    changes: list[dict[str, Any]] = [
        {"start": there},
        {"constraints": Constraints(fixed=["sepal width", "petal width"], given=True)},
        {"constraints": Constraints()},
        {"landscape": Landscape(other)},
        {"landscape": replace(problem.landscape, penalty=3.0)},
        {"goal": Goal(target="virginica")},
    ]
    asked = {"start": ROW, "landscape": landscape, "goal": goal, "constraints": fixed}
    for change in changes:
        changed, fresh = replace(problem, **change), Problem(**{**asked, **change})
        assert changed.threshold == fresh.threshold
        assert changed.landscape.level == fresh.landscape.level
        assert changed.landscape.spread == fresh.landscape.spread
        assert changed.region.min_log_prob == fresh.region.min_log_prob


def test_draws_of_the_same_question_are_made_once(flowers: LinearGaussianNetwork) -> None:
    problem = _problem(flowers, ROW, fixed=["sepal width"], given=True)
    narrow = replace(problem, box=(problem.x - 0.1, problem.x + 0.1))
    ruled = replace(narrow, constraints=replace(problem.constraints, only_up=["petal width"]))
    assert ruled.statistics is narrow.statistics is problem.statistics
    assert ruled.landscape.ground is problem.statistics


def test_each_rule_is_compiled_once(
    flowers: LinearGaussianNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Rule] = []
    compile_ = Fixed.compile

    def count(self: Fixed, draft: Draft) -> None:
        written.append(self)
        compile_(self, draft)

    monkeypatch.setattr(Fixed, "compile", count)
    problem = _problem(flowers, ROW, fixed=["sepal width", "petal width"])
    assert written == [Fixed("sepal width"), Fixed("petal width")]
    assert problem.to_user.lower[1] == problem.to_user.upper[1] == 3.0


def test_a_row_is_judged_as_it_is_returned(flowers: LinearGaussianNetwork) -> None:
    seen: list[np.ndarray] = []

    class Judge:
        classes_ = flowers.classes_

        def log_posterior(self, X: np.ndarray) -> np.ndarray:
            return np.zeros((len(X), 3))

        def log_posterior_of_row(self, row: np.ndarray, *, alone: bool) -> np.ndarray:
            seen.append(row)
            return np.where(row[:, :1] == 5, [[0.0, -9.0, -9.0]], [[-9.0, -9.0, 0.0]])

    problem = Problem(
        ROW,
        Landscape(flowers),
        Goal("setosa", min_log_prob=-1e9),
        Constraints(integer=["sepal length"]),
        posterior=Judge(),
    )
    z = flowers.to_model({**ROW, "sepal length": 5.2})[0]
    assert problem.met_by(z)
    assert seen[0][0].tolist() == [5.0, 3.0, 4.0, 1.2]
    assert not problem.met_by(flowers.to_model({**ROW, "sepal length": 5.6})[0])
