from __future__ import annotations

import builtins
from dataclasses import replace

import numpy as np
import pytest

from daace import NSGA2, Constraints, Explainer, PathOptimizer
from daace.exceptions import InvalidInput, MissingDependency
from daace.explain.several.front import MEMBERS
from daace.landscape.cost import Landscape
from daace.planners.base import Clock, give_up

SMALL = NSGA2(population=20, generations=15)


@pytest.fixture(scope="module")
def patient(malignant):
    return malignant.loc[499]


@pytest.fixture(scope="module")
def explainer(network):
    return Explainer(network, changes="all", round=False)


@pytest.fixture(scope="module")
def explanation(explainer, patient):
    return explainer.explain(patient, target="benign")


@pytest.fixture(scope="module")
def of_patient(explainer, patient):
    pytest.importorskip("pymoo")
    return explainer.front(patient, target="benign", planner=SMALL)


@pytest.fixture(scope="module")
def of_flower(iris):
    """A front on which the probability matters: virginica is next to versicolor."""
    pytest.importorskip("pymoo")
    return Explainer(iris, changes="all", round=False).front(
        [5.1, 3.5, 1.4, 0.2], target="virginica", planner=SMALL
    )


def assert_unbeaten(front):
    frame = front.to_frame()
    assert (np.diff(frame["cost"]) >= 0).all()
    worth = np.column_stack([-frame["cost"], frame["posterior"], frame["log_prob"]])
    for i, one in enumerate(worth):
        others = np.delete(worth, i, axis=0)
        equal = (others >= one - [0.0, 1e-3, 1e-6]).all(axis=1)
        assert not equal.any(), i


def test_the_cheapest_is_what_explain_finds(explainer, patient, of_patient, explanation):
    assert of_patient[0].cost <= explanation.cost
    assert of_patient[0].path.equals(explanation.path)
    # A planner of the explainer's own plans the members, too.
    direct = replace(explainer, planner=PathOptimizer(vertices=0))
    front = direct.front(patient, target="benign", planner=SMALL)
    assert front[0].cost == direct.explain(patient, target="benign").cost > explanation.cost
    assert {e.step_count for e in front} == {1}


def test_no_member_is_beaten_by_planning_for_what_it_reaches(explainer, patient, of_patient):
    assert 5 <= len(of_patient) <= MEMBERS
    for e in of_patient:
        again = explainer.explain(
            patient, target="benign", min_log_prob=e.log_prob - 1e-9, min_posterior=0.999
        )
        assert e.posterior >= 0.999
        assert e.cost <= 1.01 * again.cost


def test_nor_where_the_probability_matters(iris, of_flower):
    assert np.ptp([e.posterior for e in of_flower]) > 0.3
    for e in of_flower:
        again = Explainer(iris, changes="all", round=False).explain(
            [5.1, 3.5, 1.4, 0.2],
            target="virginica",
            min_log_prob=e.log_prob - 1e-9,
            min_posterior=e.posterior - 1e-9,
        )
        assert e.cost <= 1.01 * again.cost


def test_members_are_spread_over_what_can_be_reached(of_patient):
    percentiles = of_patient.to_frame()["percentile"]
    assert percentiles.iloc[0] < 45
    assert percentiles.iloc[-1] > 95
    assert np.diff(percentiles).max() < 35


def test_no_member_equals_a_cheaper_one(of_patient, of_flower):
    assert_unbeaten(of_patient)
    assert_unbeaten(of_flower)


def test_same_seed_same_front(explainer, patient, of_patient):
    again = explainer.front(patient, target="benign", planner=SMALL)
    assert again.to_frame().equals(of_patient.to_frame())
    assert all(a.path.equals(b.path) for a, b in zip(again, of_patient, strict=True))


def test_members_keep_to_the_rules(mixture):
    pytest.importorskip("pymoo")
    rules = Constraints(upper={"x2": 0.4}, max_step={"x1": 0.5}, weights={"x1": 2.0})
    asked = Explainer(
        mixture,
        constraints=rules,
        penalty=2.0,
        scale="nll",
        min_posterior=0.7,
        changes="all",
        round=False,
    )
    front = asked.front([0.0, 0.0], target="well", planner=SMALL)
    assert len(front) > 2
    assert front[0].cost == asked.explain([0.0, 0.0], target="well").cost
    landscape = Landscape(mixture, penalty=2.0, scale="nll")
    for e in front:
        path = mixture.to_model(e.path)
        assert e.cost == pytest.approx(landscape.path_cost(path, weights=np.array([2.0, 1.0])))
        assert e.path["x2"].max() <= 0.4 + 1e-9
        assert e.path["x1"].diff().abs().max() <= 0.5 + 1e-9
        assert e.posterior >= 0.7
        assert e.log_prob >= e.provenance.min_log_prob


def test_a_classifier_judges_the_members(mixture):
    pytest.importorskip("pymoo")

    def slope(rows):
        return 1 / (1 + np.exp(-2 * (rows["x1"] - 2.5)))

    asked = Explainer(mixture, classifier=slope)
    front = asked.front({"x1": 0.0, "x2": 0.0}, target="well", planner=SMALL)
    assert front[0].cost <= asked.explain({"x1": 0.0, "x2": 0.0}, target="well").cost
    for e in front:
        assert e.posterior == pytest.approx(slope(e.path).iloc[-1], abs=1e-6)
        assert e.provenance.classifier_rows > 0
    assert_unbeaten(front)


def test_who_is_there_may_stay_or_go_further(mixture):
    pytest.importorskip("pymoo")
    front = Explainer(mixture).front([3.0, 0.5], target="well", planner=SMALL)
    assert front[0].status == "already_there"
    assert front[0].cost == 0
    assert len(front) > 2
    assert_unbeaten(front)


def test_the_genetic_search_fills_in(mixture, monkeypatch):
    pytest.importorskip("pymoo")

    def find_nothing(_, problems, *, rngs):
        return [give_up(problem, Clock()) for problem in problems]

    monkeypatch.setattr(PathOptimizer, "solve_many", find_nothing)
    rules = Constraints(max_step={"x1": 0.5})
    front = Explainer(mixture, constraints=rules).front([0.0, 0.0], target="well", planner=SMALL)
    assert len(front) > 2
    assert_unbeaten(front)
    for e in front:
        assert e.provenance.planner.startswith("NSGA2(")
        assert e.path["x1"].diff().abs().max() <= 0.5 + 1e-9


def test_reads_as_a_sequence_a_frame_and_a_plot(simple):
    pytest.importorskip("pymoo")
    front = simple.front([0.0, 0.0], target="well", planner=SMALL)
    assert len(front) == len(list(front)) > 2
    for e in front:
        assert e.found
        assert e.posterior >= 0.5
        assert e.provenance.planner.startswith(("PathOptimizer(", "NSGA2("))
    assert front.to_frame().columns.tolist() == ["cost", "posterior", "log_prob", "percentile"]
    assert repr(front).startswith("ExplanationFront(members=")
    words = [text.get_text() for text in front.plot().findobj() if hasattr(text, "get_text")]
    assert "cost of the path" in words


def test_no_way_is_an_empty_front(simple):
    pytest.importorskip("pymoo")
    planner = NSGA2(population=6, generations=2)
    front = replace(simple, plausibility=50.0).front([0.0, 0.0], target="well", planner=planner)
    assert len(front) == 0
    assert front.to_frame().empty
    front.plot().canvas.draw()


def test_without_pymoo_it_says_so(simple, monkeypatch):
    load = builtins.__import__

    def refuse(name, *rest):
        if name.split(".")[0] == "pymoo":
            raise ImportError(name)
        return load(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingDependency, match=r"pip install 'daace\[nsga2\]'"):
        simple.front([0.0, 0.0], target="well")


def test_only_the_genetic_search_has_a_front(simple, straight):
    with pytest.raises(InvalidInput, match=r"'planner' must be an NSGA2. Got StraightLine"):
        simple.front([0.0, 0.0], planner=straight)
    with pytest.raises(InvalidInput, match="'row' must be one row"):
        simple.front([[0.0, 0.0]] * 2)
