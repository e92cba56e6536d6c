from __future__ import annotations

import json
import math
import warnings
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

from daace import (
    Explainer,
    LinearGaussianNetwork,
    RealNVP,
    Table,
    fit,
    load,
    load_table,
)
from daace.density.splits import split_for_check
from daace.exceptions import InvalidInput
from daace.explain.answers.remarks import find_weakness
from daace.explain.trust.check import Check, check_density
from daace.explain.trust.held_out import from_record, judge_held_out, to_record


@pytest.fixture(scope="module")
def ring() -> Table:
    """A class around the other: for a Gaussian each, probabilities fit; log p does not."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    angle, radius = rng.uniform(0, 2 * np.pi, 400), np.where(y, 3.0, 0.3)
    X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return Table(X, y, ("a", "b"), np.array([0, 1]))


@pytest.fixture(scope="module")
def misleading() -> Explainer:
    """Four clusters that say nothing of the class to a Gaussian each, but seem to."""
    rng = np.random.default_rng(0)
    centre = np.array([[-30.0, 0], [1, 0], [30, 0], [-1, 0]])[np.arange(800) % 4]
    X = centre + 0.1 * rng.normal(size=(800, 2))
    y = np.array(["no", "yes"])[np.isin(np.arange(800) % 4, (1, 3)).astype(int)]
    flip = rng.random(800) < 0.45
    y[flip] = np.where(y[flip] == "no", "yes", "no")
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(c=rng.standard_cauchy(800), y=y)
    return fit(frame, target="y", judge="density")


def made(**changes: object) -> Check:
    bins = pd.DataFrame({"rows": [100] * 10, "confidence": 0.9, "accuracy": 0.9})
    good = Check(
        rows=1000, log_prob=0.0, expected=0.0, z=0.0, rare=0.01, percentiles=np.zeros(101),
        accuracy=0.9, brier=0.1, brier_baseline=0.5, brier_error=0.01, calibration_error=0.02,
        reliability=bins, warnings=(),
    )  # fmt: skip
    return replace(good, **changes)


# What is found ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["iris", "wine_cultivars", "breast_cancer"])
@pytest.mark.parametrize("density", ["linear-gaussian", "kde"])
def test_good_models_are_not_called_weak(name, density):
    explainer = fit(load_table(name), density)
    assert explainer.held_out is not None
    assert find_weakness(explainer.held_out, classified=False) == ()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, None),
        ({"rare": 0.3}, "30% of them are less plausible than 99% of its samples"),
        ({"rare": 0.3, "rows": 20}, None),  # six of twenty may be chance
        ({"brier": 0.52}, "its class probabilities are worse than the shares of the classes al"),
        ({"brier": 0.52, "brier_error": 0.05}, None),
        ({"calibration_error": 0.21}, "its class probabilities are off by 21% on average"),
        ({"calibration_error": 0.16}, None),  # up to 0.024 are expected of groups of 100
        ({"rare": 0.4, "calibration_error": 0.3}, "samples; its class probabilities are off by 30"),
    ],
)
def test_the_note_says_what_is_wrong(changes, sentence):
    found = find_weakness(made(**changes), classified=False)
    if sentence is None:
        assert found == ()
        return
    assert len(found) == 1
    assert found[0].code == "weak_density"
    assert sentence in found[0]
    assert found[0].count(".") == 1  # the summary finds its end by it


def test_a_classifier_answers_for_its_own_probabilities():
    wrong = made(rare=0.4, brier=0.9)
    assert "probabilities" not in find_weakness(wrong, classified=True)[0]
    assert find_weakness(made(brier=0.9), classified=True) == ()
    assert find_weakness(None, classified=False) == ()


# How it is found ----------------------------------------------------------------------------------


def test_networks_are_checked_by_a_second_fit(ring):
    train, rest = split_for_check(ring)
    expected = check_density(LinearGaussianNetwork().fit(train), rest, None)
    assert fit(ring, density="linear-gaussian").held_out.log_prob == expected.log_prob
    assert (expected.rows, len(train)) == (80, 320)


def test_kernel_densities_are_checked_without_each_row(ring):
    explainer = fit(ring, "kde")
    assert explainer.held_out.rows == len(ring)
    assert explainer.held_out.log_prob < explainer.check(ring).log_prob


def test_flows_are_checked_by_what_they_stopped_by(ring):
    pytest.importorskip("torch")
    flow = RealNVP(flows=2, layers=1, hidden=2, epochs=3, seed=4).fit(ring)
    flow.set_params(seed=5, early_stopping=False)  # for another training
    said = flow.held_out(ring)
    assert said.draws is flow.draws_
    loss = flow.history_["validation_loss"].min()
    y = said.labels
    log_density = said.log_joint[np.arange(len(y)), y] - flow.log_prior_[y]
    assert -log_density.mean() == pytest.approx(loss, rel=1e-4)
    blind = RealNVP(flows=2, layers=1, hidden=2, epochs=1, early_stopping=False)
    assert fit(ring, blind).held_out is None


def test_the_split_is_the_same_for_any_order_and_keeps_copies_together(ring):
    rng = np.random.default_rng(1)
    X = np.concatenate([ring.X, ring.X[:100]])
    table = Table(X, np.concatenate([ring.y, ring.y[:100]]), ring.features, ring.classes)
    train, rest = split_for_check(table)
    again, others = split_for_check(table.shuffle(rng=rng))
    assert np.array_equal(train.X, again.X)
    assert np.array_equal(rest.y, others.y)
    assert not {tuple(x) for x in train.X} & {tuple(x) for x in rest.X}
    assert np.bincount(rest.y).min() >= 45


def test_small_tables_are_not_checked():
    iris = load_table("iris")
    few = iris.take(np.arange(0, 150, 4))
    assert fit(few).held_out is None
    rare = iris.take(np.r_[0:100, 100:115])
    explainer = fit(rare)
    assert explainer.held_out is None
    assert explainer.explain(iris.X[60], target="setosa").notes == ()


def test_what_cannot_be_fitted_again_is_not_checked(monkeypatch):
    iris = load_table("iris")
    density = LinearGaussianNetwork().fit(iris)

    def refuse(*_):
        raise InvalidInput("Features must vary.")

    monkeypatch.setattr(LinearGaussianNetwork, "_fit", refuse)
    assert judge_held_out(density, iris) is None


def test_a_second_fit_says_nothing_twice():
    rng = np.random.default_rng(0)
    a = rng.normal(size=200)
    frame = pd.DataFrame({"a": a, "b": rng.normal(size=200), "copy": 2 * a, "y": a > 0})
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fit(frame, target="y")
    assert len(said) == 1


def test_a_fitted_density_is_not_checked(ring):
    assert fit(ring, LinearGaussianNetwork().fit(ring)).held_out is None


# Where it is said ---------------------------------------------------------------------------------


def test_every_explanation_says_so(misleading, tmp_path):
    (weak,) = find_weakness(misleading.held_out, classified=False)
    row = {"a": 1.0, "b": 0.0, "c": 0.0}
    misleading.save(tmp_path / "model.daace")
    for explainer in (misleading, load(tmp_path / "model.daace")):
        e = explainer.explain(row, alternatives=1)
        assert e.notes.count(weak) == 1
        assert weak in str(e)
        assert all(weak in other.notes for other in e.alternatives)
        assert weak in explainer.explain(row, min_posterior=0.9999).notes
    judged = replace(misleading, classifier=lambda rows: np.where(rows["a"] > 0, 0.9, 0.1))
    assert weak not in judged.explain(row).notes


def test_many_answers_say_it_each_and_their_summary_once(misleading, tmp_path):
    (weak,) = find_weakness(misleading.held_out, classified=False)
    rows = pd.DataFrame({"a": [1.0, -1, 30], "b": 0.0, "c": 0.0})
    many = misleading.explain_batch(rows)
    assert all(weak in note for note in many.to_frame()["notes"])
    assert str(many.summary()).count("The model is weak on ") == 1
    rows.to_csv(tmp_path / "rows.csv", index=False)
    for name in ("answers.csv", "answers.jsonl"):
        summary = misleading.explain_file(tmp_path / "rows.csv", tmp_path / name)
        assert summary.weak == weak
        assert (tmp_path / name).read_text().count("The model is weak on ") == 3


def test_it_does_not_take_the_place_of_advice(misleading):
    row = {"a": 1.0, "b": 0.0, "c": 0.0}
    for explainer in (misleading, replace(misleading, held_out=None)):
        e = explainer.explain(row, plausibility=50)
        assert not e.found
        assert "To find a path, " in str(e)


# In a file ----------------------------------------------------------------------------------------


def test_the_record_is_the_check(misleading):
    check = misleading.held_out
    text = json.dumps(to_record(check), default=np.ndarray.tolist)
    again = from_record(json.loads(text), "linear-gaussian")
    for field in fields(Check):
        ours, theirs = getattr(again, field.name), getattr(check, field.name)
        if isinstance(theirs, pd.DataFrame):
            pd.testing.assert_frame_equal(ours, theirs)
        else:
            assert np.array_equal(ours, theirs), field.name
    assert to_record(None) is None is from_record(None, "kde")


@pytest.mark.parametrize(
    "change",
    [
        {"rows": 0},
        {"rows": 2.5},
        {"rows": 10**400},
        {"rare": 1.5},
        {"rare": math.nan},
        {"z": "inf"},
        {"brier": None},
        {"percentiles": [0.0]},
        {"percentiles": [200.0] * 101},
        {"reliability": []},
        {"reliability": [[10, 0.5]]},
        {"reliability": [[10, 0.5, 2.0]]},
        {"reliability": [[0, 0.5, 0.5]]},
        {"reliability": [[10, 0.5, 0.5]] * 11},
    ],
)
def test_a_wrong_record_is_refused(change):
    with pytest.raises((KeyError, TypeError, ValueError)):
        from_record({**to_record(made()), **change}, "kde")


def test_only_a_check_is_taken(ring):
    with pytest.raises(InvalidInput, match=r"'held_out' must be a daace\.Check\. Got str"):
        Explainer(LinearGaussianNetwork().fit(ring), held_out="good")


def test_a_model_file_tells_of_no_few_rows(misleading):
    for check in (misleading.held_out, fit(load_table("iris")).held_out):
        assert check.reliability["rows"].min() >= 10
        assert check.reliability["rows"].sum() == check.rows
        assert len(np.unique(check.percentiles[[0, 1, 2]])) == 1  # of the first ten rows
