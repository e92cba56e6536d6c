"""The interface of planners: a planner takes a problem and returns a plan.

Write your own planner
----------------------

Subclass `Planner` and write `solve`. A problem offers

- `problem.x`: the start, shape `(n,)`, in model space (standardised units);
- `problem.region`: the goal; `region.slack(X)` is by how much each row exceeds the two thresholds,
  in nats, and `region.contains(X)` whether it meets both;
- `problem.feasible`: the rules; `feasible.allows(X)` checks points, `feasible.contains(path)` a
  path, `feasible.nearest(X)` and `feasible.project(paths)` return the nearest allowed ones;
- `problem.landscape`: the terrain, with the density as `problem.landscape.density`;
- `problem.met_by(x)`: whether one point meets the goal exactly as the user would get it;
- `problem.path_cost(path)`: the cost of a path, in the unit of `Plan.cost`.

A plan is made by one of three functions: `already_there` (the start meets the goal), `arrive` (a
path was found) and `give_up` (none was). Four laws are checked by `tests/contracts`:

1. the last waypoint of a plan that was found meets the goal (`problem.met_by`) and every waypoint
   keeps the rules;
2. randomness comes from `rng` alone;
3. neither the problem nor the planner is modified, and no answer depends on an earlier one;
4. a goal that cannot be met gives a status, not an exception and not an endless search.

Example:
    Walk straight to the nearest draw of the density that meets goal and rules:

    >>> from daace import GaussianMixture, Goal, Landscape, Planner, Problem
    >>> from daace.planners.base import Clock, already_there, arrive, give_up
    >>> class NearestDraw(Planner):
    ...     def solve(self, problem, *, rng):
    ...         clock = Clock()
    ...         stay = already_there(problem, clock)
    ...         if stay is not None:
    ...             return stay
    ...         draws, _ = problem.landscape.density.sample(500, rng=rng)
    ...         clock.evaluations += len(draws)
    ...         good = problem.region.contains(draws) & problem.feasible.allows(draws)
    ...         ends = draws[good]
    ...         for i in np.argsort(np.linalg.norm(ends - problem.x, axis=1)):
    ...             if problem.met_by(ends[i]):
    ...                 return arrive(problem, np.stack([problem.x, ends[i]]), clock)
    ...         return give_up(problem, clock, reachable=best_slacks(problem.region.slack(draws)))
    >>> density = GaussianMixture([1, 1], [[0.0], [3.0]], [[[1.0]], [[1.0]]], ["ill", "well"])
    >>> problem = Problem(np.array([0.0]), Landscape(density), Goal("well", min_posterior=0.9))
    >>> plan = NearestDraw().solve(problem, rng=np.random.default_rng(0))
    >>> plan.status, plan.waypoints.round(2).tolist()
    (<Status.FOUND: 'found'>, [[0.0], [2.23]])
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np
from threadpoolctl import ThreadpoolController

from daace._typing import FloatArray
from daace.exceptions import InvalidInput
from daace.landscape.problem import Problem
from daace.notes import Note
from daace.planners.watch import report


class Status(StrEnum):
    """How a search ended; true if a counterfactual was found.

    Example:
        >>> bool(Status.TIMEOUT), Status.TIMEOUT.sentence
        (False, 'The time limit was reached before a path was found.')
    """

    FOUND = "found"
    ALREADY_THERE = "already_there"
    GOAL_UNREACHABLE = "goal_unreachable"
    TIMEOUT = "timeout"
    OUT_OF_BUDGET = "out_of_budget"
    CLASSIFIER_FAILED = "classifier_failed"
    INVALID_ROW = "invalid_row"

    def __bool__(self) -> bool:
        return self in (Status.FOUND, Status.ALREADY_THERE)

    @property
    def sentence(self) -> str:
        """The meaning of the status, in a sentence."""
        return _STATUS_SENTENCES[self]


_STATUS_SENTENCES = {
    Status.FOUND: "A path to the goal was found.",
    Status.ALREADY_THERE: "The start meets the goal already.",
    Status.GOAL_UNREACHABLE: "No path to the goal was found.",
    Status.TIMEOUT: "The time limit was reached before a path was found.",
    Status.OUT_OF_BUDGET: "The classifier's budget was spent before a path was found.",
    Status.CLASSIFIER_FAILED: "The classifier raised an error before a path was found.",
    Status.INVALID_ROW: "The row cannot be explained.",
}


@dataclass(frozen=True, eq=False)
class Judged:
    """A search's use of a classifier, and the classifier's predictions along a path.

    Attributes:
        calls: number of calls, those about draws of the density included; problems that are
            solved together share it.
        rows: number of rows in these calls.
        log_posterior: log p(y | x) of each waypoint, shape `(waypoints, classes)`; NaN where the
            classifier failed.
    """

    calls: int
    rows: int
    log_posterior: FloatArray


@dataclass(frozen=True, eq=False)
class Plan:
    """A path in model space, or the reason why there is none.

    Attributes:
        status: how the search ended.
        waypoints: shape `(waypoints, n)`; the first is the start. Only the start if not found.
        cost: `problem.path_cost(waypoints)`; infinite if not found.
        evaluations: number of paths whose cost was evaluated.
        seconds: wall-clock time.
        reachable: if not found, the best slack of log p and of the log posterior, in nats, among
            points that meet the other threshold; see `best_slacks`.
        notes: remarks on the plan: remedies and cautions.
        judged: predictions of a classifier along the path, if one decides the class.
    """

    status: Status
    waypoints: FloatArray
    cost: float
    evaluations: int
    seconds: float
    reachable: tuple[float, float] | None = None
    notes: tuple[Note, ...] = ()
    judged: Judged | None = None

    @property
    def found(self) -> bool:
        """Whether the path ends in the goal."""
        return bool(self.status)

    @property
    def vertices(self) -> int:
        """Number of waypoints between start and end."""
        return max(0, len(self.waypoints) - 2)


class Planner(ABC):
    """Finds a cheap path from the start of a problem to its goal.

    The docstring of `daace.planners.base` shows how to write your own.
    """

    @abstractmethod
    def solve(self, problem: Problem, *, rng: np.random.Generator) -> Plan:
        """Plan one path.

        Args:
            problem: start, landscape, goal and constraints.
            rng: the only source of randomness.
        """

    def solve_many(
        self, problems: Sequence[Problem], *, rngs: Sequence[np.random.Generator]
    ) -> list[Plan]:
        """Plan several paths, one by one unless a planner overrides this to work in batches.

        Args:
            problems: the problems.
            rngs: one generator for each problem.
        """
        return [self.solve(p, rng=rng) for p, rng in zip(problems, rngs, strict=True)]

    def describe(self) -> str:
        """Return the planner's name and settings, without any rows that it holds."""
        names: list[str] = [entry.name for entry in fields(self)] if is_dataclass(self) else []
        simple = [
            f"{name}={value!r}"
            for name in names
            if (value := getattr(self, name)) is None
            or isinstance(value, int | float | str | tuple)
        ]
        return f"{type(self).__name__}({', '.join(simple)})"


#: Note on a path that could have been improved with more time.
CUT_SHORT = Note.of("cut_short")


@lru_cache(maxsize=1)
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[object]:
    """Limit BLAS to one thread: planners multiply small matrices, for which threads do not pay."""
    limiter: AbstractContextManager[object] = _thread_pools().limit(limits=1)
    return limiter


class TimeIsUp(Exception):
    """The time limit of a search has passed; the search ends with its best result so far."""


@dataclass(eq=False)
class Clock:
    """Time and evaluations of one search.

    Args:
        limit: seconds until `expired`; None for no limit.
        evaluations: number of paths whose cost was evaluated; a planner adds to it.
        began: when the search began, by `time.perf_counter`.
    """

    limit: float | None = None
    evaluations: int = 0
    began: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Time since the search began."""
        return time.perf_counter() - self.began

    @property
    def expired(self) -> bool:
        """Whether the time limit has passed; a watcher of the search is notified."""
        report(self.evaluations)
        return self.limit is not None and self.seconds > self.limit

    def check(self) -> None:
        """Raise `TimeIsUp` if the time limit has passed."""
        if self.expired:
            raise TimeIsUp


def refuse_max_changed(problem: Problem, planner: str) -> None:
    """Check that a problem has no rule on the number of changes.

    Args:
        problem: the problem.
        planner: name of a planner that cannot keep such a rule.

    Raises:
        InvalidInput: the problem has such a rule.
    """
    if problem.feasible.changes is not None:
        raise InvalidInput(
            f"{planner} does not support 'max_changed': plan with PathOptimizer or Roadmap."
        )


def already_there(problem: Problem, clock: Clock) -> Plan | None:
    """Return the plan that stays at the start if the start meets the goal, else None.

    Args:
        problem: the problem.
        clock: clock of the search.
    """
    if not problem.met_by(problem.x):
        return None
    return Plan(Status.ALREADY_THERE, problem.x[None].copy(), 0.0, clock.evaluations, clock.seconds)


def arrive(
    problem: Problem, waypoints: FloatArray, clock: Clock, *, notes: tuple[Note, ...] = ()
) -> Plan:
    """Return the plan of a path that was found.

    Where the constraints limit the step size, long segments get more waypoints. A note is added if
    the time limit has passed.

    Args:
        problem: the problem.
        waypoints: shape `(waypoints, n)`, the start first; the last one must meet the goal when
            checked alone, by `problem.met_by`.
        clock: clock of the search.
        notes: remarks on the plan.
    """
    waypoints = problem.feasible.divide(waypoints)
    cost = problem.path_cost(waypoints)
    if clock.expired and CUT_SHORT not in notes:
        notes = (*notes, CUT_SHORT)
    return Plan(Status.FOUND, waypoints, cost, clock.evaluations, clock.seconds, notes=notes)


def give_up(
    problem: Problem,
    clock: Clock,
    *,
    status: Status = Status.GOAL_UNREACHABLE,
    reachable: tuple[float, float] | None = None,
    notes: tuple[Note, ...] = (),
) -> Plan:
    """Return the plan of a search that found no path.

    Args:
        problem: the problem.
        clock: clock of the search.
        status: why no path was found.
        reachable: the best slacks found, from `best_slacks`; None if unknown.
        notes: remarks on the plan.
    """
    start = problem.x[None].copy()
    return Plan(status, start, float("inf"), clock.evaluations, clock.seconds, reachable, notes)


def best_slacks(slack: FloatArray) -> tuple[float, float]:
    """Return the best slack of each threshold of a goal among points that meet the other one.

    Relaxed by these amounts, the goal is met by one of the points.

    Args:
        slack: slacks of log p and of the log posterior, in nats, shape `(points, 2)`.

    Example:
        >>> best_slacks(np.array([[-1.0, 2.0], [-3.0, 4.0], [5.0, -6.0]]))
        (-1.0, -6.0)
    """
    log_prob, posterior = slack.T
    return (
        float(log_prob[posterior >= 0].max(initial=-np.inf)),
        float(posterior[log_prob >= 0].max(initial=-np.inf)),
    )
