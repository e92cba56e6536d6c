"""Many rows: solved in chunks, in one process or several, with the same result."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, overload

import numpy as np
import pandas as pd

from daace._checks import check_choice
from daace._progress import Bar
from daace._typing import FloatArray, IntArray
from daace.exceptions import InvalidInput
from daace.explain.backends import BACKENDS, Backend, run_parallel
from daace.explain.classifier import ClassifierPosterior
from daace.explain.inquiry import Inquiry
from daace.explain.summary import Summary
from daace.landscape.constraints import Constraints
from daace.landscape.cost import Landscape
from daace.landscape.goal import Goal, Posterior
from daace.landscape.problem import Problem
from daace.planners.base import Plan, Planner, Status, one_thread

if TYPE_CHECKING:
    from daace.explain.explanation import Explanation

#: Rows solved together. Part of the result (planners work on a chunk as one), hence a constant.
CHUNK = 32


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
        self, starts: FloatArray, goal_of: IntArray, posterior: Posterior | None
    ) -> list[Problem]:
        """Return the problem of each model-space row; `goal_of` numbers the goals.

        Raises:
            InvalidInput: a row breaks the constraints; the message says which.
        """
        problems = []
        for row, (start, goal) in enumerate(zip(starts, goal_of, strict=True)):
            try:
                problems.append(
                    Problem(
                        start=start,
                        landscape=self.landscape,
                        goal=self.goals[goal],
                        constraints=self.constraints,
                        posterior=posterior,
                    )
                )
            except InvalidInput as error:
                place = f"Row {row}: " if len(starts) > 1 else ""
                raise InvalidInput(f"{place}{error}") from None
        return problems

    def solve(self, chunk: Chunk) -> list[Plan]:
        """Plan a path for each row of one chunk, on one thread.

        Where the classifier fails, the rows are planned one by one: what it cannot judge on the
        way of one row does not cost the others their answers.
        """
        inquiry = self.inquiry(len(chunk.starts))
        problems = self.problems(chunk.starts, chunk.goal_of, inquiry)
        rngs = [row_generator(chunk.seed, row) for row in chunk.numbers]
        with one_thread():
            plans = self.planner.solve_many(problems, rngs=rngs)
        if inquiry is None or chunk.start_logs is None:
            return plans
        if inquiry.stopped is Status.CLASSIFIER_FAILED and len(plans) > 1:
            return [self.solve(chunk.take([row]))[0] for row in range(len(plans))]
        stopped, reason = inquiry.stopped, inquiry.reason
        judged = inquiry.report([plan.waypoints for plan in plans], chunk.start_logs)
        plans = [replace(plan, judged=said) for plan, said in zip(plans, judged, strict=True)]
        return plans if stopped is None else [_stopped(plan, stopped, reason) for plan in plans]


def _stopped(plan: Plan, status: Status, reason: str) -> Plan:
    """Return the plan of a search that ended because a classifier was not asked any more."""
    if plan.status is Status.ALREADY_THERE:
        return plan
    if plan.found:
        return replace(plan, notes=(*plan.notes, f"This is the best way found so far. {reason}"))
    return replace(plan, status=status, notes=(*plan.notes, reason))


@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows that are solved together.

    Attributes:
        starts: model-space rows.
        goal_of: number of the goal of each row.
        numbers: of the rows, in the table that they are part of: each has its own generator.
        seed: of these generators.
        start_logs: log p(y | x) of each row, if a classifier judges the class.
    """

    starts: FloatArray
    goal_of: IntArray
    numbers: IntArray
    seed: int
    start_logs: FloatArray | None = None

    def take(self, rows: Sequence[int] | slice) -> Chunk:
        """Return some of the rows."""
        logs = None if self.start_logs is None else self.start_logs[rows]
        return replace(
            self,
            starts=self.starts[rows],
            goal_of=self.goal_of[rows],
            numbers=self.numbers[rows],
            start_logs=logs,
        )


def solve_rows(
    question: Question,
    rows: Chunk,
    *,
    n_jobs: int = 1,
    backend: Backend = "loky",
    progress: bool = False,
) -> list[Plan]:
    """Plan a path for each row; the plans are the same for any number of processes.

    Args:
        question: what the rows share.
        rows: as many as there are.
        n_jobs: processes, as in joblib: -1 means all processors.
        backend: who runs them.
        progress: show a bar on stderr, if that is a terminal.
    """
    check_choice("backend", backend, BACKENDS)
    count = len(rows.starts)
    chunks = [rows.take(slice(begin, begin + CHUNK)) for begin in range(0, count, CHUNK)]
    results: Iterator[list[Plan]]
    if n_jobs == 1 or len(chunks) <= 1:
        results = (question.solve(chunk) for chunk in chunks)
    else:
        batch = secrets.token_hex(8)
        calls = [(batch, question, chunk) for chunk in chunks]
        results = run_parallel(_solve_in_worker, calls, n_jobs=n_jobs, backend=backend)
    plans: list[Plan] = []
    with Bar("Explaining", count, shown=progress) as bar:
        for part in results:
            plans += part
            bar.advance(steps=len(part))
    return plans


def row_generator(seed: int, row: int) -> np.random.Generator:
    """Return the generator of a row: `np.random.default_rng(seed).spawn(rows)[row]`."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(row,)))


def check_jobs(n_jobs: int | None) -> int:
    """Return the number of processes; None is one.

    Raises:
        InvalidInput: it is 0, or no integer.
    """
    n_jobs = 1 if n_jobs is None else n_jobs
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
        raise InvalidInput(f"'n_jobs' must be an integer other than 0. Got {n_jobs!r}.")
    return n_jobs


def check_seed(seed: int) -> int:
    """Return the seed as a plain integer.

    Raises:
        InvalidInput: it is negative, or no integer.
    """
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidInput(f"'seed' must be an integer of at least 0. Got {seed!r}.")
    return int(seed)


#: In a worker: the first copy of the question it got, by batch.
_kept: dict[str, Question] = {}


def _solve_in_worker(batch: str, question: Question, chunk: Chunk) -> list[Plan]:
    """Solve a chunk by the copy at hand, so that what its density caches serves all chunks."""
    if batch not in _kept:
        _kept.clear()
        _kept[batch] = question
    return _kept[batch].solve(chunk)


@dataclass(frozen=True, eq=False)
class Batch:
    """Explanations of many rows, in their order.

    Attributes:
        explanations: one per row.
        index: of the frame that was explained.
        features: names, in the model's order.

    Example:
        >>> from daace import GaussianMixture
        >>> from daace.explain.explainer import Explainer
        >>> density = GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["ill", "well"])
        >>> many = Explainer(density).explain_batch([[0.0], [1.0]], target="well")
        >>> many.to_frame()["status"].tolist()
        ['found', 'found']
    """

    explanations: tuple[Explanation, ...]
    index: pd.Index
    features: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.explanations)

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self.explanations)

    @overload
    def __getitem__(self, position: int) -> Explanation: ...
    @overload
    def __getitem__(self, position: slice) -> Batch: ...
    def __getitem__(self, position: int | slice) -> Explanation | Batch:
        if isinstance(position, slice):
            return Batch(self.explanations[position], self.index[position], self.features)
        return self.explanations[position]

    def __repr__(self) -> str:
        return f"Batch(rows={len(self)}, found={sum(e.found for e in self)})"

    def summary(self) -> Summary:
        """Return how many were found, and what they cost."""
        return Summary.of(self.to_frame(), self.features)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per explanation: outcome, then the counterfactual in user units.

        The features are missing where no counterfactual was found. Where a feature has the name
        of a column of the outcome, the latter is called 'explanation_...'.
        """
        features = list(self.features)
        outcome = {
            "status": [str(e.status) for e in self],
            "found": np.array([e.found for e in self], dtype=bool),
            "current": [e.current for e in self],
            "target": [e.target for e in self],
            "cost": np.array([e.cost for e in self], dtype=np.float64),
            "log_prob": np.array([e.log_prob for e in self], dtype=np.float64),
            "posterior": np.array([e.posterior for e in self], dtype=np.float64),
            "steps": np.array([e.step_count for e in self], dtype=np.int64),
        }
        columns = {
            f"explanation_{name}" if name in features else name: column
            for name, column in outcome.items()
        }
        ends = [
            e.path.iloc[-1].to_numpy() if e.found else np.full(len(features), np.nan) for e in self
        ]
        values = pd.DataFrame(
            np.reshape(ends, (len(self), len(features))), columns=features, index=self.index
        )
        return pd.concat([pd.DataFrame(columns, index=self.index), values], axis=1)
