from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from daace.landscape.linear_constraints import Slabs
from daace.planners.descent.tangent import Tangent

FREE, RISING, FALLING = 0, 1, -1


def tangent(z: list[float], wish: list[float], direction: int, *, share: float = 0.0) -> Tangent:
    """One path of one feature between 0 and 1; where it rises or falls, from 0 or from 1."""
    column = np.reshape(z, (1, -1, 1))
    bounds = np.zeros_like(column), np.ones_like(column)
    wishes = np.reshape(wish, column.shape)
    return Tangent.of(column, wishes, *bounds, np.array([direction]), Slabs.none(), share=share)


def allowed(z: list[float], wish: list[float], direction: int) -> list[float]:
    found = tangent(z, wish, direction)(np.reshape(wish, (1, -1, 1)))
    return [float(value) for value in found.ravel()]


def test_what_is_pushed_against_a_bound_is_held() -> None:
    assert allowed([0.0, 0.5, 1.0], [-1.0, -1.0, 1.0], FREE) == [0.0, -1.0, 0.0]
    assert allowed([0.0, 0.5, 1.0], [1.0, 1.0, -1.0], FREE) == [1.0, 1.0, -1.0]


def test_waypoints_pushed_together_move_as_one() -> None:
    assert allowed([0.5, 0.5], [3.0, 1.0], RISING) == [2.0, 2.0]
    assert allowed([0.5, 0.5], [1.0, 3.0], RISING) == [1.0, 3.0]
    assert allowed([0.5, 0.5], [1.0, 3.0], FALLING) == [2.0, 2.0]
    assert allowed([0.4, 0.5], [3.0, 1.0], RISING) == [3.0, 1.0]


def test_those_at_the_start_stay_when_pushed_back() -> None:
    assert allowed([0.0, 0.0, 0.5], [-1.0, -2.0, -1.0], RISING) == [0.0, 0.0, -1.0]
    assert allowed([0.0, 0.0], [3.0, -1.0], RISING) == [1.0, 1.0]
    assert allowed([1.0, 1.0], [1.0, 2.0], RISING) == [0.0, 0.0]


def test_a_bound_that_will_soon_be_met_counts_as_met() -> None:
    wish = np.reshape([-1.0], (1, 1, 1))
    assert tangent([0.05], [-1.0], FREE)(wish).item() == -1.0
    assert tangent([0.05], [-1.0], FREE, share=0.1)(wish).item() == 0.0


places = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=4, max_size=4).map(sorted)
wishes = st.lists(st.integers(-4, 4).map(float), min_size=4, max_size=4)


@given(places, wishes)
def test_it_is_the_nearest_move_that_stays_in_order(z: list[float], wish: list[float]) -> None:
    """Oracle: the quadratic program over the order and the bounds that are met."""
    steps = [
        {"type": "ineq", "fun": lambda d, k=k: d[k + 1] - d[k]}
        for k in range(3)
        if z[k] == z[k + 1]
    ]
    bounds = [(0.0 if x == 0 else None, 0.0 if x == 1 else None) for x in z]
    oracle = minimize(
        lambda d: float(((d - np.array(wish)) ** 2).sum()),
        np.zeros(4),
        bounds=bounds,
        constraints=steps,
        method="SLSQP",
    )
    np.testing.assert_allclose(allowed(z, wish, RISING), oracle.x, atol=1e-5)


@pytest.mark.parametrize("direction", [FREE, RISING, FALLING])
def test_it_is_a_projection(direction: int) -> None:
    rng = np.random.default_rng(0)
    z = sorted(rng.choice([0.0, 0.3, 1.0], 5), reverse=direction < 0)
    chosen = tangent(z, list(rng.normal(size=5)), direction)
    matrix = np.stack([chosen(e.reshape(1, 5, 1)).ravel() for e in np.eye(5)])
    np.testing.assert_allclose(matrix, matrix.T)
    np.testing.assert_allclose(matrix @ matrix, matrix, atol=1e-15)


@pytest.mark.parametrize("direction", [FREE, RISING])
def test_links_that_are_met_are_kept_to(direction: int) -> None:
    """An equation, a bound that is met and pushed against, and one that is not."""
    rng = np.random.default_rng(1)
    A = rng.normal(size=(3, 4))
    A /= np.linalg.norm(A, axis=1)[:, None]
    Z = np.tile(rng.uniform(0.2, 0.8, size=4), (1, 3, 1))
    Z[0, 1, 0] = Z[0, 2, 0] = 1.0
    wish = rng.normal(size=Z.shape)
    sums = Z[0] @ A.T
    slabs = Slabs(A, np.array([sums[0, 0], -9, -9]), np.array([sums[0, 0], sums[0, 1], 9]))
    bounds = np.zeros_like(Z), np.ones_like(Z)
    directions = np.array([0, direction, 0, 0])
    chosen = Tangent.of(Z, wish, *bounds, directions, slabs)
    moved = chosen(wish)
    assert np.abs(moved @ A[0]).max() <= 1e-12  # the equation, at every waypoint
    pushed = (sums[:, 1] >= sums[0, 1] - 1e-9) & (wish[0] @ A[1] >= 0)
    assert np.abs((moved[0] @ A[1])[pushed]).max(initial=0) <= 1e-12
    assert (moved[0, :, 0][(Z[0, :, 0] == 1) & (wish[0, :, 0] > 0)] == 0).all()
    if direction == RISING:
        assert np.diff(moved[0, :, 1]).min() >= -1e-12
    matrix = np.stack([chosen(e.reshape(Z.shape)).ravel() for e in np.eye(Z.size)])
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    np.testing.assert_allclose(matrix @ matrix, matrix, atol=1e-12)
