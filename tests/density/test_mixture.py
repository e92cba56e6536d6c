from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from daace.data.synthetic import random_mixture
from daace.density.mixture import GaussianMixture
from daace.exceptions import InvalidInput


def test_equal_to_scipy(mixture: GaussianMixture) -> None:
    X = np.random.default_rng(0).normal(scale=3, size=(50, 3))
    for k, label in enumerate(mixture.classes_):
        members = np.flatnonzero(mixture.labels == label)
        expected = np.logaddexp.reduce(
            [
                np.log(mixture.weights[c])
                + multivariate_normal(mixture.means[c], mixture.covariances[c]).logpdf(X)
                for c in members
            ]
        )
        assert mixture.log_joint(X)[:, k] == pytest.approx(expected, rel=1e-10)


def test_weights_are_normalised_and_labels_sorted() -> None:
    one = GaussianMixture([1, 3], [[0.0], [2.0]], [[[1.0]], [[1.0]]], ["b", "a"])
    assert one.weights.tolist() == [0.25, 0.75]
    assert one.classes_.tolist() == ["a", "b"]
    log_prior = np.log([0.75, 0.25])
    at_means = one.log_joint(np.array([[2.0], [0.0]]))
    constant = -0.5 * np.log(2 * np.pi)
    assert at_means[[0, 1], [0, 1]] == pytest.approx(log_prior + constant)


def test_model_space_is_the_users_space(mixture: GaussianMixture) -> None:
    assert mixture.features_ == ("x1", "x2", "x3")
    assert mixture.to_model([1.0, 2.0, 3.0]).tolist() == [[1.0, 2.0, 3.0]]
    assert mixture.to_user(np.array([[1.0, 2.0, 3.0]])).to_numpy().tolist() == [[1.0, 2.0, 3.0]]


def test_one_component_per_class_is_gaussian() -> None:
    rng = np.random.default_rng(1)
    assert GaussianMixture(*random_mixture(2, components=1, rng=rng)).gaussian_
    assert not GaussianMixture(*random_mixture(2, components=2, rng=rng)).gaussian_


def test_far_from_everything_the_nearest_component_decides() -> None:
    two = GaussianMixture(
        [1, 1], [[0.0, 0.0], [4.0, 0.0]], [np.eye(2), np.eye(2)], ["left", "right"]
    )
    # log odds = 4 x1 - 8, exactly, for equal covariances.
    X = np.array([[-1e3, 0.0], [2.0, 1e3], [1e3, 1e3], [2.5, -1e4]])
    odds = np.diff(two.log_posterior(X), axis=1)[:, 0]
    assert odds == pytest.approx(4 * X[:, 0] - 8, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": [1, 1, 1]}, "must have one entry per component. Got shapes (3,), (2, 2)"),
        ({"labels": ["a"]}, "must have one entry per component"),
        ({"means": [0.0, 1.0]}, "must have one entry per component"),
        ({"covariances": np.eye(2)}, "'covariances' must have shape (2, 2, 2). Got (2, 2)."),
        ({"weights": [1, 0]}, "'weights' must be positive and finite."),
        ({"weights": [1, np.inf]}, "'weights' must be positive and finite."),
        ({"means": [[0, np.nan], [1, 1]]}, "'means' must be finite."),
        ({"covariances": [np.eye(2), -np.eye(2)]}, "must be symmetric and positive definite."),
        (
            {"covariances": [np.eye(2), [[1.0, 0.5], [0.0, 1.0]]]},
            "must be symmetric and positive definite.",
        ),
        (
            {"covariances": [np.eye(2), [[1.0, np.nan], [np.nan, 1.0]]]},
            "must be symmetric and positive definite.",
        ),
    ],
)
def test_parameters_that_cannot_be(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {
        "weights": [1, 1],
        "means": [[0.0, 0.0], [1.0, 1.0]],
        "covariances": [np.eye(2), np.eye(2)],
        "labels": ["a", "b"],
    }
    with pytest.raises(InvalidInput) as caught:
        GaussianMixture(**{**good, **change})
    assert message in str(caught.value)
