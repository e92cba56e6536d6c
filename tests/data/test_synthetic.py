from __future__ import annotations

import numpy as np
import pytest

from daace.data.synthetic import (
    MixtureParameters,
    curve_mixture,
    draw_table,
    moons,
    random_mixture,
    rings,
)
from daace.density.mixture import GaussianMixture

ALL = {
    "moons": moons(),
    "rings": rings(),
    "random": random_mixture(2, classes=3, components=2, rng=np.random.default_rng(0)),
}


@pytest.mark.parametrize("name", ALL)
def test_parameters_make_a_density(name: str) -> None:
    density = GaussianMixture(*ALL[name])
    assert np.sum(ALL[name].weights) == pytest.approx(1)
    assert len(density.features_) == 2


@pytest.mark.parametrize("name", ALL)
def test_the_table_follows_its_density(name: str) -> None:
    parameters = ALL[name]
    table = draw_table(parameters, 20_000, rng=np.random.default_rng(1), name=name)
    density = GaussianMixture(*parameters)
    for label in table.classes:
        share = parameters.weights[parameters.labels == label].sum()
        assert (table.y == label).mean() == pytest.approx(share, abs=0.02)
        mine = table.X[table.y == label]
        members = parameters.labels == label
        w = parameters.weights[members] / share
        mean = w @ parameters.means[members]
        spread = parameters.means[members] - mean
        covariance = np.einsum("c,cij->ij", w, parameters.covariances[members])
        covariance = covariance + np.einsum("c,ci,cj->ij", w, spread, spread)
        assert mine.mean(axis=0) == pytest.approx(mean, abs=0.1)
        assert np.cov(mine.T) == pytest.approx(covariance, abs=0.2)
    # Its own rows are as probable as the density's own draws.
    assert density.log_prob(table.X).mean() == pytest.approx(density.draws_.mean, abs=0.05)


def test_same_rng_same_table() -> None:
    first = draw_table(moons(), 50, rng=np.random.default_rng(3))
    second = draw_table(moons(), 50, rng=np.random.default_rng(3))
    assert np.array_equal(first.X, second.X)
    assert first.features == ("x1", "x2")
    assert first.name == "mixture"


def test_moons_interleave() -> None:
    parameters = moons(width=0.1, components=10)
    upper = parameters.means[parameters.labels == "upper"]
    lower = parameters.means[parameters.labels == "lower"]
    assert np.linalg.norm(upper, axis=1) == pytest.approx(np.ones(10))
    assert np.linalg.norm(lower - [1, 0.5], axis=1) == pytest.approx(np.ones(10))
    assert upper[:, 1].min() < lower[:, 1].max()


def test_rings_are_round_and_without_gaps() -> None:
    parameters = rings(radii=(1.0, 3.0), width=0.2)
    for label, radius in (("inner", 1.0), ("outer", 3.0)):
        means = parameters.means[parameters.labels == label]
        assert np.linalg.norm(means, axis=1) == pytest.approx(np.full(len(means), radius))
        assert np.linalg.norm(means[0] - means[1]) < 0.21


def test_curves_share_the_weight_as_told() -> None:
    curves = {"a": np.zeros((4, 3)), "b": np.ones((1, 3))}
    parameters = curve_mixture(curves, width=0.5, weights={"a": 0.8, "b": 0.2})
    assert isinstance(parameters, MixtureParameters)
    assert parameters.weights.tolist() == pytest.approx([0.2, 0.2, 0.2, 0.2, 0.2])
    assert parameters.covariances.shape == (5, 3, 3)
    assert parameters.covariances[2] == pytest.approx(0.25 * np.eye(3))
