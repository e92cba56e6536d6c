"""PathOptimizer over codes and a number with atoms against an exhaustive oracle.

Forty problems with two numbers, of which the first is exactly 0 or missing in many rows, and up to
six combinations of other codes. In a combination in which the first number is at an atom, the
terrain is a line; in the others it is a plane, on which the eikonal equation is solved on a grid
(see `benchmarks.mixed_oracle`). From one combination to another a path pays for the switch, and
walks straight to the atom if the number has one in the second. Within a component the two numbers
are independent, so that the terrain at an atom does not depend on the first one on this walk. The
values of two grids are extrapolated; the difference of the two bounds the error.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from benchmarks.geodesic import cheapest_on_edge
from benchmarks.mixed_oracle import judge_planner, main, march
from daace import Constraints, GaussianMixture, Goal, Landscape, Problem
from daace.data.encoding import Encoding
from daace.data.kinds import Feature
from daace.density.bayes import log_sum_exp
from daace.landscape.rules.code_draft import BESIDE

#: Kinds and numbers of levels of the other codes of each problem, in turn.
CODES = (
    (),
    (("category", 2),),
    (("category", 3),),
    (("ordered", 4),),
    (("category", 2), ("ordered", 3)),
)

#: Grids have the start, 0 and the value that stands for "missing" on their nodes.
UNIT, FILL = 0.1, 1.0

#: Distance from the start within which a straight line is taken to be the cheapest path.
NEAR = 0.4

#: Places on the line of an atom between two nodes of the grid.
FINER = 16

#: Paths that cost less need a finer grid.
SHORT = 1.0

#: Sweeps over all combinations, as a path may enter and leave atoms more than once.
SWEEPS = 3


def make_problem(number: int) -> Problem:
    """Return one of the random problems: a typical start of class 'a' that must become 'b'.

    In every second one the first number may become missing, and known again.
    """
    rng = np.random.default_rng([22, number])
    codes = CODES[number % len(CODES)]
    features = [Feature("x1", atoms=(0.0, np.nan), fill=FILL), Feature("x2")]
    for k, (kind, size) in enumerate(codes):
        levels = tuple(f"l{level}" for level in range(size))
        features.append(Feature(f"d{k + 1}", kind, levels=levels, dtype="str"))  # type: ignore[arg-type]
    components = 4
    roots = rng.normal(size=(components, 2, 2)) * 0.4
    means = rng.normal(scale=1.6, size=(components, 2))
    if number % 3 == 0:  # 0 is the smallest value
        means[:, 0] = np.abs(means[:, 0]) + 0.5
    tables = [rng.dirichlet(np.full(size, 0.8), components) + 0.02 for _, size in codes]
    tables.append(rng.dirichlet(np.full(3, 1.0), components) + 0.05)
    density = GaussianMixture(
        rng.uniform(0.5, 1.5, components),
        means,
        np.einsum("cij,cij,ik->cik", roots, roots, np.eye(2)) + 0.3 * np.eye(2),
        ["a", "a", "b", "b"],
        tables=tables,
        encoding=Encoding(tuple(features)),
    )
    goal = Goal("b", min_posterior=float(rng.uniform(0.5, 0.9)))
    rules = Constraints(
        lower={"x1": 0.0} if number % 3 == 0 else {},
        allowed={"x1": ["elsewhere", "0", "missing"]} if number % 2 else {},
    )
    landscape = Landscape(density, penalty=(1.0, 3.0)[number // 2 % 2])
    while True:
        start = density.sample(1, rng=rng, label="a")[0][0]
        if start[-1] == 0:
            start[0] = UNIT * np.rint(start[0] / UNIT)
        typical = density.log_prob(start[None])[0] > density.draws_.mean - density.draws_.sd
        beside = start[-1] != 0 or (start[0] > 0 if number % 3 == 0 else start[0] != 0)
        problem = Problem(start, landscape, goal, rules)
        draws = problem.feasible.nearest(density.pool("b").X)
        open_ = problem.region.contains(draws).any() and not problem.met_by(problem.x)
        if typical and beside and open_:
            return problem


@dataclass(frozen=True)
class Line:
    """The terrain of a combination with the first number at an atom, at places on a finer grid.

    Attributes:
        price: at each place.
        along: integral of the price up to each place.
        slack: of the goal at each place.
    """

    price: np.ndarray
    along: np.ndarray
    slack: np.ndarray

    def walk(self, first: np.ndarray) -> np.ndarray:
        """Return arrival everywhere on the line, given upper bounds of it at the grid's nodes."""
        known = np.full(len(self.along), np.inf)
        known[::FINER] = first
        up = np.minimum.accumulate(known - self.along) + self.along
        down = np.minimum.accumulate((known + self.along)[::-1])[::-1] - self.along
        return np.minimum(up, down)


class AtomGrid:
    """The terrain of every combination of codes, the atoms of the first number among them."""

    def __init__(self, problem: Problem, spacing: float) -> None:
        self.problem, self.land, self.spacing = problem, problem.landscape, spacing
        low, high = problem.feasible.lower[:2], problem.feasible.upper[:2]
        anchor = np.array([0.0, problem.x[1]])
        first = np.ceil((low - anchor) / spacing - 1e-9).astype(int)
        last = np.floor((high - anchor) / spacing + 1e-9).astype(int)
        self.axes = [anchor[j] + spacing * np.arange(first[j], last[j] + 1) for j in range(2)]
        points = np.stack(np.meshgrid(*self.axes, indexing="ij"), axis=-1)
        self.shape, self.points = points.shape[:2], points.reshape(-1, 2)
        encoding = self.land.density.encoding_
        kinds = [feature.kind == "ordered" for feature in encoding.features[2:]]
        self.ordered = [*kinds, False]
        self.start = tuple(int(code) for code in problem.x[2:])
        moves = bool(problem.constraints.allowed)
        gaps = {0, 1, 2} if moves else {2} if self.start[-1] == 2 else {0, 1}
        sizes = list(encoding.code_sizes.values())[:-1]
        layers = list(product(*(range(size) for size in sizes), sorted(gaps)))
        self.layers = sorted(layers, key=self._moves)
        self.price: dict[tuple[int, ...], np.ndarray] = {}
        self.slack: dict[tuple[int, ...], np.ndarray] = {}
        for layer in self.layers:
            X = self._rows(layer)
            joint = self.land.density.log_joint(X)
            price = self.land.price(self.land.roughness(log_sum_exp(joint)))
            self.price[layer] = price.reshape(self.shape)
            slack = problem.region.slack_of(joint, X).min(axis=1)
            self.slack[layer] = slack.reshape(self.shape)
        self.column = {
            code: int(np.argmin(np.abs(self.axes[0] - place)))
            for code, place in ((1, 0.0), (2, FILL))
        }
        self.lines = {layer: self._line(layer) for layer in self.layers if layer[-1]}

    def cheapest(self) -> np.ndarray:
        """Return the cost of the cheapest path to the goal, by the combination of its end."""
        nowhere = np.full(self.shape, np.inf)
        arrival = dict.fromkeys(self.layers, nowhere)
        for _ in range(SWEEPS):
            for layer in self.layers:
                first = self._near_start(layer)
                for before in self.layers:
                    if before == layer or not np.isfinite(arrival[before]).any():
                        continue
                    if self._passes(before, layer):
                        switched = arrival[before] + self._switch(before, layer)
                        first = np.minimum(first, self._enter(layer, switched))
                arrival[layer] = self._spread(layer, np.minimum(first, arrival[layer]))
        return np.array([self._on_edge(layer, arrival[layer]) for layer in self.layers])

    def _rows(self, layer: tuple[int, ...]) -> np.ndarray:
        return np.hstack([self.points, np.tile(np.array(layer, float), (len(self.points), 1))])

    def _moves(self, layer: tuple[int, ...]) -> int:
        pairs = zip(layer, self.start, self.ordered, strict=True)
        return sum(abs(a - b) if ordered else a != b for a, b, ordered in pairs)

    def _passes(self, before: tuple[int, ...], after: tuple[int, ...]) -> bool:
        """Whether a path can go from one combination to another; to 0 as often as it likes."""
        rules = zip(before[:-1], after[:-1], self.start[:-1], self.ordered[:-1], strict=True)
        once = all(
            (s <= a <= b or s >= a >= b) if ordered else a in (s, b) for a, b, s, ordered in rules
        )
        a, b, s = (codes[-1] == 2 for codes in (before, after, self.start))
        return once and a in (b, s)

    def _switch(self, before: tuple[int, ...], after: tuple[int, ...]) -> np.ndarray:
        """Return the price of a switch at every node."""
        switches = self.land.switches
        assert switches is not None
        square, rungs = 0.0, 1
        pairs = list(zip(before, after, self.ordered, strict=True))
        for (a, b, ordered), lengths in zip(pairs, switches.lengths, strict=True):
            square += float(lengths[a, b]) ** 2
            rungs = max(rungs, abs(a - b) if ordered else 1)
        total = np.zeros(self.shape)
        if square == 0:
            return total
        for step in range(rungs + 1):
            codes = [
                int(np.rint(a + step / rungs * (b - a))) if ordered else (b if step else a)
                for a, b, ordered in pairs
            ]
            share = 0.5 if step in (0, rungs) else 1.0
            total += share / rungs * self.price[tuple(codes)]
        return np.sqrt(square) * total

    def _enter(self, layer: tuple[int, ...], first: np.ndarray) -> np.ndarray:
        """Return arrival where a path from anywhere enters a combination: straight to its atom."""
        if layer[-1] == 0:
            return first
        column, line = self.column[layer[-1]], self.lines[layer]
        along, price = line.along[::FINER], line.price[::FINER]
        aside = self.axes[0][:, None] - self.axes[0][column]
        entered = np.full(self.shape, np.inf)
        for k, place in enumerate(self.axes[1]):
            step = self.axes[1] - place
            mean = np.divide(along - along[k], step, out=price.copy(), where=step != 0)
            entered[column, k] = (first + np.hypot(aside, step) * mean).min()
        return entered

    def _line(self, layer: tuple[int, ...]) -> Line:
        """Return the line of an atom."""
        ends = self.axes[1][[0, -1]]
        places = np.linspace(*ends, FINER * (len(self.axes[1]) - 1) + 1)
        X = np.empty((len(places), 2 + len(layer)))
        X[:, 0], X[:, 1], X[:, 2:] = self.axes[0][self.column[layer[-1]]], places, layer
        joint = self.land.density.log_joint(X)
        price = self.land.price(self.land.roughness(log_sum_exp(joint)))
        steps = (price[1:] + price[:-1]) / 2 * np.diff(places)
        along = np.concatenate([[0.0], np.cumsum(steps)])
        return Line(price, along, self.problem.region.slack_of(joint, X).min(axis=1))

    def _spread(self, layer: tuple[int, ...], first: np.ndarray) -> np.ndarray:
        """Return arrival everywhere in a combination, given upper bounds of it."""
        if not np.isfinite(first).any():
            return first
        if layer[-1] == 0:
            known = march(self.price[layer], first, self.spacing)
            return np.where(known < 1e11, known, np.inf)
        column = self.column[layer[-1]]
        there = first.copy()
        there[column] = self.lines[layer].walk(first[column])[::FINER]
        return there

    def _near_start(self, layer: tuple[int, ...]) -> np.ndarray:
        """Return the cost of straight lines from the start, the switches first."""
        first = np.full(len(self.points), np.inf)
        if self._passes(self.start, layer):
            near = np.linalg.norm(self.points - self.problem.x[:2], axis=1) <= NEAR
            if layer[-1]:
                near = self.points[:, 0] == self.axes[0][self.column[layer[-1]]]
            ends = self._rows(layer)[near]
            lines = np.stack([np.repeat(self.problem.x[None], len(ends), axis=0), ends], axis=1)
            first[near] = self.land.path_costs(lines)
        return first.reshape(self.shape)

    def _on_edge(self, layer: tuple[int, ...], arrival: np.ndarray) -> float:
        slack = self.slack[layer]
        if layer[-1]:
            line = self.lines[layer]
            slack = line.slack[None]
            arrival = line.walk(arrival[self.column[layer[-1]]])[None]
        else:  # elsewhere is a little beside an atom
            arrival = arrival.copy()
            arrival[self.column[1]] += BESIDE * self.price[layer][self.column[1]]
        if not ((slack >= 0) & np.isfinite(arrival)).any():
            return np.inf
        return cheapest_on_edge(arrival, slack)


def oracle(problem: Problem, finest: float = 0.05) -> tuple[float, float]:
    """Return the cost of the cheapest path, and the error; shorter paths have finer grids."""
    coarse, fine = (AtomGrid(problem, spacing).cheapest() for spacing in (2 * finest, finest))
    if fine.min() < SHORT and finest > 0.03:
        return oracle(problem, finest / 2)
    known = np.isfinite(fine) & np.isfinite(coarse)
    exact = 2 * fine[known] - coarse[known]
    best = int(exact.argmin())
    return float(exact[best]), float(abs(fine[known] - coarse[known])[best] / exact[best])


def compare(number: int, finest: float = 0.05) -> dict[str, object]:
    """Return what one problem costs, by the planner and by the oracle."""
    problem = make_problem(number)
    exact, error = oracle(problem, finest)
    plan, verdict = judge_planner(problem, exact)
    return {
        "problem": number,
        "combinations": len(AtomGrid(problem, 1.0).layers),
        "oracle error": error,
        **verdict,
        "codes": " ".join("".join(str(int(c)) for c in row) for row in plan.waypoints[:, 2:]),
    }


if __name__ == "__main__":
    main(compare, __doc__)
