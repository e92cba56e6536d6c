from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from daace.exceptions import InvalidInput
from daace.study.paper.normality import henze_zirkler


def slow_statistic(X: np.ndarray) -> float:
    """The definition, row by row."""
    n, d = X.shape
    inverse = np.linalg.inv(np.atleast_2d(np.cov(X, rowvar=False, bias=True)))
    b2 = 0.5 * ((2 * d + 1) * n / 4) ** (2 / (d + 4))
    mean = X.mean(axis=0)
    pairs = sum(np.exp(-b2 / 2 * (x - z) @ inverse @ (x - z)) for x in X for z in X)
    singles = sum(np.exp(-b2 / (2 * (1 + b2)) * (x - mean) @ inverse @ (x - mean)) for x in X)
    last = n * (1 + 2 * b2) ** (-d / 2)
    return float(pairs / n - 2 * (1 + b2) ** (-d / 2) * singles + last)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_statistic_is_the_definition(d: int, rng: np.random.Generator) -> None:
    X = rng.gamma(2.0, size=(40, d))
    assert henze_zirkler(X).statistic == pytest.approx(slow_statistic(X), rel=1e-9)


def test_it_does_not_depend_on_scale_or_rotation(rng: np.random.Generator) -> None:
    X = rng.gamma(2.0, size=(200, 3))
    mixed = X @ rng.normal(size=(3, 3)) + 100.0
    assert henze_zirkler(mixed).statistic == pytest.approx(henze_zirkler(X).statistic, rel=1e-8)


def test_normal_rows_have_uniform_p_values(rng: np.random.Generator) -> None:
    p_values = [henze_zirkler(rng.normal(size=(80, 3))).p_value for _ in range(300)]
    assert kstest(p_values, "uniform").pvalue > 0.01


def test_blocks_do_not_change_the_statistic(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = rng.normal(size=(150, 2))
    whole = henze_zirkler(X).statistic
    monkeypatch.setattr("daace.study.paper.normality.BLOCK", 7)
    assert henze_zirkler(X).statistic == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones((3, 5)), "more rows than columns"),
        (np.full((9, 2), np.nan), "must be finite"),
        (np.tile(np.arange(9.0)[:, None], (1, 2)), "collinear"),
    ],
)
def test_rows_that_cannot_be_tested(X: np.ndarray, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        henze_zirkler(X)
