"""Parameters and scores of families, a feature with its parents, from sufficient statistics.

Nodes are the features 0..n-1; the class is a separate node without parents. Every score comes from
the scatter matrices of each class and of all rows together, so the rows are read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.density.network.graph import Structure
from daace.density.privacy import FEWEST_ROWS

#: Smallest residual variance, in model space: below it two columns are the same column.
VARIANCE_FLOOR = 1e-6

#: Variance added to every column, in model space: far below the floor, it only keeps the
#: regressions on collinear columns solvable.
RIDGE = 1e-12


@dataclass(frozen=True, eq=False)
class SufficientStatistics:
    """Counts, means and scatter matrices of each class, and of all rows as the last group.

    Attributes:
        counts: rows of each group, shape `(groups,)`.
        means: shape `(groups, features)`.
        scatters: sums of squares and products about the mean, shape `(groups, features, features)`.
        families: statistics of the rows that the family of each feature is learned from, if these
            are not all rows: rows with the number at an atom are not evidence on its family.
    """

    counts: FloatArray
    means: FloatArray
    scatters: FloatArray
    families: Sequence[SufficientStatistics] = ()
    _terms: dict[tuple[int, int], Terms] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, X: FloatArray, y: IntArray, classes: int) -> SufficientStatistics:
        """Read the rows once.

        Args:
            X: rows in model space, shape `(rows, features)`.
            y: class index of each row.
            classes: number of classes.
        """
        groups = [X[y == k] for k in range(classes)] + [X]
        means = np.stack([group.mean(axis=0) for group in groups])
        centred = [group - mean for group, mean in zip(groups, means, strict=True)]
        scatters = np.stack([c.T @ c + RIDGE * len(c) * np.eye(X.shape[1]) for c in centred])
        return cls(np.array([float(len(group)) for group in groups]), means, scatters)

    def family(self, child: int) -> SufficientStatistics:
        """Return the statistics that the family of a feature is learned from."""
        return self.families[child] if self.families else self

    @cached_property
    def diagonals(self) -> FloatArray:
        """Sums of squares of each feature, shape `(groups, features)`."""
        diagonals: FloatArray = np.einsum("gii->gi", self.scatters).copy()
        return diagonals

    @cached_property
    def floors(self) -> FloatArray:
        """Sum of squares at `VARIANCE_FLOOR` in each group, shape `(groups, 1)`."""
        return VARIANCE_FLOOR * self.counts[:, None]

    def terms(self, parents: int, families: int) -> Terms:
        """Return the terms of a family, of those with one parent less, and of those with one more.

        Args:
            parents: number of feature parents p of the family.
            families: number of families in all: 1, p with one less, and the rest with one more.
        """
        if (parents, families) not in self._terms:
            sizes = np.full(families, parents + 1)
            sizes[0], sizes[1 : 1 + parents] = parents, parents - 1
            self._terms[parents, families] = Terms.of(self.counts, sizes, self.rows)
        return self._terms[parents, families]

    def take(self, groups: IntArray) -> SufficientStatistics:
        """Return the statistics of these groups; the last must be all rows."""
        return SufficientStatistics(self.counts[groups], self.means[groups], self.scatters[groups])

    def groups(self, class_parent: bool) -> slice:
        """Return the groups that a family is fitted on: each class, or all rows."""
        return slice(0, -1) if class_parent else slice(-1, None)

    @property
    def rows(self) -> float:
        """Number of rows."""
        return float(self.counts[-1])


def merge_statistics(
    counts: FloatArray, means: FloatArray, scatters: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return counts, means and scatter matrices of all rows, as one group, from those of groups."""
    total = counts.sum()
    mean = counts @ means / max(total, 1e-300)
    apart = means - mean
    scatter = scatters.sum(axis=0) + np.einsum("g,gi,gj->ij", counts, apart, apart)
    return np.array([total]), mean[None], scatter[None]


def regress(
    stats: SufficientStatistics, child: int, parents: IntArray, class_parent: bool
) -> tuple[FloatArray, FloatArray]:
    """Regress a feature on its parents, group by group, by least squares.

    Args:
        stats: the sufficient statistics of the table.
        child: the feature.
        parents: its feature parents.
        class_parent: whether the class is a parent too: one group per class, else all rows.

    Returns:
        Coefficients, shape `(groups, parents)`, and residual sums of squares, shape `(groups,)`.
    """
    scatter = stats.scatters[stats.groups(class_parent)]
    total = scatter[:, child, child]
    if len(parents) == 0:
        return np.zeros((len(scatter), 0)), total.copy()
    inner = scatter[:, parents[:, None], parents]
    cross = scatter[:, parents, child]
    coefficients = np.asarray(np.linalg.solve(inner, cross[:, :, None])[:, :, 0], np.float64)
    return coefficients, np.maximum(total - np.einsum("gp,gp->g", cross, coefficients), 0.0)


def fit_parameters(
    stats: SufficientStatistics, structure: Structure
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return log prior, coefficients, intercepts and variances for a graph.

    Args:
        stats: the sufficient statistics of the table.
        structure: the graph.
    """
    classes, n = len(stats.counts) - 1, stats.means.shape[1]
    coefficients = np.zeros((classes, n, n))
    intercepts = np.zeros((classes, n))
    variances = np.zeros((classes, n))
    for child in range(n):
        parents = structure.parents(child)
        with_class = bool(structure.class_arcs[child])
        groups, family = stats.groups(with_class), stats.family(child)
        weights, residuals = regress(family, child, parents, with_class)
        freedom = family.counts[groups] - len(parents) - 1
        coefficients[:, child, parents] = weights
        means = family.means[groups]
        intercepts[:, child] = means[:, child] - np.einsum("gp,gp->g", weights, means[:, parents])
        variances[:, child] = np.maximum(residuals / freedom, VARIANCE_FLOOR)
    log_prior = np.log(stats.counts[:-1] / stats.rows)
    return log_prior, coefficients, intercepts, variances


def count_parameters(structure: Structure, components: int) -> int:
    """Return the number of free parameters of all families.

    Args:
        structure: the graph.
        components: number of classes, or of profiles of all classes.
    """
    sizes = structure.arcs.sum(axis=0) + 2
    return int((sizes * np.where(structure.class_arcs, components, 1)).sum())


def most_parents(rows: FloatArray) -> FloatArray:
    """Return the largest number of feature parents that a group allows; below 0 for no family.

    A family with p parents has p coefficients, an intercept and a variance. At least two rows more
    than that, and `FEWEST_ROWS` in all, keep single rows from being read out of them.

    Args:
        rows: number of rows of each group.

    Example:
        >>> most_parents(np.array([9.0, 10.0, 11.0])).tolist()
        [-1.0, 6.0, 7.0]
    """
    return np.where(rows < FEWEST_ROWS, -1.0, rows - 4)


class Terms(NamedTuple):
    """The parts of a score that depend on the number of parents only.

    Attributes:
        freedom: residual degrees of freedom, at least 1, shape `(groups, families)`.
        constant: normalisation and BIC penalty; infinite where there are too few rows.
    """

    freedom: FloatArray
    constant: FloatArray

    @classmethod
    def of(cls, counts: FloatArray, parents: IntArray, rows: float) -> Terms:
        """Return the terms of families.

        Args:
            counts: rows of each group.
            parents: number of feature parents of each family.
            rows: number of rows in all, for the penalty.
        """
        freedom = counts[:, None] - (parents + 1.0)
        constant = counts[:, None] * np.log(2 * np.pi) + np.log(rows) * (parents + 2)
        constant[parents > most_parents(counts[:, None])] = np.inf
        return cls(np.maximum(freedom, 1.0), constant)


def gaussian_scores(counts: FloatArray, residuals: FloatArray, terms: Terms) -> FloatArray:
    """Return the BIC of families, group by group: higher is better.

    `log L - (p + 2) / 2 * log(rows)` for p feature parents (Schwarz 1978,
    doi:10.1214/aos/1176344136). The variance is the unbiased one, `rss / (count - p - 1)`, with the
    floor `VARIANCE_FLOOR`.

    Args:
        counts: rows of each group.
        residuals: residual sums of squares, shape `(groups, families)`.
        terms: terms for the number of parents of each family.
    """
    variance = np.maximum(residuals / terms.freedom, VARIANCE_FLOOR)
    deviance = counts[:, None] * np.log(variance) + residuals / variance
    scores: FloatArray = -0.5 * (deviance + terms.constant)
    return scores


def network_bic(stats: SufficientStatistics, structure: Structure) -> float:
    """Return the BIC of a graph, the class included: higher is better.

    Args:
        stats: the sufficient statistics of a table.
        structure: the graph.
    """
    members = stats.counts[:-1]
    total = float((members * np.log(members / stats.rows)).sum())
    total -= 0.5 * float(np.log(stats.rows)) * (len(members) - 1)
    for child in range(stats.means.shape[1]):
        parents = structure.parents(child)
        with_class = bool(structure.class_arcs[child])
        _, residuals = regress(stats, child, parents, with_class)
        counts = stats.counts[stats.groups(with_class)]
        terms = Terms.of(counts, np.array([len(parents)]), stats.rows)
        total += float(gaussian_scores(counts, residuals[:, None], terms).sum())
    return total


@dataclass(frozen=True, eq=False)
class Family:
    """Score of a feature given its parents, and the gain of each single change.

    Attributes:
        score: BIC of the family.
        toggle_class: gain of adding the class, or of removing it.
        remove: gain of losing each parent, in order.
        add: gain of each feature as a further parent. Like `toggle_class`, it is -inf if there
            is no room or the parents would be collinear.
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
        """Score a family and all its single changes, from one inverse per group of rows.

        With the inverse V of the parents' scatter matrix, losing parent q adds `b_q^2 / V_qq` to
        the residual sum of squares; a further parent subtracts its squared partial covariance
        divided by its own residual.

        Args:
            stats: the sufficient statistics of the table.
            child: the feature.
            parents: its feature parents.
            class_parent: whether the class is a parent too.
            room: whether the feature may have one more parent.
        """
        here, there = stats.groups(class_parent), stats.groups(not class_parent)
        p, n = len(parents), stats.scatters.shape[1]
        outer = stats.scatters.take(parents, axis=1)
        inverse = np.linalg.inv(outer.take(parents, axis=2))
        alone = 1 / inverse.diagonal(axis1=1, axis2=2)  # of each parent, given the others
        weights = inverse @ outer
        left = stats.diagonals - np.einsum("gpi,gpi->gi", outer, weights)
        residuals = np.empty((len(left), 1 + p + (n if room else 0)))
        residuals[:, 0] = np.maximum(left[:, child], 0.0)
        residuals[:, 1 : 1 + p] = residuals[:, :1] + weights[:, :, child] ** 2 * alone
        if room:
            partial = stats.scatters[:, child] - (outer[:, None, :, child] @ weights)[:, 0]
            usable = left > stats.floors  # others follow from the parents
            shared = partial**2 / np.where(usable, left, np.inf)
            residuals[:, 1 + p :] = np.maximum(residuals[:, :1] - shared, 0.0)

        scores = gaussian_scores(stats.counts, residuals, stats.terms(p, residuals.shape[1]))
        gains = scores[here].sum(axis=0)
        score, other = float(gains[0]), float(scores[there, 0].sum())
        if np.isneginf(score):
            return cls._too_few_rows(n, p, other)
        gains -= score
        add = gains[1 + p :] if room else np.full(n, -np.inf)
        add[parents] = add[child] = -np.inf
        if room:
            add[~usable[here].all(axis=0)] = -np.inf
        toggle = other - score
        if not ((room or class_parent) and (alone[there] > stats.floors[there]).all()):
            toggle = -np.inf
        return cls(score, toggle, gains[1 : 1 + p], add)

    @classmethod
    def _too_few_rows(cls, features: int, parents: int, other: float) -> Family:
        """Return a family with more parameters than its rows allow: fewer parents come first.

        If even none are too many, with the class and without, nothing can be learned or gained.

        Args:
            features: number of all features.
            parents: number of feature parents.
            other: score with the class if it is no parent, and without if it is.
        """
        nothing = np.full(features, -np.inf)
        if np.isfinite(other):
            return cls(-np.inf, np.inf, np.full(parents, np.inf), nothing)
        return cls(-np.inf if parents else 0.0, -np.inf, np.full(parents, np.inf), nothing)
