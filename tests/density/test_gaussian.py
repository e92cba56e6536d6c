from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from daace import GaussianMixture, LinearGaussianNetwork
from daace._typing import FloatArray, Pullback
from daace.data.synthetic import draw_table, random_mixture
from daace.density.base import ConditionalDensity
from daace.density.gaussian import WhitenedGaussians


def _gaussians() -> tuple[WhitenedGaussians, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(3, 4, 4))
    covariances = roots @ roots.transpose(0, 2, 1) + np.eye(4)
    means = rng.normal(size=(3, 4))
    whiteners = np.linalg.inv(np.linalg.cholesky(covariances))
    offsets = -np.einsum("cij,cj->ci", whiteners, means)
    return WhitenedGaussians(np.log([0.2, 0.3, 0.5]), whiteners, offsets), means, covariances


def test_each_component_is_its_weighted_normal() -> None:
    gaussians, means, covariances = _gaussians()
    X = np.random.default_rng(1).normal(scale=3, size=(20, 4))
    joint, _ = gaussians.log_joint_and_pullback(X)
    for c in range(3):
        expected = multivariate_normal(means[c], covariances[c]).logpdf(X)
        assert joint[:, c] == pytest.approx(expected + gaussians.log_weights[c], rel=1e-10)


def test_pullback_is_the_precision_times_the_distance() -> None:
    gaussians, means, covariances = _gaussians()
    X = np.random.default_rng(2).normal(scale=3, size=(20, 4))
    W = np.random.default_rng(3).normal(size=(20, 3))
    _, pullback = gaussians.log_joint_and_pullback(X)
    expected = sum(
        W[:, [c]] * np.linalg.solve(covariances[c], (means[c] - X).T).T for c in range(3)
    )
    assert pullback(W) == pytest.approx(expected, rel=1e-9)


def test_samples_have_the_right_moments() -> None:
    gaussians, means, covariances = _gaussians()
    chosen = np.arange(30_000) % 3
    X = gaussians.sample(chosen, rng=np.random.default_rng(4))
    for c in range(3):
        mine = X[chosen == c]
        assert mine.mean(axis=0) == pytest.approx(means[c], abs=0.15)
        assert np.cov(mine.T) == pytest.approx(covariances[c], abs=0.6)


# Along segments -----------------------------------------------------------------------------------


@pytest.mark.parametrize("components", [1, 3])
def test_along_segments_is_point_by_point(components: int) -> None:
    rng = np.random.default_rng(components)
    mixture = GaussianMixture(*random_mixture(4, components=components, rng=rng))
    table = draw_table(random_mixture(4, components=components, rng=rng), 500, rng=rng)
    network = LinearGaussianNetwork().fit(table)
    paths = rng.normal(scale=[1, 2, 5, 50], size=(3, 4, 4))
    nodes = np.array([0.0, 0.1, 0.5, 1.0])
    for density in (mixture, network):
        joint, pullback = density.log_joint_along(paths, nodes)
        slow, slow_pullback = ConditionalDensity.log_joint_along(density, paths, nodes)
        np.testing.assert_allclose(joint, slow, rtol=1e-10, atol=1e-10)
        W = rng.normal(size=joint.shape)
        expected = slow_pullback(W)
        np.testing.assert_allclose(pullback(W), expected, atol=1e-9 * np.abs(expected).max())


def test_a_course_along_lines_of_ones_own_is_used() -> None:
    class Counting(GaussianMixture):
        asked = 0

        def log_joint_along(
            self, paths: FloatArray, nodes: FloatArray
        ) -> tuple[FloatArray, Pullback]:
            self.asked += 1
            return super().log_joint_along(paths, nodes)

    density = Counting(*random_mixture(3, rng=np.random.default_rng(0)))
    density.log_joint_to_end(np.zeros((2, 3, 3)), np.array([0.5]), 2)
    assert density.asked == 1


def test_the_gradient_along_segments_is_that_of_differences() -> None:
    rng = np.random.default_rng(0)
    density = GaussianMixture(*random_mixture(3, components=2, rng=rng))
    paths, nodes = rng.normal(size=(1, 3, 3)), np.array([0.2, 0.9])
    joint, pullback = density.log_joint_along(paths, nodes)
    W = rng.normal(size=joint.shape)
    gradient = pullback(W)
    for index in np.ndindex(paths.shape):
        step = np.zeros_like(paths)
        step[index] = 1e-6
        ahead, behind = (density.log_joint_along(p, nodes)[0] for p in (paths + step, paths - step))
        slope = (W * (ahead - behind)).sum() / 2e-6
        assert gradient[index] == pytest.approx(slope, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("components", [1, 3])
def test_a_path_without_segments_has_no_course(components: int, rng: np.random.Generator) -> None:
    density = GaussianMixture(*random_mixture(3, components=components, rng=rng))
    joint, pullback = density.log_joint_along(np.zeros((2, 1, 3)), np.array([0.2, 0.9]))
    assert joint.shape == (2, 0, 2, 2)
    assert not pullback(joint).any()
