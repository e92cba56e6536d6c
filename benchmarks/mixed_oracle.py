"""PathOptimizer over numbers and codes against an exhaustive oracle.

Forty problems with two numbers and up to 24 combinations of codes. The oracle solves the eikonal
equation on a grid for each combination, in the order in which a path can pass through them; between
two of them it pays for the switch wherever that is cheapest. Godunov's scheme is of first order and
its values are too large, so the values of two grids are extrapolated; the difference of the two
bounds the error. A unit of length costs at least 1, so a path leads no farther from the start than
what it costs: where that is little, the grid ends there, which makes it finer.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import product

import numpy as np
import pandas as pd

from benchmarks.geodesic import cheapest_on_edge
from daace import GaussianMixture, Goal, Landscape, PathOptimizer, Plan, Problem
from daace.data.encoding import Encoding
from daace.data.kinds import Feature
from daace.density.bayes import log_sum_exp

#: Kinds and numbers of levels of the codes of each problem, in turn.
CODES = (
    (("category", 2),),
    (("category", 3), ("ordered", 3)),
    (("ordered", 5),),
    (("category", 3), ("category", 2), ("ordered", 4)),
    (("category", 4), ("category", 3)),
)

#: Distance from the start within which a straight line is taken to be the cheapest path.
NEAR = 0.4

#: Paths that cost less than this share of the grid's width need a grid that ends nearer.
SHORT = 0.25

#: Share of the farthest way from the start within which lines are, where the grid ends there.
NEARER = 0.2


def make_problem(number: int) -> Problem:
    """Return one of the random problems: a typical start of class 'a' that must become 'b'."""
    rng = np.random.default_rng([21, number])
    codes = CODES[number % len(CODES)]
    features = [Feature("x1"), Feature("x2")]
    for k, (kind, size) in enumerate(codes):
        levels = tuple(f"l{level}" for level in range(size))
        features.append(Feature(f"d{k + 1}", kind, levels=levels, dtype="str"))  # type: ignore[arg-type]
    components = 4
    roots = rng.normal(size=(components, 2, 2)) * 0.4
    covariances = roots @ roots.transpose(0, 2, 1) + 0.3 * np.eye(2)
    density = GaussianMixture(
        rng.uniform(0.5, 1.5, components),
        rng.normal(scale=1.6, size=(components, 2)),
        covariances,
        ["a", "a", "b", "b"],
        tables=[rng.dirichlet(np.full(size, 0.8), components) + 0.02 for _, size in codes],
        encoding=Encoding(tuple(features)),
    )
    goal = Goal("b", min_posterior=float(rng.uniform(0.5, 0.9)))
    landscape = Landscape(density, penalty=(1.0, 3.0)[number % 2])
    while True:
        start = density.sample(1, rng=rng, label="a")[0][0]
        typical = density.log_prob(start[None])[0] > density.draws_.mean - density.draws_.sd
        if typical and not goal.check(density, start):
            return Problem(start, landscape, goal)


class LayeredGrid:
    """The terrain of every combination of codes on a grid with the start on a node.

    Args:
        problem: with two numbers, the first features.
        cells: along the longer side.
        reach: how far from the start the grid ends.
    """

    def __init__(self, problem: Problem, cells: int, reach: float = np.inf) -> None:
        self.problem, self.land = problem, problem.landscape
        feasible, x = problem.feasible, problem.x[:2]
        low = np.maximum(feasible.lower[:2], x - reach)
        high = np.minimum(feasible.upper[:2], x + reach)
        self.near = min(NEAR, NEARER * reach)
        self.spacing = float((high - low).max()) / cells
        below = np.floor((x - low) / self.spacing).astype(int)
        above = np.floor((high - x) / self.spacing).astype(int)
        axes = [x[j] + self.spacing * np.arange(-below[j], above[j] + 1) for j in range(2)]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        self.shape, self.points = points.shape[:2], points.reshape(-1, 2)
        encoding = self.land.density.encoding_
        self.ordered = [encoding.features[j].kind == "ordered" for j in encoding.code_sizes]
        self.layers = list(product(*(range(size) for size in encoding.code_sizes.values())))
        self.start = tuple(int(code) for code in problem.x[2:])
        self.price: dict[tuple[int, ...], np.ndarray] = {}
        self.slack: dict[tuple[int, ...], np.ndarray] = {}
        for layer in self.layers:
            X = self._rows(layer)
            joint = self.land.density.log_joint(X)
            price = self.land.price(self.land.roughness(log_sum_exp(joint)))
            self.price[layer] = price.reshape(self.shape)
            slack = problem.region.slack_of(joint, X).min(axis=1)
            self.slack[layer] = slack.reshape(self.shape)

    def cheapest(self) -> float:
        """Return the cost of the cheapest path to the goal."""
        order = sorted(self.layers, key=self._moves)
        arrival: dict[tuple[int, ...], np.ndarray] = {}
        best = np.inf
        for layer in order:
            if layer == self.start:
                first = self._near_start()
            else:
                switched = [
                    arrival[before] + self._switch(before, layer)
                    for before in order
                    if before in arrival and before != layer and self._passes(before, layer)
                ]
                first = np.minimum.reduce(switched)
            arrival[layer] = march(self.price[layer], first, self.spacing)
            slack = self.slack[layer]
            if (slack >= 0).any():
                best = min(best, cheapest_on_edge(arrival[layer], slack))
        return best

    def _rows(self, layer: tuple[int, ...]) -> np.ndarray:
        return np.hstack([self.points, np.tile(np.array(layer, float), (len(self.points), 1))])

    def _moves(self, layer: tuple[int, ...]) -> int:
        pairs = zip(layer, self.start, self.ordered, strict=True)
        return sum(abs(a - b) if ordered else a != b for a, b, ordered in pairs)

    def _passes(self, before: tuple[int, ...], after: tuple[int, ...]) -> bool:
        """Whether a path can go from one combination to another: once, and in one direction."""
        for a, b, s, ordered in zip(before, after, self.start, self.ordered, strict=True):
            if ordered and not (s <= a <= b or s >= a >= b):
                return False
            if not ordered and a not in (s, b):
                return False
        return True

    def _switch(self, before: tuple[int, ...], after: tuple[int, ...]) -> np.ndarray:
        """Return the price of a switch at every node."""
        switches = self.land.switches
        assert switches is not None
        square, rungs = 0.0, 1
        for a, b, lengths, ordered in zip(
            before, after, switches.lengths, self.ordered, strict=True
        ):
            square += float(lengths[a, b]) ** 2
            rungs = max(rungs, abs(a - b) if ordered else 1)
        total = np.zeros(self.shape)
        for step in range(rungs + 1):
            codes = []
            for a, b, ordered in zip(before, after, self.ordered, strict=True):
                rung = int(np.rint(a + step / rungs * (b - a)))
                codes.append(rung if ordered else (b if step else a))
            share = 0.5 if step in (0, rungs) else 1.0
            total += share / rungs * self.price[tuple(codes)]
        return np.sqrt(square) * total

    def _near_start(self) -> np.ndarray:
        """Return the cost of straight lines to the nodes near the start."""
        first = np.full(len(self.points), np.inf)
        near = np.flatnonzero(np.linalg.norm(self.points - self.problem.x[:2], axis=1) <= self.near)
        ends = self._rows(self.start)[near]
        lines = np.stack([np.repeat(self.problem.x[None], len(near), axis=0), ends], axis=1)
        first[near] = self.land.path_costs(lines)
        return first.reshape(self.shape)


def march(price: np.ndarray, first: np.ndarray, spacing: float) -> np.ndarray:
    """Solve |grad T| = price with T <= first, by Godunov's scheme until nothing changes.

    Args:
        price: at the nodes of a grid.
        first: upper bounds of T; infinite where there are none.
        spacing: of the grid.
    """
    T = np.where(np.isfinite(first), first, 1e12)
    step = price * spacing
    while True:
        wide = np.pad(T, 1, constant_values=1e12)
        a = np.minimum(wide[:-2, 1:-1], wide[2:, 1:-1])
        b = np.minimum(wide[1:-1, :-2], wide[1:-1, 2:])
        root = np.sqrt(np.maximum(2 * step**2 - (a - b) ** 2, 0.0))
        both = np.abs(a - b) < step
        new = np.minimum(T, np.where(both, 0.5 * (a + b + root), np.minimum(a, b) + step))
        if np.max(T - new) <= 1e-9 * np.min(new[new > 0], initial=1.0):
            return new
        T = new


def compare(number: int, cells: tuple[int, int] = (120, 240)) -> dict[str, object]:
    """Return what one problem costs, by the planner and by the oracle."""
    problem = make_problem(number)
    reach = np.inf
    widest = float((problem.feasible.upper - problem.feasible.lower)[:2].max())
    coarse, fine = (LayeredGrid(problem, count).cheapest() for count in cells)
    while fine < SHORT * min(widest, reach):  # what it costs is never too little
        reach = fine
        coarse, fine = (LayeredGrid(problem, count, reach).cheapest() for count in cells)
    exact = 2 * fine - coarse
    plan, verdict = judge_planner(problem, exact)
    return {
        "problem": number,
        "combinations": len(LayeredGrid(problem, 2).layers),
        "oracle error": abs(fine - coarse) / exact,
        **verdict,
        "switches": int((np.diff(plan.waypoints[:, 2:], axis=0) != 0).any(axis=1).sum()),
    }


def judge_planner(problem: Problem, exact: float) -> tuple[Plan, dict[str, object]]:
    """Return the planner's plan, and how its cost compares with that of the oracle."""
    planner = PathOptimizer(vertices=(0, 1, 2, 3, 4, 5), vertex_tolerance=0)
    plan = planner.solve(problem, rng=np.random.default_rng(0))
    valid = plan.found and problem.met_by(plan.waypoints[-1])
    return plan, {
        "oracle": exact,
        "cost": plan.cost,
        "ratio": plan.cost / exact,
        "valid": bool(valid and problem.feasible.contains(plan.waypoints)),
        "seconds": plan.seconds,
    }


def main(compare: Callable[[int], dict[str, object]], about: str | None) -> None:
    """Compare the planner with an oracle on the first problems, and print the ratios."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--problems", type=int, default=40)
    rows = pd.DataFrame([compare(k) for k in range(parser.parse_args().problems)])
    print(rows.to_string())
    ratio = rows["ratio"]
    print(f"at most 1.02: {(ratio <= 1.02).mean():.1%}, at most 1.10: {(ratio <= 1.10).mean():.1%}")
    print(f"largest: {ratio.max():.4f}, invalid: {(~rows['valid']).sum()}")


if __name__ == "__main__":
    main(compare, __doc__)
