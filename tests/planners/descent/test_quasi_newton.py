from __future__ import annotations

import numpy as np

from daace.density.draws import Pool
from daace.planners.descent.quasi_newton import HISTORY, Metric, StepHistory, precondition


def identity_metric(n: int) -> Metric:
    return Metric(np.eye(n), np.ones(n))


def test_the_metric_is_the_precision_of_the_draws(rng: np.random.Generator) -> None:
    X = rng.normal(size=(5000, 3)) @ np.diag([1.0, 2.0, 0.5])
    metric = Metric.of(Pool(X, np.zeros((5000, 1))))
    shape = metric.basis @ np.diag(metric.precision) @ metric.basis.T
    np.testing.assert_allclose(shape, np.linalg.inv(np.cov(X, rowvar=False)), rtol=1e-9, atol=1e-9)


def test_weights_stretch_the_metric(rng: np.random.Generator) -> None:
    X, weights = rng.normal(size=(2000, 2)), np.array([1.0, 4.0])
    pool = Pool(X, np.zeros((2000, 1)))
    step = np.array([[0.3, -0.2]])
    metric = Metric.of(pool, weights)
    plain = Metric.of(Pool(X * weights, np.zeros((2000, 1))))
    # A step of x is a step of x * weights, divided by the weights.
    moved = metric.rotate_back(metric.rotate(step) / metric.precision)
    expected = plain.rotate_back(plain.rotate(step / weights) / plain.precision) / weights
    np.testing.assert_allclose(moved, expected)


def test_memory_equals_the_matrix_update(rng: np.random.Generator) -> None:
    """Oracle: the BFGS update of the dense inverse, `(I - s y'/s'y) H (I - y s'/s'y) + ss'/s'y`."""
    m, n = 2, 3
    hessian = rng.normal(size=(m * n, m * n))
    hessian = hessian @ hessian.T + np.eye(m * n)
    metric, chain = identity_metric(n), np.tile(np.eye(m)[..., None], (1, 1, 1, n))
    history, pairs = StepHistory.empty((1, m, n)), []
    for _ in range(HISTORY + 2):
        step = rng.normal(size=m * n)
        pairs.append((step, hessian @ step))
        s, y = (v.reshape(1, m, n) for v in pairs[-1])
        history.add(np.array([0]), s, y)
    s, y = pairs[-1]
    dense = np.eye(m * n) * (s @ y) / (y @ y)
    for s, y in pairs[-HISTORY:]:
        left = np.eye(m * n) - np.outer(s, y) / (s @ y)
        dense = left @ dense @ left.T + np.outer(s, s) / (s @ y)
    right = rng.normal(size=(2, 1, m, n))
    found = history.apply(right, chain, metric).reshape(2, -1)
    np.testing.assert_allclose(found, right.reshape(2, -1) @ dense.T, rtol=1e-9)


def test_a_path_that_forgets_has_the_preconditioner_alone(rng: np.random.Generator) -> None:
    metric, chain = identity_metric(2), np.full((2, 1, 1, 2), 2.0)
    history = StepHistory.empty((2, 1, 2))
    step = rng.normal(size=(2, 1, 2))
    history.add(np.arange(2), step, 3.0 * step)
    history.forget(np.array([True, False]))
    right = rng.normal(size=(1, 2, 1, 2))
    found, plain = history.apply(right, chain, metric), precondition(right, chain, metric)
    np.testing.assert_allclose(found[:, 0], plain[:, 0])
    assert not np.allclose(found[:, 1], plain[:, 1])


def test_each_path_has_its_own_last_steps(rng: np.random.Generator) -> None:
    """A path that takes no step while another takes many forgets nothing."""
    metric, chain = identity_metric(2), np.ones((2, 1, 1, 2))
    together, alone = StepHistory.empty((2, 1, 2)), StepHistory.empty((1, 1, 2))
    step, change = rng.normal(size=(2, 1, 1, 2))
    change += step * (1 + np.abs(change).sum())
    together.add(np.array([1]), step, change)
    alone.add(np.array([0]), step, change)
    for _ in range(HISTORY + 1):
        other = rng.normal(size=(1, 1, 2))
        together.add(np.array([0]), other, 2.0 * other)
    right = rng.normal(size=(1, 2, 1, 2))
    found = together.apply(right, chain, metric)[:, 1:]
    np.testing.assert_allclose(found, alone.apply(right[:, 1:], chain[1:], metric))
    np.testing.assert_allclose(
        found, together.take(np.array([1])).apply(right[:, 1:], chain[1:], metric)
    )
    assert not np.allclose(found, right[:, 1:])
