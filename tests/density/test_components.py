from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from daace.density.components import ClassComponents
from daace.density.gaussian import WhitenedGaussians


def test_components_sum_to_their_class(rng: np.random.Generator) -> None:
    weights, means = np.array([0.2, 0.3, 0.5]), rng.normal(size=(3, 2))
    whiteners = np.eye(2) + 0.2 * rng.normal(size=(3, 2, 2))
    offsets = -np.einsum("cij,cj->ci", whiteners, means)
    gaussians = WhitenedGaussians(np.log(weights), whiteners, offsets)
    components = ClassComponents(gaussians, np.array([0, 0, 1]), 2)
    X = rng.normal(size=(20, 2))
    covariances = np.linalg.inv(whiteners.transpose(0, 2, 1) @ whiteners)
    each = np.column_stack(
        [np.log(weights[c]) + multivariate_normal(means[c], covariances[c]).logpdf(X)
         for c in range(3)]
    )  # fmt: skip
    assert components.log_components(X) == pytest.approx(each)
    expected = np.column_stack([logsumexp(each[:, :2], axis=1), each[:, 2]])
    assert components.log_joint(X) == pytest.approx(expected)
    _, chosen = components.sample(200, rng=rng, index=0)
    assert set(chosen.tolist()) == {0, 1}
