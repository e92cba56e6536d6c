from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

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
