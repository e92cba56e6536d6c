"""Other paths to the same goal: what if one change of the best answer is not wanted?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from daace.explain.answering import explain_solved
from daace.explain.asking.query import Query
from daace.explain.asking.solving import Solved, report_judgement
from daace.explain.explanation import Explanation
from daace.landscape.problem import Problem
from daace.notes import Note
from daace.planners.base import Plan, Planner, Status
from daace.planners.optimizer import PathOptimizer

#: Two ends are different answers if some feature differs by this many standard deviations; the
#: first look is for ends twice as far apart.
APART, WELL_APART = 0.5, 1.0

#: An alternative costs at most this many times the best answer.
COSTLIER = 1.5

#: A straight line costs a little more than the path it becomes.
SCOUT_SLACK = 1.1

#: Changes of an answer to do without, one at a time, the largest first.
BARRED = 8

#: How much more plausible another end may be asked to be, in standard deviations of log p.
DEEPER = (0.5, 1.0)

#: Searches around the best answer first, then around the alternatives to it.
ROUNDS = 2


def with_alternatives(query: Query, problem: Any, best: Explanation, count: int) -> Explanation:
    """Return an answer with other answers to the same question.

    Args:
        query: what was asked about one row.
        problem: that of the row.
        best: the best answer.
        count: alternatives wanted.
    """
    if best.plan is None:
        return best
    if query.start_logs is not None:
        problem.posterior.begin(count)
    others = find_alternatives(
        problem,
        best.plan,
        planner=query.settings.search,
        count=count,
        rng=np.random.default_rng(query.settings.seed),
    )
    if not others and best.step_count:
        return replace(best, notes=(*best.notes, Note.of("no_alternative", factor=COSTLIER)))
    plans = [report_judgement(query, problem, plan) for plan in others]
    answers = [explain_solved(query, Solved(problem, plan)).with_model(query) for plan in plans]
    return replace(best, alternatives=tuple(answers))


def find_alternatives(
    problem: Problem, best: Plan, *, planner: Planner, count: int, rng: np.random.Generator
) -> list[Plan]:
    """Plan other paths, with ends that differ from the best one's and from each other.

    Each of the largest changes of the best answer is barred in turn: the feature may not move in
    that direction, or only half as far. In addition, a more plausible end is asked for. Straight
    lines show which of these are worth a search; those that pay are planned in full. Every
    alternative meets the goal of the problem, and is the cheapest path found under its own bar.

    Args:
        problem: what was asked.
        best: the best answer.
        planner: plans the alternatives.
        count: alternatives wanted.
        rng: source of randomness.

    Returns:
        at most `count` plans, cheapest first: some feature differs by 0.5 standard deviations or
        more between any two ends, the best one included, and none costs more than 1.5 times the
        best. Fewer where fewer were found.
    """
    limit = best.cost + (COSTLIER - 1) * abs(best.cost)
    if best.status is not Status.FOUND or _too_near(problem, best):
        return []
    scout = planner
    if type(planner) is PathOptimizer:
        scout = replace(planner, vertices=0, sparsity=0.0)
    chosen: list[Plan] = []
    variants = [*bar_changes(problem, best), *ask_for_more(problem)]
    for _ in range(ROUNDS):
        seen = scout.solve_many(variants, rngs=rng.spawn(len(variants)))
        pairs = sorted(zip(seen, variants, strict=True), key=lambda pair: pair[0].cost)
        promising = [
            (plan, variant)
            for plan, variant in pairs
            if plan.found and plan.cost <= best.cost + SCOUT_SLACK * (limit - best.cost)
        ]
        kept: dict[int, Plan] = {}
        accepted: list[tuple[Plan, Problem]] = []
        for apart in (WELL_APART, APART):
            for place, (line, variant) in enumerate(promising):
                if len(chosen) == count:
                    return _cheapest_first(chosen)
                if differs(line, [best, *chosen]) < apart:
                    continue
                if place not in kept:
                    again = scout is not planner
                    kept[place] = planner.solve(variant, rng=rng) if again else line
                plan = kept[place]
                good = plan.found and plan.cost <= limit and problem.met_by(plan.waypoints[-1])
                if good and differs(plan, [best, *chosen]) >= apart:
                    chosen.append(plan)
                    accepted.append((plan, variant))
        variants = [other for plan, variant in accepted for other in bar_changes(variant, plan)]
        if not variants or len(chosen) >= count:
            break
    return _cheapest_first(chosen)


def differs(plan: Plan, others: Sequence[Plan]) -> float:
    """Return how far an end is from the nearest of others, in the feature that differs most."""
    end = plan.waypoints[-1]
    return min(float(np.abs(end - other.waypoints[-1]).max()) for other in others)


def bar_changes(problem: Problem, plan: Plan) -> Iterator[Problem]:
    """Yield the problem with one large change of a plan barred: all of it, or half."""
    start, end = problem.x, plan.waypoints[-1]
    move = end - start
    for j in np.argsort(-np.abs(move), kind="stable")[:BARRED]:
        if move[j] == 0:
            break
        yield _capped(problem, int(j), start[j], rising=move[j] > 0)
        if abs(move[j]) >= 2 * APART:  # half of it is still another answer
            yield _capped(problem, int(j), start[j] + 0.5 * move[j], rising=move[j] > 0)


def ask_for_more(problem: Problem) -> Iterator[Problem]:
    """Yield the problem with a goal that lies deeper inside the one asked for."""
    sd = problem.statistics.sd
    for more in DEEPER:
        goal = replace(problem.goal, min_log_prob=problem.threshold + more * sd)
        yield replace(problem, goal=goal)


def _capped(problem: Problem, j: int, bound: float, *, rising: bool) -> Problem:
    lower, upper = problem.feasible.lower.copy(), problem.feasible.upper.copy()
    side = upper if rising else lower
    side[j] = bound
    return replace(problem, box=(lower, upper))


def _too_near(problem: Problem, best: Plan) -> bool:
    """Whether no end can be another answer: two ends are no farther apart than both ways."""
    land = problem.landscape
    lightest = float(problem.feasible.weights.min())
    never_cheaper = land.scale == "relative"
    return never_cheaper and (1 + COSTLIER) * best.cost < APART * min(1.0, lightest)


def _cheapest_first(plans: list[Plan]) -> list[Plan]:
    return sorted(plans, key=lambda plan: plan.cost)
