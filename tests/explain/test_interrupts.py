"""Class labels are never taken one by one from a numpy text array: numpy loses Ctrl-C there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from daace import Constraints, GaussianMixture, KernelDensity, LinearGaussianNetwork, Roadmap, Table
from daace.explain.explainer import Explainer


class Guarded(np.ndarray):
    """An array that may be used as a whole, or by `item` and `tolist`, only."""

    def __iter__(self) -> Any:
        pytest.fail("a text array is iterated: use tolist()")

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int | np.integer):
            pytest.fail("a text array is indexed: use item()")
        return super().__getitem__(key)


@pytest.fixture
def guarded():
    density = GaussianMixture(
        [1, 1], [[0.0, 0.0], [4.0, 1.0]], [np.eye(2), np.eye(2)], ["ill", "well"]
    )
    density.classes_ = density.classes_.view(Guarded)
    return Explainer(density)


def test_the_guard_notices(guarded):
    for use in (list, lambda array: array[0]):
        with pytest.raises(pytest.fail.Exception, match="a text array is"):
            use(guarded.density.classes_)


def test_no_explanation_does(guarded):
    found = guarded.explain([0.0, 0.0], target="well", alternatives=1)
    assert found.found
    assert not guarded.explain([0.0, 0.0], target="well", plausibility=50).found
    assert guarded.explain([0.0, 0.0], target="well", planner=Roadmap()).found
    few = Constraints(fixed=["x2"], integer=["x1"])
    assert guarded.explain([0.0, 0.0], target="well", constraints=few).found
    assert found.to_html()
    assert found.plot_data("along") is not None


def test_no_batch_does(guarded):
    rows = np.zeros((3, 2))
    assert guarded.explain_batch(rows).summary().rows == 3
    judged = replace(guarded, classifier=lambda X: 1 / (1 + np.exp(2 - X["x1"])))
    assert judged.explain_batch(rows, target="well").summary().rows == 3


@pytest.mark.parametrize("density", [LinearGaussianNetwork(), KernelDensity()])
def test_no_fit_and_no_check_does(density, guarded):
    X, y = guarded.density.sample(80, rng=np.random.default_rng(0))
    classes = guarded.density.classes_
    table = Table(X, y.view(Guarded), ("x1", "x2"), classes)
    explainer = Explainer(density.fit(table))
    assert explainer.check(table).rows == 80
