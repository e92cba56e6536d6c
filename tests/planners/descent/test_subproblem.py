from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from daace.landscape.linear_constraints import Slabs
from daace.planners.descent.objective import PathValues
from daace.planners.descent.quasi_newton import Metric, StepHistory
from daace.planners.descent.subproblem import solve_dual, solve_large_dual, solve_subproblem
from daace.planners.descent.tangent import Tangent


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


def test_judges_who_are_left_out_agree_with_the_step(rng):
    """The conditions of Karush, Kuhn and Tucker hold for all judges, whoever was looked at."""
    paths, n, judges = 40, 8, 6
    Z, zeros = rng.normal(size=(paths, 1, n)), np.zeros((paths, 1))
    gradient, slopes = rng.normal(size=(paths, 1, n)), rng.normal(size=(paths, judges, n))
    slack = rng.normal(1.0, 1.0, size=(paths, judges))
    values = PathValues(zeros[:, 0], gradient, slack, slopes, zeros, zeros, zeros, zeros[:, 0])
    wide, free = np.full(Z.shape, 1e9), np.zeros(n, dtype=np.intp)
    tangent = Tangent.of(Z, -gradient, -wide, wide, free, Slabs.none())
    chain, metric = np.ones((paths, 1, 1, n)), Metric(np.eye(n), np.ones(n))
    before = np.zeros_like(slack)
    before[:, 2] = 1.0
    history = StepHistory.empty(Z.shape)
    step, lam = solve_subproblem(values, tangent, history, chain, metric, before)
    reached = slack + np.einsum("bcn,bn->bc", slopes, step[:, -1])
    assert (lam >= 0).all()
    assert reached.min() >= -1e-6
    assert np.abs(lam * reached).max() <= 1e-6
    expected = np.einsum("bc,bcn->bn", lam, slopes)[:, None] - gradient
    np.testing.assert_allclose(step, expected, atol=1e-9)
