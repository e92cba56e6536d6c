from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from daace import Constraints, Explanation, GaussianMixture, KernelDensity, PathOptimizer
from daace.exceptions import InvalidInput
from daace.explain.explainer import Explainer
from daace.planners.base import Planner

# Settings -----------------------------------------------------------------------------------------


def test_settings_are_stored_untouched(mixture):
    rules = Constraints(fixed=["x1"])
    made = Explainer(mixture, penalty=3, plausibility=0.1, min_posterior=0.7, constraints=rules)
    assert (made.penalty, made.plausibility, made.min_posterior) == (3, 0.1, 0.7)
    assert made.constraints is rules
    assert made.planner is None


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            {"penalty": -1},
            "'penalty' must be a finite number of at least 0 and at most 100. Got -1.",
        ),
        ({"scale": "log"}, "'scale' must be one of 'relative', 'nll'. Got 'log'."),
        (
            {"plausibility": np.nan},
            "'plausibility' must be a finite number of at most 1e+06. Got nan.",
        ),
        ({"min_posterior": 1.0}, "'min_posterior' must be at least 0 and below 1. Got 1.0."),
        ({"constraints": ["x1"]}, "'constraints' must be a daace.Constraints. Got list."),
        ({"planner": "fast"}, "'planner' must be a daace.Planner. Got str."),
    ],
)
def test_wrong_settings_say_what_was_expected(mixture, setting, message):
    with pytest.raises(InvalidInput) as error:
        Explainer(mixture, **setting)
    assert str(error.value) == message


def test_the_density_must_be_one_and_fitted():
    with pytest.raises(InvalidInput, match=r"must be a ConditionalDensity\. Got str"):
        Explainer("linear-gaussian")
    with pytest.raises(InvalidInput, match="must be fitted"):
        Explainer(KernelDensity())


# Rows ---------------------------------------------------------------------------------------------


def test_a_row_may_come_in_any_shape(simple):
    row = {"x2": 0.25, "x1": 0.5}
    shapes = [
        row,
        pd.Series(row),
        pd.Series({**row, "class": "ill"}),
        pd.DataFrame([row]),
        pd.DataFrame([row]).astype({"x1": str}),  # of a column with a word in another row
        np.array([0.5, 0.25]),
        [0.5, 0.25],
    ]
    paths = [simple.explain(shape).path for shape in shapes]
    for path in paths:
        assert path.iloc[0].to_dict() == {"x1": 0.5, "x2": 0.25}
        pd.testing.assert_frame_equal(path, paths[0])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"x1": 0.0}, "Missing: 'x2'"),
        ({"x1": 0.0, "x2": np.nan}, "must be a finite number, but 'x2' is missing"),
        ({"x1": np.inf, "x2": 0.0}, "must be a finite number, but 'x1' is inf"),
        ({"x1": "tall", "x2": 0.0}, "must be a finite number, but 'x1' is 'tall'"),
        ([1.0, 2.0, 3.0], "must have 2 values"),
        ([[0.0, 0.0], [1.0, 1.0]], "'row' must be one row. Got 2"),
        ("row", "must be a Series, a dict, a DataFrame or an array"),
    ],
)
def test_bad_rows_are_refused(simple, row, message):
    with pytest.raises(InvalidInput, match=message):
        simple.explain(row)


def test_a_row_may_have_columns_that_the_model_does_not_know(simple):
    plain = simple.explain({"x1": 0.0, "x2": 0.5})
    named = simple.explain(pd.Series({"name": "Ada", "x2": 0.5, "x1": 0.0, "born": None}))
    pd.testing.assert_frame_equal(named.path, plain.path)


def test_the_row_is_not_modified(simple):
    row = pd.Series({"x1": 0.0, "x2": 0.0})
    simple.explain(row)
    assert row.to_dict() == {"x1": 0.0, "x2": 0.0}


# Targets ------------------------------------------------------------------------------------------


def test_with_two_classes_the_other_one_is_the_target(simple):
    assert simple.explain([0.0, 0.0]).target == "well"
    assert simple.explain([4.0, 1.0]).target == "ill"


def test_with_more_classes_the_target_is_required(iris):
    with pytest.raises(InvalidInput, match="'target' must be given, as there are 3 classes"):
        Explainer(iris).explain(np.full(4, 3.0))


def test_an_unknown_target_is_refused(simple):
    with pytest.raises(InvalidInput, match=r"must be one of 'ill', 'well'. Got 'rich'"):
        simple.explain([0.0, 0.0], target="rich")


def test_a_target_that_is_reached_already_is_found(simple):
    e = simple.explain([0.0, 0.0], target="ill")
    assert (e.status, e.found, e.cost, len(e.path)) == ("already_there", True, 0.0, 1)
    assert e.counterfactual.to_dict() == {"x1": 0.0, "x2": 0.0}
    assert e.changes().empty


def test_integer_classes_come_back_as_integers(straight):
    density = GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], [0, 1])
    e = Explainer(density, planner=straight).explain([0.0], target="1")
    assert (e.target, e.current) == (1, 0)
    assert type(e.target) is int


# Overrides ----------------------------------------------------------------------------------------


def test_overrides_hold_for_one_call(simple):
    e = simple.explain([0.0, 0.0], penalty=2, plausibility=-1, min_posterior=0.9, seed=7)
    assert (e.provenance.penalty, e.provenance.plausibility) == (2.0, -1.0)
    assert (e.provenance.min_posterior, e.provenance.seed) == (0.9, 7)
    assert e.posterior >= 0.9
    assert simple.explain([0.0, 0.0]).provenance.penalty == 1.0


def test_min_log_prob_overrides_plausibility(simple):
    e = simple.explain([0.0, 0.0], min_log_prob=-3.0)
    assert e.provenance.min_log_prob == -3.0
    assert e.provenance.plausibility is None
    assert e.log_prob >= -3.0


def test_time_limit_reaches_the_planner(simple, mixture):
    e = simple.explain([0.0, 0.0], time_limit=5.0)
    assert "time_limit=5.0" in e.provenance.planner

    class Patient(Planner):
        def solve(self, problem, *, rng): ...

    with pytest.raises(InvalidInput, match="a Patient has no time limit"):
        Explainer(mixture, planner=Patient()).explain([0.0, 0.0], time_limit=1.0)


@pytest.mark.parametrize("seed", [-1, 0.5, "0"])
def test_a_seed_is_a_natural_number(simple, seed):
    with pytest.raises(InvalidInput, match="'seed' must be an integer of at least 0"):
        simple.explain([0.0, 0.0], seed=seed)


# Constraints --------------------------------------------------------------------------------------


def test_constraints_hold_to_the_last_bit(explainer, malignant):
    row = malignant.loc[499]
    rules = Constraints(
        fixed=["mean symmetry", "worst symmetry"],
        lower={"mean area": 700.1},
        upper={"mean texture": float(row["mean texture"])},
        only_down=["worst area"],
        only_up=["smoothness error"],
    )
    e = explainer.explain(row, target="benign", constraints=rules)
    assert e.found
    for name in rules.fixed:
        assert (e.path[name] == row[name]).all()
        assert name not in set(e.changes()["feature"])
    assert (e.path["mean area"] >= 700.1).all()
    assert (e.path["mean texture"] <= row["mean texture"]).all()
    assert (np.diff(e.path["worst area"]) <= 0).all()
    assert (np.diff(e.path["smoothness error"]) >= 0).all()
    assert e.provenance.constraints["fixed"] == ("mean symmetry", "worst symmetry")


def test_a_constraint_that_excludes_the_start_is_refused(simple):
    with pytest.raises(InvalidInput, match="'lower' must allow the start"):
        simple.explain([0.0, 0.0], constraints=Constraints(lower={"x1": 1.0}))


def test_an_empty_constraint_overrides_those_of_the_explainer(mixture, straight):
    strict = Explainer(mixture, planner=straight, constraints=Constraints(fixed=["x1", "x2"]))
    assert not strict.explain([0.0, 0.0]).found
    assert strict.explain([0.0, 0.0], constraints=Constraints()).found


# The default planner ------------------------------------------------------------------------------


def test_the_default_planner_meets_the_goal(explainer, explanation, malignant):
    assert explanation.found
    assert explanation.posterior >= 0.5
    assert explanation.log_prob >= explanation.provenance.min_log_prob
    end = explainer.density.to_model(explanation.counterfactual)
    assert explainer.density.log_prob(end)[0] == pytest.approx(explanation.log_prob, abs=1e-6)
    assert explanation.provenance.planner.startswith("PathOptimizer(")
    again = explainer.explain(malignant.loc[499], target="benign")
    pd.testing.assert_frame_equal(again.path, explanation.path, check_exact=True)


def test_one_row_is_the_batch_of_one_row(explainer, explanation, malignant):
    (alone,) = explainer.explain_batch(malignant.loc[[499]], target="benign")
    pd.testing.assert_frame_equal(alone.path, explanation.path, check_exact=True)


def test_a_given_planner_is_used(explainer, malignant):
    e = explainer.explain(malignant.loc[499], planner=PathOptimizer(vertices=1, starts=2))
    assert e.step_count == 2


def test_a_density_that_is_nearly_flat_somewhere_has_costs_too():
    """Its resolution asks for more nodes than an integer can count."""
    thin = np.diag([1.0, 1e-60])
    density = GaussianMixture(
        [1, 1, 1], [[0.0, 0.0], [4.0, 1.0], [2.0, 5.0]], [np.eye(2), np.eye(2), thin], [0, 1, 1]
    )
    e = Explainer(density).explain([0.0, 0.0], target=1)
    assert e.found
    assert np.isfinite(e.cost)


@pytest.mark.parametrize(
    ("ask", "argument"),
    [
        (lambda e: e.explain([np.nan, 0.0], target="well"), "row"),
        (lambda e: e.explain_batch([[np.nan, 0.0]], target="well", strict=True), "row"),
        (lambda e: e.explain_batch([[np.nan, 0.0]] * 2, target="well", strict=True), "frame"),
        (lambda e: Explanation.from_json("{"), "text"),
        (lambda e: Explainer(e.density, classifier=LogisticRegression()), "classifier"),
    ],
)
def test_errors_name_their_argument(mixture, ask, argument):
    with pytest.raises(InvalidInput) as error:
        ask(Explainer(mixture))
    assert error.value.argument == argument
