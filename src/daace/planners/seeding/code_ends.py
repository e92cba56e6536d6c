"""Codes that the end of a path may have: a small beam search over switches.

Each switch alone is tried first, then combinations of the most promising ones and the codes of
draws that meet the goal. The estimate of a combination is the price of its switches at the start
plus that of a straight line to the nearest numbers with which it meets the goal.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from daace._typing import FloatArray
from daace.landscape.code_rules import CodeRules
from daace.landscape.problem import Problem
from daace.planners.base import best_slacks
from daace.planners.seeding.goal_points import GoalPoints, pull_to_edge

#: Draws, the nearest by their numbers, whose numbers are tried with each combination of codes.
NUMBERS = 32

#: Shares of the way to them that are tried.
SHARES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])

#: Combinations that are extended, switches that extend them, and switches at once.
BEAM, EXTENSIONS, DEPTH = 6, 12, 4

#: Codes of draws that meet the goal.
DRAWN = 8

#: Combinations, and ends of each, that a search begins with.
KEPT, ENDS = 10, 2


def find_code_ends(problem: Problem) -> GoalPoints:
    """Return goal points with the most promising codes, the cheapest first.

    Args:
        problem: over numbers and codes.
    """
    search = _Beam.over(problem)
    start = search.start[None]
    search.score(start)
    singles = search.score(_flips(search.rules, problem, start))
    chosen, best = singles[:EXTENSIONS], singles[:BEAM]
    for _ in range(DEPTH - 1):
        best = search.score(_combine(best, chosen, search.start))[:BEAM]
        if len(best) == 0:
            break
    search.score(search.drawn())
    return search.ends()


@dataclass(eq=False)
class _Beam:
    """Combinations of codes and what they may cost.

    Args:
        problem: over numbers and codes.
        rules: of the codes.
        draws: of the target class that the rules allow, the nearest first.
        known: estimate and ends by combination.
        slacks: of all points that were tried.
    """

    problem: Problem
    rules: CodeRules
    draws: FloatArray
    known: dict[bytes, tuple[float, FloatArray]] = field(default_factory=dict)
    slacks: list[FloatArray] = field(default_factory=list)

    @classmethod
    def over(cls, problem: Problem) -> _Beam:
        rules, switches = problem.feasible.codes, problem.landscape.switches
        assert rules is not None
        assert switches is not None
        draws = problem.feasible.nearest(problem.landscape.density.pool(problem.goal.target).X)
        offsets = (draws - problem.x) * problem.feasible.weights * switches.travel
        order = np.argsort((offsets**2).sum(axis=1), kind="stable")
        return cls(problem, rules, draws[order])

    @property
    def start(self) -> FloatArray:
        """Codes of the start."""
        codes: FloatArray = self.problem.x[self.rules.columns]
        return codes

    def score(self, combinations: FloatArray) -> FloatArray:
        """Estimate new combinations, shape `(combinations, code columns)`; the best first."""
        fresh = [c for c in combinations if c.tobytes() not in self.known]
        if not fresh:
            return combinations[:0]
        wanted = np.unique(np.stack(fresh), axis=0)
        problem, rules, land = self.problem, self.rules, self.problem.landscape
        assert land.switches is not None
        count = len(wanted)
        begin = np.repeat(problem.x[None], count, axis=0)
        begin[:, rules.columns] = wanted
        begin = rules.place(begin)
        numbers = self.draws[:NUMBERS]
        ends = np.repeat(numbers[None], count, axis=0)
        ends[..., rules.columns] = wanted[:, None]
        ends = rules.place(ends)
        t = SHARES[:, None, None]
        trial = begin[:, None, None] + t * (ends - begin[:, None])[:, None]
        flat = trial.reshape(-1, trial.shape[-1])
        joint = land.density.log_joint(flat)
        slack = problem.region.slack_of(joint, flat)
        self.slacks.append(slack)
        price = land.local_cost(flat).reshape(trial.shape[:3])
        weights = problem.feasible.weights if problem.feasible.weighted else None
        paths = np.stack([np.repeat(problem.x[None], count, axis=0), begin], axis=1)
        paths[:, 1, land.switches.travel > 0] = problem.x[land.switches.travel > 0]
        switching = land.price_switches(paths, weights=weights)
        paid = np.zeros(count) if switching is None else switching.costs[:, 0]
        offsets = (trial - problem.x) * problem.feasible.weights * land.switches.travel
        length = np.sqrt((offsets**2).sum(axis=-1))
        cost = paid[:, None, None] + length * 0.5 * (price[:, :1] + price)
        short = np.maximum(-slack, 0.0).sum(axis=1).reshape(cost.shape)
        cost = np.where((short == 0) & (slack > 0).all(axis=1).reshape(cost.shape), cost, np.inf)
        missed = np.where(np.isfinite(cost).any(axis=(1, 2)), 0.0, short.min(axis=(1, 2)))
        estimates = np.where(missed > 0, MISSED * (1 + missed), cost.min(axis=(1, 2)))
        for k, codes in enumerate(wanted):
            rank = cost[k] if missed[k] == 0 else short[k]
            best = np.argsort(rank, axis=None, kind="stable")
            if missed[k] == 0:
                best = best[np.isfinite(rank.ravel()[best])]
            # The cheapest of each draw, for ends that differ.
            _, first = np.unique(best % len(numbers), return_index=True)
            best = best[np.sort(first)][:ENDS]
            points = trial[k].reshape(-1, trial.shape[-1])[best]
            self.known[codes.tobytes()] = (float(estimates[k]), points)
        order = np.argsort(estimates, kind="stable")
        ranked: FloatArray = wanted[order]
        return ranked

    def drawn(self) -> FloatArray:
        """Return the codes of the draws that meet the goal and are nearest in all."""
        problem, switches = self.problem, self.problem.landscape.switches
        assert switches is not None
        draws = self.draws[: 10 * NUMBERS]
        good = draws[problem.region.contains(draws)]
        codes = good[:, self.rules.columns]
        offsets = (good - problem.x) * problem.feasible.weights * switches.travel
        weights = problem.feasible.weights
        length = switches.length(np.broadcast_to(self.start, codes.shape), codes, weights)
        order = np.argsort(length + np.sqrt((offsets**2).sum(axis=1)), kind="stable")
        nearest: FloatArray = codes[order[:DRAWN]]
        return nearest

    def ends(self) -> GoalPoints:
        """Return the ends of the best combinations, pulled to the edge of the goal."""
        ranked = sorted(self.known.values(), key=lambda entry: entry[0])
        inside = [points for estimate, points in ranked if estimate < MISSED][:KEPT]
        nearly = [points for estimate, points in ranked if estimate >= MISSED][:KEPT]
        none = np.empty((0, len(self.problem.x)))
        points = np.concatenate([none, *inside])
        if len(points):
            begin = np.repeat(self.problem.x[None], len(points), axis=0)
            begin[:, self.rules.columns] = points[:, self.rules.columns]
            points = pull_to_edge(self.problem, points, origin=self.rules.place(begin))
        slacks = best_slacks(np.concatenate(self.slacks))
        return GoalPoints(points, np.concatenate([none, *nearly]), slacks)


#: Estimates above this one are those of combinations that meet the goal nowhere.
MISSED = 1e100


def _flips(rules: CodeRules, problem: Problem, start: FloatArray) -> FloatArray:
    """Return every combination that differs from the start in one code."""
    lower, upper = problem.feasible.lower, problem.feasible.upper
    found = [start[0]]
    for k, column in enumerate(rules.columns):
        for code in rules.targets(k):
            if code != start[0, k] and lower[column] <= code <= upper[column]:
                other = start[0].copy()
                other[k] = code
                found.append(other)
    return np.stack(found)


def _combine(best: FloatArray, flips: FloatArray, start: FloatArray) -> FloatArray:
    """Return combinations with one more switch."""
    found = [
        np.where(flip != start, flip, one)
        for one in best
        for flip in flips
        if not ((flip != start) & (one != start)).any()
    ]
    return np.stack(found) if found else best[:0]
