from __future__ import annotations

import numpy as np
import pytest

from daace._typing import BoolArray, FloatArray, IntArray
from daace.density.splits import hold_out, spread_folds
from daace.exceptions import InvalidInput


def held(X: FloatArray, y: IntArray, seed: int = 0) -> BoolArray:
    return hold_out(X, y, rng=np.random.default_rng(seed))


def different(rows: int) -> FloatArray:
    return np.random.default_rng(5).normal(size=(rows, 2))


def test_a_tenth_of_each_class_is_held_out_and_at_least_one_row() -> None:
    y = np.repeat([0, 1, 2, 3], [100, 45, 11, 10])
    held_out = held(different(len(y)), y)
    assert np.bincount(y[held_out], minlength=4).tolist() == [10, 4, 1, 0]
    assert not np.array_equal(held_out, held(different(len(y)), y, seed=1))


@pytest.mark.parametrize("seed", range(5))
def test_copies_are_held_out_together(seed: int) -> None:
    X, y = np.repeat(different(60), 5, axis=0), np.repeat([0, 1], 150)
    held_out = held(X, y, seed)
    assert np.bincount(y[held_out]).tolist() == [15, 15]
    assert set(held_out.reshape(60, 5).sum(axis=1)) == {0, 5}


@pytest.mark.parametrize("seed", range(5))
def test_a_set_of_copies_that_is_too_large_stays(seed: int) -> None:
    X, y = different(100), np.zeros(100, dtype=np.intp)
    X[:60] = 0.0  # most of the class is one and the same row
    held_out = held(X, y, seed)
    assert held_out.sum() == 10
    assert not held_out[:60].any()


@pytest.mark.parametrize("seed", range(5))
def test_equal_rows_that_must_be_are_no_copies(seed: int) -> None:
    """Held out together, they would take one of the four answers out of the training."""
    rng, y = np.random.default_rng(seed), np.zeros(400, dtype=np.intp)
    answers = rng.integers(2, size=(400, 2)).astype(float)
    held_out = held(answers, y, seed)
    assert held_out.sum() == 40
    assert len(np.unique(answers[held_out], axis=0)) == 4
    assert len(np.unique(answers[~held_out], axis=0)) == 4
    fold_of = spread_folds(answers, y, 5, rng=rng)
    assert np.bincount(fold_of).tolist() == [80] * 5
    common = np.repeat(different(3), [30, 40, 30], axis=0)  # no tenth of it is a set of copies
    assert held(common, y[:100], seed).sum() == 10


def test_folds_are_even_and_keep_copies_together() -> None:
    y = np.repeat(["a", "b"], [50, 23])
    fold_of = spread_folds(different(73), y, 7, rng=np.random.default_rng(0))
    for label in "ab":
        counts = np.bincount(fold_of[y == label], minlength=7)
        assert counts.max() - counts.min() <= 1
    whole = np.bincount(fold_of)
    assert whole.max() - whole.min() <= 1
    X, y = np.repeat(different(20), 3, axis=0), np.repeat(["a", "b"], 30)
    fold_of = spread_folds(X, y, 5, rng=np.random.default_rng(0)).reshape(20, 3)
    assert (fold_of == fold_of[:, :1]).all()
    assert np.bincount(fold_of[:, 0]).tolist() == [4] * 5


def test_too_few_rows_for_folds_are_refused() -> None:
    rng, y = np.random.default_rng(0), np.repeat(["a", "b"], [12, 4])
    with pytest.raises(InvalidInput, match=r"4 different rows.*Got 3 of 'b': drop this class"):
        spread_folds(np.r_[different(15), different(15)[-1:]], y, 2, rng=rng)
    with pytest.raises(InvalidInput, match=r"'folds' must be at most 16, the different rows"):
        spread_folds(different(16), y, 17, rng=rng)
