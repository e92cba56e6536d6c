"""Laws of planners: they hold for every `Planner`."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from daace.landscape.constraints import Constraints
from daace.landscape.goal import Goal
from daace.landscape.problem import Problem
from daace.planners.base import Plan, Planner, Status
from daace.testing._assertions import require, require_equal

PlannerLaw: TypeAlias = Callable[[Planner, Problem], None]


def check_planner(planner: Planner, problem: Problem) -> None:
    """Check that a planner obeys every law.

    Args:
        planner: what to check.
        problem: a problem that it can solve, whose start does not meet the goal. The laws vary
            its start, goal and constraints.

    Raises:
        AssertionError: a law does not hold; the message names it.

    Example:
        >>> import numpy as np
        >>> from daace import GaussianMixture, Landscape, PathOptimizer
        >>> means, covariances = [[0.0, 0.0], [3.0, 1.0]], [np.eye(2)] * 2
        >>> density = GaussianMixture([1, 1], means, covariances, ["a", "b"])
        >>> problem = Problem(np.array([0.0, 0.5]), Landscape(density), Goal("b"))
        >>> check_planner(PathOptimizer(vertices=1), problem)
    """
    for law in PLANNER_LAWS:
        law(planner, problem)


def solve(planner: Planner, problem: Problem, seed: int = 0) -> Plan:
    """Return the plan for a problem, with a generator of this seed."""
    return planner.solve(problem, rng=np.random.default_rng(seed))


def found_means_in_the_goal(planner: Planner, problem: Problem) -> None:
    """A plan is found if its last waypoint, alone, meets the goal; it begins at the start."""
    plan = solve(planner, problem)
    require(plan.found, f"A problem that can be solved must be solved. Got '{plan.status}'.")
    last = plan.waypoints[-1]
    require(problem.met_by(last), "The last waypoint of a found plan must meet the goal, alone.")
    reached = problem.posterior is not None or problem.goal.check(problem.landscape.density, last)
    require(reached, "The last waypoint of a found plan must meet the goal of the density.")
    require_equal(plan.waypoints[0], problem.x, "The first waypoint must be the start.")


def cost_is_that_of_the_path(planner: Planner, problem: Problem) -> None:
    """The reported cost is `problem.path_cost`, also with weights."""
    feature = problem.landscape.density.features_[0]
    weighted = replace(problem, constraints=Constraints(weights={feature: 3.0}))
    for asked in (problem, weighted):
        plan = solve(planner, asked)
        cost = asked.path_cost(plan.waypoints)
        expected = cost if plan.found else np.inf
        require(plan.cost == expected, f"'cost' must be the path's, {expected}. Got {plan.cost}.")
        require(plan.evaluations > 0, "'evaluations' must count the paths that were evaluated.")
        require(plan.seconds > 0, "'seconds' must be the time of the search.")


def rules_hold_at_every_waypoint(planner: Planner, problem: Problem) -> None:
    """Directions and bounds hold along the whole path."""
    density = problem.landscape.density
    moved = solve(planner, problem).waypoints[-1] - problem.x
    numbers = list(density.encoding_.number_columns)
    j = numbers[int(np.argmax(moved[numbers]))]
    name, scale = density.features_[j], density.standardizer_
    limit = float(scale.inverse(problem.x + 1.2 * np.maximum(moved, 0.5))[j])
    ruled = replace(problem, constraints=Constraints(only_up=[name], upper={name: limit}))
    plan = solve(planner, ruled)
    path = plan.waypoints
    require((np.diff(path[:, j]) >= 0).all(), f"'{name}' must only rise from step to step.")
    highest = float(scale.inverse(path)[:, j].max())
    below = highest <= limit + 1e-9 * abs(limit)
    require(below, f"'{name}' must stay below its upper bound {limit}. Got {highest}.")
    require(ruled.feasible.contains(path), "Every waypoint must obey the constraints.")
    require(plan.found == ruled.met_by(path[-1]), "'found' must be whether the end is in the goal.")


def fixed_features_do_not_change(planner: Planner, problem: Problem) -> None:
    """A fixed feature keeps its value at every waypoint, bit for bit."""
    j = len(problem.landscape.density.features_) - 1
    name = problem.landscape.density.features_[j]
    plan = solve(planner, replace(problem, constraints=Constraints(fixed=[name])))
    same = (plan.waypoints[:, j] == problem.x[j]).all()
    require(same, f"The fixed feature '{name}' must keep its value.")


def categories_switch_once(planner: Planner, problem: Problem) -> None:
    """Codes are known levels, a category switches at most once, ordered ones move one way."""
    encoding = problem.landscape.density.encoding_
    path = solve(planner, problem).waypoints
    for j, feature in enumerate(encoding.features):
        if not feature.coded:
            continue
        known = np.isin(path[:, j], np.arange(feature.codes)).all()
        require(known, f"'{feature.name}' must have a known level at every waypoint.")
        steps = np.diff(path[:, j])
        steps = steps[steps != 0]
        once = len(steps) <= 1 if feature.kind == "category" else len(set(np.sign(steps))) <= 1
        require(once, f"'{feature.name}' must switch once, or move in one direction.")
    for j, column in encoding.atom_columns.items():
        rows = problem.to_user(path)
        for code, atom in enumerate(encoding.features[j].atoms, start=1):
            there = path[:, column] == code
            placed = (rows[there, j] == atom).all() or atom != atom
            require(placed, f"'{encoding.names[j]}' must be at the atom of its code.")
            off = (rows[~there, j] != atom).all()
            require(off, f"'{encoding.names[j]}' must be off the atom of another code.")


def forbidden_switches_are_not_made(planner: Planner, problem: Problem) -> None:
    """A switch that the path makes is not made again once it is forbidden; others may be."""
    encoding = problem.landscape.density.encoding_
    path = solve(planner, problem).waypoints
    for j, feature in enumerate(encoding.features):
        moved = np.flatnonzero(np.diff(path[:, j])) if feature.coded else np.empty(0, np.intp)
        if len(moved) == 0:
            continue
        pair = (int(path[moved[0], j]), int(path[moved[0] + 1, j]))
        words = (feature.words[pair[0]], feature.words[pair[1]])
        ruled = replace(problem, constraints=Constraints(forbidden={feature.name: [words]}))
        plan = solve(planner, ruled)
        codes = plan.waypoints[:, j]
        made = ((codes[:-1] == pair[0]) & (codes[1:] == pair[1])).any()
        require(not made, f"'{feature.name}' must not switch from '{words[0]}' to '{words[1]}'.")
        require(ruled.feasible.contains(plan.waypoints), "Every waypoint must obey the rules.")
        met = plan.found == ruled.met_by(plan.waypoints[-1])
        require(met, "'found' must be whether the end is in the goal.")


def batches_are_as_if_alone(planner: Planner, problem: Problem) -> None:
    """Whether and where a path is found does not depend on what is solved beside it."""
    starts, _ = problem.landscape.density.sample(3, rng=np.random.default_rng(9))
    problems = [replace(problem, start=x, constraints=Constraints()) for x in starts]
    together = planner.solve_many(problems, rngs=np.random.default_rng(0).spawn(3))
    alone = [
        planner.solve(one, rng=rng)
        for one, rng in zip(problems, np.random.default_rng(0).spawn(3), strict=True)
    ]
    for one, other in zip(together, alone, strict=True):
        same = one.found == other.found
        require(same, "What is solved in a batch must be solved alone, and the other way round.")
        close = not one.found or abs(one.cost - other.cost) <= 0.05 * abs(other.cost)
        require(close, f"A batch must cost what its parts do. Got {one.cost} and {other.cost}.")


def nothing_is_modified(planner: Planner, problem: Problem) -> None:
    """Planner and problem are the same after a search."""

    def state() -> bytes:
        parts = (problem.x, problem.goal, problem.feasible, problem.constraints)
        return pickle.dumps((planner, *parts))

    before = state()
    solve(planner, problem)
    require(state() == before, "'solve' must not modify the planner or the problem.")


def queries_are_independent(planner: Planner, problem: Problem) -> None:
    """The same problem and generator give the same plan, whatever was asked in between."""
    density = problem.landscape.density
    first = solve(planner, problem)
    start = density.sample(1, rng=np.random.default_rng(5))[0][0]
    solve(planner, replace(problem, start=start, constraints=Constraints()))
    again = solve(planner, problem)
    sentence = "The same problem and rng must give the same plan, after another query too."
    require_equal(again.waypoints, first.waypoints, sentence)
    require(again.cost == first.cost, sentence)


def impossible_goals_have_a_status(planner: Planner, problem: Problem) -> None:
    """A goal that cannot be reached gives a status, not an exception."""
    goal = Goal(problem.goal.target, min_log_prob=1e6)
    plan = solve(planner, replace(problem, goal=goal))
    unreachable = plan.status is Status.GOAL_UNREACHABLE and not plan.found
    require(unreachable, f"The status must be 'goal_unreachable'. Got '{plan.status}'.")
    require(plan.cost == np.inf, "'cost' must be infinite if nothing is found.")
    require_equal(plan.waypoints, problem.x[None], "Only the start must be left of the path.")
    near = plan.reachable is not None and plan.reachable[0] < 0
    require(near, "'reachable' must give the slack that the search reached.")


def starts_in_the_goal_stay(planner: Planner, problem: Problem) -> None:
    """A start that meets the goal is the whole path."""
    there = solve(planner, problem).waypoints[-1]
    plan = solve(planner, replace(problem, start=there, constraints=Constraints()))
    require(plan.status == "already_there", "The status must be 'already_there'.")
    alone = plan.found and plan.cost == 0 and plan.waypoints.shape == (1, len(there))
    require(alone, "A start in the goal must be the whole path, at cost 0.")


def batches_keep_their_order(planner: Planner, problem: Problem) -> None:
    """Plans of many problems come in the order of the problems."""
    starts, _ = problem.landscape.density.sample(3, rng=np.random.default_rng(8))
    problems = [replace(problem, start=x, constraints=Constraints()) for x in starts]
    plans = planner.solve_many(problems, rngs=np.random.default_rng(0).spawn(3))
    require(len(plans) == 3, f"'solve_many' must return one plan per problem. Got {len(plans)}.")
    for asked, plan in zip(problems, plans, strict=True):
        require_equal(plan.waypoints[0], asked.x, "Plans must be in the order of the problems.")
        same = plan.found == asked.met_by(plan.waypoints[-1])
        require(same, "'found' must be whether the end is in the goal.")


#: All laws; each is a function of a planner and of a problem that it can solve.
PLANNER_LAWS: tuple[PlannerLaw, ...] = (
    found_means_in_the_goal,
    cost_is_that_of_the_path,
    rules_hold_at_every_waypoint,
    fixed_features_do_not_change,
    categories_switch_once,
    forbidden_switches_are_not_made,
    nothing_is_modified,
    queries_are_independent,
    impossible_goals_have_a_status,
    starts_in_the_goal_stay,
    batches_keep_their_order,
    batches_are_as_if_alone,
)
