"""Move candidate paths downhill: all of them a little, the best of each problem to rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daace._typing import BoolArray, FloatArray
from daace.planners.descent.batch import FAR_FROM_GOAL, Candidates, ProblemBatch
from daace.planners.descent.path_descent import ITERATIONS, MAX_NODES, PathDescent

#: A larger relative error of the quadrature leads to another descent with twice the nodes.
RULE_TOLERANCE = 1e-3

#: Paths that cost up to this share more than the cheapest may still turn out cheaper.
CONTENDS = 0.1

#: Number of candidates per problem that are all moved to rest; more are scouted first.
FEW = 4

#: Rounds in which candidates are scouted.
SCOUT_ROUNDS = 26

#: Paths that are closer than this everywhere, in standard deviations, count as the same.
SAME_PATH = 1e-2


@dataclass(frozen=True, eq=False)
class Refinement:
    """Descent of the candidates of a batch.

    Args:
        batch: the problems.
        descent: over their terrain.
        kept: number of candidates per problem that are moved to rest and returned.
    """

    batch: ProblemBatch
    descent: PathDescent
    kept: int

    def improve(self, seeds: Candidates) -> Candidates:
        """Return the best candidates of each problem, moved to rest, the best first.

        If there are many, all are moved a few steps first, after which some are at rest. Paths that
        may turn out the cheapest are moved again with twice the quadrature nodes until two rules
        agree. The seeds are modified.
        """
        best = seeds
        if len(seeds.owner) > FEW * len(np.unique(seeds.owner)):
            for nodes, rows in self.descent.by_nodes(seeds.paths, seeds.owner):
                self.descend(seeds, rows, nodes, iterations=SCOUT_ROUNDS)
            best = self._best(seeds)
        for nodes, rows in self.descent.by_nodes(best.paths, best.owner):
            rows = rows[best.settled[rows] != nodes]
            while len(rows):
                error = self.descend(best, rows, nodes)
                rows = rows[(error > RULE_TOLERANCE) & self._contend(best, rows)]
                nodes *= 2
                if nodes > MAX_NODES or self.descent.clock.expired:
                    break
        return self._best(best)

    def descend(
        self,
        candidates: Candidates,
        rows: np.ndarray,
        nodes: int,
        *,
        iterations: int = ITERATIONS,
    ) -> FloatArray:
        """Minimise some candidates in place; return the relative error of the quadrature.

        Args:
            candidates: paths of the batch.
            rows: which of them.
            nodes: quadrature nodes per segment.
            iterations: largest number of rounds.
        """
        batch, owner = self.batch, candidates.owner[rows]
        terrain = batch.terrain.take(owner)
        result = self.descent.minimize(
            candidates.paths[rows],
            nodes=nodes,
            lower=batch.lower[owner],
            upper=batch.upper[owner],
            unit=batch.unit[owner],
            terrain=terrain,
            iterations=iterations,
        )
        candidates.paths[rows, 1:] = result.Z
        fine = self.descent.costs(
            candidates.paths[rows],
            nodes=2 * nodes,
            unit=batch.unit[owner],
            landscape=terrain.landscape,
        )
        candidates.cost[rows] = fine.sum(axis=1)
        candidates.violation[rows] = result.violation
        candidates.segment_costs[rows] = fine
        error = np.abs(fine - result.segment_costs).sum(axis=1)
        size = np.abs(fine).sum(axis=1)
        relative: FloatArray = np.divide(error, size, out=np.zeros_like(error), where=size > 0)
        agrees = result.rested & (relative <= RULE_TOLERANCE)
        candidates.settled[rows] = np.where(agrees, nodes, 0)
        return relative

    def _contend(self, candidates: Candidates, rows: np.ndarray) -> BoolArray:
        """Whether paths cost little more than the cheapest of the same problem."""
        lowest = np.full(len(self.batch.problems), np.inf)
        np.minimum.at(lowest, candidates.owner, candidates.cost)
        limit = lowest[candidates.owner[rows]]
        contend: BoolArray = candidates.cost[rows] <= limit + CONTENDS * np.abs(limit)
        return contend

    def _best(self, candidates: Candidates) -> Candidates:
        """Keep the best paths of each problem that differ from each other, the best first."""
        kept: list[int] = []
        order = np.lexsort((candidates.cost, candidates.violation > FAR_FROM_GOAL))
        for i in np.unique(candidates.owner):
            mine: list[int] = []
            for k in order[candidates.owner[order] == i]:
                path = candidates.paths[k]
                if all(np.abs(path - candidates.paths[j]).max() > SAME_PATH for j in mine):
                    mine.append(int(k))
                if len(mine) == self.kept:
                    break
            kept += mine
        return candidates.take(np.array(kept, dtype=np.intp))
