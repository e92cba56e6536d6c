"""What holds for every planner, on every kind of density."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from daace import (
    ConditionalDensity,
    Constraints,
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
    Status,
    Table,
    Wachter,
)
from daace.data.synthetic import moons, random_mixture
from daace.planners.nsga2 import NSGA2


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
    "nsga2": lambda _: NSGA2(vertices=(0, 1), population=40, generations=25),
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


def problem_of(case: Case, **rules: object) -> Problem:
    goal = Goal(case.target, min_posterior=0.6)
    landscape = Landscape(case.density, penalty=2.0)
    return Problem(case.start, landscape, goal, Constraints(**rules))  # type: ignore[arg-type]


def solve(planner: Planner, problem: Problem, seed: int = 0):  # type: ignore[no-untyped-def]
    return planner.solve(problem, rng=np.random.default_rng(seed))


def test_a_found_plan_ends_in_the_goal_judged_alone(planner: Planner, case: Case) -> None:
    problem = problem_of(case)
    plan = solve(planner, problem)
    assert plan.found
    assert problem.goal.check(case.density, plan.waypoints[-1])
    np.testing.assert_array_equal(plan.waypoints[0], case.start)


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


def test_the_reported_cost_is_that_of_the_path(planner: Planner, case: Case) -> None:
    weights = {case.density.features_[0]: 3.0}
    for problem in (problem_of(case), problem_of(case, weights=weights)):
        plan = solve(planner, problem)
        assert plan.cost == problem.path_cost(plan.waypoints)
        assert plan.evaluations > 0
        assert plan.seconds > 0


def test_constraints_hold_at_every_waypoint(planner: Planner, case: Case) -> None:
    plan = solve(planner, problem_of(case))
    moved = plan.waypoints[-1] - case.start
    up = case.density.features_[int(np.argmax(moved))]
    j = case.density.features_.index(up)
    scale = case.density.standardizer_
    limit = scale.inverse(case.start + 1.2 * np.maximum(moved, 0.5))[j]
    problem = problem_of(case, only_up=[up], upper={up: float(limit)})
    plan = solve(planner, problem)
    path = plan.waypoints
    assert (np.diff(path[:, j]) >= 0).all()
    assert (scale.inverse(path)[:, j] <= limit + 1e-9 * abs(limit)).all()
    assert problem.feasible.contains(path)
    assert plan.found == problem.met_by(path[-1])


def test_a_fixed_feature_keeps_its_value(planner: Planner, case: Case) -> None:
    name = case.density.features_[-1]
    plan = solve(planner, problem_of(case, fixed=[name]))
    assert (plan.waypoints[:, -1] == case.start[-1]).all()


def test_problem_and_planner_are_not_modified(planner: Planner, case: Case) -> None:
    problem = problem_of(case)
    before = pickle.dumps((planner, problem.x, problem.goal, problem.feasible, problem.constraints))
    solve(planner, problem)
    after = pickle.dumps((planner, problem.x, problem.goal, problem.feasible, problem.constraints))
    assert before == after


def test_a_second_query_does_not_depend_on_the_first(planner: Planner, case: Case) -> None:
    problem = problem_of(case)
    first = solve(planner, problem)
    rng = np.random.default_rng(5)
    other = Problem(case.density.sample(1, rng=rng)[0][0], problem.landscape, problem.goal)
    solve(planner, other)
    again = solve(planner, problem)
    np.testing.assert_array_equal(first.waypoints, again.waypoints)
    assert first.cost == again.cost


def test_an_impossible_goal_gives_a_status(planner: Planner, case: Case) -> None:
    goal = Goal(case.target, min_log_prob=1e6)
    plan = solve(planner, Problem(case.start, Landscape(case.density), goal))
    assert plan.status is Status.GOAL_UNREACHABLE
    assert not plan.found
    assert plan.cost == np.inf
    np.testing.assert_array_equal(plan.waypoints, case.start[None])
    assert plan.reachable is not None
    assert plan.reachable[0] < 0


def test_who_is_there_stays(planner: Planner, case: Case) -> None:
    there = solve(planner, problem_of(case)).waypoints[-1]
    plan = solve(planner, Problem(there, Landscape(case.density), problem_of(case).goal))
    assert plan.status == "already_there"
    assert plan.found
    assert plan.cost == 0
    assert plan.waypoints.shape == (1, len(there))


def test_many_problems_are_solved_in_order(planner: Planner, case: Case) -> None:
    goal, landscape = problem_of(case).goal, Landscape(case.density)
    starts, _ = case.density.sample(3, rng=np.random.default_rng(8))
    problems = [Problem(x, landscape, goal) for x in starts]
    plans = planner.solve_many(problems, rngs=np.random.default_rng(0).spawn(3))
    for problem, plan in zip(problems, plans, strict=True):
        np.testing.assert_array_equal(plan.waypoints[0], problem.x)
        assert plan.found == problem.met_by(plan.waypoints[-1])
