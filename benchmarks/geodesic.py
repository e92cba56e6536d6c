"""PathOptimizer against exact geodesics in the plane, by fast marching.

Twenty problems: mixtures without walls, and moons, rings, hooks and spirals whose walls a straight
line cannot cross. The oracle is the second-order factored fast marching method on two grids; its
error is the difference between them.

`python -m benchmarks.geodesic --profiles` takes twenty random landscapes of profiles instead, each
of them islands with empty ground between: the cheapest straight line into the goal costs at least
half as much again as the geodesic, at penalty 5.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import eikonalfm
import numpy as np
import pandas as pd

from daace import GaussianMixture, Goal, Landscape, LinearGaussianNetwork, PathOptimizer, Problem
from daace.data.synthetic import (
    MixtureParameters,
    curve_mixture,
    draw_table,
    moons,
    random_mixture,
    rings,
)
from daace.density.base import ConditionalDensity
from daace.density.bayes import log_sum_exp

#: What makes a wall: the cheapest straight line costs this many times the geodesic.
WALL = 1.5


@dataclass(frozen=True)
class Case:
    name: str
    walls: bool
    density: ConditionalDensity
    start: np.ndarray
    target: str


def hook() -> GaussianMixture:
    """A corridor that turns back on itself: 'near' is close as the crow flies, far on foot."""
    t = np.linspace(0, 1, 40)[:, None]
    down = np.hstack([np.zeros_like(t), 3 - 3 * t])
    across = np.hstack([2 * t, np.zeros_like(t)])
    up = np.hstack([np.full_like(t, 2.0), 3 * t])
    curve = np.concatenate([down, across])
    return GaussianMixture(*curve_mixture({"far": curve, "near": up}, width=0.18))


def horseshoe() -> GaussianMixture:
    """Two thirds of a circle; the goal is its last part, across the gap from the start."""
    angle = np.linspace(1.0, 2 * np.pi - 1.0, 90)
    points = 1.5 * np.column_stack([np.cos(angle), np.sin(angle)])
    return GaussianMixture(*curve_mixture({"first": points[:54], "last": points[54:]}, width=0.2))


def cases() -> list[Case]:
    """Return the twenty problems."""
    found = []
    rng = np.random.default_rng(7)
    for k in range(12):
        density = GaussianMixture(*random_mixture(2, components=1 + k % 3, spread=2.5, rng=rng))
        found.append(Case(f"mixture {k}", False, density, typical_start(density, rng), "c1"))
    found.append(Case("rings", False, GaussianMixture(*rings()), np.array([1.0, 0.0]), "outer"))
    two_moons = GaussianMixture(*moons(width=0.12))
    found.append(Case("moons, tip", True, two_moons, np.array([-1.0, 0.05]), "lower"))
    found.append(Case("moons, top", True, two_moons, np.array([0.0, 1.0]), "lower"))
    found.append(Case("moons, low", True, two_moons, np.array([1.6, -0.3]), "upper"))
    hooked = hook()
    found.append(Case("hook, end", True, hooked, np.array([0.0, 2.9]), "near"))
    found.append(Case("hook, middle", True, hooked, np.array([0.0, 1.5]), "near"))
    shoe = horseshoe()
    found.append(Case("horseshoe, tip", True, shoe, np.array([0.85, 1.25]), "last"))
    found.append(Case("horseshoe, top", True, shoe, np.array([0.1, 1.5]), "last"))
    return found


def typical_start(density: ConditionalDensity, rng: np.random.Generator) -> np.ndarray:
    """Draw a typical start of class c0 that has somewhere to go."""
    while True:
        start = density.sample(1, rng=rng, label="c0")[0]
        typical = density.log_prob(start)[0] > density.draws_.mean
        if typical and not Goal("c1").check(density, start[0]):
            return np.asarray(start[0])


def islands(rng: np.random.Generator, *, count: int = 7) -> MixtureParameters:
    """Draw a mixture of narrow Gaussians of both classes in a square."""
    angle = rng.uniform(0, np.pi, 2 * count)
    turn = np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], axis=1)
    turn = turn.reshape(-1, 2, 2)
    axes = np.stack([rng.uniform(0.3, 0.9, 2 * count), rng.uniform(0.2, 0.4, 2 * count)], axis=1)
    return MixtureParameters(
        np.full(2 * count, 0.5 / count),
        rng.uniform(-4, 4, (2 * count, 2)),
        np.einsum("cij,cj,ckj->cik", turn, axes**2, turn),
        np.repeat(["c0", "c1"], count),
    )


def walled_profiles(count: int = 20) -> Iterator[Case]:
    """Yield profiles of rows of islands, where a straight line has to cross a wall."""
    rng = np.random.default_rng(11)
    drawn = found = 0
    while found < count:
        drawn += 1
        density = LinearGaussianNetwork(profiles=6).fit(draw_table(islands(rng), 2000, rng=rng))
        case = Case(f"islands {drawn}", True, density, typical_start(density, rng), "c1")
        problem = Problem(case.start, Landscape(density, penalty=5.0), Goal("c1"))
        straight = PathOptimizer(vertices=0).solve(problem, rng=np.random.default_rng(0)).cost
        if straight >= WALL * Grid(problem, 150).geodesic(problem):
            found += 1
            yield case


class Grid:
    """A grid over the box with the start on a node, and the density on it, evaluated once."""

    def __init__(self, problem: Problem, cells: int) -> None:
        feasible = problem.feasible
        self.spacing = float((feasible.upper - feasible.lower).max()) / cells
        below = np.ceil((problem.x - feasible.lower) / self.spacing).astype(int)
        above = np.ceil((feasible.upper - problem.x) / self.spacing).astype(int)
        axes = [problem.x[j] + self.spacing * np.arange(-below[j], above[j] + 1) for j in range(2)]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        self.shape = points.shape[:2]
        self.source = (int(below[0]), int(below[1]))
        self.points = points.reshape(-1, 2)
        density = problem.landscape.density
        blocks = np.array_split(self.points, max(1, len(self.points) // 5000))
        self.log_joint = np.concatenate([density.log_joint(block) for block in blocks])

    def geodesic(self, problem: Problem) -> float:
        """Return the exact cost to the goal region."""
        landscape = problem.landscape
        price = landscape.price(landscape.roughness(log_sum_exp(self.log_joint)))
        steps = (self.spacing, self.spacing)
        factor = eikonalfm.factored_fast_marching(
            1.0 / price.reshape(self.shape), self.source, steps, 2
        )
        tau = factor * eikonalfm.distance(self.shape, steps, self.source, indexing="ij")
        slack = problem.region.slack_of(self.log_joint, self.points).min(axis=1)
        return cheapest_on_edge(tau, slack.reshape(self.shape))


def cheapest_on_edge(tau: np.ndarray, slack: np.ndarray) -> float:
    """Return the smallest arrival time on the goal's edge, interpolated along grid lines."""
    best = float(tau[slack >= 0].min(initial=np.inf))
    for axis in range(2):
        first = [slice(None)] * 2
        second = [slice(None)] * 2
        first[axis], second[axis] = slice(None, -1), slice(1, None)
        a, b = slack[tuple(first)], slack[tuple(second)]
        s, t = tau[tuple(first)], tau[tuple(second)]
        crossing = (a < 0) != (b < 0)
        share = a[crossing] / (a[crossing] - b[crossing])
        between = s[crossing] + share * (t[crossing] - s[crossing])
        best = min(best, float(between.min(initial=np.inf)))
    return best


def rows(
    *, cells: tuple[int, int] = (600, 1200), only: slice = slice(None)
) -> list[dict[str, object]]:
    """Return one row per problem and penalty."""
    return list(compare(cases()[only], cells))


def compare(chosen: Iterable[Case], cells: tuple[int, int]) -> Iterator[dict[str, object]]:
    """Yield one row per problem and penalty.

    Args:
        chosen: the problems.
        cells: of the two grids along the longer side.
    """
    for case in chosen:
        problems = [
            Problem(case.start, Landscape(case.density, penalty=penalty), Goal(case.target))
            for penalty in (1.0, 5.0)
        ]
        grids = [Grid(problems[0], count) for count in cells]
        for problem in problems:
            coarse, fine = (grid.geodesic(problem) for grid in grids)
            row: dict[str, object] = {
                "case": case.name,
                "walls": case.walls,
                "penalty": problem.landscape.penalty,
                "oracle error": abs(fine - coarse) / fine,
            }
            for vertices in ((0, 1, 2, 3), 8):
                planner = PathOptimizer(vertices=vertices, vertex_tolerance=0)
                plan = planner.solve(problem, rng=np.random.default_rng(0))
                row["v = 8" if vertices == 8 else "v <= 3"] = plan.cost / fine
            yield row


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profiles", action="store_true", help="landscapes of profiles, walled")
    parser.add_argument("--cells", type=int, default=600, help="of the coarser grid")
    options = parser.parse_args()
    chosen = walled_profiles() if options.profiles else cases()
    lines = []
    for line in compare(chosen, (options.cells, 2 * options.cells)):
        lines.append(line)
        print(line, flush=True)
    print(pd.DataFrame(lines).to_string())
