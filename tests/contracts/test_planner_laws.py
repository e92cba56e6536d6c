"""What holds for every planner, on every kind of density."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from daace import (
    ConditionalDensity,
    Explainer,
    Face,
    GaussianMixture,
    Goal,
    KernelDensity,
    Landscape,
    LinearGaussianNetwork,
    PathOptimizer,
    Planner,
    Problem,
    Roadmap,
    Table,
    Wachter,
)
from daace.data.synthetic import moons, random_mixture
from daace.planners.nsga2 import NSGA2
from daace.testing import PLANNER_LAWS
from daace.testing.planner_laws import PlannerLaw


@dataclass(frozen=True)
class Case:
    density: ConditionalDensity
    start: np.ndarray
    target: object


def rows_of(density: ConditionalDensity) -> np.ndarray:
    return density.sample(200, rng=np.random.default_rng(6))[0]


PLANNERS: dict[str, Callable[[ConditionalDensity], Planner]] = {
    "optimizer": lambda _: PathOptimizer(),
    "optimizer, two vertices": lambda _: PathOptimizer(vertices=2, starts=3),
    "nsga2": lambda _: NSGA2(vertices=(0, 1), population=24, generations=15),
    "face": lambda density: Face(rows_of(density), nodes=100, pieces=8),
    "face, knn": lambda density: Face(rows_of(density), graph="knn", k=50),
    "wachter": lambda density: Wachter(rows_of(density)),
    "wachter, gradient": lambda density: Wachter(rows_of(density), search="gradient"),
    "roadmap": lambda _: Roadmap(samples=200, vertices=(0, 2)),
    "roadmap, raw": lambda _: Roadmap(samples=200, refine=False),
}


@pytest.fixture(scope="module", params=["mixture", "moons", "kde", "network"])
def case(request: pytest.FixtureRequest, iris: Table, moons_table: Table) -> Case:
    rng = np.random.default_rng(3)
    if request.param == "mixture":
        density: ConditionalDensity = GaussianMixture(*random_mixture(3, classes=3, rng=rng))
        return Case(density, density.sample(1, rng=rng, label="c0")[0][0], "c2")
    if request.param == "moons":
        return Case(GaussianMixture(*moons()), np.array([-1.0, 0.1]), "lower")
    if request.param == "kde":
        density = KernelDensity(bandwidth=0.3).fit(moons_table)
        return Case(density, density.to_model([[0.0, 1.0]])[0], "lower")
    density = LinearGaussianNetwork().fit(iris)
    return Case(density, density.to_model([[5.0, 3.4, 1.5, 0.2]])[0], "virginica")


@pytest.fixture(scope="module", params=list(PLANNERS))
def planner(request: pytest.FixtureRequest, case: Case) -> Planner:
    return PLANNERS[request.param](case.density)


def problem_of(case: Case) -> Problem:
    goal = Goal(case.target, min_posterior=0.6)
    return Problem(case.start, Landscape(case.density, penalty=2.0), goal)


@pytest.mark.parametrize("law", PLANNER_LAWS, ids=lambda law: law.__name__)
def test_laws(planner: Planner, case: Case, law: PlannerLaw) -> None:
    law(planner, problem_of(case))


def test_the_row_that_is_returned_meets_the_goal(planner: Planner, case: Case) -> None:
    """Judges that know one row from the next see exactly what the user gets."""
    density = case.density
    features = density.features_
    asked: dict[bytes, float] = {}

    def grain(frame: pd.DataFrame) -> np.ndarray:
        """A class that hangs on the last digits of a feature."""
        values = frame[list(features)].to_numpy(dtype=np.float64)
        good = np.floor(values[:, 0] * 1e6) % 2 == 0
        k = density.class_index(case.target)
        shares = np.full((len(values), len(density.classes_)), 0.1 / (len(density.classes_) - 1))
        shares[good, k] = 0.9
        shares /= shares.sum(axis=1, keepdims=True)
        asked.update(zip(map(bytes, values), shares[:, k], strict=True))
        return shares

    row = density.to_user(case.start[None]).iloc[0]
    judged = Explainer(density, planner=planner, classifier=grain, min_posterior=0.6)
    plain = Explainer(density, planner=planner, min_posterior=0.6)
    downhill = isinstance(planner, Wachter) and planner.search == "gradient"
    for explainer in (plain,) if downhill else (judged, plain):
        e = explainer.explain(row, target=case.target)
        end = e.path.iloc[[-1]]
        k = density.class_index(case.target)
        x = density.to_model(end)
        shares = grain(end)[:, k] if explainer is judged else density.predict_proba(x)[:, k]
        assert e.found == bool(
            shares[0] >= 0.6 and density.log_prob(x)[0] >= e.provenance.min_log_prob
        )
        assert e.posterior == pytest.approx(shares[0], rel=1e-12)
        if explainer is judged:
            assert bytes(end.to_numpy()[0]) in asked
