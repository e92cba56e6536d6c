"""What rows share, and how those that go together are solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.exceptions import InvalidInput
from daace.explain.classifier import ClassifierPosterior
from daace.explain.inquiry import Inquiry
from daace.landscape.constraints import Constraints
from daace.landscape.cost import Landscape
from daace.landscape.goal import Goal, Posterior
from daace.landscape.problem import Problem
from daace.landscape.rows import UserRow
from daace.notes import Note
from daace.planners.base import CUT_SHORT, Plan, Planner, Status, one_thread


@dataclass(frozen=True, eq=False)
class Question:
    """What all rows of a batch share; `goals` has one entry per target.

    Rows with the same target share one `Goal` object, by which planners see what goes together.
    Where a classifier judges the class, it may be asked about `budget` rows for each of them.
    """

    planner: Planner
    landscape: Landscape
    goals: Sequence[Goal]
    constraints: Constraints
    judge: ClassifierPosterior | None = None
    budget: int | None = None

    def inquiry(self, rows: int = 1) -> Inquiry | None:
        """Return who asks the classifier, if there is one, in a search for so many rows."""
        if self.judge is None:
            return None
        budget = None if self.budget is None else rows * self.budget
        time_limit = getattr(self.planner, "time_limit", None)
        return Inquiry(self.judge, budget=budget, time_limit=time_limit)

    def problems(
        self, rows: FloatArray, goal_of: IntArray, posterior: Posterior | None
    ) -> list[Problem]:
        """Return the problem of each row in user units; `goal_of` numbers the goals.

        Raises:
            InvalidInput: a row breaks the constraints; the message says which.
        """
        problems = []
        for number, (row, goal) in enumerate(zip(rows, goal_of, strict=True)):
            try:
                problems.append(
                    Problem(
                        start=UserRow(row),
                        landscape=self.landscape,
                        goal=self.goals[goal],
                        constraints=self.constraints,
                        posterior=posterior,
                    )
                )
            except InvalidInput as error:
                place = f"Row {number}: " if len(rows) > 1 else ""
                raise InvalidInput(f"{place}{error}") from None
        return problems

    def solve(self, chunk: Chunk) -> list[Plan]:
        """Plan a path for each row of one chunk, on one thread.

        Where the classifier fails, the rows are planned one by one: what it cannot judge on the
        way of one row does not cost the others their answers.
        """
        inquiry = self.inquiry(len(chunk.rows))
        if inquiry is not None and chunk.start_logs is not None:
            inquiry.know(chunk.rows, chunk.start_logs)
        problems = self.problems(chunk.rows, chunk.goal_of, inquiry)
        rngs = [row_generator(chunk.seed, row) for row in chunk.numbers]
        with one_thread():
            plans = self.planner.solve_many(problems, rngs=rngs)
        if inquiry is None or chunk.start_logs is None:
            return plans
        if inquiry.stopped is Status.CLASSIFIER_FAILED and len(plans) > 1:
            return [self.solve(chunk.take([row]))[0] for row in range(len(plans))]
        stopped, reason = inquiry.stopped, inquiry.reason
        pairs = zip(problems, plans, strict=True)
        paths = [problem.to_user(plan.waypoints) for problem, plan in pairs]
        judged = inquiry.report(paths, chunk.start_logs)
        plans = [replace(plan, judged=said) for plan, said in zip(plans, judged, strict=True)]
        return plans if stopped is None else [_stopped(plan, stopped, reason) for plan in plans]


def _stopped(plan: Plan, status: Status, reason: str) -> Plan:
    """Return the plan of a search that ended because a classifier was not asked any more."""
    if plan.status is Status.ALREADY_THERE:
        return plan
    if plan.found:
        if status is Status.TIMEOUT and CUT_SHORT in plan.notes:
            return plan
        return replace(plan, notes=(*plan.notes, Note.of("best_so_far", reason=reason)))
    note = Note.known(status.value, {}, reason)
    return replace(plan, status=status, notes=(*plan.notes, note))


@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows that are solved together.

    Attributes:
        rows: in user units.
        goal_of: number of the goal of each row.
        numbers: of the rows, in the table that they are part of: each has its own generator.
        seed: of these generators.
        start_logs: log p(y | x) of each row, if a classifier judges the class.
    """

    rows: FloatArray
    goal_of: IntArray
    numbers: IntArray
    seed: int
    start_logs: FloatArray | None = None

    def take(self, rows: Sequence[int] | slice) -> Chunk:
        """Return some of the rows."""
        logs = None if self.start_logs is None else self.start_logs[rows]
        return replace(
            self,
            rows=self.rows[rows],
            goal_of=self.goal_of[rows],
            numbers=self.numbers[rows],
            start_logs=logs,
        )


def row_generator(seed: int, row: int) -> np.random.Generator:
    """Return the generator of a row: `np.random.default_rng(seed).spawn(rows)[row]`."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(row,)))


def check_seed(seed: int) -> int:
    """Return the seed as a plain integer.

    Raises:
        InvalidInput: it is negative, or no integer.
    """
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidInput(f"'seed' must be an integer of at least 0. Got {seed!r}.")
    return int(seed)
