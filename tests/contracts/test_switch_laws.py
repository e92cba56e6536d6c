"""The laws of planners on numbers and codes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from daace import (
    Face,
    GaussianMixture,
    Goal,
    Landscape,
    PathOptimizer,
    Planner,
    Problem,
    Roadmap,
    Wachter,
)
from daace.data.encoding import Encoding
from daace.data.kinds import Feature
from daace.planners.nsga2 import NSGA2
from daace.testing import PLANNER_LAWS
from daace.testing.planner_laws import PlannerLaw


def loans(seed: int = 0) -> GaussianMixture:
    """Return a density of two numbers, one with an atom, a category and an ordered feature."""
    rng = np.random.default_rng(seed)
    features = (
        Feature("savings", atoms=(0.0,)),
        Feature("debt"),
        Feature("housing", "category", levels=("free", "own", "rent"), dtype="str"),
        Feature("schooling", "ordered", levels=(1, 2, 3, 4), dtype="int64"),
    )
    tables = [rng.dirichlet(np.full(size, 2.0), 3) for size in (3, 4, 2)]
    means = 2.0 * rng.normal(size=(3, 2))
    labels = ["refused", "granted", "granted"]
    gaussians = [1, 1, 1], means, [np.eye(2)] * 3, labels
    return GaussianMixture(*gaussians, tables=tables, encoding=Encoding(features))


@pytest.fixture(scope="module")
def problem() -> Problem:
    density = loans()
    goal = Goal("granted", min_posterior=0.7)
    for start in density.sample(50, rng=np.random.default_rng(1), label="refused")[0]:
        asked = Problem(start, Landscape(density, penalty=2.0), goal)
        if not asked.met_by(asked.x):
            return asked
    raise AssertionError("no start outside the goal")


def rows_of(problem: Problem) -> np.ndarray:
    return problem.landscape.density.sample(400, rng=np.random.default_rng(6))[0]


PLANNERS: dict[str, Callable[[Problem], Planner]] = {
    "optimizer": lambda _: PathOptimizer(),
    "optimizer, two vertices": lambda _: PathOptimizer(vertices=2),
    "nsga2": lambda _: NSGA2(vertices=(0, 1), population=40, generations=25),
    "face": lambda problem: Face(rows_of(problem), nodes=200, pieces=8),
    "face, knn": lambda problem: Face(rows_of(problem), graph="knn", k=50),
    "wachter": lambda problem: Wachter(rows_of(problem)),
    "wachter, gradient": lambda problem: Wachter(rows_of(problem), search="gradient"),
    "roadmap": lambda _: Roadmap(samples=200, vertices=(0, 2)),
    "roadmap, raw": lambda _: Roadmap(samples=400, refine=False),
}


@pytest.fixture(scope="module", params=list(PLANNERS))
def planner(request: pytest.FixtureRequest, problem: Problem) -> Planner:
    return PLANNERS[request.param](problem)


@pytest.mark.parametrize("law", PLANNER_LAWS, ids=lambda law: law.__name__)
def test_laws(planner: Planner, problem: Problem, law: PlannerLaw) -> None:
    law(planner, problem)
