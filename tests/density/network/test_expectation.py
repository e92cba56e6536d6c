from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from daace.density.network import expectation
from daace.density.network.expectation import MonomialRows


@pytest.mark.parametrize("block", [expectation.BLOCK, 50])
def test_the_e_step_is_that_of_scipy(
    block: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expectation, "BLOCK", block)
    X = rng.normal(size=(80, 3))
    weights, means = np.array([0.3, 0.7]), rng.normal(size=(2, 3))
    roots = np.eye(3) + 0.3 * rng.normal(size=(2, 3, 3))
    covariances = roots @ roots.transpose(0, 2, 1)
    joint = np.column_stack(
        [
            w * multivariate_normal(m, S).pdf(X)
            for w, m, S in zip(weights, means, covariances, strict=True)
        ]
    )
    shares = joint / joint.sum(axis=1, keepdims=True)
    whiteners = np.linalg.inv(np.linalg.cholesky(covariances))
    offsets = -np.einsum("cij,cj->ci", whiteners, means)
    rows = MonomialRows(X, np.ones(len(X)))
    total, (counts, centres, scatters, _) = rows.expect(np.log(weights), whiteners, offsets)
    assert total == pytest.approx(np.log(joint.sum(axis=1)).sum(), rel=1e-10)
    logs = rows.log_prob(np.log(weights), whiteners, offsets)
    assert logs == pytest.approx(np.log(joint.sum(axis=1)), rel=1e-9)
    assert counts == pytest.approx(shares.sum(axis=0))
    for c in range(2):
        centre = np.average(X, axis=0, weights=shares[:, c])
        assert centres[c] == pytest.approx(centre)
        expected = (X - centre).T @ (shares[:, [c]] * (X - centre))
        assert scatters[c] == pytest.approx(expected, abs=1e-9)


def test_moments_are_those_of_the_groups(rng: np.random.Generator) -> None:
    X, groups = rng.normal(size=(40, 2)), np.arange(40) % 3
    counts, means, scatters, _ = MonomialRows(X, np.ones(len(X))).moments(groups, 3)
    for g in range(3):
        some = X[groups == g]
        assert counts[g] == len(some)
        assert means[g] == pytest.approx(some.mean(axis=0))
        assert scatters[g] == pytest.approx(np.cov(some.T, ddof=0) * len(some))
