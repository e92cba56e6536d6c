from __future__ import annotations

import numpy as np
import pytest

from daace import GaussianMixture, KernelDensity, LinearGaussianNetwork, Standardizer, Table
from daace.density.segments import in_one_pass
from daace.study.rescaled_density import RescaledDensity


@pytest.fixture(scope="module")
def pair(cancer: Table) -> tuple[LinearGaussianNetwork, RescaledDensity]:
    network = LinearGaussianNetwork().fit(cancer.select(cancer.features[:4]))
    own = network.standardizer_
    other = Standardizer(own.mean + 0.3 * own.scale, own.scale * np.array([0.5, 1.0, 2.0, 1.3]))
    return network, RescaledDensity(network, other)


def test_the_density_of_a_row_changes_by_the_volume_only(
    pair: tuple[LinearGaussianNetwork, RescaledDensity], cancer: Table
) -> None:
    network, density = pair
    frame = cancer.select(cancer.features[:4]).to_frame()
    ours, theirs = (d.log_prob(d.to_model(frame)) for d in (density, network))
    assert np.ptp(ours - theirs) < 1e-9
    assert (ours - theirs)[0] == pytest.approx(np.log(0.5 * 2.0 * 1.3))


def test_it_follows_the_laws_of_a_density(
    pair: tuple[LinearGaussianNetwork, RescaledDensity], rng: np.random.Generator
) -> None:
    _, density = pair
    X = density.sample(5, rng=rng)[0]
    W = rng.normal(size=(5, 2))
    gradient = density.log_joint_vjp(X, W)
    for j in range(4):
        step = np.zeros(4)
        step[j] = 1e-5
        change = density.log_joint(X + step) - density.log_joint(X - step)
        assert gradient[:, j] == pytest.approx((W * change).sum(axis=1) / 2e-5, rel=1e-4, abs=1e-6)
    assert np.array_equal(density.log_joint(X), density.log_joint_and_pullback(X)[0])


def test_it_follows_paths_as_its_inner_density_does(
    cancer: Table, rng: np.random.Generator
) -> None:
    table = cancer.select(cancer.features[:3])
    for network in (LinearGaussianNetwork(profiles=3), KernelDensity(bandwidth=0.5)):
        own = network.fit(table).standardizer_
        other = Standardizer(own.mean - own.scale, own.scale * np.array([0.5, 1.0, 2.0]))
        density = RescaledDensity(network, other)
        paths, nodes = rng.normal(size=(4, 3, 3)), np.array([0.2, 0.7])
        W, V = rng.normal(size=(4, 2, 2, 2)), rng.normal(size=(4, 2, 2))
        joint, there, pullback = density.log_joint_to_end(paths, nodes, 2)
        points = (density.log_joint_and_pullback, paths, nodes)
        expected, ends, expected_pullback = in_one_pass(*points, 2)
        along, along_pullback = density.log_joint_along(paths, nodes)
        assert joint == pytest.approx(expected, abs=1e-9)
        assert along == pytest.approx(expected, abs=1e-9)
        assert there == pytest.approx(ends, abs=1e-9)
        gradients = expected_pullback(W, V)
        for ours, theirs in zip(pullback(W, V), gradients, strict=True):
            assert ours == pytest.approx(theirs, abs=1e-7)
        assert along_pullback(W) == pytest.approx(gradients[0], abs=1e-7)


def test_its_draws_are_described(pair: tuple[LinearGaussianNetwork, RescaledDensity]) -> None:
    _, density = pair
    X, _ = density.sample(10_000, rng=np.random.default_rng(5))
    log_prob = density.log_prob(X)
    assert density.draws_.mean == pytest.approx(log_prob.mean(), abs=0.1)
    assert density.draws_.sd == pytest.approx(log_prob.std(), rel=0.1)
    inside = (density.draws_.lower < X) & (X < density.draws_.upper)
    assert inside.mean() > 0.99


def test_the_same_space_changes_nothing(mixture: GaussianMixture) -> None:
    density = RescaledDensity(mixture, mixture.standardizer_)
    X = np.ones((2, 3))
    assert np.array_equal(density.log_joint(X), mixture.log_joint(X))
    assert density.resolution_ == mixture.resolution_
