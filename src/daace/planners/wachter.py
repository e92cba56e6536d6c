"""Wachter's counterfactual: the nearest one, reached by one straight step."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np
import scipy

from daace._checks import check_choice
from daace._typing import FloatArray
from daace.density.base import ConditionalDensity
from daace.density.draws import DrawStatistics
from daace.exceptions import InvalidInput
from daace.landscape.problem import Problem
from daace.landscape.switches import Switches
from daace.planners.base import (
    Clock,
    Plan,
    Planner,
    already_there,
    arrive,
    best_slacks,
    give_up,
    one_thread,
    refuse_max_changed,
)
from daace.planners.data_rows import check_features, check_rows

#: The multiplier grows from where the distance dominates to where only the goal counts.
FIRST_LAMBDA, LAST_LAMBDA, GROWTH = 1e-3, 1e9, 4.0

#: -log of the smallest probability: a classifier may return 0.
LARGEST_DOUBT = 700.0

#: Bisections of the logarithm between the last multiplier that failed and the first that did not.
HALVINGS = 6


@dataclass(frozen=True, eq=False)
class Wachter(Planner):
    """Plan one straight step to the nearest counterfactual.

    Wachter et al. 2017, "Counterfactual explanations without opening the black box",
    arXiv:1711.00399. The distance is `d(x, x') = sum_j w_j |x'_j - x_j| / MAD_j`, with the median
    absolute deviations of the rows and the weights of the constraints; the terrain in between does
    not count. A code adds `w_j` times the length of its switch (`Landscape.switches`, in standard
    deviations); all switches are made at the start.

    With `search='data'`, x' is the nearest row that meets the goal and the constraints. With
    `search='gradient'`, x' minimises an objective like theirs,

        lambda (log p(target | x') - log 1)^2 + d(x, x'),

    within the constraints, for the smallest lambda for which the goal is met. (If no lambda leads
    there from the start, lambda falls instead, beginning at the nearest row, while the goal is
    met.) The square is of logarithms, not probabilities as in the original, because a probability
    near 0 has no gradient. Plausibility, which the original does not consider, has a term of the
    same form if the goal has it: `lambda ((alpha + s - log p(x')) / s)^2` while log p is below
    alpha + s, with s the robust standard deviation of log p. Both terms aim beyond the thresholds,
    so that these are reached. The absolute values are made smooth by splitting each change into a
    rise and a fall; the minimiser is L-BFGS-B. Codes have no gradient: there is one search with
    those of the start and one with those of the nearest row, and the nearer end is chosen.

    Args:
        rows: rows in model space, shape `(rows, n)`.
        search: 'data' or 'gradient'.

    Example:
        >>> from daace import GaussianMixture, Goal, Landscape
        >>> density = GaussianMixture([1, 1], [[0.0], [3.0]], [[[1.0]], [[1.0]]], ["a", "b"])
        >>> problem = Problem(np.array([0.0]), Landscape(density), Goal(target="b"))
        >>> rows = np.array([[-1.0], [0.5], [1.4], [2.2], [3.1]])
        >>> for search in ("data", "gradient"):
        ...     plan = Wachter(rows, search=search).solve(problem, rng=np.random.default_rng(0))
        ...     print(plan.waypoints[-1].round(1).tolist())
        [2.2]
        [1.5]
    """

    rows: FloatArray
    _: KW_ONLY
    search: Literal["data", "gradient"] = "data"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", check_rows(self.rows))
        check_choice("search", self.search, ("data", "gradient"))

    def solve(self, problem: Problem, *, rng: np.random.Generator) -> Plan:
        """Return a plan to the nearest counterfactual.

        Args:
            problem: start, landscape, goal and constraints.
            rng: not used.

        Raises:
            InvalidInput: the rows do not fit the density; or `search` is 'gradient' and the class
                is decided by a classifier without a gradient.
        """
        check_features(self.rows, problem.landscape.density)
        if self.search == "gradient" and not problem.region.differentiable:
            raise InvalidInput(
                argument="search",
                expected="be 'data' where a classifier without a gradient decides the class",
            )
        if self.search == "gradient":
            refuse_max_changed(problem, "Wachter's gradient search")
        clock = Clock()
        stay = already_there(problem, clock)
        if stay is not None:
            return stay
        with one_thread():
            distance = _Distance.of(problem, self.rows)
            row, slack = self._nearest_row(problem, distance, clock)
            end = row
            if self.search == "gradient":
                end, seen = _by_gradient(problem, distance, row, clock)
                slack = np.concatenate([slack, seen])
        if end is None:
            return give_up(problem, clock, reachable=best_slacks(slack))
        return arrive(problem, np.stack([problem.x, end]), clock)

    def _nearest_row(
        self, problem: Problem, distance: _Distance, clock: Clock
    ) -> tuple[FloatArray | None, FloatArray]:
        """Return the nearest row that meets goal and rules, and the slacks of all allowed rows."""
        feasible, rows = problem.feasible, self.rows
        allowed = feasible.allows(rows)
        log_joint = self._log_joint(problem.landscape.density)[allowed]
        rows = rows[allowed]
        slack = problem.region.slack_of(log_joint, rows)
        clock.evaluations += max(1, len(rows))
        good = np.flatnonzero((slack >= 0).all(axis=1))
        for i in good[np.argsort(distance(rows[good]), kind="stable")]:
            # Met alone, as it may round to the other side.
            if problem.met_by(rows[i]) and _is_step(problem, rows[i]):
                return rows[i], slack
        return None, slack

    def _log_joint(self, density: ConditionalDensity) -> FloatArray:
        cached = _log_joints.setdefault(self, WeakKeyDictionary())
        if density.draws_ not in cached:
            cached[density.draws_] = density.log_joint(self.rows)
        return cached[density.draws_]


@dataclass(frozen=True, eq=False)
class _Distance:
    """Distance from the start of a problem.

    Attributes:
        x: the start.
        scale: factor on each number, 0 for codes, shape `(n,)`.
        weights: weight of each feature.
        switches: lengths of the switches between codes; None without codes.
    """

    x: FloatArray
    scale: FloatArray
    weights: FloatArray
    switches: Switches | None

    @classmethod
    def of(cls, problem: Problem, rows: FloatArray) -> _Distance:
        switches, weights = problem.landscape.switches, problem.feasible.weights
        scale = weights / median_deviation(rows)
        if switches is not None:
            scale = scale * switches.travel
        return cls(problem.x, scale, weights, switches)

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the distance of points, shape `(points, n)`."""
        total: FloatArray = np.abs(X - self.x) @ self.scale
        if self.switches is not None:
            for column, owner, lengths in zip(
                self.switches.columns, self.switches.owner, self.switches.lengths, strict=True
            ):
                codes = X[:, column].astype(np.intp)
                total = total + self.weights[owner] * lengths[int(self.x[column]), codes]
        return total


def _is_step(problem: Problem, end: FloatArray) -> bool:
    """Whether the rules allow the straight path to an allowed point."""
    feasible = problem.feasible
    return feasible.contains(feasible.divide(np.stack([problem.x, end])))


def _by_gradient(
    problem: Problem, distance: _Distance, row: FloatArray | None, clock: Clock
) -> tuple[FloatArray | None, FloatArray]:
    """Return the nearest end found by gradients, and the slacks of all that were tried.

    Args:
        problem: start, goal and constraints.
        distance: distance from the start.
        row: the nearest row that meets the goal, if there is one.
        clock: counts evaluations.
    """
    codes, begins = problem.feasible.codes, [problem.x]
    if codes is not None and row is not None:
        switched = problem.x.copy()
        switched[codes.columns] = row[codes.columns]
        if (switched != problem.x).any():
            begins.append(codes.place(switched))
    ends, slacks = [], []
    for begin in begins:
        search = _MultiplierSearch(problem, distance, begin, clock)
        end, seen = search.raise_multiplier()
        slacks.append(seen)
        if end is not None and _is_step(problem, end):
            ends.append(end)
    if not ends and row is not None:
        ends.append(_MultiplierSearch(problem, distance, row, clock).lower_multiplier())
    nearest = min(ends, key=lambda end: float(distance(end[None])[0]), default=None)
    return nearest, np.concatenate(slacks)


class _MultiplierSearch:
    """Minimises the objective for a sequence of multipliers.

    Args:
        problem: start, goal and constraints.
        distance: distance from the start.
        begin: point at which the search begins; its codes are kept.
        clock: counts evaluations.
    """

    def __init__(
        self, problem: Problem, distance: _Distance, begin: FloatArray, clock: Clock
    ) -> None:
        self.problem, self.distance, self.begin, self.clock = problem, distance, begin, clock
        feasible = problem.feasible
        lower, upper = feasible.lower, feasible.upper
        if feasible.codes is not None:
            lower, upper = feasible.codes.hold(begin, lower, upper)
        self.x = np.clip(problem.x, lower, upper)  # at an atom, or off it, by its code
        self.limits = np.column_stack(
            [np.zeros(2 * len(self.x)), np.concatenate([upper - self.x, self.x - lower])]
        )
        self.spread = problem.landscape.density.draws_.spread

    def raise_multiplier(self) -> tuple[FloatArray | None, FloatArray]:
        """Raise the multiplier until the goal is met.

        Returns:
            The end, or None, and the slacks of all ends that were tried.
        """
        seen = []
        end, multiplier = self.begin, FIRST_LAMBDA
        while multiplier <= LAST_LAMBDA:
            end = self._minimize(end, multiplier)
            seen.append(self.problem.region.slack(end[None]))
            if self.problem.met_by(end):
                return self._shorten(end, multiplier), np.concatenate(seen)
            multiplier *= GROWTH
        return None, np.concatenate(seen)

    def lower_multiplier(self) -> FloatArray:
        """Lower the multiplier, beginning in the goal, while it is met.

        For a start in another basin, from which the objective does not lead to the goal.
        """
        best, end, multiplier = self.begin, self.begin, LAST_LAMBDA
        while multiplier >= FIRST_LAMBDA:
            end = self._minimize(end, multiplier)
            if not self.problem.met_by(end):
                break
            best = end
            multiplier /= GROWTH
        return best

    def _shorten(self, end: FloatArray, multiplier: float) -> FloatArray:
        """Return the nearest end found with a smaller multiplier that still meets the goal."""
        low, high = multiplier / GROWTH, multiplier
        for _ in range(HALVINGS):
            middle = float(np.sqrt(low * high))
            trial = self._minimize(end, middle)
            if self.problem.met_by(trial) and self._far(trial) <= self._far(end):
                end, high = trial, middle
            else:
                low = middle
        return end

    def _far(self, end: FloatArray) -> float:
        return float(self.distance(end[None])[0])

    def _minimize(self, begin: FloatArray, multiplier: float) -> FloatArray:
        """Minimise the objective, divided by 1 + multiplier, over rise and fall of each feature."""
        x, n = self.x, len(self.x)
        costs = np.concatenate([self.distance.scale, self.distance.scale])
        size = 1.0 + multiplier

        def loss(parts: FloatArray) -> tuple[float, FloatArray]:
            miss, slope = self._miss(x + parts[:n] - parts[n:])
            gradient = (multiplier * np.concatenate([slope, -slope]) + costs) / size
            return float(multiplier * miss + costs @ parts) / size, gradient

        moved = begin - x
        parts = np.concatenate([np.maximum(moved, 0.0), np.maximum(-moved, 0.0)])
        result = scipy.optimize.minimize(
            loss, parts, jac=True, method="L-BFGS-B", bounds=self.limits, options={"maxiter": 200}
        )
        self.clock.evaluations += int(result.nfev)
        end = x + result.x[:n] - result.x[n:]
        within: FloatArray = self.problem.feasible.nearest(end[None])[0]
        return within

    def _miss(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the squared distances from certain and from plausible, and their gradient."""
        region = self.problem.region
        slack, gradients = region.pair_and_gradients(x[None])
        of_log_prob, of_posterior = gradients[0]
        short = max(0.0, (self.spread - float(slack[0, 0])) / self.spread)
        doubt = 0.0
        if np.isfinite(region.log_min_posterior):
            doubt = min(-float(slack[0, 1] + region.log_min_posterior), LARGEST_DOUBT)
        gradient: FloatArray = -2 * short / self.spread * of_log_prob - 2 * doubt * of_posterior
        return short**2 + doubt**2, gradient


def median_deviation(rows: FloatArray) -> FloatArray:
    """Return the median absolute deviation of each feature.

    It is 0 if more than half of the rows are equal; then the mean absolute deviation is used, and 1
    (a standard deviation in model space) if all rows are equal.

    Example:
        >>> median_deviation(np.array([[1.0, 0.0], [2.0, 0.0], [4.0, 0.0]])).tolist()
        [1.0, 1.0]
    """
    away = np.abs(rows - np.median(rows, axis=0))
    median, mean = np.median(away, axis=0), away.mean(axis=0)
    return np.where(median > 0, median, np.where(mean > 0, mean, 1.0))


_log_joints: WeakKeyDictionary[Wachter, WeakKeyDictionary[DrawStatistics, FloatArray]] = (
    WeakKeyDictionary()
)
