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
from daace.planners.rules.held_paths import changed_features

#: Two answers are different if some feature of their ends differs by this many standard deviations,
#: or if this share of the features that either changes is changed by one of them only. The first
#: look is for answers twice as different.
APART, OTHER_FEATURES = 0.5, 1 / 3

#: An alternative costs at most this many times the best answer.
COSTLIER = 1.5

#: A straight line costs a little more than the path it becomes.
SCOUT_SLACK = 1.1

#: Straight lines that become paths in one round, the cheapest first.
PLANNED = 10

#: Shares of a planner's sparsity: what fewer changes may cost, as far as the limit allows.
SPARSER = (1.0, 0.4, 0.0)

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
    limit, plans = _limit(best.plan), []
    for plan in others:
        told = report_judgement(query, problem, plan)
        plans.append(plan if told.judged is None and told.cost > limit else told)
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
        at most `count` plans, cheapest first: any two, the best one included, are different by
        `APART` or `OTHER_FEATURES`, and none costs more than 1.5 times the best. Fewer where fewer
        were found.
    """
    limit = _limit(best)
    if best.status is not Status.FOUND or _too_near(problem, best):
        return []
    pool: list[tuple[Plan, Problem]] = []
    chosen: list[Plan] = []
    variants = [*bar_changes(problem, best), *ask_for_more(problem)]
    for _ in range(ROUNDS):
        fresh = _plan(variants, planner, limit, rng)
        pool += [(p, v) for p, v in fresh if p.cost <= limit and problem.met_by(p.waypoints[-1])]
        chosen = _choose(problem, best, [plan for plan, _ in pool], count)
        kept = [pair for pair in pool if any(pair[0] is plan for plan in chosen)] or pool
        variants = [other for plan, variant in kept for other in bar_changes(variant, plan)]
        if not variants or len(chosen) >= count:
            break
    return chosen


def _plan(
    variants: Sequence[Problem], planner: Planner, limit: float, rng: np.random.Generator
) -> list[tuple[Plan, Problem]]:
    """Return paths for those variants that straight lines say are worth a search.

    Args:
        variants: problems that bar a change of an answer.
        planner: plans them; a `PathOptimizer` looks at straight lines first.
        limit: cost that an alternative may have.
        rng: source of randomness.
    """
    plain = type(planner) is PathOptimizer
    scout = replace(planner, vertices=0, sparsity=0.0) if plain else planner  # type: ignore[type-var]
    lines = scout.solve_many(variants, rngs=rng.spawn(len(variants)))
    pairs = [(line, v) for line, v in zip(lines, variants, strict=True) if line.found]
    if not plain:
        return pairs
    assert isinstance(planner, PathOptimizer)
    pairs = [pair for pair in pairs if pair[0].cost <= limit + (SCOUT_SLACK - 1) * abs(limit)]
    groups: dict[float, list[Problem]] = {}
    for line, variant in sorted(pairs, key=lambda pair: pair[0].cost)[:PLANNED]:
        room = (limit - line.cost) / max(abs(line.cost), 1e-300)
        share = next(s for s in SPARSER if s * planner.sparsity <= max(room, 0.0))
        groups.setdefault(share, []).append(variant)
    found: list[tuple[Plan, Problem]] = []
    for share, some in groups.items():
        sparse = replace(planner, sparsity=share * planner.sparsity)
        plans = sparse.solve_many(some, rngs=rng.spawn(len(some)))
        found += [pair for pair in zip(plans, some, strict=True) if pair[0].found]
    return found


def _choose(problem: Problem, best: Plan, pool: Sequence[Plan], count: int) -> list[Plan]:
    """Return some plans that differ, cheapest first: those that differ much go before others."""
    chosen: list[Plan] = []
    ranked = sorted(pool, key=lambda plan: plan.cost)
    for enough in (2.0, 1.0):
        for plan in ranked:
            if len(chosen) < count and differs(problem, plan, [best, *chosen]) >= enough:
                chosen.append(plan)
    return sorted(chosen, key=lambda plan: plan.cost)


def differs(problem: Problem, plan: Plan, others: Sequence[Plan]) -> float:
    """Return how different an answer is from the most similar of others: from 1 on it is another.

    Args:
        problem: that they solve.
        plan: the answer.
        others: answers to compare with; at least one.
    """
    end, own = plan.waypoints[-1], changed_features(problem, plan.waypoints)
    found = []
    for other in others:
        theirs = changed_features(problem, other.waypoints)
        apart = float(np.abs(end - other.waypoints[-1]).max()) / APART
        share = (own ^ theirs).sum() / max((own | theirs).sum(), 1)
        found.append(max(apart, float(share) / OTHER_FEATURES))
    return min(found)


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


def _limit(best: Plan) -> float:
    """Return the largest cost of an alternative."""
    return best.cost + (COSTLIER - 1) * abs(best.cost)
