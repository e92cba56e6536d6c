from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from daace import Constraints, LinearGaussianNetwork, load_table
from daace.landscape.feasible import Changes, FeasibleSet, Grid, project_paths
from daace.landscape.linear_constraints import Slabs


def box(n: int, **rules: object) -> FeasibleSet:
    direction = np.zeros(n, dtype=np.intp)
    return FeasibleSet(np.full(n, -2.0), np.full(n, 2.0), direction, np.ones(n), **rules)  # type: ignore[arg-type]


@given(st.integers(0, 10_000))
def test_paths_are_projected_on_bounds_directions_and_links_at_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    waypoints, n = int(rng.integers(1, 4)), int(rng.integers(2, 4))
    direction = rng.integers(-1, 2, size=n)
    A = rng.normal(size=(1, n))
    A /= np.linalg.norm(A)
    high = rng.uniform(0, 0.5, size=1)
    slabs = Slabs(A, high if rng.random() < 0.5 else np.array([-np.inf]), high)
    # Some path that is allowed: all waypoints alike, on the link.
    still = np.tile(A[0] * high, (waypoints, 1))
    lower, upper = still[0] - rng.uniform(0.1, 1, n), still[0] + rng.uniform(0.1, 1, n)
    free = 2 * rng.normal(size=(1, waypoints, n))
    found = project_paths(free, lower, upper, direction, slabs)
    assert (found >= lower).all()
    assert (found <= upper).all()
    assert slabs.hold(found).all()
    assert (np.diff(found[0], axis=0) * direction >= -1e-9).all()

    def steps(z: np.ndarray) -> np.ndarray:
        return (np.diff(z.reshape(waypoints, n), axis=0) * direction).ravel()

    def room(z: np.ndarray) -> np.ndarray:
        sums = z.reshape(waypoints, n) @ A[0]
        return np.concatenate([high - sums, np.minimum(sums - slabs.low, 9.0)])

    peer = minimize(
        lambda z: ((z - free.ravel()) ** 2).sum(),
        still.ravel(),
        bounds=list(zip(np.tile(lower, waypoints), np.tile(upper, waypoints), strict=True)),
        constraints=[{"type": "ineq", "fun": steps}, {"type": "ineq", "fun": room}],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    if peer.success:
        assert ((found - free) ** 2).sum() <= peer.fun + 1e-5 * (1 + peer.fun)


def test_whole_numbers_are_those_of_the_users_units() -> None:
    grid = Grid(np.array([1]), origin=np.array([-0.5]), unit=np.array([0.2]))
    X = np.array([[0.33, 0.0], [0.33, -0.1]])
    assert grid.counts(X)[:, 0] == pytest.approx([2.5, 2.0])
    assert grid.holds(X).tolist() == [False, True]
    assert grid.round(X)[:, 0].tolist() == [0.33, 0.33]
    assert grid.holds(grid.round(X)).all()
    lower, upper = grid.narrow(np.array([-1.0, -0.99]), np.array([1.0, 0.99]))
    assert lower.tolist() == pytest.approx([-1.0, -0.9])
    assert upper.tolist() == pytest.approx([1.0, 0.9])


def test_the_nearest_points_keep_bounds_links_and_whole_numbers() -> None:
    slabs = Slabs(np.array([[0.6, 0.8, 0.0]]), np.zeros(1), np.zeros(1))
    grid = Grid(np.array([2]), np.zeros(1), np.ones(1))
    feasible = box(3, slabs=slabs, grid=grid)
    X = np.random.default_rng(0).normal(scale=3, size=(50, 3))
    found = feasible.nearest(X)
    assert feasible.allows(found).all()
    assert not feasible.allows(X).any()


def test_long_steps_are_divided_and_the_path_stays() -> None:
    feasible = box(2, steps=np.array([0.5, np.inf]))
    path = np.array([[0.0, 0.0], [1.2, 3.0], [1.2, 4.0]])
    divided = feasible.divide(path)
    assert divided[:, 0] == pytest.approx([0.0, 0.4, 0.8, 1.2, 1.2])
    assert divided[:, 1] == pytest.approx([0.0, 1.0, 2.0, 3.0, 4.0])
    assert box(2).divide(path) is path


def test_divided_steps_are_whole_where_they_must_be() -> None:
    grid = Grid(np.array([0]), np.zeros(1), np.ones(1))
    feasible = box(2, steps=np.array([2.0, np.inf]), grid=grid)
    divided = feasible.divide(np.array([[0.0, 0.0], [5.0, 1.0]]))
    assert grid.holds(divided).all()
    assert np.abs(np.diff(divided[:, 0])).max() <= 2


def test_how_many_features_change() -> None:
    feasible = box(3, changes=Changes(np.zeros(3), 1))
    assert feasible.discrete
    assert feasible.contains(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    turn = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert feasible.allows(turn).all()
    assert not feasible.contains(turn)


def test_whole_numbers_with_a_direction_do_not_exclude_the_start():
    table = load_table("loans").take(np.arange(400))
    density = LinearGaussianNetwork().fit(table)
    rules = Constraints(only_up=["employed_years"], max_rise={"employed_years": 2}, natural=True)
    rows = table.to_frame()[list(density.features_)].iloc[:60]
    for _, row in rows.iterrows():
        x = density.to_model(row)[0]
        draft = rules.compile(density, x, row=density.user_values(row)[0])
        feasible = draft.finish((density.draws_.lower, density.draws_.upper)).feasible
        assert feasible.contains(np.stack([x, x]))


def test_numbers_that_are_whole_already_stay_bit_for_bit() -> None:
    grid = Grid.of(np.array([0]), np.array([54.321]), np.array([9.7]))
    exact = (np.arange(90)[:, None] - 54.321) / 9.7
    assert (grid.round(exact) == exact).all()
    assert not (grid.at(exact, np.rint(grid.counts(exact))) == exact).all()
