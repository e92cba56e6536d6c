from __future__ import annotations

import pytest

from daace import Constraints
from daace._formats import percent, percent_of_cases
from daace.exceptions import InvalidInput
from daace.explain.answers.words import NAMED


def test_a_paragraph_for_each_step(explanation):
    steps = explanation.steps()
    assert len(steps) == explanation.step_count == len(explanation.path) - 1
    for number, text in enumerate(steps, 1):
        assert text.startswith(f"Step {number} of {len(steps)}: ")
        state = explanation.along.iloc[number]
        assert f"'benign' has a probability of {percent(state['posterior'])}, " in text
        assert f"more plausible than {percent_of_cases(state['percentile'])} of cases." in text
        largest = explanation.changes(number).iloc[0]
        verb = "raise" if largest["change"] > 0 else "lower"
        assert text.split(": ")[1].startswith(f"{verb} {largest['feature']} from ")
        for name in explanation.changes(number)["feature"].iloc[NAMED:]:
            assert f"{name} to " in text.split("; and smaller changes: ")[1]


def test_raising_and_lowering_have_their_verbs(simple):
    (first, second) = simple.explain([0.0, 3.0], target="well").steps()
    for text in (first, second):
        assert "raise x1 from " in text
        assert "lower x2 from " in text


def test_a_single_step_is_the_only_one(explainer, malignant):
    from daace import PathOptimizer

    (text,) = explainer.explain(malignant.loc[499], planner=PathOptimizer(vertices=0)).steps()
    assert text.startswith("The only step: ")


def test_units_are_named(iris):
    from daace.explain.explainer import Explainer

    row = iris.to_user([[0.0] * 4])
    e = Explainer(iris).explain(row, target="setosa")
    assert all(" cm to " in text for text in e.steps())


@pytest.mark.parametrize("asked", [{"target": "ill"}, {"target": "well", "plausibility": 50}])
def test_where_nothing_changes_there_is_no_step(simple, asked):
    assert simple.explain([0.0, 0.0], **asked).steps() == []


def test_a_step_in_which_nothing_changes(simple, mixture):
    import dataclasses

    e = simple.explain([0.0, 0.0], constraints=Constraints(fixed=["x2"]))
    still = dataclasses.replace(
        e, path=e.path.iloc[[0, 0, 2]].reset_index(drop=True), along=e.along
    )
    assert still.steps()[0].startswith("Step 1 of 2: nothing changes. Then 'well' has")


def test_some_features_must_be_named(simple):
    with pytest.raises(InvalidInput, match="'features' must be an integer of at least 1"):
        simple.explain([0.0, 0.0]).steps(features=0)
