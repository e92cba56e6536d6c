"""An explainer in a file: its settings; the density in it is tested with the densities."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from daace import Constraints, LinearGaussianNetwork, PathOptimizer, load_table
from daace.exceptions import ModelFileError
from daace.explain.explainer import Explainer
from daace.explain.loading import load


@pytest.fixture(scope="module")
def small():
    return LinearGaussianNetwork(max_parents=2).fit(load_table("iris"))


@pytest.fixture
def model(small, tmp_path):
    path = tmp_path / "model.daace"
    Explainer(small).save(path)
    return path


def change_settings(path, settings) -> None:
    """Write the same model file with other settings of the explainer."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    meta = json.loads(parts["meta.json"])
    kept = meta["explainer"] if settings else {}
    parts["meta.json"] = json.dumps({**meta, "explainer": {**kept, **settings}}).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


def refused(path) -> str:
    """Return the one sentence with which a file is refused."""
    with pytest.raises(ModelFileError) as error:
        load(path)
    message = str(error.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


def test_a_loaded_explainer_gives_the_same_bits(explainer, explanation, malignant, tmp_path):
    path = tmp_path / "model.daace"
    explainer.save(path)
    again = load(path)
    X = explainer.density.to_model(malignant)
    assert np.array_equal(X, again.density.to_model(malignant))
    assert np.array_equal(explainer.density.log_joint(X), again.density.log_joint(X))
    e = again.explain(malignant.loc[499], target="benign")
    pd.testing.assert_frame_equal(e.path, explanation.path, check_exact=True)
    assert (e.cost, e.log_prob, e.posterior) == (
        explanation.cost, explanation.log_prob, explanation.posterior,
    )  # fmt: skip


def test_settings_are_kept(small, tmp_path):
    rules = Constraints(
        fixed=["petal width"], upper={"petal length": np.inf}, weights={"sepal length": 2}
    )
    made = Explainer(
        small,
        planner=PathOptimizer(vertices=(0, 2), starts=3, time_limit=9.0),
        penalty=2.5,
        scale="nll",
        plausibility=-1.5,
        min_posterior=0.8,
        constraints=rules,
    )
    made.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.planner == made.planner
    assert again.constraints == rules
    for name in ("penalty", "scale", "plausibility", "min_posterior"):
        assert getattr(again, name) == getattr(made, name)


def test_the_same_model_is_the_same_bytes(small, tmp_path):
    Explainer(small).save(tmp_path / "a")
    load(tmp_path / "a").save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_another_planner_is_not_stored_and_said_so(small, straight, tmp_path):
    with pytest.warns(UserWarning, match="does not hold a StraightLine"):
        Explainer(small, planner=straight).save(tmp_path / "m")
    assert load(tmp_path / "m").planner is None


def test_a_classifier_is_not_stored_but_given_again(small, tmp_path):
    from sklearn.naive_bayes import GaussianNB

    iris = load_table("iris")
    model = GaussianNB().fit(iris.X, iris.y)
    Explainer(small, classifier=model).save(tmp_path / "m")
    assert load(tmp_path / "m", classifier=model).classifier is model
    with pytest.warns(UserWarning, match=r"saved with a classifier \(GaussianNB\)"):
        assert load(tmp_path / "m").classifier is None


def test_files_of_the_first_version_are_read():
    explainer = load(Path(__file__).parent / "data" / "version_1.daace")
    assert (explainer.penalty, explainer.constraints) == (2, Constraints(fixed=["sepal width"]))
    assert explainer.held_out is None
    assert (explainer.density.left_out_, explainer.density.columns_) == ({}, ())
    e = explainer.explain([6.1, 2.9, 4.7, 1.4], target="virginica")
    assert e.found
    assert e.notes == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"penalty": -1},
        {"penalty": "high"},
        {"penalty": 1e10},
        {"scale": "x"},
        {"constraints": {"fixed": ["a"]}},
        {"constraints": 3},
        {"constraints": {"unknown": 1}},
        {"planner": {"vertices": "x"}},
        {"planner": 3},
        {"planner": {"vertices": [10**9], "starts": 8}},
        {"planner": {"vertices": [1.0], "starts": 8}},
        {"planner": {"vertices": [0, 1], "starts": 10**9}},
        {"planner": {"vertices": [0, 1], "starts": 2.5}},
        {"min_posterior": "likely"},
        {"judge": "parliament"},
        {"judge": "committee"},
        {"round": 3},
        {"held_out": 3},
        {"held_out": {"rows": 10}},
    ],
)
def test_wrong_explainer_settings(model, changes):
    change_settings(model, changes)
    assert "holds wrong settings" in refused(model)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (name, value)
        for name in ("penalty", "plausibility", "min_posterior")
        for value in (10**400, "inf", "nan", True, "1", None, [1])
        if (name, value) != ("min_posterior", None)  # that of the judges
    ],
)
def test_settings_that_are_no_numbers(model, name, value):
    change_settings(model, {name: value})
    refused(model)


def test_missing_settings_are_named(model):
    change_settings(model, {})
    assert "holds wrong settings: 'penalty' is missing" in refused(model)
