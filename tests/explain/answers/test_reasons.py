from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from daace import (
    Constraints,
    Explainer,
    Explanation,
    GaussianMixture,
    Goal,
    Landscape,
    Link,
    Problem,
)
from daace.explain.answers.reasons import _relax, find_reasons, round_down, rules_of


@pytest.fixture(scope="module")
def density() -> GaussianMixture:
    """Two round classes, 4 apart along the first feature."""
    means = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0]]
    return GaussianMixture([1, 1], means, [np.eye(3), np.eye(3)], ["ill", "well"])


def ask(density: GaussianMixture, **rules: object) -> Problem:
    constraints = Constraints(**rules)  # type: ignore[arg-type]
    goal = Goal("well", min_posterior=0.8)
    return Problem(np.zeros(3), Landscape(density), goal, constraints)


def number(sentence: str) -> float:
    found = re.search(r": (-?[\d.]+) would be enough", sentence)
    assert found, sentence
    return float(found.group(1))


#: The posterior of 'well' is 0.8 where x1 = 2 + log(4) / 4.
EDGE = 2 + np.log(4) / 4


@pytest.mark.parametrize(
    ("rules", "words", "needed"),
    [
        ({"upper": {"x1": 1.0}}, "'upper' of 'x1' \\(1\\)", EDGE),
        ({"max_rise": {"x1": 1.0}}, "'max_rise' of 'x1'", EDGE),
        ({"fixed": ["x1", "x2"]}, "'fixed' for 'x1'", EDGE),
        ({"links": [Link({"x1": 2, "x2": 0.001}, at_most=1)]}, "[Tt]he link", 2 * EDGE),
    ],
)
def test_the_rule_in_the_way_and_how_far_it_must_give(
    density: GaussianMixture, rules: dict[str, object], words: str, needed: float
) -> None:
    (said,) = find_reasons(ask(density, **rules))
    assert re.match(words, said)
    (name,) = rules
    assert (said.code, said.fields["rule"]) == ("rule_too_strict", name)
    assert said.fields["feature"] == (None if name == "links" else "x1")
    assert said.fields["number"] == (None if name == "fixed" else 1.0)
    assert said.fields["enough"] == number(said) == pytest.approx(needed, rel=0.05)
    assert number(said) >= needed - 1e-3


@pytest.mark.parametrize("unit", [1.0, 7_919.0, 0.000_123])
@pytest.mark.parametrize("turn", [0.05, 0.15, 0.25, 0.35])
def test_the_number_that_would_be_enough_is_enough(unit: float, turn: float) -> None:
    """Rounded to the nearest, every other one was not."""
    means = unit * np.array([[0.0, 0.0], [4.0 * np.cos(turn), 4.0 * np.sin(turn)]])
    density = GaussianMixture([1, 1], means, [unit**2 * np.eye(2)] * 2, ["ill", "well"])
    start = pd.Series([0.0, 0.0], ["x1", "x2"])
    explainer = Explainer(density, min_posterior=0.8)

    def ask(most: float) -> Explanation:
        return explainer.explain(
            start, target="well", constraints=Constraints(fixed=["x2"], upper={"x1": most})
        )

    nothing = ask(0.1 * unit)
    said = next(text for text in nothing.notes if "'upper' of 'x1'" in text)
    assert ask(number(said)).found


def test_a_rule_that_is_kept_without_being_asked_for_gets_no_number(
    density: GaussianMixture,
) -> None:
    """The way without it keeps it too: to ease it is no remedy, and to tighten it none either."""
    problem = ask(density, lower={"x2": -0.5})
    (rule,) = rules_of(problem.constraints)
    assert _relax(problem, rule) == (
        "'lower' of 'x2' (-0.5) stands in the way: without it there is a path."
    )


def test_a_rule_without_a_number(density: GaussianMixture) -> None:
    (said,) = find_reasons(ask(density, only_down=["x1"], upper={"x2": 1.0}))
    assert said == "'only_down' for 'x1' stands in the way: without it there is a path."
    assert said.code == "rule_in_the_way"


def test_rules_that_are_to_blame_together(density: GaussianMixture) -> None:
    (said,) = find_reasons(ask(density, upper={"x1": 1.0}, max_rise={"x1": 1.0}))
    assert said.code == "rules_together_in_the_way"
    assert said.fields["rules"] == ["upper", "max_rise"]
    assert "'upper' of 'x1'" in said
    assert "'max_rise' of 'x1'" in said


def test_no_rule_is_to_blame_where_the_thresholds_are(density: GaussianMixture) -> None:
    goal = Goal("well", min_log_prob=100.0)
    problem = Problem(np.zeros(3), Landscape(density), goal, Constraints(fixed=["x2"]))
    assert find_reasons(problem) == ()
    assert find_reasons(ask(density)) == ()


def test_every_rule_is_looked_at(density: GaussianMixture) -> None:
    problem = ask(
        density,
        fixed=["x1"],
        lower={"x2": -1.0},
        upper={"x2": 1.0},
        max_rise={"x3": 1.0},
        max_fall={"x3": 1.0},
        only_up=["x3"],
        links=[Link({"x1": 1, "x2": 1}, equals=0)],
        max_changed=2,
        weights={"x1": 2.0},
        max_step={"x1": 2.0},
    )
    words = [rule.words().split()[0] for rule in rules_of(problem.constraints)]
    named = ("fixed", "lower", "upper", "max_rise", "max_fall", "only_up")
    assert sorted(words) == sorted(["the", *(f"'{name}'" for name in named)])
    for rule in rules_of(problem.constraints):
        assert problem.constraints.without(rule) != problem.constraints


def test_an_explanation_names_the_rule_in_the_way(density: GaussianMixture) -> None:
    explainer = Explainer(density, min_posterior=0.8)
    row = {"x1": 0.0, "x2": 0.0, "x3": 0.0}
    held = explainer.explain(row, target="well", constraints=Constraints(upper={"x1": 1.0}))
    assert not held.found
    (said,) = held.notes
    assert said in str(held)
    eased = Constraints(upper={"x1": number(said)})
    assert explainer.explain(row, target="well", constraints=eased).found


def test_how_many_changes_would_be_enough_is_told() -> None:
    """Each feature left at the start keeps the end 2.4 from its mean, where 1.45 is allowed."""
    means = [[0.0, 0.0, 0.0], [2.4, 2.4, 2.4]]
    density = GaussianMixture([1, 1], means, [np.eye(3), np.eye(3)], ["ill", "well"])
    explainer = Explainer(density, constraints=Constraints(max_changed=1, upper={"x1": 9.0}))
    e = explainer.explain([0.0, 0.0, 0.0], target="well", min_log_prob=-4.5)
    assert not e.found
    assert e.notes == ("No path was found that changes at most 1 feature: 3 would be enough.",)
    enough = Constraints(max_changed=3)
    assert explainer.explain(
        [0.0, 0.0, 0.0], target="well", min_log_prob=-4.5, constraints=enough
    ).found


def test_behind_too_few_changes_another_rule_is_named(density: GaussianMixture) -> None:
    (said,) = find_reasons(ask(density, max_changed=1, upper={"x1": 1.0}))
    assert said.startswith("'upper' of 'x1' (1) stands in the way")


# Thresholds ---------------------------------------------------------------------------------------


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
