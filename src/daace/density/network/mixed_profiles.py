"""Hidden profiles of a network over numbers and codes: expectation-maximisation.

As `ProfileLearner`, with tables of codes besides the families of the numbers. Codes depend on
class, profile and at most one other code; numbers on class, profile and other numbers. Numbers and
codes depend on each other through the profile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.density.bayes import log_sum_exp
from daace.density.codes import CodeLayout
from daace.density.network.code_graph import choose_parents, fit_tables
from daace.density.network.families import (
    RIDGE,
    SufficientStatistics,
    count_parameters,
    fit_parameters,
    merge_statistics,
)
from daace.density.network.graph import Structure
from daace.density.network.mixed_rows import MixedParameters, MixedRows
from daace.density.network.profiles import (
    FIRST_STEPS,
    GAIN,
    GRAPHS,
    SPIKE,
    STARTS,
    STEPS,
    Climb,
    ProfileParameters,
    choose_groups,
)
from daace.density.privacy import FEWEST_ROWS, join_small

#: Rounding errors of expected counts.
NEARLY = 1e-6

#: Counts, means and scatter matrices for each number's family; the axes are numbers, components,
#: and one or two of numbers.
Families = tuple[FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class MixedLearner:
    """EM over the rows of one or several classes.

    Attributes:
        classes: the rows of each class, in an order that does not depend on the table's.
        grid: variance that whole numbers get for being rounded, by number.
        climb: learns a graph of numbers.
        code_arcs: whether codes may depend on codes.
    """

    classes: Sequence[MixedRows]
    grid: FloatArray
    climb: Climb
    code_arcs: bool = True

    @property
    def layout(self) -> CodeLayout:
        """The layout of the columns."""
        return self.classes[0].layout

    @property
    def fewest(self) -> int:
        """Smallest number of rows of a profile."""
        return max(FEWEST_ROWS, 2 * len(self.layout.numbers))

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(map(len, self.classes))

    def learn(self, profiles: Sequence[int]) -> tuple[MixedParameters, Structure, float]:
        """Learn a network with these numbers of profiles, or fewer if they would be too small.

        Args:
            profiles: number of profiles of each class.

        Returns:
            The parameters, the graph of the numbers, and the mean log p(x, d | y) of the rows.
        """
        rng = np.random.default_rng(0)
        shares = [
            self._start(rows, count, rng)
            for rows, count in zip(self.classes, profiles, strict=True)
        ]
        shares, structure, parents = self._graphs(shares, None, None)
        for _ in range(GRAPHS):
            before = -np.inf
            for _ in range(STEPS if max(s.shape[1] for s in shares) > 1 else 0):
                shares, mean = self._step(shares, structure, parents)
                if mean - before < GAIN and before > -np.inf:
                    break
                before = mean
            shares, better, others = self._graphs(shares, structure, parents)
            if better == structure and np.array_equal(others, parents):
                break
            structure, parents = better, others
        shares = [s[:, np.argsort(-s.sum(axis=0), kind="stable")] for s in shares]
        _, mean = self._step(shares, structure, parents)
        return self._parameters(shares, structure, parents), structure, mean

    def bic(self, parameters: MixedParameters, structure: Structure, mean: float) -> float:
        """Return the BIC of a network: higher is better.

        Args:
            parameters: parameters of the network.
            structure: its graph of numbers.
            mean: mean log p(x, d | y) of the rows.
        """
        components = len(parameters.owner)
        free = count_parameters(structure, components) + components - len(self.classes)
        free += sum(table.size - table.shape[0] * components for table in parameters.tables)
        return self.rows * mean - 0.5 * math.log(self.rows) * float(free)

    def _start(self, rows: MixedRows, wanted: int, rng: np.random.Generator) -> FloatArray:
        """Return the shares after a few steps from the best of some starts."""
        most = max(1, min(wanted, len(rows) // self.fewest))
        if most == 1:
            return np.ones((len(rows), 1))
        alone = MixedLearner([rows], self.grid, self.climb)
        n, codes = len(self.layout.numbers), len(self.layout.columns)
        plain = Structure(np.zeros((n, n), dtype=bool), np.ones(n, dtype=bool))
        none = np.full(codes, -1, dtype=np.intp)
        points = _points(rows)
        best: tuple[float, FloatArray] = (-np.inf, np.ones((len(rows), 1)))
        for _ in range(STARTS):
            groups = choose_groups(points, most, rng, whiten=False)
            shares = [(groups[:, None] == np.arange(most)).astype(np.float64)]
            shares = [s[:, s.sum(axis=0) >= self.fewest] for s in shares]
            if not shares[0].shape[1]:
                continue
            for _ in range(FIRST_STEPS):
                shares, mean = alone._step(shares, plain, none)
            if mean > best[0]:
                best = mean, shares[0]
        return best[1]

    def _step(
        self, shares: Sequence[FloatArray], structure: Structure, parents: IntArray
    ) -> tuple[list[FloatArray], float]:
        """Make one step; return new shares and the mean log p(x, d | y) before it."""
        parameters = self._parameters(shares, structure, parents)
        total, found = 0.0, []
        for k, rows in enumerate(self.classes):
            some = parameters.take(np.flatnonzero(parameters.owner == k))
            logs = rows.log_components(some)
            top = log_sum_exp(logs)
            total += float(top.sum()) - len(rows) * float(parameters.numbers.log_prior[k])
            new = np.exp(logs - top[:, None])
            sizes = new.sum(axis=0)
            kept = sizes >= self.fewest
            found.append(new[:, kept] if kept.any() else np.ones((len(rows), 1)))
        return found, total / self.rows

    def _graphs(
        self, shares: Sequence[FloatArray], before: Structure | None, parents: IntArray | None
    ) -> tuple[list[FloatArray], Structure, IntArray]:
        """Learn both graphs from the expected statistics."""
        n = len(self.layout.numbers)
        structure = Structure(np.zeros((n, n), dtype=bool), np.ones(n, dtype=bool))
        if n:
            structure = self.climb(self._statistics(shares), before)
        none = np.full(len(self.layout.columns), -1, dtype=np.intp)
        if not self.code_arcs:
            return list(shares), structure, none

        both = zip(self.classes, shares, strict=True)
        pairs = np.concatenate([rows.count_pairs(s) for rows, s in both], axis=1)
        parents = choose_parents(pairs, self.layout.sizes, self.rows)
        return list(shares), structure, parents

    def _parameters(
        self, shares: Sequence[FloatArray], structure: Structure, parents: IntArray
    ) -> MixedParameters:
        stats = self._statistics(shares)
        owner = np.repeat(np.arange(len(shares)), [s.shape[1] for s in shares])
        _, coefficients, intercepts, variances = fit_parameters(stats, structure)
        sizes = np.array([float(len(rows)) for rows in self.classes])
        counts = stats.counts[:-1]
        within = counts / np.bincount(owner, weights=counts)[owner]
        log_weights = np.log(within * (sizes / sizes.sum())[owner])
        numbers = ProfileParameters(log_weights, coefficients, intercepts, variances, owner)
        cells = [rows.count_cells(parents, s) for rows, s in zip(self.classes, shares, strict=True)]
        joined = [np.concatenate(parts, axis=2) for parts in zip(*cells, strict=True)]
        return MixedParameters(numbers, parents, fit_tables(joined, owner))

    @cached_property
    def _everyone(self) -> Families:
        """Statistics of all rows, as one component, for each number's family."""
        every = self._families([np.ones((len(rows), 1)) for rows in self.classes])[1]
        merged = [merge_statistics(*own) for own in zip(*every, strict=True)]
        n = len(self.layout.numbers)
        if not n:
            return every
        counts, means, scatters = (np.stack(part) for part in zip(*merged, strict=True))
        return counts, means, scatters

    def _families(self, shares: Sequence[FloatArray]) -> tuple[FloatArray, Families]:
        """Return expected sizes, and expected statistics for each number's family."""
        parts = [rows.statistics(s) for rows, s in zip(self.classes, shares, strict=True)]
        of_classes = zip(*(families for _, families in parts), strict=True)
        counts, means, scatters = (np.concatenate(some, axis=1) for some in of_classes)
        return np.concatenate([sizes for sizes, _ in parts]), (counts, means, scatters)

    def _statistics(self, shares: Sequence[FloatArray]) -> SufficientStatistics:
        """Return expected statistics, those of each number's family from rows elsewhere."""
        sizes, families = self._families(shares)
        both = zip(self.classes, shares, strict=True)
        different = np.concatenate([rows.count_different(s) for rows, s in both], axis=1)
        for i in np.flatnonzero((different < self.fewest - NEARLY).any(axis=1)):
            self._join(families[0][i], families[1][i], families[2][i], different[i])
        with_all = zip(families, self._everyone, strict=True)
        counts, means, scatters = (np.concatenate(parts, axis=1) for parts in with_all)
        diagonal = np.einsum("icjj->icj", scatters)
        diagonal += counts[..., None] * self.grid
        np.maximum(diagonal, counts[..., None] * SPIKE**2, out=diagonal)
        diagonal += counts[..., None] * RIDGE
        n = len(self.layout.numbers)
        return SufficientStatistics(
            np.append(sizes, float(self.rows)),
            np.zeros((len(sizes) + 1, n)),
            np.zeros((len(sizes) + 1, n, n)),
            tuple(map(SufficientStatistics, counts, means, scatters)),
        )

    def _join(
        self, counts: FloatArray, means: FloatArray, scatters: FloatArray, different: FloatArray
    ) -> None:
        """Let small profiles share their statistics of a family, in place.

        Profiles with too few different rows share those of all of them, and of the next larger
        ones until they are enough; see `join_small`.
        """
        groups = join_small(different, self.fewest - NEARLY)
        for group in np.flatnonzero(np.bincount(groups) > 1):
            some = groups == group
            total, mean, scatter = merge_statistics(counts[some], means[some], scatters[some])
            counts[some] = np.maximum(counts[some], float(self.fewest))
            means[some] = mean
            scatters[some] = scatter * (counts[some] / max(float(total[0]), 1.0))[:, None, None]


def _points(rows: MixedRows) -> FloatArray:
    """Return rows as points for k-means: numbers, and 0 or 1 for each code, scaled like them."""
    cells = rows.cells(np.full(len(rows.layout.columns), -1, dtype=np.intp)).toarray()
    ends = np.cumsum(rows.layout.sizes)[:-1]
    parts = []
    for part in np.split(cells, ends, axis=1):
        variety = 1 - float((part.mean(axis=0) ** 2).sum())
        parts.append(part / np.sqrt(variety) if variety > 0 else part)
    return np.column_stack([rows.numbers, *parts])
