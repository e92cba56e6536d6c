from __future__ import annotations

import numpy as np
import pytest

from daace import (
    GaussianMixture,
    Goal,
    KernelDensity,
    Landscape,
    LinearGaussianNetwork,
    PathOptimizer,
    Problem,
)
from daace.planners.base import Clock
from daace.planners.descent.path_descent import MAX_NODES, MIN_NODES, PathDescent, roughness_unit


def descent(density: KernelDensity | GaussianMixture, *, penalty: float = 1.0) -> PathDescent:
    problem = Problem(
        np.zeros(len(density.features_)),
        Landscape(density, penalty=penalty),
        Goal(density.classes_[0]),
    )
    return PathDescent.over(problem, tolerance=1e-6, clock=Clock())


def lines(*lengths: float) -> np.ndarray:
    return np.array([[[0.0, 0.0], [length, 0.0]] for length in lengths])


def test_every_path_has_as_many_nodes_as_its_longest_segment_needs(kde: KernelDensity) -> None:
    h = kde.resolution_
    nodes = descent(kde).nodes(lines(h, 9 * h, 33 * h, 1e6 * h))
    assert nodes.tolist() == [MIN_NODES, 16, 64, MAX_NODES]


def test_a_penalty_needs_nodes_on_smooth_ground(mixture: GaussianMixture) -> None:
    paths = np.zeros((1, 2, 3))
    assert descent(mixture, penalty=5.0).nodes(paths).tolist() == [8]
    assert descent(mixture, penalty=15.0).nodes(paths).tolist() == [16]


def test_groups_cover_every_path_once(kde: KernelDensity) -> None:
    h = kde.resolution_
    paths, owner = lines(40 * h, h, 9 * h, h), np.array([2, 0, 1, 2])
    groups = list(descent(kde).by_nodes(paths, owner))
    assert [nodes for nodes, _ in groups] == [8, 16, 32]
    assert [rows.tolist() for _, rows in groups] == [[1], [2], [0, 3]]
    assert sorted(np.concatenate([rows for _, rows in groups])) == [0, 1, 2, 3]


def test_a_batch_mate_far_away_does_not_change_an_answer(kde: KernelDensity) -> None:
    landscape, goal = Landscape(kde, penalty=5.0), Goal("lower")
    near = kde.sample(1, rng=np.random.default_rng(3), label="upper")[0][0]
    problems = [Problem(x, landscape, goal) for x in (near, near + 6.0)]
    rngs = [np.random.default_rng(k) for k in range(2)]
    together = PathOptimizer().solve_many(problems, rngs=rngs)[0]
    alone = PathOptimizer().solve(problems[0], rng=rngs[0])
    assert together.cost == pytest.approx(alone.cost, rel=1e-6)


def test_the_unit_is_the_roughness_and_at_least_one(network: LinearGaussianNetwork) -> None:
    start = network.sample(1, rng=np.random.default_rng(5), label="malignant")[0][0]
    p = Problem(start, Landscape(network, penalty=5.0), Goal("benign"))
    far = p.x + 100.0
    unit = roughness_unit(p, np.stack([p.x, far]))
    assert unit.min() >= 1.0
    rough = p.landscape.roughness(network.log_prob(far[None]))[0]
    assert unit[1] == pytest.approx(rough)
