"""Structure of a linear Gaussian network: family scores from sufficient statistics, hill climbing.

Nodes are the features 0..n-1; the class is a node apart that has no parents. Every score comes
from the scatter matrices of the classes and of all rows together, so the rows are read once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daace._typing import BoolArray, FloatArray, IntArray

#: Smallest residual variance, in model space: below it two columns are the same column.
VARIANCE_FLOOR = 1e-6

#: Scores closer than this (relative to the size of the score) are ties, broken by node order, so
#: that the order of the rows cannot decide the direction of an arc.
TIE = 1e-9


@dataclass(frozen=True, eq=False)
class Structure:
    """A directed acyclic graph over features and class.

    Attributes:
        arcs: `arcs[i, j]` says that feature i is a parent of feature j.
        class_arcs: whether the class is a parent of each feature.
    """

    arcs: BoolArray
    class_arcs: BoolArray

    def parents(self, child: int) -> IntArray:
        """Return the feature parents of a feature, in order."""
        return np.flatnonzero(self.arcs[:, child])


@dataclass(frozen=True, eq=False)
class SufficientStatistics:
    """Counts, means and scatter matrices of each class, and of all rows as the last group."""

    counts: FloatArray
    means: FloatArray
    scatters: FloatArray

    @classmethod
    def of(cls, X: FloatArray, y: IntArray, classes: int) -> SufficientStatistics:
        """Read the rows once."""
        groups = [X[y == k] for k in range(classes)] + [X]
        means = np.stack([group.mean(axis=0) for group in groups])
        centred = [group - mean for group, mean in zip(groups, means, strict=True)]
        return cls(
            np.array([float(len(group)) for group in groups]),
            means,
            np.stack([c.T @ c for c in centred]),
        )

    def groups(self, class_parent: bool) -> slice:
        """Return which groups a family is fitted on: each class, or all rows."""
        return slice(0, -1) if class_parent else slice(-1, None)

    @property
    def rows(self) -> float:
        """Number of rows."""
        return float(self.counts[-1])


def regress(
    stats: SufficientStatistics, child: int, parents: IntArray, class_parent: bool
) -> tuple[FloatArray, FloatArray]:
    """Return coefficients and residual sums of squares of a family, one row per group."""
    scatter = stats.scatters[stats.groups(class_parent)]
    total = scatter[:, child, child]
    if len(parents) == 0:
        return np.zeros((len(scatter), 0)), total.copy()
    inner = scatter[:, parents[:, None], parents]
    cross = scatter[:, parents, child]
    coefficients = np.linalg.solve(inner, cross[:, :, None])[:, :, 0]
    return coefficients, np.maximum(total - np.einsum("gp,gp->g", cross, coefficients), 0.0)


def gaussian_score(
    stats: SufficientStatistics, residuals: FloatArray, parents: int, class_parent: bool
) -> FloatArray:
    """Return log-likelihood minus BIC penalty of families with these residual sums of squares.

    The variance is the unbiased one, `rss / (rows - parents - 1)`, floored at `VARIANCE_FLOOR`.

    Args:
        stats: the sufficient statistics.
        residuals: sums of squares, shape `(groups, ...)`.
        parents: number of feature parents.
        class_parent: whether the class is a parent too.
    """
    groups = stats.groups(class_parent)
    shape = (-1,) + (1,) * (residuals.ndim - 1)
    counts = stats.counts[groups].reshape(shape)
    freedom = counts - parents - 1
    variance = np.maximum(residuals / np.maximum(freedom, 1.0), VARIANCE_FLOOR)
    likelihood = -0.5 * (counts * np.log(2 * np.pi * variance) + residuals / variance)
    likelihood = np.where(freedom >= 1, likelihood, -np.inf)
    free_parameters = len(counts) * (parents + 2)
    score: FloatArray = likelihood.sum(axis=0) - 0.5 * np.log(stats.rows) * free_parameters
    return score


class _Search:
    """Scores of all single-arc changes, kept up to date family by family."""

    def __init__(self, stats: SufficientStatistics, structure: Structure) -> None:
        n = len(structure.class_arcs)
        self.stats = stats
        self.arcs = structure.arcs.copy()
        self.class_arcs = structure.class_arcs.copy()
        self.score = np.zeros(n)
        self.add = np.full((n, n), -np.inf)  # gain of a new parent, [parent, child]
        self.remove = np.full((n, n), -np.inf)  # gain of losing a parent
        self.toggle_class = np.full(n, -np.inf)  # gain of adding or removing the class
        for child in range(n):
            self.refresh(child)

    def refresh(self, child: int) -> None:
        """Recompute the gains of every change of one family."""
        parents = np.flatnonzero(self.arcs[:, child])
        with_class = bool(self.class_arcs[child])
        self.score[child] = self._family(child, parents, with_class)
        self.toggle_class[child] = self._family(child, parents, not with_class) - self.score[child]
        self.remove[:, child] = -np.inf
        for parent in parents:
            rest = parents[parents != parent]
            gain = self._family(child, rest, with_class) - self.score[child]
            self.remove[parent, child] = gain
        self.add[:, child] = self._additions(child, parents, with_class) - self.score[child]

    def _family(self, child: int, parents: IntArray, with_class: bool) -> float:
        _, residuals = regress(self.stats, child, parents, with_class)
        return float(gaussian_score(self.stats, residuals, len(parents), with_class))

    def _additions(self, child: int, parents: IntArray, with_class: bool) -> FloatArray:
        """Score the family with each further parent, by partial correlation."""
        scatter = self.stats.scatters[self.stats.groups(with_class)]
        diagonal = np.einsum("gii->gi", scatter).copy()
        cross = scatter[:, child].copy()
        if len(parents):
            inner = scatter[:, parents[:, None], parents]
            outer = scatter[:, parents]
            weights = np.linalg.solve(inner, outer)
            diagonal -= np.einsum("gpi,gpi->gi", outer, weights)
            cross -= np.einsum("gp,gpi->gi", scatter[:, child, parents], weights)
        counts = self.stats.counts[self.stats.groups(with_class)][:, None]
        usable = diagonal > VARIANCE_FLOOR * counts  # what the parents already tell adds nothing
        shared = np.where(usable, cross**2 / np.where(usable, diagonal, 1.0), 0.0)
        residuals = np.maximum(cross[:, [child]] - shared, 0.0)
        scores = gaussian_score(self.stats, residuals, len(parents) + 1, with_class)
        scores[~usable.all(axis=0)] = -np.inf
        scores[child] = -np.inf
        scores[parents] = -np.inf
        return scores


def hill_climb(
    stats: SufficientStatistics,
    start: Structure,
    *,
    max_parents: int | None = None,
    forced: Structure,
    forbidden: Structure,
) -> Structure:
    """Add, remove or reverse the arc that raises the BIC most, until none does.

    Args:
        stats: the sufficient statistics of the table.
        start: where to begin; `forced` arcs must be in it.
        max_parents: largest number of parents of a feature, the class included.
        forced: arcs that stay.
        forbidden: arcs that never come.
    """
    search = _Search(stats, start)
    n = len(start.class_arcs)
    limit = n + 1 if max_parents is None else max_parents
    ancestors = _transitive_closure(search.arcs)  # [i, j]: i is an ancestor of j
    frozen_add = forbidden.arcs | forced.arcs.T | np.eye(n, dtype=bool)
    while True:
        parents = search.arcs.sum(axis=0) + search.class_arcs
        full = parents >= limit
        add = np.where(frozen_add | ancestors.T | full, -np.inf, search.add)
        remove = np.where(forced.arcs, -np.inf, search.remove)
        # Reversing i -> j takes i from the parents of j and gives j to i.
        reverse = np.where(forbidden.arcs.T | full[:, None], -np.inf, remove + search.add.T)
        adds_class = ~search.class_arcs
        barred = np.where(adds_class, forbidden.class_arcs | full, forced.class_arcs)
        toggle = np.where(barred, -np.inf, search.toggle_class)

        gains = np.concatenate([toggle, add.ravel(), remove.ravel(), reverse.ravel()])
        tie = TIE * max(1.0, float(np.abs(search.score).sum()))
        move = _best_move(gains, tie, n, search.arcs)
        if move is None:
            return Structure(search.arcs, search.class_arcs)
        if move < n:
            search.class_arcs[move] ^= True
            search.refresh(move)
            continue
        kind, cell = divmod(move - n, n * n)
        i, j = divmod(cell, n)
        search.arcs[i, j] = kind == 0
        search.refresh(j)
        if kind == 2:
            search.arcs[j, i] = True
            search.refresh(i)
        ancestors = _transitive_closure(search.arcs)


def _best_move(gains: FloatArray, tie: float, n: int, arcs: BoolArray) -> int | None:
    """Return the first move among the best ones that keeps the graph acyclic."""
    first_reverse = n + 2 * n * n
    while True:
        best = gains.max()
        if not best > tie:
            return None
        move = int(np.argmax(gains >= best - tie))
        if move < first_reverse:
            return move
        i, j = divmod(move - first_reverse, n)
        if not _other_route(arcs, i, j):
            return move
        gains[move] = -np.inf


def _other_route(arcs: BoolArray, source: int, sink: int) -> bool:
    """Whether a path leads from source to sink beside the arc between them."""
    reached = arcs[source].copy()
    reached[sink] = False
    while True:
        further = reached | arcs[reached].any(axis=0)
        if further[sink]:
            return True
        if (further == reached).all():
            return False
        reached = further


def _transitive_closure(arcs: BoolArray) -> BoolArray:
    closure = arcs.copy()
    for node in range(len(arcs)):
        closure |= closure[:, [node]] & closure[[node]]
    return closure


def topological_order(arcs: BoolArray) -> IntArray:
    """Return the features so that parents come first; smallest index first among equals.

    Raises:
        ValueError: the arcs have a cycle.
    """
    waiting = arcs.sum(axis=0)
    done = np.zeros(len(arcs), dtype=bool)
    order = []
    for _ in range(len(arcs)):
        ready = np.flatnonzero(~done & (waiting == 0))
        if len(ready) == 0:
            raise ValueError("the arcs have a cycle")
        node = int(ready[0])
        order.append(node)
        done[node] = True
        waiting = waiting - arcs[node]
    return np.array(order, dtype=np.intp)
