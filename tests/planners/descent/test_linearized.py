from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from daace import Constraints, GaussianMixture, Goal, Landscape, PathOptimizer, Problem
from daace._typing import FloatArray
from daace.landscape.path import gauss_rule
from daace.planners.descent.linearized import minimize_linearized
from daace.planners.descent.objective import Objective
from daace.planners.descent.quasi_newton import Metric
from daace.planners.descent.sqp import DescentResult, minimize


class Judge:
    """Log-odds of the second class by a formula, with slopes; counts the questions."""

    classes_ = np.array(["ill", "well"])
    smooth = True

    def __init__(
        self,
        odds: Callable[[FloatArray], FloatArray],
        slopes: Callable[[FloatArray], FloatArray],
    ) -> None:
        self.odds, self.slopes, self.asked = odds, slopes, 0

    def log_posterior(self, X: FloatArray) -> FloatArray:
        self.asked += 1
        odds = self.odds(X)
        return -np.logaddexp(0.0, np.stack([odds, -odds], axis=1))

    def log_posterior_and_gradient(
        self, X: FloatArray, index: int
    ) -> tuple[FloatArray, FloatArray]:
        assert index == 1
        logs = self.log_posterior(X)
        return logs, np.exp(logs[:, :1]) * self.slopes(X)


def linear() -> Judge:
    way = np.array([2.0, 1.0])
    return Judge(lambda X: X @ way - 6.0, lambda X: np.tile(way, (len(X), 1)))


def disc(radius: float) -> Judge:
    """A goal inside a circle around the origin: a sharp bend, seen from far."""
    return Judge(lambda X: radius**2 - (X**2).sum(axis=1), lambda X: -2 * X)


def problem(judge: Judge, start: tuple[float, float], penalty: float = 0.0) -> Problem:
    density = GaussianMixture(
        [1, 1], [[0.0, 0.0], [3.0, 1.0]], [4 * np.eye(2), 4 * np.eye(2)], ["ill", "well"]
    )
    goal = Goal("well", min_log_prob=-50.0, min_posterior=0.5)
    return Problem(
        np.array(start), Landscape(density, penalty=penalty), goal, Constraints(), posterior=judge
    )


def objective(p: Problem, ends: FloatArray) -> Objective:
    shape = (len(ends), 1, ends.shape[1])
    return Objective(
        landscape=p.landscape,
        region=p.region,
        rule=gauss_rule(16),
        starts=np.tile(p.x, (len(ends), 1)),
        lower=np.broadcast_to(p.feasible.lower, shape),
        upper=np.broadcast_to(p.feasible.upper, shape),
        direction=p.feasible.direction,
        slabs=p.feasible.slabs,
        weights=None,
        unit=np.ones(len(ends)),
    )


def descend(p: Problem, ends: FloatArray, run: Callable[..., DescentResult]) -> DescentResult:
    """Return what `run` makes of straight lines to ends."""
    metric = Metric.of(p.landscape.density.pool("well"))
    return run(objective(p, ends), ends[:, None], metric, iterations=100, tolerance=1e-7)


ENDS = np.array([[4.0, 0.0], [1.0, 5.0], [3.0, 3.0]])


def test_a_linear_classifier_is_followed_by_a_handful_of_questions():
    judge = linear()
    p = problem(judge, (-1.0, -1.0))
    outcome = descend(p, ENDS, minimize_linearized)
    way, start = np.array([2.0, 1.0]), np.array([-1.0, -1.0])
    nearest = start + (6.0 - way @ start) / (way @ way) * way  # foot of the perpendicular
    np.testing.assert_allclose(outcome.Z[:, 0], np.tile(nearest, (3, 1)), atol=1e-4)
    assert (outcome.violation == 0).all()
    assert judge.asked <= 4


@pytest.mark.parametrize("radius", [0.5, 2.0])
def test_a_bend_sharper_than_lines_can_follow_is_followed_by_steps(radius):
    p = problem(disc(radius), (5.0, 0.0))
    ends = radius * np.array([[np.cos(a), np.sin(a)] for a in (0.3, 1.2, -0.8)])
    outcome = descend(p, ends, minimize_linearized)
    np.testing.assert_allclose(outcome.Z[:, 0], np.tile([radius, 0.0], (3, 1)), atol=1e-2)
    assert (outcome.cost <= (5.0 - radius) * (1 + 1e-4)).all()
    assert outcome.violation.max() < 1e-5


def test_over_rough_terrain_it_ends_where_a_question_at_every_step_ends():
    judge = Judge(
        lambda X: 2 * X[:, 0] + np.sin(X[:, 1]) - 5.0,
        lambda X: np.stack([np.full(len(X), 2.0), np.cos(X[:, 1])], axis=1),
    )
    p = problem(judge, (-2.0, 0.5), penalty=2.0)
    ends = np.array([[4.0, 0.0], [4.0, 2.0]])
    lines, steps = (descend(p, ends, run) for run in (minimize_linearized, minimize))
    np.testing.assert_allclose(lines.cost, steps.cost, rtol=1e-4)
    assert (lines.violation == 0).all()


def test_who_is_not_asked_any_more_leaves_the_ends_where_they_are_known_to_be_inside():
    """As when a budget is spent: what is not known counts as impossible, and has no slope."""
    known = {end.tobytes() for end in ENDS}

    class Silent(Judge):
        def log_posterior(self, X: FloatArray) -> FloatArray:
            logs = super().log_posterior(X)
            logs[[row.tobytes() not in known for row in np.ascontiguousarray(X)]] = -np.inf
            return logs

        def log_posterior_and_gradient(
            self, X: FloatArray, index: int
        ) -> tuple[FloatArray, FloatArray]:
            return self.log_posterior(X), np.zeros(X.shape)

    source = linear()
    outcome = descend(
        problem(Silent(source.odds, source.slopes), (-1.0, -1.0)), ENDS, minimize_linearized
    )
    np.testing.assert_array_equal(outcome.Z[:, 0], ENDS)


def test_the_default_planner_agrees_with_the_density_as_its_own_judge():
    density = GaussianMixture(
        [1, 1], [[0.0, 0.0], [4.0, 0.0]], [np.eye(2), np.eye(2)], ["ill", "well"]
    )
    own = Problem(np.zeros(2), Landscape(density), Goal("well", min_posterior=0.9))
    way = np.array([4.0, 0.0])  # the log-odds of two equal Gaussians are linear: 4 x1 - 8
    judge = Judge(lambda X: X @ way - 8.0, lambda X: np.tile(way, (len(X), 1)))
    other = replace(own, posterior=judge)
    plans = [PathOptimizer().solve(p, rng=np.random.default_rng(0)) for p in (own, other)]
    assert plans[1].cost == pytest.approx(plans[0].cost, rel=1e-4)
    assert other.met_by(plans[1].waypoints[-1])
