from __future__ import annotations

import numpy as np

from daace.planners.rules.elimination import eliminate


def test_each_column_is_the_cheapest_to_hold_and_the_others_follow() -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 5))
    H, x, end = root @ root.T + np.eye(5), rng.normal(size=5), rng.normal(size=5)

    def best_end(held: list[int]) -> np.ndarray:
        """Return the minimum of the quadratic function around the end with some columns held."""
        free = [j for j in range(5) if j not in held]
        moved = x.copy()
        pull = H[np.ix_(free, held)] @ (x - end)[held]
        moved[free] = end[free] - np.linalg.solve(H[np.ix_(free, free)], pull) if free else []
        return moved

    def loss(held: list[int]) -> float:
        change = best_end(held) - end
        return float(change @ H @ change)

    found = eliminate(H, x, end, np.arange(5))
    assert sorted(found.order) == list(range(5))
    for k in range(5):
        held = [int(j) for j in found.order[: k + 1]]
        np.testing.assert_allclose(found.ends[k], best_end(held), atol=1e-9)
        others = [[*held[:k], j] for j in range(5) if j not in held[:k]]
        assert loss(held) <= min(loss(other) for other in others) + 1e-9


def test_what_cannot_be_held_stays_where_it_is() -> None:
    found = eliminate(np.eye(3), np.zeros(3), np.array([1.0, 5.0, 2.0]), np.array([0, 2]))
    assert found.order.tolist() == [0, 2]
    assert found.ends.tolist() == [[0.0, 5.0, 2.0], [0.0, 5.0, 0.0]]


def test_curvatures_may_differ_by_any_factor() -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 4))
    H, x, end = root @ root.T + np.eye(4), np.zeros(4), rng.normal(size=4)
    plain = eliminate(H, x, end, np.arange(4))
    factor = np.array([1e9, 1.0, 1e-6, 1.0])
    scaled = eliminate(H * np.outer(factor, factor), x, end / factor, np.arange(4))
    assert scaled.order.tolist() == plain.order.tolist()
    np.testing.assert_allclose(scaled.ends * factor, plain.ends, rtol=1e-6)
