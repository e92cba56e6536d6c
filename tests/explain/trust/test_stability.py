from __future__ import annotations

import numpy as np
import pytest

from daace import Explanation, load_table
from daace.exceptions import InvalidInput
from daace.explain.fitting import fit
from daace.explain.trust.stability import refit, resample


@pytest.fixture(scope="module")
def iris_answer():
    table = load_table("iris")
    row = table.to_frame().iloc[60]
    return table, fit(table, judge="density").explain(row, target="setosa", min_posterior=0.9)


def test_the_default_planner_does_not_depend_on_the_seed(iris_answer):
    _, e = iris_answer
    frame = e.stability(seeds=2).to_frame()
    assert frame["kind"].tolist() == ["seed", "seed"]
    assert frame["distance"].tolist() == [0.0, 0.0]
    assert frame["found"].all()
    assert frame["holds"].all()
    assert frame["plausible"].all()


def test_models_of_other_samples(iris_answer):
    table, e = iris_answer
    stability = e.stability(table, seeds=0, refits=3)
    frame = stability.to_frame()
    assert frame["kind"].tolist() == ["refit"] * 3
    assert frame["found"].all()
    assert frame["distance"].between(0.0, 1.5).all()
    assert frame["distance"].nunique() == 3
    assert str(stability).startswith("3 models of bootstrap samples: a path was found by 3, ")
    again = e.stability(table, seeds=0, refits=3).to_frame()
    assert again.equals(frame)


def test_a_frame_is_as_good_as_a_table(iris_answer):
    table, e = iris_answer
    frame = e.stability(table.to_frame().assign(town="Ulm"), seeds=0, refits=2).to_frame()
    assert frame.equals(e.stability(table, seeds=0, refits=2).to_frame())


def test_a_refit_has_the_same_settings():
    from daace import LinearGaussianNetwork

    table = load_table("iris")
    density = LinearGaussianNetwork(max_parents=1).fit(table)
    other = refit(density, resample(table, 10, rng=np.random.default_rng(0)))
    assert other is not density
    assert other.max_parents == 1
    assert not np.array_equal(other.variances_, density.variances_)


def test_what_cannot_be_measured_is_refused(simple, iris_answer):
    table, e = iris_answer
    with pytest.raises(InvalidInput, match="read from JSON has no model"):
        Explanation.from_json(e.to_json()).stability()
    with pytest.raises(InvalidInput, match="only for a path that was found"):
        simple.explain([0.0, 0.0], target="well", plausibility=50).stability()
    with pytest.raises(InvalidInput, match="'seeds' must be an integer of at least 0"):
        e.stability(seeds=-1)
    with pytest.raises(
        InvalidInput, match=r"'table' must be a daace.Table or a frame. Got ndarray"
    ):
        e.stability(table.X)
    with pytest.raises(InvalidInput, match=r"'table' must have the class column .*'class'"):
        e.stability(table.to_frame().drop(columns="class"))
    known = simple.explain([0.0, 0.0], target="well", min_log_prob=-5.0)
    assert known.stability(seeds=1).to_frame()["found"].all()
    with pytest.raises(InvalidInput, match="'refits' must be 0 for a GaussianMixture"):
        known.stability(table, seeds=0)


def test_every_class_is_in_a_sample():
    table = load_table("iris").take([0, 1, 2, 50, 51, 100, 101])
    for fewest in (1, 2):
        sample = resample(table, fewest, rng=np.random.default_rng(0))
        assert min((sample.y == label).sum() for label in table.classes) >= fewest
    with pytest.raises(InvalidInput, match="more rows of its rarest class"):
        resample(table.take([0, 3, 5]), 2, rng=np.random.default_rng(0))
