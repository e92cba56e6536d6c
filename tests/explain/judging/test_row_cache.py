from __future__ import annotations

import numpy as np

from daace.explain.judging.row_cache import RowCache, row_keys


def test_of_equal_rows_the_first_is_missing_and_the_first_answer_stays() -> None:
    X = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    cache = RowCache(2)
    assert cache.missing(row_keys(X)) == [0, 1]
    cache.add(row_keys(X[:1]), np.array([[0.1, 0.9]]))
    cache.add(row_keys(X), np.array([[7.0, 7.0], [0.3, 0.7], [8.0, 8.0]]))
    assert cache.missing(row_keys(X)) == []
    assert cache.find(row_keys(X)).tolist() == [[0.1, 0.9], [0.3, 0.7], [0.1, 0.9]]


def test_it_grows_and_forgets_nothing() -> None:
    X = np.random.default_rng(0).normal(size=(500, 3))
    cache = RowCache(1)
    for begin in range(0, 500, 7):
        cache.add(row_keys(X[begin : begin + 7]), X[begin : begin + 7, :1])
    assert np.array_equal(cache.find(row_keys(X)), X[:, :1])
    assert cache.find(row_keys(X[:1] + 1.0)).tolist() == [[-np.inf]]


def test_rows_of_any_layout_have_the_same_keys() -> None:
    X = np.arange(12.0).reshape(4, 3)
    assert row_keys(np.asfortranarray(X)) == row_keys(X) == [row.tobytes() for row in X]
    assert row_keys(X[:0]) == []
