from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from daace import GaussianMixture, KernelDensity, LinearGaussianNetwork, Wachter
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.explain.asking.identity import identify_density, identify_judge, identify_planner
from daace.explain.explainer import Explainer
from daace.explain.judging.classifier import ClassifierPosterior
from daace.explain.loading import load


class Own(ConditionalDensity):
    """A density of the user's own, without arrays."""

    def __init__(self, inner: ConditionalDensity) -> None:
        self.inner = inner
        for name in ("classes_", "features_", "target_", "units_", "standardizer_", "draws_"):
            setattr(self, name, getattr(inner, name))

    def log_joint_and_pullback(self, X):
        return self.inner.log_joint_and_pullback(X)

    def sample(self, n, *, rng, label=None):
        return self.inner.sample(n, rng=rng, label=label)


def table(shift=0.0) -> Table:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    frame.loc[0, "b"] += shift
    return Table.from_frame(frame.assign(y=["ill", "well"] * 30), target="y")


@pytest.mark.parametrize("density", [LinearGaussianNetwork(), KernelDensity(bandwidth=0.5)])
def test_one_number_tells_densities_apart(density, tmp_path):
    known = identify_density(density.fit(table()))
    Explainer(density).save(tmp_path / "m.daace", include_rows=True)
    assert identify_density(load(tmp_path / "m.daace").density) == known
    assert identify_density(density.fit(table())) == known
    assert identify_density(density.fit(table(1e-9))) != known


def test_a_density_without_arrays_is_known_by_its_answers(mixture):
    class Tilted(Own):
        def log_joint_and_pullback(self, X):
            joint, pullback = self.inner.log_joint_and_pullback(X)
            return joint + np.array([0.001, 0]), pullback

    Tilted.__qualname__ = Own.__qualname__
    assert identify_density(Own(mixture)) == identify_density(Own(mixture))
    assert identify_density(Own(mixture)) != identify_density(Tilted(mixture))
    assert identify_density(Own(mixture)) != identify_density(mixture)


def digest(mixture, classifier, grad=None, budget=None) -> str:
    judge = ClassifierPosterior(classifier, mixture, grad)
    return identify_judge(judge, mixture, budget=budget)


def step(threshold):
    return lambda rows: np.where(rows["x1"] > threshold, 0.9, 1 / 128)


def test_a_threshold_tells_classifiers_apart(mixture):
    assert digest(mixture, step(2.0)) == digest(mixture, step(2.0))
    assert digest(mixture, step(2.0)) != digest(mixture, step(2.05))


def test_the_last_digits_do_not(mixture):
    rng = np.random.default_rng(0)

    def unsteady(rows):
        return step(2.0)(rows) + rng.normal(scale=1e-15, size=len(rows))

    assert digest(mixture, unsteady) == digest(mixture, step(2.0))


def test_no_more_is_asked_than_allowed(mixture):
    asked = []

    def counting(rows):
        asked.append(len(rows))
        return step(2.0)(rows)

    judge = ClassifierPosterior(counting, mixture)
    asked.clear()
    identify_judge(judge, mixture, budget=7)
    assert asked == [7]


def test_a_classifier_may_fail(mixture):
    def picky(rows):
        if (rows["x1"] > 7.0).any():
            raise ArithmeticError("too far to the right")
        return step(2.0)(rows)

    assert digest(mixture, picky) == digest(mixture, picky)
    assert digest(mixture, picky) != digest(mixture, step(2.0))


def test_a_gradient_counts(mixture):
    def smooth(rows):
        return 1 / (1 + np.exp(-(rows["x1"] - 2)))

    def grad(rows, factor=1.0):
        p = smooth(rows).to_numpy()
        return np.stack([factor * p * (1 - p), 0 * p], axis=1)

    digests = {
        digest(mixture, smooth),
        digest(mixture, smooth, grad),
        digest(mixture, smooth, lambda rows: grad(rows, 1.01)),
    }
    assert len(digests) == 3


def test_the_rows_of_a_planner_count():
    rows = np.arange(6.0).reshape(3, 2)
    assert identify_planner(Wachter(rows)) == identify_planner(Wachter(rows.copy()))
    assert identify_planner(Wachter(rows)) != identify_planner(Wachter(rows + 1))


def test_names_count():
    parameters = ([1, 1], [[0.0], [4.0]], [[[1.0]]] * 2)
    one, other = (GaussianMixture(*parameters, labels) for labels in (["a", "b"], ["b", "a"]))
    assert identify_density(one) != identify_density(other)
