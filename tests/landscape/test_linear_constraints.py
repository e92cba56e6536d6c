from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from daace.landscape.linear_constraints import Slabs, nearest


@given(st.integers(0, 10_000))
def test_the_nearest_point_is_that_of_a_general_solver(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, rows = int(rng.integers(1, 5)), int(rng.integers(1, 6))
    G, inside = rng.normal(size=(rows, n)), rng.normal(size=n)
    h = G @ inside - rng.exponential(0.3, size=rows)
    x = 3 * rng.normal(size=n)
    found = nearest(x, G, h)
    assert (G @ found >= h - 1e-8).all()
    peer = minimize(
        lambda z: ((z - x) ** 2).sum(),
        inside,
        jac=lambda z: 2 * (z - x),
        constraints={"type": "ineq", "fun": lambda z: G @ z - h, "jac": lambda z: G},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert ((found - x) ** 2).sum() <= peer.fun + 1e-6 * (1 + peer.fun)


def test_where_nothing_satisfies_all_rows_the_point_stays() -> None:
    x = np.array([0.5])
    G, h = np.array([[1.0], [-1.0]]), np.array([1.0, 0.0])  # z >= 1 and z <= 0
    assert nearest(x, G, h) is x


def test_slabs_know_who_keeps_to_them() -> None:
    slabs = Slabs(
        np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -np.inf]), np.array([1.0, 2.0])
    )
    X = np.array([[1.0, 0.0], [1.0 + 1e-9, 2.0], [1.1, 0.0], [1.0, 3.0]])
    assert slabs.hold(X).tolist() == [True, True, False, False]
    assert slabs.excess(X)[2:].tolist() == [[pytest.approx(0.1), 0.0], [0.0, 1.0]]
    assert slabs.equations.tolist() == [True, False]
    assert slabs.onto_equations(X)[:, 0].tolist() == [1.0] * 4
