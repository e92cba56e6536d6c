"""What a planner is: from a problem to a plan, and nothing else."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

import numpy as np
from threadpoolctl import ThreadpoolController

from daace._typing import FloatArray, IntArray
from daace.exceptions import InvalidInput
from daace.landscape.problem import Problem
from daace.notes import Note


class Status(StrEnum):
    """How a search ended; true when a counterfactual was found."""

    FOUND = "found"
    ALREADY_THERE = "already_there"
    GOAL_UNREACHABLE = "goal_unreachable"
    TIMEOUT = "timeout"
    OUT_OF_BUDGET = "out_of_budget"
    CLASSIFIER_FAILED = "classifier_failed"
    INVALID_ROW = "invalid_row"

    def __bool__(self) -> bool:
        return self in (Status.FOUND, Status.ALREADY_THERE)


@dataclass(frozen=True, eq=False)
class Judged:
    """What a classifier was asked in a search, and what it says of a path.

    Attributes:
        calls, rows: how often it was asked, and about how many rows, draws of the density
            included; problems that are solved together share them.
        log_posterior: log p(y | x) of each waypoint, shape `(waypoints, classes)`; NaN where the
            classifier failed.
    """

    calls: int
    rows: int
    log_posterior: FloatArray


@dataclass(frozen=True, eq=False)
class Plan:
    """A path in model space, or why there is none.

    Attributes:
        status: how the search ended.
        waypoints: shape `(waypoints, n)`; the first is the start. Only the start when not found.
        cost: `problem.path_cost(waypoints)`; infinite when not found.
        evaluations: paths whose cost was evaluated.
        seconds: wall-clock time.
        reachable: when not found, the best `(log p, log posterior)` slacks seen, in nats.
        notes: what the planner has to say besides: what to change, what to beware of.
        judged: what a classifier said, where one judges the class.
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

    To write your own, write `solve`: look at `problem.x` (start), `problem.region` (goal),
    `problem.feasible` (constraints) and `problem.landscape` (cost); end with `arrive` or
    `give_up`. Do not change the problem, and keep nothing between two calls that could change a
    result.
    """

    @abstractmethod
    def solve(self, problem: Problem, *, rng: np.random.Generator) -> Plan:
        """Plan one path."""

    def solve_many(
        self, problems: Sequence[Problem], *, rngs: Sequence[np.random.Generator]
    ) -> list[Plan]:
        """Plan several paths, each with its own generator; one by one unless a planner batches."""
        return [self.solve(p, rng=rng) for p, rng in zip(problems, rngs, strict=True)]


#: Note of a path that was found before the time limit was over.
CUT_SHORT = Note.of("cut_short")


@lru_cache(maxsize=1)
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[object]:
    """Limit BLAS to one thread: planners multiply small matrices, where threads only wait."""
    limiter: AbstractContextManager[object] = _thread_pools().limit(limits=1)
    return limiter


@dataclass(eq=False)
class Clock:
    """Seconds and evaluations of one search."""

    limit: float | None = None
    evaluations: int = 0
    began: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Time since the search began."""
        return time.perf_counter() - self.began

    @property
    def expired(self) -> bool:
        """Whether the time limit is over."""
        return self.limit is not None and self.seconds > self.limit


def refuse_discrete(problem: Problem, planner: str) -> None:
    """Say so if a planner cannot keep to whole numbers, or to a number of changes.

    Raises:
        InvalidInput: the problem has such a rule.
    """
    if problem.feasible.discrete:
        raise InvalidInput(
            f"{planner} keeps neither to 'integer' nor to 'max_changed': plan with PathOptimizer."
        )


def already_there(problem: Problem, clock: Clock) -> Plan | None:
    """Return the plan that stays where it is, if the start meets the goal."""
    if not problem.met_by(problem.x):
        return None
    return Plan(Status.ALREADY_THERE, problem.x[None].copy(), 0.0, clock.evaluations, clock.seconds)


def arrive(
    problem: Problem, waypoints: FloatArray, clock: Clock, *, notes: tuple[Note, ...] = ()
) -> Plan:
    """Return the plan of a path whose end has been checked, alone, against the goal.

    Where the constraints limit the steps, long segments get more waypoints. A search that ran out
    of time says so.
    """
    waypoints = problem.feasible.divide(waypoints)
    cost = problem.path_cost(waypoints)
    if clock.expired and CUT_SHORT not in notes:
        notes = (*notes, CUT_SHORT)
    return Plan(Status.FOUND, waypoints, cost, clock.evaluations, clock.seconds, notes=notes)


def settle(problem: Problem, path: FloatArray, anchors: FloatArray) -> FloatArray | None:
    """Return the path with an end that meets the goal when judged alone, or None.

    A search ends within rounding of the goal's edge. Where the end is outside, it moves as
    little as it must towards the nearest point known to be inside.
    """
    path = path.copy()
    if problem.met_by(path[-1]):
        return path
    if len(anchors) == 0:
        return None
    end = path[-1].copy()
    anchor = anchors[np.argmin(((anchors - end) ** 2).sum(axis=1))]
    outside, inside = 0.0, 1e-9
    while inside < 1 and not problem.met_by(end + inside * (anchor - end)):
        outside, inside = inside, min(10 * inside, 1.0)
    for _ in range(20):
        if inside - outside < 1e-6:
            break
        middle = 0.5 * (outside + inside)
        if problem.met_by(end + middle * (anchor - end)):
            inside = middle
        else:
            outside = middle
    moved = end + inside * (anchor - end)
    path[-1] = problem.feasible.nearest(moved[None])[0]
    path = follow_end(path, problem.feasible.direction)
    return path if problem.met_by(path[-1]) else None


def follow_end(path: FloatArray, direction: IntArray) -> FloatArray:
    """Return the path with its vertices on this side of an end that has moved, where they must."""
    path, rising, falling = path.copy(), direction > 0, direction < 0
    path[1:-1, rising] = np.minimum(path[1:-1, rising], path[-1, rising])
    path[1:-1, falling] = np.maximum(path[1:-1, falling], path[-1, falling])
    return path


def give_up(
    problem: Problem,
    clock: Clock,
    *,
    status: Status = Status.GOAL_UNREACHABLE,
    reachable: tuple[float, float] | None = None,
    notes: tuple[Note, ...] = (),
) -> Plan:
    """Return the plan that found nothing."""
    start = problem.x[None].copy()
    return Plan(status, start, float("inf"), clock.evaluations, clock.seconds, reachable, notes)
