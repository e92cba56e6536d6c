"""The paper's planner: NSGA-II over the coordinates of all waypoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from daace._checks import check_choice, check_integer, check_number
from daace._typing import FloatArray, IntArray
from daace.exceptions import InvalidInput, MissingDependency
from daace.landscape.path import midpoint_rule
from daace.landscape.problem import Problem
from daace.planners.base import (
    Clock,
    Plan,
    Planner,
    Status,
    already_there,
    arrive,
    best_slacks,
    give_up,
    one_thread,
    refuse_max_changed,
)
from daace.planners.genes import Genes, first_ends
from daace.planners.seeding import find_goal_points

Selection: TypeAlias = Literal["tournament", "random"]

#: Share of the best value that counts as an improvement.
PROGRESS = 1e-6


@dataclass(frozen=True, eq=False)
class Front:
    """Pareto front: no path beats another in cost, log p and posterior at once.

    Attributes:
        paths: shape `(members, waypoints, n)`; every path ends in the goal.
        costs: `problem.path_cost` of each, the cheapest first.
        log_probs: log p at the end of each.
        posteriors: probability of the target at the end of each.
    """

    paths: FloatArray
    costs: FloatArray
    log_probs: FloatArray
    posteriors: FloatArray

    def __len__(self) -> int:
        return len(self.paths)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per member: cost, log_prob, posterior."""
        return pd.DataFrame(
            {"cost": self.costs, "log_prob": self.log_probs, "posterior": self.posteriors}
        )


@dataclass(frozen=True, kw_only=True)
class NSGA2(Planner):
    """Genetic search with the settings of the paper; needs pymoo.

    NSGA-II (Deb et al. 2002, doi:10.1109/4235.996017). An individual is the `n (v + 1)` coordinates
    of the v vertices and the end, without those that are fixed. Its objective is the cost by the
    midpoint rule; the two thresholds of the goal are constraints, in nats. The first population are
    random draws of the target class that meet the goal, with v points evenly spaced on the straight
    line to each; if too few do, it is filled with those that miss the goal least. Each individual
    is projected on the user's constraints.

    A code is an integer of each waypoint: it is exchanged as a whole by the crossover, and a
    mutation moves it to another level. One that may not switch keeps the level of the waypoint
    before. Rules that are still broken, by whole numbers or atoms, are a third constraint.

    Args:
        vertices: number of waypoints between start and end, or a tuple of numbers to try.
        population: number of individuals.
        generations: maximum number of generations, for each number of vertices.
        patience: stop if this many generations improve the best cost (before the goal is met: the
            smallest violation) by less than a share of 1e-6.
        crossover_probability: probability of crossing two parents (simulated binary crossover).
        mutation_probability: probability of mutating a child (polynomial mutation; then each
            coordinate with probability 1 / coordinates).
        eta_crossover: distribution index of the crossover; the larger, the closer children are to
            their parents.
        eta_mutation: distribution index of the mutation; the larger, the smaller mutations are.
        selection: selection of parents, 'tournament' or 'random'.
        pieces: points of the midpoint rule on each segment; `Plan.cost` is exact anyway.
        vertex_tolerance: the smallest number of vertices whose cost is within this share of the
            best is chosen; 0 chooses the best.
        time_limit: seconds; the best path found within it is returned. None for no limit.

    Example:
        >>> from daace import GaussianMixture, Goal, Landscape
        >>> density = GaussianMixture([1, 1], [[0.0], [3.0]], [[[1.0]], [[1.0]]], ["a", "b"])
        >>> problem = Problem(np.array([0.0]), Landscape(density), Goal(target="b"))
        >>> planner = NSGA2(vertices=0, population=20, generations=50)
        >>> plan = planner.solve(problem, rng=np.random.default_rng(0))
        >>> plan.found, round(plan.waypoints[-1].item(), 2)
        (True, 1.5)
    """

    vertices: int | tuple[int, ...] = (0, 1, 2, 3)
    population: int = 100
    generations: int = 1000
    patience: int = 20
    crossover_probability: float = 0.5
    mutation_probability: float = 0.9
    eta_crossover: float = 15.0
    eta_mutation: float = 20.0
    selection: Selection = "tournament"
    pieces: int = 19
    vertex_tolerance: float = 0.01
    time_limit: float | None = None

    def __post_init__(self) -> None:
        if not _are_counts(self.tried):
            raise InvalidInput(
                argument="vertices",
                expected="be an integer of at least 0, or a tuple of them",
                got=repr(self.vertices),
            )
        for name, least in (("population", 2), ("generations", 1), ("patience", 1), ("pieces", 1)):
            check_integer(name, getattr(self, name), at_least=least)
        for name, low, high in (
            ("crossover_probability", 0, 1),
            ("mutation_probability", 0, 1),
            ("eta_crossover", 1, 100),
            ("eta_mutation", 1, 100),
            ("vertex_tolerance", 0, 1),
        ):
            check_number(name, getattr(self, name), at_least=low, at_most=high)
        check_choice("selection", self.selection, ("tournament", "random"))
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, above=0)

    @property
    def tried(self) -> tuple[int, ...]:
        """The numbers of vertices to try."""
        return self.vertices if isinstance(self.vertices, tuple) else (self.vertices,)

    def solve(self, problem: Problem, *, rng: np.random.Generator) -> Plan:
        """Search with each number of vertices; choose the smallest that is good enough.

        Args:
            problem: start, landscape, goal and constraints.
            rng: source of randomness.

        Raises:
            MissingDependency: pymoo is not installed.
        """
        refuse_max_changed(problem, "NSGA2")
        clock = Clock(limit=self.time_limit)
        stay = already_there(problem, clock)
        if stay is not None:
            return stay
        ends = first_ends(problem, self.population, rng)
        found: list[tuple[float, FloatArray]] = []
        reached: list[tuple[float, float]] = []
        for vertices in sorted(set(self.tried)):
            paths = self._evolve(problem, ends, vertices, clock, rng)
            reached.append(best_slacks(problem.region.slack(paths[:, -1])))
            for path in paths:
                if _good(problem, path):
                    found.append((problem.path_cost(path), path))
                    break
            if clock.expired:
                break
        if not found:
            status = Status.TIMEOUT if clock.expired else Status.GOAL_UNREACHABLE
            log_prob, posterior = np.max([*reached, find_goal_points(problem).reachable], axis=0)
            return give_up(
                problem, clock, status=status, reachable=(float(log_prob), float(posterior))
            )
        best = min(cost for cost, _ in found)
        enough = best + self.vertex_tolerance * abs(best)
        return arrive(problem, next(path for cost, path in found if cost <= enough), clock)

    def solve_front(
        self, problem: Problem, *, rng: np.random.Generator, vertices: int = 1
    ) -> Front:
        """Search for paths that are cheap, plausible and probable: a front of three objectives.

        The objectives are the cost, -log p and -log posterior of the target at the end. Every
        member meets the goal; the front is empty if no path to it was found.

        Args:
            problem: start, landscape, goal and constraints.
            rng: source of randomness.
            vertices: number of waypoints between start and end.

        Raises:
            MissingDependency: pymoo is not installed.
        """
        refuse_max_changed(problem, "NSGA2")
        check_integer("vertices", vertices, at_least=0)
        ends, clock = first_ends(problem, self.population, rng), Clock(limit=self.time_limit)
        paths = self._evolve(problem, ends, vertices, clock, rng, score_ends=True)
        paths = paths[[_good(problem, path) for path in paths]]
        costs = np.array([problem.path_cost(path) for path in paths])
        log_probs, log_posteriors = _end_scores(problem, paths[:, -1]).T
        posteriors = np.exp(log_posteriors)
        best = _non_dominated(np.column_stack([costs, -log_probs, -posteriors]))
        order = best[np.argsort(costs[best], kind="stable")]
        return Front(paths[order], costs[order], log_probs[order], posteriors[order])

    def _evolve(
        self,
        problem: Problem,
        ends: FloatArray,
        vertices: int,
        clock: Clock,
        rng: np.random.Generator,
        *,
        score_ends: bool = False,
    ) -> FloatArray:
        """Return the last population as paths, the best first; `score_ends` adds two objectives."""
        genes = Genes(problem, waypoints=vertices + 2)
        first = genes.straight(ends)
        seed = int(rng.integers(2**63))
        if not len(genes.free):
            return genes.paths(np.empty((1, 0)))
        algorithm = self._algorithm(genes, first, seed, objectives=3 if score_ends else 1)
        landscape, feasible = problem.landscape, problem.feasible
        weights = feasible.weights if feasible.weighted else None
        heights = landscape.roughness(landscape.density.log_prob(np.concatenate(first)))
        unit = max(1.0, float(np.abs(heights).max()))  # otherwise costs reach 1e32 at penalty 15
        rule = midpoint_rule(self.pieces)
        history: list[tuple[float, FloatArray]] = []
        with one_thread():
            for _ in range(self.generations):
                children = algorithm.ask()
                if children is None:  # all children are copies of their parents
                    break
                paths = genes.paths(children.get("X"))
                clock.evaluations += len(paths)
                costs = landscape.segment_costs(paths, rule, unit=unit, weights=weights)
                values = costs.sum(axis=1, keepdims=True)
                if score_ends:
                    values = np.hstack([values, -_end_scores(problem, paths[:, -1])])
                children.set("F", values)
                limits = -problem.region.slack(paths[:, -1])
                if genes.needs_check:
                    limits = np.column_stack([limits, genes.broken(paths)])
                children.set("G", limits)
                algorithm.tell(infills=children)
                history.append(_standing(*algorithm.pop.get("F", "CV")))
                if clock.expired or _stalled(history, self.patience):
                    break
        rows, values, violations = algorithm.pop.get("X", "F", "CV")
        return genes.paths(rows[np.lexsort((values[:, 0], violations[:, 0]))])

    def _algorithm(self, genes: Genes, first: FloatArray, seed: int, objectives: int) -> Any:
        """Return pymoo's algorithm, ready for its first population."""
        try:
            from pymoo.algorithms.moo import nsga2 as pymoo
            from pymoo.core.problem import Problem as Shape
            from pymoo.core.termination import NoTermination
            from pymoo.operators.selection.rnd import RandomSelection
        except ImportError:
            raise MissingDependency("NSGA2 needs pymoo: pip install 'daace[nsga2]'.") from None
        crossover, mutation = genes.operators(
            (self.crossover_probability, self.eta_crossover),
            (self.mutation_probability, self.eta_mutation),
        )
        tournament = pymoo.TournamentSelection(func_comp=pymoo.binary_tournament)
        algorithm = pymoo.NSGA2(
            pop_size=self.population,
            sampling=genes.rows(first),
            selection=tournament if self.selection == "tournament" else RandomSelection(),
            crossover=crossover,
            mutation=mutation,
            repair=genes.repair,
        )
        lower, upper = genes.bounds
        limits = 3 if genes.needs_check else 2
        shape = Shape(n_var=len(lower), n_obj=objectives, n_ieq_constr=limits, xl=lower, xu=upper)
        return algorithm.setup(shape, termination=NoTermination(), seed=seed)


def tune_nsga2(
    problems: Sequence[Problem],
    *,
    rng: np.random.Generator,
    etas_crossover: Sequence[float] = (10, 15, 20),
    etas_mutation: Sequence[float] = (10, 50, 90),
    selections: Sequence[Selection] = ("tournament", "random"),
    base: NSGA2 | None = None,
) -> NSGA2:
    """Return the setting of a grid with the best mean rank of cost over the problems.

    All settings solve a problem with the same random numbers. A failed search has the worst rank.

    Args:
        problems: problems of one table; the paper tunes once per table.
        rng: source of randomness.
        etas_crossover: values of `eta_crossover` to try; by default the paper's.
        etas_mutation: values of `eta_mutation` to try; by default the paper's.
        selections: values of `selection` to try; by default the paper's.
        base: all other settings; the defaults if None.

    Raises:
        InvalidInput: there is nothing to compare.
    """
    grid = [
        replace(base or NSGA2(), eta_crossover=crossover, eta_mutation=mutation, selection=parents)
        for crossover, mutation, parents in product(etas_crossover, etas_mutation, selections)
    ]
    if not problems or not grid:
        raise InvalidInput("'problems' and every part of the grid must have at least one entry.")
    seeds = rng.integers(2**63, size=len(problems))
    pairs = list(zip(problems, seeds, strict=True))
    costs = np.array(
        [[s.solve(p, rng=np.random.default_rng(seed)).cost for p, seed in pairs] for s in grid]
    )
    ranks = pd.DataFrame(costs).rank(axis=0).to_numpy()
    ranks = np.where(np.isinf(costs), len(grid), ranks)
    return grid[int(ranks.mean(axis=1).argmin())]


def _good(problem: Problem, path: FloatArray) -> bool:
    """Whether a path may be returned; its end is judged alone, as it may round differently."""
    feasible = problem.feasible
    if feasible.codes is not None or len(feasible.grid):
        return problem.met_by(path[-1]) and feasible.contains(feasible.divide(path))
    return problem.met_by(path[-1])


def _end_scores(problem: Problem, ends: FloatArray) -> FloatArray:
    """Return log p and log posterior of the target, shape `(ends, 2)`."""
    density = problem.landscape.density
    log_posterior = (problem.posterior or density).log_posterior(ends)
    return np.column_stack([density.log_prob(ends), log_posterior[:, problem.region.index]])


def _standing(values: FloatArray, violations: FloatArray) -> tuple[float, FloatArray]:
    """Return the smallest violation, and the best of each objective among rows that have it."""
    least = violations.min()
    return float(least), values[violations[:, 0] == least].min(axis=0)


def _stalled(history: Sequence[tuple[float, FloatArray]], patience: int) -> bool:
    """Whether the last `patience` generations improved nothing."""
    if len(history) <= patience:
        return False
    (old_violation, old), (violation, new) = history[-1 - patience], history[-1]
    if old_violation > 0:
        return violation > (1 - PROGRESS) * old_violation
    return bool((new >= old - PROGRESS * np.abs(old)).all())


def _non_dominated(values: FloatArray) -> IntArray:
    """Return the rows that no other row beats: nowhere larger, somewhere smaller."""
    mine, other = values[:, None], values[None]
    beaten = np.all(other <= mine, axis=2) & np.any(other < mine, axis=2)
    return np.flatnonzero(~beaten.any(axis=1))


def _are_counts(values: Sequence[object]) -> bool:
    """Whether there are values, all of them integers of at least 0."""
    return len(values) > 0 and all(
        isinstance(v, int | np.integer) and not isinstance(v, bool) and v >= 0 for v in values
    )
