from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from daace import Explainer, Face, GaussianMixture, InvalidInput, Link, fit, load_table
from daace.web.questions import RowQuestion, known_settings, rules_record, settings_of_call
from daace.web.service import Service


@pytest.fixture
def explainer() -> Explainer:
    return Explainer(GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["ill", "well"]))


def test_every_setting_of_explain_is_known():
    assert {
        "penalty",
        "plausibility",
        "min_log_prob",
        "min_posterior",
        "time_limit",
        "seed",
    } <= set(settings_of_call())
    assert not {"row", "target", "constraints", "planner", "density", "classifier"} & set(
        known_settings()
    )


def test_a_question_survives_json(explainer):
    rules = {"fixed": ["x1"], "links": [{"terms": {"x1": 2}, "at_most": 3}], "max_changed": 1}
    question = RowQuestion.read({"row": {"x1": 0.0}, "target": "well", "constraints": rules})
    assert question.rules.links == (Link({"x1": 2}, at_most=3),)
    again = RowQuestion.read(question.to_record())
    assert again.rules == question.rules
    assert again.digest == question.digest
    assert RowQuestion.read({"row": {"x1": 0.1}}).digest != question.digest


def test_the_question_behind_an_answer_gives_it_again(explainer):
    e = explainer.explain([0.0], target="well", min_log_prob=-3.0, min_posterior=0.7)
    question = RowQuestion.behind(e)
    assert question.settings["min_log_prob"] == e.provenance.min_log_prob
    arguments = question.arguments(explainer, "explain", limit=9.0)
    assert explainer.explain(question.row, **arguments).cost == e.cost


def test_time_is_limited(explainer):
    def limit(**settings):
        question = RowQuestion.read({"row": {}, "settings": settings})
        return question.arguments(explainer, "explain", limit=9.0)["time_limit"]

    assert (limit(), limit(time_limit=2), limit(time_limit=99)) == (9.0, 2, 9.0)


@pytest.mark.parametrize(
    "record",
    [
        {"row": [1]},
        {"settings": 3},
        {"row": {"x1": float("inf")}},
        {"row": {"x1": 10**400}},
        {"row": {"\ud800": 1}},
    ],
)
def test_what_is_not_plain_is_refused(record):
    with pytest.raises(InvalidInput):
        RowQuestion.read(record)


def test_empty_rules_are_left_out():
    assert rules_record(RowQuestion.read({"constraints": {"fixed": [], "lower": {}}}).rules) == {}


def test_models_are_no_settings(explainer):
    question = RowQuestion.read({"settings": {"committee": {"members": 7}}})
    with pytest.raises(InvalidInput, match=r"'settings' must be some of .* Got 'committee'"):
        question.arguments(explainer, "explain", limit=9.0)


def test_a_planner_without_a_time_limit_gets_none(explainer):
    other = replace(explainer, planner=Face(rows=np.array([[0.0], [2.0], [4.0]])))
    question = RowQuestion.read({"row": {"x1": 0.0}, "target": "well"})
    assert "time_limit" not in question.arguments(other, "explain", limit=9.0)


def test_a_truth_value_is_no_level_of_numbers():
    table = load_table("loans").take(range(300)).select(["late_payments", "income"])
    service = Service(fit(table, density="linear-gaussian", judge="density"))
    assert service.explain({"row": {"late_payments": 0, "income": 2000}})["status"]
    with pytest.raises(InvalidInput, match="'row' must have a level for 'late_payments'"):
        service.explain({"row": {"late_payments": False, "income": 2000}})
