"""Small densities and a tiny planner, so that these tests are about explanations."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

from daace import GaussianMixture, LinearGaussianNetwork, Table, load_table
from daace.explain.explainer import Explainer
from daace.explain.fitting import fit
from daace.planners.base import Clock, Plan, Planner, already_there, arrive, give_up


@dataclass(frozen=True, kw_only=True)
class StraightLine(Planner):
    """Go straight to the nearest draw of the target that meets the goal, with one stop."""

    time_limit: float | None = None

    def solve(self, problem, *, rng) -> Plan:
        clock = Clock(self.time_limit)
        stay = already_there(problem, clock)
        if stay is not None:
            return stay
        pool = problem.landscape.density.pool(problem.goal.target)
        ends = np.clip(pool.X, problem.feasible.lower, problem.feasible.upper)
        slack = problem.region.slack(ends)
        inside = ends[(slack > 0).all(axis=1)]
        if not len(inside):
            best = (
                slack[slack[:, 1] >= 0, 0].max(initial=-np.inf),
                slack[slack[:, 0] >= 0, 1].max(initial=-np.inf),
            )
            return give_up(problem, clock, reachable=(float(best[0]), float(best[1])))
        end = inside[np.argmin(((inside - problem.x) ** 2).sum(axis=1))]
        middle = problem.x + 0.5 * (end - problem.x)
        return arrive(problem, np.stack([problem.x, middle, end]), clock)


@pytest.fixture
def straight() -> StraightLine:
    return StraightLine()


@pytest.fixture(scope="session")
def mixture() -> GaussianMixture:
    return GaussianMixture(
        [1, 1], [[0.0, 0.0], [4.0, 1.0]], [np.eye(2), np.eye(2)], ["ill", "well"]
    )


@pytest.fixture
def simple(mixture, straight) -> Explainer:
    """Two features, two classes, straight lines."""
    return Explainer(mixture, planner=straight, round=False)


@pytest.fixture(scope="session")
def cancer() -> Table:
    return load_table("breast_cancer")


@pytest.fixture(scope="session")
def malignant(cancer) -> pd.DataFrame:
    frame = cancer.to_frame()
    return frame[frame["class"] == "malignant"]


@pytest.fixture(scope="session")
def explainer(cancer) -> Explainer:
    """Thirty features, learned; all of them change."""
    return replace(fit(cancer), changes="all")


@pytest.fixture(scope="session")
def explanation(explainer, malignant):
    return explainer.explain(malignant.loc[499], target="benign")


@pytest.fixture(scope="session")
def iris() -> LinearGaussianNetwork:
    return LinearGaussianNetwork().fit(load_table("iris"))
