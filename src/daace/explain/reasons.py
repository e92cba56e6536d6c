"""Which rule stands in the way when no path was found, and how far it would have to give."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daace._typing import FloatArray
from daace.explain.words import exact
from daace.landscape.constraints import Constraints
from daace.landscape.links import Link
from daace.landscape.problem import Problem
from daace.planners.base import Plan, one_thread
from daace.planners.optimizer import PathOptimizer
from daace.planners.seeding import can_be_met

#: Rules that are looked at, at most: each costs a search.
LOOKED_AT = 40

#: Rules whose relaxation is told.
TOLD = 3

#: Rules that are named in one sentence.
LISTED = 5

#: Halvings of the way from a rule as it is to one that lets a path through.
HALVINGS = 5


@dataclass(frozen=True)
class Rule:
    """One rule of many.

    Attributes:
        words: the rule, for a sentence.
        without: the constraints without it.
        eased: the constraints with the rule moved to a number; None where there is no such number.
        now: the number.
        needed: the number at which an end, a row in the user's units, keeps the rule.
    """

    words: str
    without: Constraints
    eased: Callable[[float], Constraints] | None = None
    now: float = np.nan
    needed: Callable[[dict[str, float]], float] | None = None


def find_reasons(problem: Problem) -> tuple[str, ...]:
    """Return sentences on the rules that keep a problem from being solved.

    A rule is named if there is a path without it; where it is a number, the nearest number is
    sought, by bisection, at which there still is one. Where no rule alone is to blame, the fewest
    are named, in their order, that must go together. There are none where the goal is out of
    reach without any rule: then the thresholds are.

    Where it is the number of features that may change, nothing else is looked at: each look would
    be a search for few changes. How many are enough says the planner, which has come so far.
    """
    most = problem.constraints.max_changed
    if most is not None:
        without = replace(problem.constraints, max_changed=None)
        if _reachable(problem, without):
            return (f"'max_changed' ({most}) stands in the way: without it there is a path.",)
        problem = replace(problem, constraints=without)
    rules = list(rules_of(problem))[:LOOKED_AT]
    if not rules or not _reachable(problem, _harmless(problem.constraints)):
        return ()
    alone = [rule for rule in rules if _reachable(problem, rule.without)]
    if alone:
        said = [_say(problem, rule) for rule in alone[:TOLD]]
        more = [rule.words for rule in alone[TOLD:]]
        if more:
            said.append(f"Leaving out {_listed(more, 'or')} would also do.")
        return tuple(said)
    return (_together(problem, rules),)


def rules_of(problem: Problem) -> Iterator[Rule]:
    """Yield each rule on features that can stand in the way; weights and steps cannot."""
    rules = problem.constraints
    start = _row(problem, problem.x)
    for name in ("fixed", "only_up", "only_down", "integer"):
        for feature in getattr(rules, name):
            others = tuple(f for f in getattr(rules, name) if f != feature)
            without = _changed(rules, name, others)
            if name == "fixed":
                yield Rule(f"'fixed' for '{feature}'", without, *_loosened(without, feature, start))
            else:
                yield Rule(f"'{name}' for '{feature}'", without)
    for name in ("lower", "upper", "max_rise", "max_fall"):
        for feature, number in getattr(rules, name).items():
            yield _bound(rules, name, feature, number, start)
    for k, link in enumerate(rules.links):
        yield _link(rules, k, link)


def _bound(
    rules: Constraints, name: str, feature: str, number: float, start: dict[str, float]
) -> Rule:
    others = {f: n for f, n in getattr(rules, name).items() if f != feature}

    def eased(value: float) -> Constraints:
        return _changed(rules, name, {**others, feature: value})

    def needed(end: dict[str, float]) -> float:
        change = end[feature] - start[feature]
        return {"max_rise": change, "max_fall": -change}.get(name, end[feature])

    words = f"'{name}' of '{feature}' ({exact(number)})"
    return Rule(words, _changed(rules, name, others), eased, number, needed)


def _loosened(
    without: Constraints, feature: str, start: dict[str, float]
) -> tuple[Callable[[float], Constraints], float, Callable[[dict[str, float]], float]]:
    """Return how a fixed feature is allowed to go to a value, from its own, to that of an end."""

    def eased(value: float) -> Constraints:
        low, high = sorted((value, start[feature]))
        lower = {**without.lower, feature: max(low, without.lower.get(feature, -np.inf))}
        upper = {**without.upper, feature: min(high, without.upper.get(feature, np.inf))}
        return replace(without, lower=lower, upper=upper)

    return eased, start[feature], lambda end: end[feature]


def _link(rules: Constraints, k: int, link: Link) -> Rule:
    others = tuple(other for j, other in enumerate(rules.links) if j != k)
    without = replace(rules, links=others)
    low, high = link.bounds
    if low == high:
        return Rule(f"the link {link}", without)
    side, now = ("at_most", high) if np.isfinite(high) else ("at_least", low)

    def eased(value: float) -> Constraints:
        moved: dict[str, Any] = {"at_least": link.at_least, "at_most": link.at_most, side: value}
        return replace(rules, links=(*others, Link(link.terms, **moved)))

    return Rule(f"the link {link}", without, eased, now, link.value)


def _changed(rules: Constraints, name: str, value: Any) -> Constraints:
    fields: dict[str, Any] = {name: value}
    return replace(rules, **fields)


def _harmless(rules: Constraints) -> Constraints:
    return Constraints(weights=rules.weights, max_step=rules.max_step)


def _reachable(problem: Problem, rules: Constraints) -> bool:
    """Whether the goal can be reached by other rules."""
    other = replace(problem, constraints=rules)
    if other.feasible.discrete:
        return _straight(other).found
    with one_thread():
        return other.met_by(other.x) or can_be_met(other)


def _straight(problem: Problem) -> Plan:
    return PathOptimizer(vertices=0, starts=4).solve(problem, rng=np.random.default_rng(0))


def _row(problem: Problem, x: FloatArray) -> dict[str, float]:
    """Return a point in the user's units."""
    user = problem.landscape.density.to_user(x[None]).iloc[0]
    return {str(name): float(value) for name, value in user.items()}


def _say(problem: Problem, rule: Rule) -> str:
    """Return that a rule stands in the way, and the nearest number at which it does not."""
    head = f"{rule.words[0].upper()}{rule.words[1:]} stands in the way"
    plan = _straight(replace(problem, constraints=rule.without))
    end = plan.waypoints[-1]
    if rule.eased is None or rule.needed is None or not plan.found or problem.feasible.allows(end):
        return f"{head}: without it there is a path."
    far = rule.needed(_row(problem, end))
    close, enough = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (close + enough)
        if _reachable(problem, rule.eased(rule.now + middle * (far - rule.now))):
            enough = middle
        else:
            close = middle
    number = round_beyond(rule.now + enough * (far - rule.now), rule.now)
    return f"{head}: {exact(number)} would be enough."


def round_beyond(value: float, origin: float) -> float:
    """Round to four digits, away from an origin: what is enough stays so.

    Example:
        >>> round_beyond(33641.2, 30000.0), round_beyond(-0.0123456, 1.0)
        (33650.0, -0.01235)
    """
    if value == 0:
        return value
    decimals = 3 - math.floor(math.log10(abs(value)))
    side = math.ceil if value > origin else math.floor
    scaled = value * 10.0**decimals
    # A number of four digits stays what it is, whatever the last bit of the product says.
    nearest = round(scaled)
    digits = nearest if abs(scaled - nearest) < 1e-9 * abs(scaled) else side(scaled)
    return digits / 10.0**decimals if decimals >= 0 else digits * 10.0**-decimals


def _together(problem: Problem, rules: list[Rule]) -> str:
    """Return which rules must go together, after all that can stay have been put back."""
    kept = _harmless(problem.constraints)
    dropped = []
    for rule in rules:
        more = _added(kept, problem.constraints, rule.without)
        if _reachable(problem, more):
            kept = more
        else:
            dropped.append(rule.words)
    return f"No rule alone stands in the way; it takes leaving out {_listed(dropped, 'and')}."


def _listed(rules: list[str], word: str) -> str:
    """Return some rules, and how many more there are, in one phrase."""
    rest = len(rules) - LISTED
    parts = rules if rest <= 0 else [*rules[:LISTED], f"{rest} more"]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def _added(kept: Constraints, rules: Constraints, without: Constraints) -> Constraints:
    """Return the kept rules and the one that another set is without."""
    fields: dict[str, Any] = {}
    for name in vars(rules):
        mine, all_, others = (getattr(r, name) for r in (kept, rules, without))
        if isinstance(all_, dict):
            fields[name] = {**mine, **{f: n for f, n in all_.items() if f not in others}}
        elif isinstance(all_, tuple):
            fields[name] = (*mine, *(entry for entry in all_ if entry not in others))
        else:
            fields[name] = all_ if all_ != others else mine
    return Constraints(**fields)
