"""Shorter or more plausible: the scan over penalties, as one object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from daace._checks import check_number
from daace._typing import FloatArray, IntArray
from daace.exceptions import InvalidInput
from daace.explain.answering import explain_solved
from daace.explain.asking.query import Query
from daace.explain.asking.solving import Solved, solve_row
from daace.explain.explanation import Explanation
from daace.explain.pages.frames import render_frame
from daace.explain.several.choices import Choices
from daace.landscape.cost import Landscape
from daace.landscape.problem import Problem
from daace.planners.base import Plan

if TYPE_CHECKING:
    from daace.explain.pictures.canvas import Plot

#: Default penalties of a scan.
PENALTIES = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0)

#: Lengths and log-densities that differ by less are equal: the ends meet the goal to rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Tradeoff(Choices):
    """One explanation per penalty, from the shortest path to the most plausible one.

    Along the scan, neither the length nor the mean log-density of the path decreases: each path
    found for one penalty is a candidate for all, and the cheapest combination is chosen.

    Attributes:
        penalties: in ascending order.
        explanations: one per penalty.
        lengths: length of each path, in standard deviations.
        log_probs: mean log-density along each path.

    Example:
        >>> from daace import Explainer, GaussianMixture
        >>> from daace.data.synthetic import moons
        >>> scan = Explainer(GaussianMixture(*moons())).tradeoff(
        ...     {"x1": -1.0, "x2": 0.0}, target="lower", penalties=(0, 5)
        ... )
        >>> bool(scan.lengths[0] < scan.lengths[1])
        True
    """

    penalties: tuple[float, ...]
    explanations: tuple[Explanation, ...]
    lengths: FloatArray
    log_probs: FloatArray

    def __repr__(self) -> str:
        found = sum(e.found for e in self)
        return f"Tradeoff(penalties={self.penalties}, found={found})"

    def _repr_html_(self) -> str:
        frame = self.to_frame().set_index("penalty").drop(columns=["found"])
        return render_frame("From the shortest path to the most plausible one", frame)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per penalty.

        Columns: penalty, found, length, log_prob (mean along the path), cost (at this penalty),
        steps, posterior and percentile (at the end). Length and log_prob are missing if no path
        was found.
        """
        return pd.DataFrame(
            {
                "penalty": np.array(self.penalties, dtype=np.float64),
                "found": [e.found for e in self],
                "length": self.lengths,
                "log_prob": self.log_probs,
                "cost": [e.cost for e in self],
                "steps": [e.step_count for e in self],
                "posterior": [e.posterior for e in self],
                "percentile": [float(e.along["percentile"].iloc[-1]) for e in self],
            }
        )

    def plot(self) -> Plot:
        """Draw length against mean log-density, with one point per penalty."""
        from daace.explain.pictures.choice_plots import draw_tradeoff

        return draw_tradeoff(self.to_frame())


def scan_penalties(query: Query, penalties: Sequence[float]) -> Tradeoff:
    """Ask about one row at ascending penalties, and choose among all paths found.

    Args:
        query: what is asked, at any penalty.
        penalties: in ascending order.
    """
    queries, solved = [], []
    for penalty in penalties:
        settings = replace(query.settings, penalty=penalty)
        queries.append(replace(query, settings=settings))
        solved.append(solve_row(queries[-1]))
    problems = [one.problem for one in solved]
    chosen = choose_scan(problems, [one.plan for one in solved])
    sizes = [measure(problems[0], p.waypoints) if p.found else (np.nan,) * 2 for p in chosen]
    explanations = [
        explain_solved(asked, Solved(problem, plan)).with_model(asked)
        for asked, problem, plan in zip(queries, problems, chosen, strict=True)
    ]
    return Tradeoff(tuple(penalties), tuple(explanations), *np.array(sizes, dtype=np.float64).T)


def check_penalties(penalties: Sequence[float]) -> tuple[float, ...]:
    """Return the penalties in ascending order, each once.

    Raises:
        InvalidInput: there are none, or one is not a number of at least 0.
    """
    if not isinstance(penalties, list | tuple | np.ndarray):
        raise InvalidInput(
            argument="penalties", expected="be a list of numbers", got=repr(penalties)
        )
    if len(penalties) == 0:
        raise InvalidInput(argument="penalties", expected="have at least one number", got="none")
    for penalty in penalties:
        check_number("penalties", penalty, at_least=0)
    return tuple(sorted({float(penalty) for penalty in penalties}))


def choose_scan(problems: Sequence[Problem], plans: Sequence[Plan]) -> list[Plan]:
    """Return for each problem the plan of the cheapest monotone scan.

    Args:
        problems: the same question at ascending penalties.
        plans: what was found for each.

    Returns:
        a plan per problem, with its cost there; as they came where none was found.
    """
    found = [plan for plan in plans if plan.found]
    paths = [plan.waypoints for plan in found]
    if not paths:
        return list(plans)
    size = np.array([measure(problems[0], path) for path in paths])
    costs = np.array([[problem.path_cost(path) for path in paths] for problem in problems])
    scan = monotone_scan(costs, size)
    return [replace(found[k], cost=float(costs[row, k])) for row, k in enumerate(scan)]


def monotone_scan(costs: FloatArray, sizes: FloatArray) -> IntArray:
    """Choose a candidate per row so that no size ever falls, at the least excess of cost.

    By dynamic programming; the excess is the sum over rows of the relative excess over the row's
    cheapest candidate. A scan that stays with one candidate is always possible.

    Args:
        costs: shape `(rows, candidates)`.
        sizes: shape `(candidates, k)`; none of the k may fall from row to row.

    Returns:
        the number of the candidate of each row.

    Example:
        >>> costs = np.array([[1.0, 2.0], [1.1, 1.0], [1.0, 1.2]])
        >>> monotone_scan(costs, np.array([[1.0], [2.0]])).tolist()
        [0, 0, 0]
    """
    least = costs.min(axis=1, keepdims=True)
    excess = (costs - least) / np.maximum(np.abs(least), np.finfo(float).tiny)
    slack = ROUNDING * np.maximum(1.0, np.abs(sizes).max(axis=0))
    allowed = (sizes[None, :] >= sizes[:, None] - slack).all(axis=2)  # [before, after]
    total = excess[0]
    came_from = np.zeros(costs.shape, dtype=np.intp)
    for row in range(1, len(costs)):
        ways = np.where(allowed, total[:, None], np.inf)
        came_from[row] = ways.argmin(axis=0)
        total = ways.min(axis=0) + excess[row]
    chosen = np.empty(len(costs), dtype=np.intp)
    chosen[-1] = int(total.argmin())
    for row in range(len(costs) - 1, 0, -1):
        chosen[row - 1] = came_from[row, chosen[row]]
    return chosen


def measure(problem: Problem, path: FloatArray) -> tuple[float, float]:
    """Return the length of a path (weights included) and the mean log-density along it."""
    density = problem.landscape.density
    length = Landscape(density, penalty=0).path_cost(
        path, weights=problem.feasible.weights if problem.feasible.weighted else None
    )
    plain = Landscape(density, penalty=0).path_cost(path)
    if plain == 0:
        return 0.0, float(density.log_prob(path[:1])[0])
    # On the raw scale at penalty 1 a path costs the integral of -log p along it.
    return length, -Landscape(density, penalty=1, scale="nll").path_cost(path) / plain
