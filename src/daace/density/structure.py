"""Structure of a linear Gaussian network: family scores from sufficient statistics, hill climbing.

Nodes are the features 0..n-1; the class is a node apart that has no parents. Every score comes
from the scatter matrices of the classes and of all rows together, so the rows are read once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from daace._typing import BoolArray, FloatArray, IntArray

#: Smallest residual variance, in model space: below it two columns are the same column.
VARIANCE_FLOOR = 1e-6

#: Variance added to every column, in model space: far below the floor, it only keeps the
#: regressions on collinear columns solvable.
RIDGE = 1e-12

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
        scatters = np.stack([c.T @ c + RIDGE * len(c) * np.eye(X.shape[1]) for c in centred])
        return cls(np.array([float(len(group)) for group in groups]), means, scatters)

    @cached_property
    def diagonals(self) -> FloatArray:
        """Return the sums of squares of each feature, shape `(groups, features)`."""
        diagonals: FloatArray = np.einsum("gii->gi", self.scatters).copy()
        return diagonals

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
    coefficients = np.asarray(np.linalg.solve(inner, cross[:, :, None])[:, :, 0], np.float64)
    return coefficients, np.maximum(total - np.einsum("gp,gp->g", cross, coefficients), 0.0)


def gaussian_score(
    stats: SufficientStatistics,
    residuals: FloatArray,
    parents: int | IntArray,
    class_parent: bool,
) -> FloatArray:
    """Return log-likelihood minus BIC penalty of families with these residual sums of squares.

    The variance is the unbiased one, `rss / (rows - parents - 1)`, floored at `VARIANCE_FLOOR`.

    Args:
        stats: the sufficient statistics.
        residuals: sums of squares, shape `(groups, ...)`.
        parents: number of feature parents of each family.
        class_parent: whether the class is a parent too.
    """
    counts = stats.counts[stats.groups(class_parent)]
    free_parameters = len(counts) * (np.asarray(parents) + 2)
    counts = counts.reshape((-1,) + (1,) * (residuals.ndim - 1))
    freedom = counts - parents - 1
    variance = np.maximum(residuals / np.maximum(freedom, 1.0), VARIANCE_FLOOR)
    likelihood = -0.5 * (counts * np.log(2 * np.pi * variance) + residuals / variance)
    likelihood = np.where(freedom >= 1, likelihood, -np.inf)
    score: FloatArray = likelihood.sum(axis=0) - 0.5 * np.log(stats.rows) * free_parameters
    return score


@dataclass(frozen=True, eq=False)
class Family:
    """Score of a feature given its parents, and what each single change would gain.

    Attributes:
        score: BIC of the family.
        toggle_class: gain of adding the class, or of removing it.
        remove: gain of losing each parent, in order.
        add: gain of each feature as a further parent. Like `toggle_class`, it is -inf where
            there is no room or the parents would be collinear.
    """

    score: float
    toggle_class: float
    remove: FloatArray
    add: FloatArray

    @classmethod
    def of(
        cls,
        stats: SufficientStatistics,
        child: int,
        parents: IntArray,
        class_parent: bool,
        *,
        room: bool = True,
    ) -> Family:
        """Score a family and all its changes from one inverse per group of rows.

        With the inverse V of the parents' scatter matrix, losing parent q adds `b_q^2 / V_qq` to
        the residual sum of squares; a further parent takes its squared partial covariance over
        its own residual from it.
        """
        here, there = stats.groups(class_parent), stats.groups(not class_parent)
        p, n = len(parents), stats.scatters.shape[1]
        floor = VARIANCE_FLOOR * stats.counts[:, None]
        outer = stats.scatters[:, parents]
        inverse = np.linalg.inv(outer[:, :, parents])
        cross = outer[:, :, child]
        coefficients = np.einsum("gpq,gq->gp", inverse, cross)
        explained = np.einsum("gp,gp->g", coefficients, cross)
        residuals = np.maximum(stats.diagonals[:, child] - explained, 0.0)
        alone = 1 / np.einsum("gpp->gp", inverse)  # what is left of each parent given the others
        rss = [residuals[here, None], residuals[here, None] + (coefficients**2 * alone)[here]]
        sizes = [p] + [p - 1] * p

        if room:
            weights = inverse[here] @ outer[here]
            partial = stats.scatters[here, child] - np.einsum("gp,gpi->gi", cross[here], weights)
            left = stats.diagonals[here] - np.einsum("gpi,gpi->gi", outer[here], weights)
            usable = left > floor[here]  # what the parents already tell adds nothing
            shared = partial**2 / np.where(usable, left, np.inf)
            rss.append(np.maximum(residuals[here, None] - shared, 0.0))
            sizes += [p + 1] * n

        scores = gaussian_score(stats, np.concatenate(rss, axis=1), np.array(sizes), class_parent)
        gains = scores - scores[0]
        if room:
            add = gains[1 + p :]
            add[~usable.all(axis=0)] = -np.inf
            add[child] = add[parents] = -np.inf
        else:
            add = np.full(n, -np.inf)
        toggle = -np.inf
        if (room or class_parent) and (alone[there] > floor[there]).all():
            toggle = float(gaussian_score(stats, residuals[there], p, not class_parent) - scores[0])
        return cls(float(scores[0]), toggle, gains[1 : 1 + p], add)


class _Search:
    """A graph, the gains of all its allowed single-arc changes, and who descends from whom."""

    def __init__(
        self,
        stats: SufficientStatistics,
        start: Structure,
        *,
        max_parents: int | None,
        forced: Structure,
        forbidden: Structure,
    ) -> None:
        n = len(start.class_arcs)
        self.stats = stats
        self.max_parents = n + 1 if max_parents is None else max_parents
        self.forced = forced
        self.forbidden = forbidden
        self.arcs = start.arcs.copy()
        self.class_arcs = start.class_arcs.copy()
        self.score = np.zeros(n)
        self.add = np.empty((n, n))  # gain of a new parent, [parent, child]
        self.remove = np.empty((n, n))  # gain of losing a parent
        self.toggle_class = np.empty(n)  # gain of adding or removing the class
        self.descends = np.zeros((n, n), dtype=bool)  # [i, j]: i descends from j
        for child in topological_order(start.arcs):
            self._trace(child)
            self._refresh(child)

    def toggle(self, child: int) -> None:
        """Add the class to the parents of a feature, or remove it."""
        self.class_arcs[child] ^= True
        self._refresh(child)

    def connect(self, parent: int, child: int) -> None:
        """Add an arc."""
        self.arcs[parent, child] = True
        above = self.descends[parent].copy()
        above[parent] = True
        below = self.descends[:, child].copy()
        below[child] = True
        self.descends |= below[:, None] & above
        self._refresh(child)

    def disconnect(self, parent: int, child: int) -> None:
        """Remove an arc."""
        self.arcs[parent, child] = False
        ancestors = self.descends.sum(axis=1)  # no feature has as many as one below it
        below = np.flatnonzero(self.descends[:, child])
        for node in (child, *below[np.argsort(ancestors[below])]):
            self._trace(node)
        self._refresh(child)

    def other_route(self, tails: IntArray, heads: IntArray) -> BoolArray:
        """Whether a path beside the arc itself leads from each tail to its head."""
        routes: BoolArray = np.any(self.arcs[tails] & self.descends[heads], axis=1)
        return routes

    def _trace(self, child: int) -> None:
        parents = self.arcs[:, child]
        self.descends[child] = parents | self.descends[parents].any(axis=0)

    def _refresh(self, child: int) -> None:
        parents = np.flatnonzero(self.arcs[:, child])
        with_class = bool(self.class_arcs[child])
        room = len(parents) + with_class < self.max_parents
        family = Family.of(self.stats, child, parents, with_class, room=room)
        rules = self.forced if with_class else self.forbidden
        self.score[child] = family.score
        self.toggle_class[child] = -np.inf if rules.class_arcs[child] else family.toggle_class
        self.add[:, child] = np.where(self.forbidden.arcs[:, child], -np.inf, family.add)
        self.remove[:, child] = -np.inf
        self.remove[parents, child] = family.remove


def hill_climb(
    stats: SufficientStatistics,
    start: Structure,
    *,
    max_parents: int | None = None,
    forced: Structure,
    forbidden: Structure,
) -> Structure:
    """Add, remove or reverse the arc that raises the BIC most, until none does.

    The two directions of a new arc often score the same. Then the end that could gain more from
    another parent is left free to take it: with 130 features and at most 3 parents this ends a
    thousand nats higher than a choice by node order.

    Args:
        stats: the sufficient statistics of the table.
        start: where to begin; `forced` arcs must be in it.
        max_parents: largest number of parents of a feature, the class included.
        forced: arcs that stay.
        forbidden: arcs that never come.
    """
    search = _Search(stats, start, max_parents=max_parents, forced=forced, forbidden=forbidden)
    n = len(start.class_arcs)
    first_remove = n + n * n
    while True:
        tie = TIE * max(1.0, float(np.abs(search.score).sum()))
        add = np.where(search.descends, -np.inf, search.add)
        tails, heads = np.divmod(np.flatnonzero(search.arcs & ~forced.arcs), n)
        remove = search.remove[tails, heads]
        reverse = remove + search.add[heads, tails]  # i -> j: j loses i, i gains j
        tempting = np.flatnonzero(reverse > tie)
        cyclic = search.other_route(tails[tempting], heads[tempting])
        reverse[tempting[cyclic]] = -np.inf
        gains = np.concatenate([search.toggle_class, add.ravel(), remove, reverse])
        best = gains.max()
        if not best > tie:
            return Structure(search.arcs, search.class_arcs)
        move = int(np.argmax(gains >= best - tie))
        first_reverse = first_remove + len(tails)
        if move < n:
            search.toggle(move)
        elif move < first_remove:
            i, j = divmod(move - n, n)
            if add[j, i] >= best - tie and _prospect(add, j, i) > _prospect(add, i, j) + tie:
                i, j = j, i
            search.connect(i, j)
        elif move < first_reverse:
            arc = move - first_remove
            search.disconnect(tails[arc], heads[arc])
        else:
            arc = move - first_reverse
            search.disconnect(tails[arc], heads[arc])
            search.connect(heads[arc], tails[arc])


def _prospect(add: FloatArray, tail: int, head: int) -> float:
    """Return what the tail of a new arc could still gain from a parent other than the head."""
    others = np.delete(add[:, tail], head)
    return float(others.max(initial=0.0))


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
