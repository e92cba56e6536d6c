from __future__ import annotations

import numpy as np

from daace import Goal, Landscape, LinearGaussianNetwork, Problem
from daace.planners.base import Clock
from daace.planners.descent import PathDescent
from daace.planners.descent.tails import improve_tails


def test_a_tail_hidden_by_a_costly_beginning_is_improved(network: LinearGaussianNetwork) -> None:
    start = network.draws_.upper + 4.0
    p = Problem(start, Landscape(network, penalty=15.0), Goal("benign"))
    pool = network.pool("benign")
    good = pool.X[(p.region.slack_of(pool.log_joint, pool.X) > 0.5).all(axis=1)]
    path = np.stack([start, good[0], good[1], good[2]])  # to and fro inside the goal
    descent = PathDescent.over(p, tolerance=1e-6, clock=Clock())
    better = improve_tails(p, path, descent)
    np.testing.assert_array_equal(better[:2], path[:2])
    assert p.path_cost(better[1:]) < 0.5 * p.path_cost(path[1:])


def test_a_path_without_a_hidden_tail_is_returned_as_it_is(network: LinearGaussianNetwork) -> None:
    start = network.sample(1, rng=np.random.default_rng(5), label="malignant")[0][0]
    p = Problem(start, Landscape(network), Goal("benign"))
    path = np.stack([start, start + 0.1, start + 0.2])
    descent = PathDescent.over(p, tolerance=1e-6, clock=Clock())
    assert improve_tails(p, path, descent) is path
