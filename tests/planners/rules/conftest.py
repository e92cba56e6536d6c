"""Densities and problems that the tests of several rules share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from daace import Constraints, Goal, Landscape, LinearGaussianNetwork, Problem, Table
from daace.data.synthetic import draw_table, random_mixture


@pytest.fixture(scope="module")
def network() -> LinearGaussianNetwork:
    rng = np.random.default_rng(1)
    return LinearGaussianNetwork().fit(draw_table(random_mixture(4, rng=rng), 3000, rng=rng))


@pytest.fixture(scope="module")
def question(network: LinearGaussianNetwork) -> Callable[..., Problem]:
    """Return a function from a seed and rules to a problem whose start does not meet the goal."""

    def make(seed: int, **rules: object) -> Problem:
        rng = np.random.default_rng(seed)
        while True:
            x = network.sample(1, rng=rng)[0][0]
            other = network.classes_[1 - int(network.predict_proba(x[None])[0].argmax())]
            constraints = Constraints(**rules)  # type: ignore[arg-type]
            problem = Problem(x, Landscape(network, penalty=2.0), Goal(other), constraints)
            if not problem.met_by(x):
                return problem

    return make


@pytest.fixture(scope="module")
def counted() -> LinearGaussianNetwork:
    """Two integers and one other number."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, size=2000)
    X = np.column_stack(
        [rng.poisson(4 + 3 * y), rng.poisson(9 - 4 * y), rng.normal(2.0 * y, 1.0)]
    ).astype(float)
    frame = pd.DataFrame(X, columns=["visits", "misses", "score"]).assign(group=y)
    return LinearGaussianNetwork().fit(Table.from_frame(frame, target="group", kinds="number"))
