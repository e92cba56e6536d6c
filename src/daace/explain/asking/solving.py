"""From a query to plans: rows that go together are solved together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from daace.exceptions import InvalidInput
from daace.explain.asking.query import Query
from daace.landscape.problem import Problem
from daace.notes import Note
from daace.planners.base import CUT_SHORT, Plan, Status, one_thread
from daace.planners.readable import make_readable


@dataclass(frozen=True, eq=False)
class Solved:
    """A problem and its plan."""

    problem: Problem
    plan: Plan


def solve(query: Query) -> dict[int, Solved | str]:
    """Plan a path for each row, on one thread.

    Returns:
        By position the problem and its plan; or, for a row that cannot be explained, the reason.
    """
    posterior = query.settings.posterior(query.settings.other_judge)
    solved: dict[int, Solved | str] = dict(query.invalid)
    problems: dict[int, Problem] = {}
    for row in range(len(query)):
        if row not in solved:
            try:
                if query.judge(row) is not query.settings.other_judge:
                    solved[row] = solve_row(query, row)
                else:
                    problems[row] = query.problem(row, posterior)
            except InvalidInput as error:
                solved[row] = str(error)
    solved.update(solve_problems(query, problems))
    return solved


def solve_row(query: Query, row: int = 0) -> Solved:
    """Plan a path for one row.

    Raises:
        InvalidInput: the constraints exclude the start.
    """
    problem = query.problem(row, query.settings.posterior(query.judge(row)))
    return solve_problems(query, {row: problem})[row]


def solve_problems(query: Query, problems: dict[int, Problem]) -> dict[int, Solved]:
    """Plan a path for each of the problems of some rows, together.

    If the classifier fails, they are planned one by one, so that its failure on the path of one row
    does not affect the others.

    Args:
        query: the query.
        problems: problems by the position of their row.
    """
    if not problems:
        return {}
    posterior: Any = next(iter(problems.values())).posterior
    logs, rows = query.start_logs, list(problems)
    stopped, reason = None, None
    if logs is not None:  # a classifier decides
        posterior.begin(len(problems))
        posterior.know(query.values[rows], logs[rows])
    with one_thread():
        plans = query.settings.search.solve_many(
            list(problems.values()), rngs=[query.generator(row) for row in rows]
        )
        if logs is not None:
            stopped, reason = posterior.stopped, posterior.reason
        if query.settings.round:
            pairs = zip(problems.values(), plans, strict=True)
            plans = [make_readable(problem, plan) for problem, plan in pairs]
    if logs is not None:
        if stopped is Status.CLASSIFIER_FAILED and len(plans) > 1:
            return {row: solve_row(query, row) for row in rows}
        pairs = zip(problems.values(), plans, strict=True)
        paths = [problem.to_user(plan.waypoints) for problem, plan in pairs]
        judged = posterior.report(paths, logs[rows])
        plans = [replace(plan, judged=said) for plan, said in zip(plans, judged, strict=True)]
        if stopped is not None:
            assert reason is not None
            plans = [_stopped(plan, stopped, reason) for plan in plans]
    return {
        row: Solved(problem, plan)
        for (row, problem), plan in zip(problems.items(), plans, strict=True)
    }


def report_judgement(query: Query, problem: Problem, plan: Plan) -> Plan:
    """Return the plan of another search for a row's problem, as `solve_row` would return it.

    It is made readable, and the classifier's predictions of the waypoints are part of the plan.

    Args:
        query: a query about one row.
        problem: its problem.
        plan: a path for it.
    """
    if plan.judged is not None:
        return plan
    if query.settings.round:
        plan = make_readable(problem, plan)
    if query.start_logs is None:
        return plan
    posterior: Any = problem.posterior
    path = problem.to_user(plan.waypoints)
    return replace(plan, judged=posterior.report([path], query.start_logs)[0])


def _stopped(plan: Plan, status: Status, reason: Note) -> Plan:
    """Return the plan of a search that ended because the classifier's budget was spent."""
    if plan.status is Status.ALREADY_THERE:
        return plan
    if plan.found:
        if status is Status.TIMEOUT and CUT_SHORT in plan.notes:
            return plan
        best = Note.of("best_so_far", reason=str(reason), why=reason.code)
        return replace(plan, notes=(*plan.notes, best))
    return replace(plan, status=status, notes=(*plan.notes, reason))
