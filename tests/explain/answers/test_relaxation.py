from __future__ import annotations

import pytest

from daace import Constraints
from daace.explain.answers.reasons import round_down
from daace.explain.explainer import Explainer


@pytest.mark.parametrize(
    ("value", "digits", "rounded"),
    [(-0.123, None, -0.13), (2.539, None, 2.53), (0.9376, 2, 0.93), (4.56e-12, 2, 4.5e-12),
     (0.0, 2, 0.0), (1e-320, 2, 0.0)],
)  # fmt: skip
def test_round_down(value, digits, rounded):
    assert round_down(value, digits=digits) == rounded


@pytest.mark.parametrize(
    ("asked", "advised"),
    [
        ({"plausibility": 4.0}, "plausibility"),
        ({"min_log_prob": 0.0}, "min_log_prob"),
        ({"min_posterior": 0.9999999}, "min_posterior"),
    ],
)
@pytest.mark.parametrize("default_planner", [False, True])
def test_following_the_advice_finds_a_path(simple, mixture, asked, advised, default_planner):
    explainer = Explainer(mixture) if default_planner else simple
    rules = Constraints(upper={"x1": 5.0, "x2": 5.0})  # else any posterior can be reached
    first = explainer.explain([0.0, 0.0], target="well", constraints=rules, **asked)
    assert not first.found
    assert advised in first.relax
    assert f"lower '{advised}' to " in first.describe()
    for name, value in first.relax.items():
        second = explainer.explain(
            [0.0, 0.0], target="well", constraints=rules, **{**asked, name: value}
        )
        assert second.found, (name, value)


def test_the_advice_is_the_best_that_was_seen(simple):
    e = simple.explain([0.0, 0.0], target="well", plausibility=4.0)
    draws = simple.density.draws_
    peak = (simple.density.log_prob(simple.density.pool("well").X).max() - draws.mean) / draws.sd
    assert peak - 0.03 <= e.relax["plausibility"] <= peak


def test_a_path_needs_no_advice(simple):
    assert simple.explain([0.0, 0.0]).relax == {}


def test_a_threshold_that_the_start_meets_is_no_advice(mixture):
    """With everything fixed, it could only be told to stay."""
    rules = Constraints(fixed=["x1", "x2"])
    e = Explainer(mixture).explain([0.0, 0.0], target="well", constraints=rules)
    assert not e.found
    assert e.relax == {}
