from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from daace.planners.descent.subproblem import solve_dual, solve_large_dual


def slow_dual(gram: np.ndarray, promise: np.ndarray) -> np.ndarray:
    """Try every set of active constraints."""
    for active in itertools.chain([()], [(0,), (1,)], [(0, 1)]):
        lam = np.zeros(2)
        if active:
            index = list(active)
            lam[index] = np.linalg.lstsq(gram[np.ix_(index, index)], -promise[index], rcond=None)[0]
        if (lam >= -1e-12).all() and (promise + gram @ lam >= -1e-9).all():
            return lam
    raise AssertionError("no solution")


@given(
    st.lists(st.floats(-2, 2), min_size=4, max_size=4),
    st.lists(st.floats(-3, 3), min_size=2, max_size=2),
)
def test_the_dual_solves_the_complementarity_problem(
    entries: list[float], promises: list[float]
) -> None:
    root = np.reshape(entries, (2, 2))
    gram = root @ root.T + 0.1 * np.eye(2)
    promise = np.array(promises)
    lam = solve_dual(gram[None], promise[None])[0]
    reached = promise + gram @ lam
    assert (lam >= 0).all()
    assert (reached >= -1e-6).all()
    assert np.abs(lam * reached).max() <= 1e-6 * (1 + np.abs(lam).max())
    np.testing.assert_allclose(lam, slow_dual(gram, promise), atol=1e-6)


def test_the_dual_of_many_judges_is_solved(rng):
    for count in (2, 4, 7):
        root = rng.normal(size=(60, count, count + 2)) * rng.uniform(0.01, 100, (60, count, 1))
        gram = root @ root.transpose(0, 2, 1)
        size = np.sqrt(np.einsum("bcc->bc", gram))
        promise = rng.normal(size=(60, count)) * size
        lam = solve_large_dual(gram, promise)
        reached = (promise + np.einsum("bcd,bd->bc", gram, lam)) / size
        assert (lam >= 0).all()
        assert (reached >= -1e-5 * (1 + (lam * size).max(axis=1, keepdims=True))).all()
        assert np.abs(lam * size * reached).max() <= 1e-4
        if count == 2:
            np.testing.assert_allclose(lam, solve_dual(gram, promise), rtol=1e-4, atol=1e-8)


def test_judges_that_contradict_each_other_get_finite_multipliers():
    slope = np.array([1.0, -1.0, 1.0])
    gram = np.outer(slope, slope)[None]
    lam = solve_large_dual(gram, np.array([[-1.0, -1.0, -1.0]]))
    assert np.isfinite(lam).all()
