from __future__ import annotations

import numpy as np
import pytest

from daace import Explainer, GaussianMixture
from daace.web.questions import RowQuestion
from daace.web.remedies import find_remedies
from daace.web.wording import as_shown, with_labels

MEANS = [[0.0, 0.0, 0.0], [3.0, 3.0, 0.0]]


@pytest.fixture(scope="module")
def explainer() -> Explainer:
    density = GaussianMixture([1, 1], MEANS, [np.eye(3), np.eye(3)], ["ill", "well"])
    return Explainer(density, min_posterior=0.9)


def remedies(explainer, **record) -> list[tuple[str, RowQuestion]]:
    asked = {"row": {"x1": 0.0, "x2": 0.0, "x3": 0.0}, "target": "well", **record}
    question = RowQuestion.read(asked)
    e = explainer.explain(question.row, **question.arguments(explainer, "explain", limit=60.0))
    assert not e.found
    return [(one["words"], RowQuestion.read(one["question"])) for one in find_remedies(e, question)]


@pytest.mark.parametrize(
    ("constraints", "words"),
    [
        ({"fixed": ["x1", "x2"]}, "Leave out"),
        ({"upper": {"x1": 0.1, "x2": 0.1}}, "Leave out the rules on"),
        ({"upper": {"x1": 0.2}, "fixed": ["x3"]}, "Move"),
    ],
)
def test_every_remedy_of_a_rule_helps(explainer, constraints, words):
    found = remedies(explainer, constraints=constraints)
    assert any(text.startswith(words) for text, _ in found)
    for text, question in found:
        arguments = question.arguments(explainer, "explain", limit=60.0)
        assert explainer.explain(question.row, **arguments).found, text


def test_thresholds_are_lowered(explainer):
    found = remedies(explainer, settings={"plausibility": 9.0})
    assert [text.split(" to ")[0] for text, _ in found] == ["Lower “How plausible”"]
    question = found[0][1]
    arguments = question.arguments(explainer, "explain", limit=60.0)
    assert explainer.explain(question.row, **arguments).found


def test_settings_are_called_and_counted_as_on_the_page():
    asked = "Asked for: plausibility -0.5 and min_posterior 0.75."
    assert with_labels(asked, ["age"]) == "Asked for: “How plausible” -0.5 and “How sure” 75%."
    assert with_labels(asked, ["plausibility", "min_posterior"]) == asked
    assert as_shown("min_posterior", 0.28) == "28%"


def test_an_answer_needs_no_remedy(explainer):
    question = RowQuestion.read({"row": {"x1": 0.0, "x2": 0.0, "x3": 0.0}, "target": "well"})
    assert find_remedies(explainer.explain(question.row, target="well"), question) == []


@pytest.mark.parametrize("number", [0, 3])
def test_remedies_hold_when_everything_is_locked(lender, service, number):
    names = list(lender.density.features_)
    record = {"row": service.people.row(number)["row"], "constraints": {"fixed": names}}
    question = RowQuestion.read(record)
    e = lender.explain(question.row, **question.arguments(lender, "explain", limit=60.0))
    found = find_remedies(e, question)
    assert found
    for remedy in found:
        other = RowQuestion.read(remedy["question"])
        arguments = other.arguments(lender, "explain", limit=60.0)
        assert lender.explain(other.row, **arguments).found, remedy["words"]
