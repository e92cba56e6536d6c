"""What to relax if no path was found: a threshold of the goal, or a rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from daace._typing import FloatArray
from daace.landscape.constraints import Constraints
from daace.landscape.problem import Problem
from daace.landscape.rules.argument import Names
from daace.landscape.rules.base import Rule
from daace.notes import Note
from daace.planners.base import Plan, one_thread
from daace.planners.optimizer import PathOptimizer
from daace.planners.seeding import can_be_met

#: Nats below the reached value: planners aim a little inside the goal.
MARGIN = 1e-3

#: Maximum number of rules that are examined: each costs a search.
EXAMINED = 40

#: Maximum number of rules for which a sufficient number is sought.
RELAXED = 3

#: Maximum number of rules in one sentence.
LISTED = 5

#: Number of bisections between the present number of a rule and one that admits a path.
HALVINGS = 5


def relaxed_thresholds(problem: Problem, plan: Plan) -> dict[str, float]:
    """Return, by name, thresholds that the search has met; each alone suffices.

    A search that fails knows the best slack of either threshold among points that meet the other
    one. From it follows the value that would have been enough, rounded to the safe side. The
    names are arguments of `explain`, as in `explainer.explain(row, min_posterior=0.93)`.

    Args:
        problem: the problem.
        plan: a plan without a path.

    Returns:
        At most 'plausibility' (or 'min_log_prob', if that was given) and 'min_posterior'.
    """
    if plan.reachable is None:
        return {}
    log_prob_slack, posterior_slack = plan.reachable
    goal, region, draws = problem.goal, problem.region, problem.statistics
    relaxed: dict[str, float] = {}
    if -math.inf < log_prob_slack < 0:
        reached = problem.threshold + log_prob_slack - MARGIN
        if goal.min_log_prob is None:
            relaxed["plausibility"] = round_down((reached - draws.mean) / draws.sd)
        else:
            relaxed["min_log_prob"] = round_down(reached)
    if -math.inf < posterior_slack < 0:
        reached = math.exp(region.log_min_posterior + posterior_slack - MARGIN)
        relaxed["min_posterior"] = round_down(reached, digits=2)
    # What the start already meets is not advice.
    return {
        name: value
        for name, value in relaxed.items()
        if not replace(problem, goal=replace(goal, **{name: value})).met_by(problem.x)
    }


def round_down(value: float, *, digits: int | None = None) -> float:
    """Round towards minus infinity: to two decimals, or to significant digits of a share.

    Example:
        >>> round_down(-0.123), round_down(0.00456, digits=2)
        (-0.13, 0.0045)
    """
    decimals = 2
    if digits is not None:
        if value < 1e-300:
            return 0.0
        decimals = digits - 1 - math.floor(math.log10(value))
    factor = 10.0**decimals
    return round(math.floor(value * factor) / factor, decimals)


def find_reasons(problem: Problem) -> tuple[Note, ...]:
    """Return notes on the rules that keep a problem from being solved.

    A rule is named if there is a path without it. If it has a number, bisection finds the nearest
    number at which there still is a path. If no rule alone is the reason, the fewest rules, in
    their order, that must be left out together are named. There are no notes if the goal is out of
    reach even without rules: then the thresholds are the reason.

    If a rule that needs a search of its own (the number of features that may change) is the
    reason, no other is examined: each test would be such a search. The planner knows from its own
    search which number would be enough.
    """
    for rule in problem.constraints.rules:
        if rule.searched:
            without = problem.constraints.without(rule)
            if _reachable(problem, without):
                return (_blocking(rule),)
            problem = _under(problem, without)
    rules = rules_of(problem.constraints)[:EXAMINED]
    if not rules or not _reachable(problem, _harmless(problem.constraints)):
        return ()
    alone = [rule for rule in rules if _reachable(problem, problem.constraints.without(rule))]
    if not alone:
        return (_together(problem, rules),)
    notes = [_relax(problem, rule) for rule in alone[:RELAXED]]
    if more := alone[RELAXED:]:
        names = [rule.name for rule in more]
        notes.append(Note.of("rules_also_in_the_way", words=_listed(more, "or"), rules=names))
    return tuple(notes)


def rules_of(constraints: Constraints) -> list[Rule]:
    """Return the rules that can block a path, those without a number first."""
    rules = [rule for rule in constraints.rules if rule.can_block and not rule.searched]
    return sorted(rules, key=lambda rule: not isinstance(rule.argument, Names))


def _harmless(constraints: Constraints) -> Constraints:
    return Constraints.of(rule for rule in constraints.rules if not rule.can_block)


def _reachable(problem: Problem, constraints: Constraints) -> bool:
    """Whether the goal can be reached under other constraints."""
    other = _under(problem, constraints)
    if other.feasible.discrete:
        return _straight(other).found
    with one_thread():
        return other.met_by(other.x) or can_be_met(other)


def _under(problem: Problem, constraints: Constraints) -> Problem:
    """Return the problem under other constraints, as if they were those of the question.

    If terrain and thresholds refer to rows that share the fixed features, leaving out a fixed
    feature also changes them.
    """
    known = problem.constraints
    return replace(
        problem, constraints=replace(constraints, natural=known.natural, given=known.given)
    )


def _straight(problem: Problem) -> Plan:
    return PathOptimizer(vertices=0, starts=4).solve(problem, rng=np.random.default_rng(0))


def _row(problem: Problem, x: FloatArray) -> dict[str, float]:
    """Return the numbers of a point in the user's units."""
    density = problem.landscape.density
    user = density.standardizer_.inverse(x[None])[0]
    return {density.features_[j]: float(user[j]) for j in density.encoding_.number_columns}


def _relax(problem: Problem, rule: Rule) -> Note:
    """Return the note that a rule blocks the path, and the nearest number at which it does not."""
    without = problem.constraints.without(rule)
    start = _row(problem, problem.x)
    relaxation = rule.relaxation(start) if set(rule.features()) <= set(start) else None
    plan = _straight(_under(problem, without))
    end = plan.waypoints[-1]
    if relaxation is None or not plan.found or problem.feasible.allows(end):
        return _blocking(rule)
    now, far = relaxation.now, relaxation.needed(_row(problem, end))
    close, enough = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (close + enough)
        moved = relaxation.moved(now + middle * (far - now))
        if _reachable(problem, Constraints.of((*without.rules, *moved))):
            enough = middle
        else:
            close = middle
    names = problem.landscape.density.features_
    whole = {names[j] for j in problem.to_user.whole}.issuperset(rule.features())
    return _blocking(rule, enough=round_beyond(now + enough * (far - now), now, whole=whole))


def _blocking(rule: Rule, enough: float | None = None) -> Note:
    """Return the note that a rule blocks the path, with the number that would be enough."""
    words, features = rule.words(), rule.features()
    fields = {
        "words": words[0].upper() + words[1:],
        "rule": rule.name,
        "feature": features[0] if len(features) == 1 else None,
        "number": rule.amount(),
    }
    if enough is None:
        return Note.of("rule_in_the_way", **fields)
    return Note.of("rule_too_strict", **fields, enough=enough)


def round_beyond(value: float, origin: float, *, whole: bool = False) -> float:
    """Round to four digits, away from an origin, so that a sufficient number remains sufficient.

    Args:
        value: the number to round.
        origin: the number from which it was moved.
        whole: whether it has to be a whole number.

    Example:
        >>> round_beyond(33641.2, 30000.0), round_beyond(-0.0123456, 1.0)
        (33650.0, -0.01235)
        >>> round_beyond(35.75, 30.0, whole=True)
        36.0
    """
    if value == 0:
        return value
    decimals = 3 - math.floor(math.log10(abs(value)))
    if whole:
        decimals = min(decimals, 0)
    side = math.ceil if value > origin else math.floor
    scaled = value * 10.0**decimals
    # A number of four digits is unchanged, despite rounding errors of the product.
    nearest = round(scaled)
    digits = nearest if abs(scaled - nearest) < 1e-9 * abs(scaled) else side(scaled)
    return digits / 10.0**decimals if decimals >= 0 else digits * 10.0**-decimals


def _together(problem: Problem, rules: Sequence[Rule]) -> Note:
    """Return a minimal set of rules that must be left out together."""
    kept = _harmless(problem.constraints)
    dropped = []
    for rule in rules:
        more = Constraints.of((*kept.rules, rule))
        if _reachable(problem, more):
            kept = more
        else:
            dropped.append(rule)
    return Note.of(
        "rules_together_in_the_way",
        words=_listed(dropped, "and"),
        rules=[rule.name for rule in dropped],
        features=[list(rule.features()) for rule in dropped],
    )


def _listed(rules: Sequence[Rule], word: str) -> str:
    """Return some rules, and the number of others, in one phrase."""
    parts = [rule.words() for rule in rules]
    rest = len(parts) - LISTED
    parts = parts if rest <= 0 else [*parts[:LISTED], f"{rest} more"]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}"
