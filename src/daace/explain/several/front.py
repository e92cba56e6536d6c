"""Cheap, certain and plausible at once: paths of which none beats another in all three."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from daace._typing import FloatArray
from daace.exceptions import InvalidInput
from daace.explain.answering import explain_solved
from daace.explain.asking.query import Query
from daace.explain.asking.solving import Solved, report_judgement, solve_row
from daace.explain.explanation import Explanation
from daace.explain.several.choices import Choices
from daace.landscape.problem import Problem
from daace.planners.base import Clock, Planner, arrive
from daace.planners.nsga2 import NSGA2, Front
from daace.planners.optimizer import PathOptimizer

if TYPE_CHECKING:
    from daace.explain.pictures.canvas import Plot

#: Members, at most: this many searches take about as long as the genetic one.
MEMBERS = 10

#: Probabilities that differ by less are equal; so are log-densities, in standard deviations.
EQUAL = 1e-3

#: The log-density of an end may round differently when it is judged alone.
ROUNDING = 1e-9

#: Steps from what the cheapest path reaches to what a member of the genetic search does.
STEPS = 4


@dataclass(frozen=True, eq=False)
class ExplanationFront(Choices):
    """Explanations of one row, cheapest first; costlier ones are more certain or plausible.

    Attributes:
        explanations: members of the front; empty if no path to the goal was found.
    """

    explanations: tuple[Explanation, ...]

    def __repr__(self) -> str:
        return f"ExplanationFront(members={len(self)})"

    def to_frame(self) -> pd.DataFrame:
        """Return cost, posterior, log_prob and percentile (at the end) of each member."""
        rows = [
            (e.cost, e.posterior, e.log_prob, float(e.along["percentile"].iloc[-1])) for e in self
        ]
        return pd.DataFrame(rows, columns=["cost", "posterior", "log_prob", "percentile"])

    def plot(self) -> Plot:
        """Draw cost against plausibility, coloured by the probability of the target."""
        from daace.explain.pictures.choice_plots import draw_front

        first = self.explanations[0] if self.explanations else None
        return draw_front(
            self.to_frame(),
            target=None if first is None else first.target,
            asked=0.0 if first is None else first.provenance.min_posterior,
        )


def check_search(planner: object) -> NSGA2:
    """Return a planner that can search for a front.

    Raises:
        InvalidInput: the planner is not an `NSGA2`.
    """
    if not isinstance(planner, NSGA2):
        kind = type(planner).__name__
        raise InvalidInput(argument="planner", expected="be an NSGA2", got=kind)
    return planner


def search_front(query: Query, search: NSGA2, *, vertices: int) -> ExplanationFront:
    """Return the front of one row as explanations.

    The genetic search shows which log-densities and probabilities can be reached together, but
    its paths are far from the cheapest. Its members therefore only set thresholds: some between
    them and the plain answer are chosen, and each is planned for as by `explain`.

    Args:
        query: the question about one row.
        search: the genetic search.
        vertices: number of waypoints between start and end of its paths.
    """
    problem = query.problem(0, query.settings.posterior(query.judge(0)))
    rng = np.random.default_rng(query.settings.seed)
    found = search.solve_front(problem, rng=rng, vertices=vertices)
    planner = query.settings.planner
    if not isinstance(planner, PathOptimizer):
        planner = PathOptimizer()  # a front is about the cost, whatever changes
    # Members are compared by cost: rounding would hide which is cheaper.
    settings = replace(query.settings, planner=planner, time_limit=None, round=False)
    planned = replace(query, settings=settings)
    least = np.array([problem.threshold, problem.goal.min_posterior])
    members = _plan(planned, problem, least, found, search)
    plain = np.array([members[0].log_prob, members[0].posterior]) if members else least
    for level in _spread(found, plain):
        asked = np.maximum(level - [ROUNDING, EQUAL], least)
        members += _plan(planned, problem, asked, found, search)
    return ExplanationFront(_unbeaten(members, problem.statistics.sd))


def _plan(
    query: Query, problem: Problem, level: FloatArray, found: Front, search: NSGA2
) -> list[Explanation]:
    """Return the cheapest path that reaches a log p and a posterior, if there is one.

    It is the one `explain` finds, unless the genetic search has found a cheaper one.
    """
    log_prob, posterior = level.tolist()
    goal = replace(problem.goal, min_log_prob=log_prob, min_posterior=posterior)
    plan = solve_row(replace(query, goals=(goal,))).plan
    reaching = (found.log_probs >= log_prob) & (found.posteriors >= posterior)
    cheaper = np.flatnonzero(reaching & (found.costs < plan.cost))
    planner: Planner = query.settings.search
    if len(cheaper):
        plan, planner = arrive(problem, found.paths[cheaper[0]], Clock()), search
    if not plan.found:
        return []
    plan = report_judgement(query, problem, plan)
    return [explain_solved(query, Solved(problem, plan), planner=planner).with_model(query)]


def _spread(found: Front, plain: FloatArray) -> Iterator[FloatArray]:
    """Choose pairs of log p and posterior, each far from the plain one and from those before.

    They lie on the lines from the plain pair to those of the genetic search. None asks for more
    than a member of it has.
    """
    if not len(found):
        return
    reached = np.column_stack([found.log_probs, found.posteriors])
    shares = np.linspace(0, 1, STEPS + 1)[:, None, None]
    levels = np.minimum(plain + shares * (reached - plain), reached).reshape(-1, 2)
    unit = [np.ptp(levels[:, 0]) or 1.0, 1.0]  # log p as a share of its range
    chosen, distance = plain, np.full(len(levels), np.inf)
    for _ in range(MEMBERS - 1):
        distance = np.minimum(distance, np.linalg.norm((levels - chosen) / unit, axis=1))
        if distance.max() <= EQUAL:
            return
        chosen = levels[np.argmax(distance)]
        yield chosen


def _unbeaten(members: Sequence[Explanation], unit: float) -> tuple[Explanation, ...]:
    """Return the members that no cheaper one equals; `unit` is that of log p."""
    kept: list[Explanation] = []
    for e in sorted(members, key=lambda e: (e.cost, -e.log_prob, -e.posterior)):
        log_prob, posterior = e.log_prob - EQUAL * unit, e.posterior - EQUAL
        if not any(k.log_prob >= log_prob and k.posterior >= posterior for k in kept):
            kept.append(e)
    return tuple(kept)
