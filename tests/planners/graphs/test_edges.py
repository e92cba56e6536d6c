from __future__ import annotations

import math

import numpy as np
import pytest

from daace import ConditionalDensity
from daace.exceptions import InvalidInput
from daace.planners.graphs.edges import EdgeRule, join, join_start, log_prob_along


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "kde"}, "'graph' must be one of 'integral', 'density', 'epsilon', 'knn'"),
        ({"epsilon": 0.0}, "'epsilon' must be a finite number above 0"),
        ({"epsilon": math.nan}, "'epsilon' must be"),
        ({"k": 0}, "'k' must be an integer of at least 1"),
        ({"rule": "simpson"}, "'rule' must be one of"),
        ({"pieces": 0}, "'pieces' must be"),
    ],
)
def test_settings_are_checked(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        EdgeRule(**settings)  # type: ignore[arg-type]


def test_the_shortcut_along_gaussians_is_exact(network: ConditionalDensity) -> None:
    X, _ = network.sample(40, rng=np.random.default_rng(0))
    X[::5] *= 20  # far outside too
    rule = EdgeRule().quadrature
    assert network.gaussian_
    assert rule is not None
    ends = np.roll(X, 1, axis=0)
    fast = log_prob_along(network, X, ends, (network.log_joint(X), network.log_joint(ends)), rule)
    points = X[:, None] + rule.nodes[:, None] * (ends - X)[:, None]
    slow = network.log_prob(points.reshape(-1, 30)).reshape(fast.shape)
    np.testing.assert_allclose(fast, slow, rtol=1e-10, atol=1e-9)


def test_few_points_are_all_neighbours(rng: np.random.Generator) -> None:
    X = rng.normal(size=(4, 2))
    begin, end, _ = join(X, EdgeRule(kind="knn", k=99))
    assert len(begin) == 6
    assert (begin < end).all()
    everyone = np.ones(4, dtype=bool)
    first = join_start(np.zeros(2), X, np.zeros(4), EdgeRule(kind="knn", k=99), everyone)
    assert first.tolist() == [0, 1, 2, 3]


def test_blocks_of_rows_change_nothing(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = rng.normal(size=(30, 2))
    for rule in (EdgeRule(k=3), EdgeRule(epsilon=1.0), EdgeRule(k=3, strides=(1, 4))):
        at_once = join(X, rule)
        with monkeypatch.context() as patch:
            patch.setattr("daace.planners.graphs.edges.DISTANCES", 100)
            for whole, part in zip(at_once, join(X, rule), strict=True):
                np.testing.assert_array_equal(whole, part)


def test_a_start_is_joined_as_one_of_the_points(rng: np.random.Generator) -> None:
    """Where it is one, its edges are those that the graph has without it, and back."""
    X = rng.normal(size=(30, 2))
    for rule in (EdgeRule(k=4), EdgeRule(epsilon=0.7), EdgeRule(k=4, epsilon=0.7)):
        begin, end, _ = join(X, rule)
        mine = set(end[begin == 0].tolist())
        _, _, radii = join(X[1:], rule)
        first = join_start(X[0], X[1:], radii, rule, np.ones(29, dtype=bool))
        assert set((first + 1).tolist()) == mine


def test_points_that_are_not_allowed_are_not_joined(rng: np.random.Generator) -> None:
    X = rng.normal(size=(10, 2))
    allowed = np.arange(10) % 2 == 0
    first = join_start(X[0], X, np.full(10, np.inf), EdgeRule(), allowed)
    assert first.tolist() == [2, 4, 6, 8]  # nor is the point at the place of the start
