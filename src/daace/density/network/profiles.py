"""Hidden profiles of a network: expectation-maximisation, and how many profiles a class has.

Every class k has profiles h with shares p(h | k), and the features depend on class and profile:
`p(x, y=k) = p(k) sum_h p(h | k) prod_i p(x_i | parents_i, k, h)`. The graph is one for all
profiles. EM (Dempster, Laird and Rubin 1977, doi:10.1111/j.2517-6161.1977.tb01600.x) alternates
with hill climbing on the expected statistics, as in Friedman's structural EM (1998,
arXiv:1301.7373).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from daace._typing import BoolArray, FloatArray, IntArray
from daace.density.network.expectation import MonomialRows
from daace.density.network.families import (
    RIDGE,
    VARIANCE_FLOOR,
    SufficientStatistics,
    count_parameters,
    fit_parameters,
    merge_statistics,
)
from daace.density.network.graph import Structure
from daace.density.privacy import FEWEST_ROWS

#: Smallest standard deviation of a feature in a profile, in model space: a narrower profile is a
#: spike of repeated values, where a density could grow without bound.
SPIKE = 0.05

#: Number of starts of EM, of which the best is kept, and of steps until they are compared.
STARTS, FIRST_STEPS = 3, 10

#: Number of steps of EM for one graph, and of graphs that are learned.
STEPS, GRAPHS = 60, 3

#: EM ends when a step gains less than this per row, in nats.
GAIN = 1e-4

#: Number of rows that the starts are chosen on, and their largest distance in standard deviations:
#: rows farther away would be starts of their own.
START_ROWS, START_REACH = 5_000, 4.0

#: From expected statistics and the graph so far to a graph.
Climb = Callable[[SufficientStatistics, Structure | None], Structure]


@dataclass(frozen=True, eq=False)
class ProfileParameters:
    """Parameters of a network with profiles; component c is a profile of class `owner[c]`.

    Attributes:
        log_weights: log p(y, h), shape `(components,)`.
        coefficients: shape `(components, n, n)`.
        intercepts: shape `(components, n)`.
        variances: shape `(components, n)`.
        owner: class of each component, in order.
    """

    log_weights: FloatArray
    coefficients: FloatArray
    intercepts: FloatArray
    variances: FloatArray
    owner: IntArray

    @classmethod
    def without_profiles(
        cls,
        log_prior: FloatArray,
        coefficients: FloatArray,
        intercepts: FloatArray,
        variances: FloatArray,
    ) -> ProfileParameters:
        """Return the parameters of a network in which every class is one component."""
        return cls(log_prior, coefficients, intercepts, variances, np.arange(len(log_prior)))

    @property
    def log_prior(self) -> FloatArray:
        """Log-probability of each class, shape `(classes,)`."""
        if len(np.unique(self.owner)) == len(self.owner):
            return self.log_weights
        shares = np.bincount(self.owner, weights=np.exp(self.log_weights))
        return np.log(shares)

    def whitened(self, chosen: slice | IntArray = slice(None)) -> tuple[FloatArray, FloatArray]:
        """Return whiteners and offsets of some components, see `WhitenedGaussians`."""
        inverse_sd = 1 / np.sqrt(self.variances[chosen])
        identity = np.eye(self.intercepts.shape[1])
        whiteners = inverse_sd[:, :, None] * (identity - self.coefficients[chosen])
        return whiteners, -inverse_sd * self.intercepts[chosen]


@dataclass(frozen=True, eq=False)
class ProfileLearner:
    """EM over the rows of one or several classes.

    Attributes:
        classes: the rows of each class, in an order that does not depend on the table's.
        everyone: statistics of all rows as the last group, for families that no profile changes.
        grid: variance that whole numbers get for being rounded, by feature (Sheppard's
            correction, a twelfth of a unit squared).
        climb: learns a graph.
    """

    classes: Sequence[MonomialRows]
    everyone: SufficientStatistics
    grid: FloatArray
    climb: Climb

    @property
    def fewest(self) -> int:
        """Smallest number of rows of a profile."""
        return max(FEWEST_ROWS, 2 * self.classes[0].n)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(map(len, self.classes))

    def learn(self, profiles: Sequence[int]) -> tuple[ProfileParameters, Structure, float]:
        """Learn a network with these numbers of profiles, or fewer if they would be too small.

        Args:
            profiles: number of profiles of each class.

        Returns:
            The parameters, the graph, and the mean log p(x | y) of the rows.
        """
        stats, owner = self._begin(profiles)
        structure = self.climb(stats, None)
        for _ in range(GRAPHS):
            stats, owner = self._iterate(stats, owner, structure)
            better = self.climb(stats, structure)
            if better == structure:
                break
            structure = better
        stats, owner, mean = self._expect(stats, owner, structure)
        by_size = np.lexsort((-stats.counts[:-1], owner))
        stats = stats.take(np.append(by_size, len(by_size)))
        return self._parameters(stats, owner, structure), structure, mean

    def bic(self, parameters: ProfileParameters, structure: Structure, mean: float) -> float:
        """Return the BIC of a network: higher is better.

        Args:
            parameters: parameters of the network.
            structure: its graph.
            mean: mean log p(x | y) of the rows.
        """
        rows = self.rows
        free = count_parameters(structure, len(parameters.owner))
        free += len(parameters.owner) - len(self.classes)
        return rows * mean - 0.5 * float(np.log(rows)) * free

    def _begin(self, profiles: Sequence[int]) -> tuple[SufficientStatistics, IntArray]:
        """Return the expected statistics after a few steps from the best start of each class."""
        rng = np.random.default_rng(0)
        found, owner = [], []
        for k, (rows, wanted) in enumerate(zip(self.classes, profiles, strict=True)):
            most = max(1, min(wanted, len(rows) // self.fewest))
            tries = [self._start(rows, most, rng) for _ in range(STARTS if most > 1 else 1)]
            _, parts = max(tries, key=lambda tried: tried[0])
            found.append(parts)
            owner += [k] * len(parts[0])
        counts, means, scatters = (np.concatenate(part) for part in zip(*found, strict=True))
        return self._with_everyone(counts, means, scatters), np.array(owner, dtype=np.intp)

    def _start(
        self, rows: MonomialRows, profiles: int, rng: np.random.Generator
    ) -> tuple[float, tuple[FloatArray, FloatArray, FloatArray]]:
        """Return log-likelihood and statistics after some steps with full covariances."""
        groups = choose_groups(rows.X, profiles, rng)
        parts = rows.moments(groups, profiles)
        total = -np.inf
        for _ in range(FIRST_STEPS if profiles > 1 else 0):
            counts, means, scatters = self._large_enough(*parts)
            covariances = scatters / counts[:, None, None]
            whiteners = np.linalg.inv(np.linalg.cholesky(covariances))
            offsets = -(whiteners @ means[:, :, None])[:, :, 0]
            total, parts = rows.expect(np.log(counts / counts.sum()), whiteners, offsets)
        return total, self._large_enough(*parts)

    def _large_enough(
        self, counts: FloatArray, means: FloatArray, scatters: FloatArray, different: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Drop profiles that have too few different rows, and widen those that are spikes."""
        kept = different >= self.fewest
        if kept.any():
            counts, means, scatters = counts[kept], means[kept], scatters[kept]  # copies
        else:
            counts, means, scatters = merge_statistics(counts, means, scatters)
        diagonal = np.einsum("cii->ci", scatters)
        diagonal += counts[:, None] * self.grid
        np.maximum(diagonal, counts[:, None] * SPIKE**2, out=diagonal)
        diagonal += counts[:, None] * RIDGE
        return counts, means, scatters

    def _with_everyone(
        self, counts: FloatArray, means: FloatArray, scatters: FloatArray
    ) -> SufficientStatistics:
        last = self.everyone
        return SufficientStatistics(
            np.append(counts, last.counts[-1]),
            np.concatenate([means, last.means[-1:]]),
            np.concatenate([scatters, last.scatters[-1:]]),
        )

    def _parameters(
        self, stats: SufficientStatistics, owner: IntArray, structure: Structure
    ) -> ProfileParameters:
        _, coefficients, intercepts, variances = fit_parameters(stats, structure)
        counts = stats.counts[:-1]
        sizes = np.array([float(len(rows)) for rows in self.classes])
        shares = counts / np.bincount(owner, weights=counts)[owner]
        log_weights = np.log(shares * (sizes / sizes.sum())[owner])
        return ProfileParameters(log_weights, coefficients, intercepts, variances, owner)

    def _iterate(
        self, stats: SufficientStatistics, owner: IntArray, structure: Structure
    ) -> tuple[SufficientStatistics, IntArray]:
        """Repeat EM steps for one graph until they gain nothing."""
        before = -np.inf
        for _ in range(STEPS):
            stats, owner, mean = self._expect(stats, owner, structure)
            if mean - before < GAIN and before > -np.inf:
                break
            before = mean
        return stats, owner

    def _expect(
        self, stats: SufficientStatistics, owner: IntArray, structure: Structure
    ) -> tuple[SufficientStatistics, IntArray, float]:
        """Make one step; return the new statistics and the mean log p(x | y) before it."""
        parameters = self._parameters(stats, owner, structure)
        total, found, owners = 0.0, [], []
        for k, rows in enumerate(self.classes):
            members = np.flatnonzero(owner == k)
            logs = parameters.log_weights[members] - parameters.log_prior[k]
            gained, parts = rows.expect(logs, *parameters.whitened(members))
            total += gained
            found.append(self._large_enough(*parts))
            owners += [k] * len(found[-1][0])
        counts, means, scatters = (np.concatenate(part) for part in zip(*found, strict=True))
        mean = total / sum(map(len, self.classes))
        return self._with_everyone(counts, means, scatters), np.array(owners, dtype=np.intp), mean


def choose_groups(
    X: FloatArray, count: int, rng: np.random.Generator, *, whiten: bool = True
) -> IntArray:
    """Return the group of each row: k-means on whitened rows, seeded by k-means++.

    The seeding is that of Arthur and Vassilvitskii (2007): each further centre is a row, drawn
    with probability proportional to its squared distance to the nearest centre so far.

    Args:
        X: rows, shape `(rows, n)`.
        count: number of groups.
        rng: source of the seeds.
        whiten: whether distances are those of whitened rows.
    """
    if count == 1:
        return np.zeros(len(X), dtype=np.intp)
    white = centred = X - X.mean(axis=0)
    if whiten:
        variance, axes = np.linalg.eigh(np.atleast_2d(np.cov(centred, rowvar=False)))
        white = centred @ (axes / np.sqrt(np.maximum(variance, VARIANCE_FLOOR)))
    size = np.sqrt((white**2).mean(axis=1, keepdims=True))
    white *= np.minimum(1.0, START_REACH / np.maximum(size, 1e-300))
    some = white if len(X) <= START_ROWS else rng.choice(white, START_ROWS, replace=False)
    rows = np.ascontiguousarray(some.T)  # sums over features run along rows
    centres = some[[rng.integers(len(some))]]
    nearest = ((rows - centres.T) ** 2).sum(axis=0)
    while len(centres) < count and nearest.any():
        chosen = some[[rng.choice(len(some), p=nearest / nearest.sum())]]
        centres = np.concatenate([centres, chosen])
        nearest = np.minimum(nearest, ((rows - chosen.T) ** 2).sum(axis=0))
    for _ in range(10):
        members = _nearest(rows, centres).astype(np.float64)
        sizes = members.sum(axis=1, keepdims=True)
        moved = np.where(sizes > 0, members @ some / np.maximum(sizes, 1), centres)
        if np.array_equal(moved, centres):
            break
        centres = moved
    groups: IntArray = _nearest(white.T, centres).argmax(axis=0)
    return groups


def _nearest(rows: FloatArray, centres: FloatArray) -> BoolArray:
    """Return which centres are nearest to each row, shape `(centres, rows)`: mostly one.

    Args:
        rows: shape `(n, rows)`.
        centres: shape `(centres, n)`.
    """
    distance = centres @ rows
    distance *= -2
    distance += (centres**2).sum(axis=1, keepdims=True)
    nearest: BoolArray = distance <= distance.min(axis=0)
    return nearest
