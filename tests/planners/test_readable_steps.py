from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from daace import Constraints, Explainer, GaussianMixture, Goal, Landscape, Plan, Problem, Status
from daace.planners.base import Judged, Planner
from daace.planners.readable import NOTICEABLE, merge_steps

DENSITY = GaussianMixture([1, 1], [[0.0, 0.0], [4.0, 0.0]], [np.eye(2), np.eye(2)], ["ill", "well"])


def problem(**rules: object) -> Problem:
    constraints = Constraints(**rules)  # type: ignore[arg-type]
    return Problem(np.zeros(2), Landscape(DENSITY), Goal("well"), constraints)


def plan_of(p: Problem, waypoints: list[list[float]]) -> Plan:
    path = np.array(waypoints)
    logs = np.log(DENSITY.predict_proba(path))
    cost = p.path_cost(path)
    return Plan(Status.FOUND, path, cost, 1, 0.0, judged=Judged(1, len(path), logs))


@pytest.mark.parametrize(
    ("waypoints", "kept"),
    [
        ([[0, 0], [0.001, 0], [3, 0]], [0, 2]),
        ([[0, 0], [2.999, 0], [3, 0]], [0, 2]),
        ([[0, 0], [1, 0], [1.01, 0], [1.02, 0.01], [3, 0]], [0, 1, 4]),
        ([[0, 0], [0.01, 0], [0.02, 0]], [0, 2]),
        ([[0, 0], [1, 0], [3, 0]], [0, 1, 2]),
        ([[0, 0], [0.01, 0]], [0, 1]),
        ([[0, 0]], [0]),
    ],
)
def test_steps_that_nobody_could_notice_are_merged(
    waypoints: list[list[float]], kept: list[int]
) -> None:
    p = problem()
    plan = plan_of(p, waypoints)
    merged = merge_steps(p, plan)
    np.testing.assert_array_equal(merged.waypoints, plan.waypoints[kept])
    assert merged.cost == p.path_cost(merged.waypoints)
    assert merged.judged is not None
    assert plan.judged is not None
    np.testing.assert_array_equal(merged.judged.log_posterior, plan.judged.log_posterior[kept])


def test_many_small_steps_become_steps_that_can_be_noticed() -> None:
    p = problem()
    path = np.column_stack([np.linspace(0, 3, 301), np.zeros(301)])
    steps = np.diff(merge_steps(p, plan_of(p, path.tolist())).waypoints, axis=0)
    assert np.abs(steps).max(axis=1).min() >= NOTICEABLE


def test_steps_that_the_rules_ask_for_stay() -> None:
    p = problem(max_step={"x1": 0.04})
    path = np.column_stack([np.linspace(0, 0.4, 11), np.zeros(11)])
    plan = plan_of(p, path.tolist())
    assert merge_steps(p, plan) is plan


class Stumbling(Planner):
    """Takes a first step that nobody could notice."""

    def solve(self, problem: Problem, *, rng: np.random.Generator) -> Plan:
        path = np.array([problem.x, problem.x + np.array([0.0005, 0.0]), [3.0, 0.0]])
        return replace(plan_of(problem, path.tolist()), judged=None)


def test_an_explanation_has_no_step_that_nobody_could_notice() -> None:
    e = Explainer(DENSITY, planner=Stumbling()).explain([0.0, 0.0], target="well")
    assert e.step_count == 1
    assert len(e.steps()) == 1
    assert e.cost == problem().path_cost(e.path.to_numpy())
