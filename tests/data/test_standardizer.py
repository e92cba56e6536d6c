from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from daace.data.standardizer import Standardizer
from daace.data.table import Table
from daace.exceptions import InvalidInput


def test_standardised_columns_have_mean_zero_and_deviation_one(cancer: Table) -> None:
    Z = Standardizer.fit(cancer.X, features=cancer.features).transform(cancer.X)
    assert Z.mean(axis=0) == pytest.approx(np.zeros(30), abs=1e-12)
    assert Z.std(axis=0) == pytest.approx(np.ones(30), rel=1e-12)


@given(
    values=st.lists(st.floats(-1, 1), min_size=2, max_size=20),
    scale=st.sampled_from([1e-12, 1e-3, 1.0, 1e6, 1e12]),
    shift=st.sampled_from([0.0, 1.0, -1e3, 1e12]),
)
@example(values=[0.0, 1e-12], scale=1e12, shift=1e12)
def test_inverse_is_exact_or_the_column_is_constant(
    values: list[float], scale: float, shift: float
) -> None:
    X = scale * np.array(values)[:, None] + shift
    try:
        standardizer = Standardizer.fit(X, features=("a",))
    except InvalidInput:
        assert X.std() <= 1e-11 * np.abs(X).max()
        return
    back = standardizer.inverse(standardizer.transform(X))
    assert np.abs(back - X).max() <= 1e-12 * np.abs(X).max()
    assert np.isfinite(standardizer.transform(X)).all()


def test_constant_columns_are_named() -> None:
    X = np.column_stack([np.arange(4.0), np.full(4, 3.0), [1e12, 1e12, 1e12, 1e12 + 1e-3]])
    message = r"Features must vary\. Got constant 'b', 'c': drop them"
    with pytest.raises(InvalidInput, match=message):
        Standardizer.fit(X, features=("a", "b", "c"))


def test_identity_changes_nothing(rng: np.random.Generator) -> None:
    X = rng.normal(size=(3, 2))
    assert np.array_equal(Standardizer.identity(2).transform(X), X)
    assert np.array_equal(Standardizer.identity(2).inverse(X), X)
