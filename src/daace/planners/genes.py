"""Paths as genes for `NSGA2`: coordinates of numbers, and integers for codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from daace._typing import FloatArray
from daace.exceptions import MissingDependency
from daace.landscape.path import straight_paths
from daace.landscape.problem import Problem


class Genes:
    """Converts paths to rows of the coordinates and codes that may change, and back.

    Args:
        problem: start and constraints.
        waypoints: number of waypoints of a path, the start included.

    Attributes:
        feasible: the feasible set of waypoints.
        free: columns of the model array that may change.
        bounds: lower and upper bounds of each gene.
    """

    def __init__(self, problem: Problem, *, waypoints: int) -> None:
        lower, upper = problem.feasible.lower, problem.feasible.upper
        self.start, self.feasible, self.waypoints = problem.x, problem.feasible, waypoints
        self.free = np.flatnonzero(lower < upper)
        self.bounds = [np.tile(side[self.free], waypoints - 1) for side in (lower, upper)]

    def rows(self, paths: FloatArray) -> FloatArray:
        """Return the genes of paths, shape `(paths, genes)`."""
        return paths[:, 1:, self.free].reshape(len(paths), -1)

    def paths(self, rows: FloatArray) -> FloatArray:
        """Return the paths of genes, shape `(paths, waypoints, n)`."""
        paths = np.tile(self.start, (len(rows), self.waypoints, 1))
        paths[:, 1:, self.free] = rows.reshape(len(rows), self.waypoints - 1, len(self.free))
        return paths

    def straight(self, ends: FloatArray) -> FloatArray:
        """Return straight lines to ends, with evenly spaced vertices; codes switch at the start."""
        return straight_paths(self.start, ends, self.waypoints - 2, self.feasible.codes)

    def repair(self, _: object, individuals: Any, **__: object) -> Any:
        """Move individuals into the feasible set, with the signature of a pymoo `Repair`.

        Numbers are projected and rounded to whole ones; a code that may not switch stays.
        """
        paths = self.feasible.project(self.paths(individuals.get("X")))
        if len(self.feasible.grid):
            rounded = self.feasible.grid.round(paths[:, 1:])
            paths[:, 1:] = np.clip(rounded, self.feasible.lower, self.feasible.upper)
        if self.feasible.codes is not None:
            paths = self.feasible.codes.mend(paths)
        individuals.set("X", self.rows(paths))
        return individuals

    @property
    def needs_check(self) -> bool:
        """Whether repaired paths may still break a rule, which is a constraint of the search."""
        return self.feasible.codes is not None or len(self.feasible.grid) > 0

    def broken(self, paths: FloatArray) -> FloatArray:
        """Return the number of waypoints and steps of each repaired path that break a rule."""
        points = ~self.feasible.allows(paths[:, 1:])
        steps = (np.diff(paths, axis=1) * self.feasible.direction < 0).any(axis=2)
        count: FloatArray = (points.sum(axis=1) + steps.sum(axis=1)).astype(np.float64)
        return count

    def operators(
        self, crossover: tuple[float, float], mutation: tuple[float, float]
    ) -> tuple[Any, Any]:
        """Return pymoo's crossover and mutation.

        Numbers have simulated binary crossover and polynomial mutation. Codes are exchanged with
        probability 1/2; a mutated one moves by one level if it is ordered, and otherwise to any
        level that the rules allow.

        Args:
            crossover: probability and distribution index of the crossover.
            mutation: probability and distribution index of the mutation.

        Raises:
            MissingDependency: pymoo is not installed.
        """
        try:
            from pymoo.operators.crossover.sbx import SBX
            from pymoo.operators.mutation.pm import PM
        except ImportError:
            raise MissingDependency("NSGA2 needs pymoo: pip install 'daace[nsga2]'.") from None
        genes, targets, steps = self._code_genes()
        if len(genes) == 0:
            return SBX(prob=crossover[0], eta=crossover[1]), PM(prob=mutation[0], eta=mutation[1])

        class Exchange(SBX):  # type: ignore[misc]
            def _do(
                self, problem: Any, X: Any, *args: Any, random_state: Any, **kwargs: Any
            ) -> Any:
                children = super()._do(problem, X, *args, random_state=random_state, **kwargs)
                codes = X[..., genes]
                swap = random_state.random(codes.shape[1:]) < 0.5
                children[..., genes] = np.where(swap, codes[::-1], codes)
                return children

        class Switch(PM):  # type: ignore[misc]
            def _do(
                self, problem: Any, X: Any, *args: Any, random_state: Any, **kwargs: Any
            ) -> Any:
                mutants = super()._do(problem, X, *args, random_state=random_state, **kwargs)
                codes = X[:, genes]
                chance = self.get_prob_var(problem, size=len(X))[:, None]
                draw = random_state.random(codes.shape)
                drawn = (draw * [len(target) for target in targets]).astype(np.intp)
                anew = np.stack(
                    [target[k] for target, k in zip(targets, drawn.T, strict=True)], axis=1
                )
                stepped = np.clip(codes + np.where(draw < 0.5, -1, 1), xl[genes], xu[genes])
                new = np.where(steps, stepped, anew)
                mutants[:, genes] = np.where(random_state.random(codes.shape) < chance, new, codes)
                return mutants

        xl, xu = self.bounds
        return (
            Exchange(prob=crossover[0], eta=crossover[1]),
            Switch(prob=mutation[0], eta=mutation[1]),
        )

    def _code_genes(self) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
        """Return which genes are codes, their allowed codes, and which of them move by steps."""
        codes = self.feasible.codes
        if codes is None:
            return np.empty(0, np.intp), [], np.empty(0, bool)
        known = {int(column): k for k, column in enumerate(codes.columns)}
        genes, targets, steps = [], [], []
        for gene, column in enumerate(np.tile(self.free, self.waypoints - 1)):
            if int(column) in known:
                k = known[int(column)]
                genes.append(gene)
                targets.append(codes.targets(k))
                steps.append(codes.levels[k] > 0)
        return np.array(genes, dtype=np.intp), targets, np.array(steps, dtype=bool)


def first_ends(problem: Problem, size: int, rng: np.random.Generator) -> FloatArray:
    """Return random draws of the target that meet the goal, then those that miss it least.

    Args:
        problem: the problem.
        size: number of draws.
        rng: source of randomness.
    """
    draws = problem.landscape.density.pool(problem.goal.target).X
    if problem.feasible.codes is None and len(problem.feasible.grid) == 0:
        ends = problem.feasible.project(straight_paths(problem.x, draws, 0))[:, 1]
    else:
        ends = problem.feasible.nearest(draws)
    violation = np.maximum(-problem.region.slack(ends), 0.0).sum(axis=1)
    return ends[np.lexsort((rng.random(len(ends)), violation))[:size]]
