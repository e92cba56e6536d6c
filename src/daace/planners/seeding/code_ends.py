"""Codes that the end of a path may have: a small beam search over switches.

Each switch alone is tried first, then combinations of the most promising ones and the codes of
draws that meet the goal. The estimate of a combination is the price of its switches at the start
plus that of a straight line to the nearest numbers with which it meets the goal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from daace._typing import BoolArray, FloatArray
from daace.density.bayes import log_sum_exp
from daace.landscape.code_rules import CodeRules
from daace.landscape.goal import NEVER, RowPosterior
from daace.landscape.problem import Problem
from daace.planners.base import best_slacks
from daace.planners.seeding.goal_points import draws_alike, first_inside, pull_to_edge

#: Draws whose numbers are tried with each combination of codes: the nearest, some at all
#: distances, and the nearest that meet the goal with the codes of the start.
NEAREST, SPREAD, MEETING = 8, 24, 8

#: Shares of the lines to them that are tried.
SHARES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])

#: Numbers of combinations to extend, of switches to extend them by, and of switches at once.
BEAM, EXTENSIONS, DEPTH = 6, 12, 4

#: Number of draws that meet the goal, whose numbers and codes are tried.
DRAWN = 8

#: Points of each combination that a classifier predicts first, and if too few meet the goal.
ASKED = (16, 64)

#: Numbers of initial combinations, and of ends of each.
KEPT, ENDS = 10, 2

#: Estimates above this one are those of combinations that meet the goal nowhere.
MISSED = 1e100


@dataclass(frozen=True, eq=False)
class CodeGoals:
    """Goal points with different codes.

    Attributes:
        inside: points that meet the goal, those with the most promising codes first, shape
            `(points, n)`.
        nearly: points that miss the goal least.
        reachable: largest slack of log p among points that meet the posterior threshold, and
            largest slack of the log posterior among points that meet the log p threshold.
        late: pairs of waypoints, shape `(pairs, 2, n)`: one to walk to with the codes of the start,
            and the end after a switch there.
    """

    inside: FloatArray
    nearly: FloatArray
    reachable: tuple[float, float]
    late: FloatArray


@dataclass(frozen=True, eq=False)
class CodeEnds:
    """Ends with one combination of codes.

    Attributes:
        estimate: cost of the cheapest path; above `MISSED` if none of the points meets the goal.
        early: ends of paths that switch at the start, shape `(points, n)`.
        late: as in `CodeGoals`.
    """

    estimate: float
    early: FloatArray
    late: FloatArray


@dataclass(frozen=True, eq=False)
class _Walks:
    """Points on the lines to some draws, shape `(shares, draws, n)`, with the codes of the start.

    Attributes:
        points: the points.
        price: f(u) there.
        length: length of the path.
    """

    points: FloatArray
    price: FloatArray
    length: FloatArray


def find_code_ends(problem: Problem) -> CodeGoals:
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
    search.score(search.good[:, search.rules.columns])
    return search.ends()


@dataclass(eq=False)
class _Beam:
    """Combinations of codes, with estimates of their costs.

    Args:
        problem: over numbers and codes.
        rules: rules of the codes.
        good: draws of the target class that meet goal and rules, the nearest first.
        numbers: draws whose numbers are tried with each combination.
        known: ends by combination.
        slacks: slacks of all points that were tried.
        unasked: points that a classifier has not predicted, and their log-joint.
    """

    problem: Problem
    rules: CodeRules
    good: FloatArray
    numbers: FloatArray
    known: dict[bytes, CodeEnds] = field(default_factory=dict)
    slacks: list[FloatArray] = field(default_factory=list)
    unasked: list[tuple[FloatArray, FloatArray]] = field(default_factory=list)

    @classmethod
    def over(cls, problem: Problem) -> _Beam:
        rules, switches = problem.feasible.codes, problem.landscape.switches
        assert rules is not None
        assert switches is not None
        draws = problem.feasible.nearest(problem.landscape.density.pool(problem.goal.target).X)
        offsets = (draws - problem.x) * problem.feasible.weights * switches.travel
        order = np.argsort((offsets**2).sum(axis=1), kind="stable")
        draws = draws[order]
        still = draws.copy()
        still[:, rules.columns] = problem.x[rules.columns]
        meeting = first_inside(problem.region, rules.place(still), MEETING)
        spread = np.linspace(NEAREST, len(draws) - 1, SPREAD).astype(np.intp)
        chosen = np.unique(np.concatenate([np.arange(NEAREST), spread, meeting]))
        good = _good_draws(problem, draws)
        return cls(problem, rules, good, np.concatenate([draws[chosen], good]))

    @property
    def start(self) -> FloatArray:
        """Codes of the start."""
        codes: FloatArray = self.problem.x[self.rules.columns]
        return codes

    @cached_property
    def walks(self) -> _Walks:
        """The lines to the numbers of the nearest draws with the codes of the start."""
        x, rules = self.problem.x, self.rules
        ends = self.numbers.copy()
        ends[:, rules.columns] = x[rules.columns]
        points = x + SHARES[:, None, None] * (rules.place(ends) - x)
        price = self.problem.landscape.local_cost(points.reshape(-1, len(x)))
        return _Walks(points, price.reshape(points.shape[:-1]), self._travel(points))

    def _travel(self, points: FloatArray, origin: FloatArray | None = None) -> FloatArray:
        """Return distances, from the start when no origin is given."""
        switches = self.problem.landscape.switches
        assert switches is not None
        offsets = points - (self.problem.x if origin is None else origin)
        offsets = offsets * self.problem.feasible.weights * switches.travel
        length: FloatArray = np.sqrt((offsets**2).sum(axis=-1))
        return length

    def score(self, combinations: FloatArray) -> FloatArray:
        """Estimate new combinations, shape `(combinations, code columns)`; the best first."""
        fresh = [c for c in combinations if c.tobytes() not in self.known]
        if not fresh:
            return combinations[:0]
        wanted = np.unique(np.stack(fresh), axis=0)
        problem, rules, switches = self.problem, self.rules, self.problem.landscape.switches
        assert switches is not None
        count = len(wanted)
        begin = np.repeat(problem.x[None], count, axis=0)
        begin[:, rules.columns] = wanted
        ends = np.repeat(self.numbers[None], count, axis=0)
        ends[..., rules.columns] = wanted[:, None]
        begin, ends = rules.place(begin), rules.place(ends)
        points = begin[:, None, None] + SHARES[:, None, None] * (ends - begin[:, None])[:, None]
        flat = points.reshape(-1, points.shape[-1])
        joint = problem.landscape.density.log_joint(flat)
        roughness = problem.landscape.roughness(log_sum_exp(joint))
        price = problem.landscape.price(roughness).reshape(points.shape[:-1])
        length = switches.length(
            np.broadcast_to(self.start, wanted.shape), wanted, problem.feasible.weights
        )[:, None, None]
        walks, here = self.walks, self.walks.price[:1]
        early = length * 0.5 * (here + price[:, :1])
        early = early + self._travel(points) * 0.5 * (price[:, :1] + price)
        late = walks.length * 0.5 * (here + walks.price)
        late = late + (length + self._travel(points, walks.points)) * 0.5 * (walks.price + price)
        slack = self._judge(flat, joint, np.minimum(early, late).reshape(count, -1))
        self.slacks.append(slack)
        inside: BoolArray = np.all(slack > 0, axis=1).reshape(price.shape)
        short = np.maximum(-slack, 0.0).sum(axis=1).reshape(price.shape)
        estimates = np.empty(count)
        for k, codes in enumerate(wanted):
            met = bool(inside[k].any())
            costs = [np.where(inside[k], c[k], np.inf) if met else short[k] for c in (early, late)]
            estimates[k] = min(c.min() for c in costs) if met else MISSED * (1 + costs[0].min())
            chosen = [_best_places(c) for c in costs]
            self.known[codes.tobytes()] = CodeEnds(
                float(estimates[k]),
                points[k][chosen[0]],
                np.stack([walks.points[chosen[1]], points[k][chosen[1]]], axis=1),
            )
        ranked: FloatArray = wanted[np.argsort(estimates, kind="stable")]
        return ranked

    def _judge(self, points: FloatArray, joint: FloatArray, costs: FloatArray) -> FloatArray:
        """Return the slacks of points; a classifier predicts the cheapest plausible ones.

        It predicts more while too few combinations meet the goal; the posterior of the others
        counts as 0.

        Args:
            points: shape `(points, n)`.
            joint: their log-joint.
            costs: costs of each combination's points, shape `(combinations, points of each)`.
        """
        region = self.problem.region
        if not isinstance(region.posterior, RowPosterior):
            return self._judge_plausible(points, joint, len(costs))
        slack = np.column_stack(
            [log_sum_exp(joint) - region.min_log_prob, np.full(len(joint), NEVER)]
        )
        plausible = (slack[:, 0] > 0).reshape(costs.shape)
        plausible[:, 1 : costs.shape[1] // len(SHARES)] = False  # all ways begin at one place
        possible = np.where(plausible, costs, np.inf)
        order = np.argsort(possible, axis=1, kind="stable")
        sorted_costs = np.take_along_axis(possible, order, axis=1)
        order += np.arange(len(order))[:, None] * order.shape[1]
        waiting, first = np.arange(len(order)), 0
        for last in (*ASKED, order.shape[1]):
            rows = order[waiting, first:last].ravel()
            rows = rows[plausible.ravel()[rows]]
            slack[rows] = region.slack_of(joint[rows], points[rows])
            inside = np.all(slack > 0, axis=1).reshape(costs.shape)
            least = np.where(inside, costs, np.inf).min(axis=1)
            enough = np.sort(least)[min(KEPT, len(least)) - 1]  # what is dearer is not kept
            first = last
            if first < order.shape[1]:
                open_ = np.isinf(least) & (sorted_costs[:, first] < enough)
                waiting = np.flatnonzero(open_)
        unasked = np.flatnonzero(slack[:, 1] == NEVER)
        self.unasked.append((points[unasked], joint[unasked]))
        return slack

    def _judge_plausible(self, points: FloatArray, joint: FloatArray, count: int) -> FloatArray:
        """Return the slacks of the points of some combinations, as many of each.

        Smooth judges are not asked about implausible points, whose slack is then infinitely short,
        if others of the same combination meet the goal.
        """
        region = self.problem.region
        slack = np.full((len(points), 2), -np.inf)
        slack[:, 0] = log_sum_exp(joint) - region.min_log_prob
        asked = slack[:, 0] >= 0
        slack[asked] = region.slack_of(joint[asked], points[asked])
        met = np.all(slack > 0, axis=1).reshape(count, -1).any(axis=1)
        left = ~asked & np.repeat(~met, len(points) // count)
        slack[left] = region.slack_of(joint[left], points[left])
        return slack

    def ends(self) -> CodeGoals:
        """Return the ends of the best combinations, pulled to the edge of the goal."""
        ranked = sorted(self.known.values(), key=lambda entry: entry.estimate)
        inside = [entry for entry in ranked if entry.estimate < MISSED][:KEPT]
        nearly = [entry.early for entry in ranked if entry.estimate >= MISSED][:KEPT]
        none = np.empty((0, len(self.problem.x)))
        points = np.concatenate([none, *(entry.early for entry in inside)])
        if len(points):
            begin = np.repeat(self.problem.x[None], len(points), axis=0)
            begin[:, self.rules.columns] = points[:, self.rules.columns]
            points = pull_to_edge(self.problem, points, origin=self.rules.place(begin))
        late = np.concatenate([np.empty((0, 2, len(none.T))), *(entry.late for entry in inside)])
        slacks = best_slacks(np.concatenate(self.slacks))
        if not inside and self.unasked:  # what would have to be given up?
            rows, joint = (np.concatenate(parts) for parts in zip(*self.unasked, strict=True))
            others = best_slacks(self.problem.region.slack_of(joint, rows))
            slacks = max(slacks[0], others[0]), max(slacks[1], others[1])
        return CodeGoals(points, np.concatenate([none, *nearly]), slacks, late)


def _good_draws(problem: Problem, draws: FloatArray) -> FloatArray:
    """Return the draws that meet the goal and are nearest in all, codes and numbers.

    Goals that few combinations of codes meet are met by few draws, perhaps only by those with the
    fixed values.

    Args:
        problem: over numbers and codes.
        draws: draws of the target class that the rules allow.
    """
    draws = _nearest_first(problem, draws)
    found = draws[first_inside(problem.region, draws, DRAWN)]
    if len(found) < DRAWN:
        alike = _nearest_first(problem, draws_alike(problem))
        more = first_inside(problem.region, alike, DRAWN - len(found))
        found = np.concatenate([found, alike[more]])
    return found


def _nearest_first(problem: Problem, draws: FloatArray) -> FloatArray:
    rules, switches = problem.feasible.codes, problem.landscape.switches
    assert rules is not None
    assert switches is not None
    codes, weights = draws[:, rules.columns], problem.feasible.weights
    start = np.broadcast_to(problem.x[rules.columns], codes.shape)
    offsets = (draws - problem.x) * weights * switches.travel
    length = switches.length(start, codes, weights) + np.sqrt((offsets**2).sum(axis=1))
    return draws[np.argsort(length, kind="stable")]


def _best_places(costs: FloatArray) -> tuple[np.ndarray, np.ndarray]:
    """Return the cheapest places, of different draws; draws are the last axis."""
    share = costs.argmin(axis=0)
    least = costs[share, np.arange(costs.shape[1])]
    draw = np.argsort(least, kind="stable")[:ENDS]
    draw = draw[np.isfinite(least[draw])]
    return share[draw], draw


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
