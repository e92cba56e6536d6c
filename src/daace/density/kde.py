"""Exact kernel density estimate: one product kernel on every row."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np

from daace._checks import check_integer, check_number, check_word_or
from daace._typing import FloatArray, IntArray, Labels, Pullback
from daace.data.table import Table
from daace.density.bandwidth import best_bandwidth, best_bandwidths
from daace.density.base import ConditionalDensity
from daace.density.base_measure import check_line_weights
from daace.density.bayes import log_sum_exp
from daace.density.codes import CodeLayout
from daace.density.draws import DRAWS_SEED, GIVEN_DRAWS, HeldOut, draw_classes
from daace.density.given import GivenRows, free_features, read_given, take_names
from daace.density.given_kernels import KernelsGiven
from daace.density.kernels import (
    ClassKernels,
    KernelShape,
    broad_gaussians,
    code_kernels,
    weights_of_lines,
)
from daace.density.rows import check_model_rows
from daace.density.soundness import FARTHEST
from daace.density.splits import can_be_checked, sets_of_copies
from daace.density.transaction import all_or_nothing
from daace.exceptions import InvalidInput

#: Number of rows for leave-one-out: more would hardly make the evaluation more accurate.
JUDGED = 5_000


class KernelDensity(ConditionalDensity):
    """p(x, d, y=k) = prior_k * mean over the rows r of class k of the kernel on r.

    The kernel of a row of numbers is N(x; r, h^2 I). With codes it is a product over the features:
    Gaussians for numbers, the kernels of Aitchison and Aitken for categories and atoms and those
    of Wang and van Ryzin for ordered features, all with one smoothing parameter (`code_kernels`). A
    number at its atom has no Gaussian factor; see `KernelShape`.

    Evaluated exactly, in log space, block by block; the gradient comes from the same pass:
    `d log p / dx = (sum_r w_r r - x) / h^2` with w the kernels divided by their sum. The
    bandwidth that maximises the cross-validated likelihood was proposed by Habbema, Hermans and
    van den Broek 1974 and by Duin 1976 (doi:10.1109/TC.1976.1674577).

    Args:
        bandwidth: h in standard deviations, or 'cv' for the best of 10 log-spaced values in
            0.1..1 by 10-fold cross-validated log-likelihood.
        smoothing: smoothing of codes, from 0 (a kernel has the code of its row) to 1 (all levels
            of a category are equally likely), or 'cv' for the best of 10 log-spaced values in
            0.01..1. With codes, both are chosen by leave-one-out, see `best_bandwidths`.
        max_rows_per_class: larger classes keep a random subset of this many rows.

    Attributes:
        rows_: the rows of each class, in model space.
        log_prior_: log p(y).
        bandwidth_: h, as given or chosen.
        smoothing_: smoothing as given or chosen; 0 without codes.

    Example:
        >>> from daace.data.catalog import load_table
        >>> kde = KernelDensity(bandwidth=0.5).fit(load_table("iris"))
        >>> kde.predict_proba(kde.to_model([5.0, 3.4, 1.5, 0.2])).round(3).tolist()
        [[1.0, 0.0, 0.0]]
    """

    kind: ClassVar[str] = "kde"
    holds_rows: ClassVar[bool] = True
    takes_codes: ClassVar[bool] = True

    def __init__(
        self,
        *,
        bandwidth: float | Literal["cv"] = "cv",
        smoothing: float | Literal["cv"] = "cv",
        max_rows_per_class: int = 10_000,
    ) -> None:
        check_word_or(
            partial(check_number, above=0), "bandwidth", bandwidth,
            word="cv", expected="be a positive number or 'cv'",
        )  # fmt: skip
        check_word_or(
            partial(check_number, above=0, at_most=1), "smoothing", smoothing,
            word="cv", expected="be a number above 0 and at most 1, or 'cv'",
        )  # fmt: skip
        check_integer("max_rows_per_class", max_rows_per_class, at_least=2)
        self.bandwidth = bandwidth
        self.smoothing = smoothing
        self.max_rows_per_class = max_rows_per_class

    @all_or_nothing
    def fit(self, table: Table) -> Self:
        """Keep the rows, standardised, and choose the bandwidth.

        Args:
            table: rows with their class.

        Raises:
            InvalidInput: a class has fewer than 2 rows.
        """
        X, y = self._sort_codes(*self._learn_names(table))
        counts = np.bincount(y, minlength=len(self.classes_))
        rows = [X[members] for members in self._choose_kernels(y)]
        log_prior = np.log(counts / counts.sum())
        if not self.encoding_.code_sizes:
            h = best_bandwidth(rows) if self.bandwidth == "cv" else float(self.bandwidth)
            self._keep(rows, log_prior, _plain_shape(X.shape[1], h))
        else:
            layout = CodeLayout.of(self.encoding_, self.standardizer_)
            h, smoothing = best_bandwidths(
                rows,
                self.encoding_,
                layout,
                bandwidth=None if self.bandwidth == "cv" else float(self.bandwidth),
                smoothing=None if self.smoothing == "cv" else float(self.smoothing),
            )
            shape = KernelShape(layout, h, code_kernels(self.encoding_, smoothing))
            self._keep(rows, log_prior, shape, smoothing)
            draws, _ = self.sample(GIVEN_DRAWS, rng=np.random.default_rng(DRAWS_SEED))
            self._weigh(weights_of_lines(self.kernels_, log_prior, draws))
        self._describe_draws()
        return self

    def _sort_codes(self, X: FloatArray, y: IntArray) -> tuple[FloatArray, IntArray]:
        """Return rows of a table with codes in an order that does not depend on the table's."""
        if not self.encoding_.code_sizes:
            return X, y
        order = np.lexsort((y, *X.T))
        return X[order], y[order]

    def _choose_kernels(self, y: IntArray) -> list[IntArray]:
        """Return the positions of the rows of each class that are kept."""
        rng = np.random.default_rng(0)
        chosen = []
        for k in range(len(self.classes_)):
            members = np.flatnonzero(y == k)
            if len(members) > self.max_rows_per_class:
                members = np.sort(rng.choice(members, self.max_rows_per_class, replace=False))
            chosen.append(members)
        return chosen

    def held_out(self, table: Table) -> HeldOut | None:
        """Evaluate this density on each row without the row itself (leave-one-out).

        For row x of class k, with n_k rows of N and the kernels R_k kept of them:
        `p(x, y=k) = (n_k - c) / (N - c) * mean over r in R_k that do not equal x of the kernel on
        r` and `p(x, y=j) = n_j / (N - c) * mean over R_j` for the other classes, where c counts the
        copies of x in its class, itself included. That is a refit without them, with the same
        bandwidth, smoothing, standardisation and broad Gaussians. Of more than `JUDGED` rows a
        fixed subset is judged; all others stay kernels.
        """
        if not can_be_checked(table):
            return None
        X, y = self.to_model(table.to_frame()), np.searchsorted(self.classes_, table.y)
        X, y = self._sort_codes(X, y)
        chosen = self._choose_kernels(y)
        copies = np.empty(len(y), dtype=np.intp)
        for k in range(len(chosen)):
            sets = sets_of_copies(X[y == k])
            copies[y == k] = sets if sets.any() else np.arange(len(sets))  # all rows are equal
        judged = np.random.default_rng(0).permutation(np.lexsort((y, *X.T)))[:JUDGED]
        log_joint = self.log_joint(X[judged])
        for k, members in enumerate(chosen):
            own = y[judged] == k
            mine = copies[judged[own]]
            left_out = np.bincount(copies[y == k])[mine]
            others = len(members) - np.bincount(copies[members], minlength=mine.max() + 1)[mine]
            if not others.all():  # no kernel is left
                return None
            points = self.shape_.points(X[judged[own]])
            sums, _ = self.kernels_[k].log_sums(points, apart=(mine, copies[members]))
            means = sums - np.log(others) + self.shape_.constant - self._measure(X[judged[own]])
            log_joint[own] += np.log(len(y) / (len(y) - left_out))[:, None]
            shares = ((y == k).sum() - left_out) / (len(y) - left_out)
            log_joint[own, k] = np.log(shares) + means
        return HeldOut(log_joint, y[judged], self.draws_)

    def _keep(
        self,
        rows: list[FloatArray],
        log_prior: FloatArray,
        shape: KernelShape,
        smoothing: float = 0.0,
        log_shares: list[FloatArray] | None = None,
    ) -> None:
        """Keep kernels; `log_shares` are their weights within each class, equal when left out."""
        self.rows_ = rows
        self.log_prior_ = log_prior
        self.shape_, self.smoothing_ = shape, smoothing
        self.bandwidth_ = self.resolution_ = shape.bandwidth
        broad = broad_gaussians(shape.layout, rows)
        self.kernels_ = [
            ClassKernels(shape, members, broad[k], None if log_shares is None else log_shares[k])
            for k, members in enumerate(rows)
        ]
        self._weigh(np.zeros(len(shape.layout.numbers)))

    def _weigh(self, weights: FloatArray) -> None:
        """Keep the weights of the lines of numbers with atoms, see `weigh_lines`."""
        layout = self.shape_.layout
        self.weights_ = weights
        self.line_weights_ = {int(layout.numbers[i]): float(weights[i]) for i in layout.atomic}

    def _measure(self, X: FloatArray) -> FloatArray:
        """Return the sum of the weights of the lines on which rows have numbers."""
        there = self.shape_.elsewhere(X)
        weighted: FloatArray = there @ self.weights_[self.shape_.layout.atomic]
        return weighted

    def given(self, values: Mapping[str, object]) -> ConditionalDensity:
        fixed, x = read_given(self, values)
        if self.encoding_.code_sizes:
            return GivenRows(self, free_features(self, values), x, self.condition(fixed, x))
        density = self._given(fixed, x[fixed])
        density._describe_draws()
        return density

    def draw_given(
        self, fixed: IntArray, x: FloatArray, draws: int, *, label: object = None
    ) -> FloatArray | None:
        rng = np.random.default_rng(DRAWS_SEED)
        if self.encoding_.code_sizes:
            index = None if label is None else self.class_index(label)
            return self.condition(fixed, x).draw(draws, rng=rng, index=index)[0]
        density = self._given(fixed, x[fixed])
        X = np.repeat(x[None], draws, axis=0)
        free = np.setdiff1d(np.arange(len(x)), fixed)
        X[:, free] = density.sample(draws, rng=rng, label=label)[0]
        return X

    def condition(self, fixed: IntArray, x: FloatArray) -> KernelsGiven:
        """Return the distribution of all columns given some.

        Args:
            fixed: the given columns.
            x: a row with the given values.
        """
        codes, numbers = self.shape_.layout.hold(fixed, x)
        logs = [
            self.log_prior_[k] - np.log(len(some)) + some.log_factors(codes, numbers)
            for k, some in enumerate(self.kernels_)
        ]
        return KernelsGiven(self.kernels_, logs, codes, numbers, self.weights_)

    def _given(self, fixed: IntArray, values: FloatArray) -> KernelDensity:
        """Return the density of the other features.

        A kernel on row r is a product over the features, so the fixed ones only weight it:
        `p(x_free, y=k | x_fixed)` is proportional to the sum over r of
        `prior_k / n_k N(x_fixed; r_fixed, h^2 I) N(x_free; r_free, h^2 I)`.
        """
        h, free = self.bandwidth_, np.setdiff1d(np.arange(len(self.features_)), fixed)
        constant = -len(fixed) * (np.log(h) + 0.5 * np.log(2 * np.pi))
        rows, shares, masses = [], [], np.empty(len(self.rows_))
        for k, members in enumerate(self.rows_):
            logs = -0.5 * ((members[:, fixed] - values) ** 2).sum(axis=1) / h**2
            total = float(log_sum_exp(logs[None])[0])
            rows.append(members[:, free])
            shares.append(logs - total)
            masses[k] = self.log_prior_[k] + constant + total - np.log(len(members))
        everyone = float(log_sum_exp(masses[None])[0])
        density = KernelDensity(bandwidth=h, max_rows_per_class=self.max_rows_per_class)
        density._keep(rows, masses - everyone, _plain_shape(len(free), h), log_shares=shares)
        take_names(density, self, free)
        return density

    def log_joint(self, X: FloatArray) -> FloatArray:
        """Return log p(x, y) for every class, shape `(rows, classes)`."""
        return self._evaluate(self._check_rows(X), None)

    def log_joint_and_pullback(self, X: FloatArray) -> tuple[FloatArray, Pullback]:
        rows, means = self._check_rows(X), list[FloatArray]()
        log_joint = self._evaluate(rows, means)
        return log_joint, lambda W: self.shape_.pull(rows, means, W)

    def _evaluate(self, X: FloatArray, means: list[FloatArray] | None) -> FloatArray:
        """Return log p(x, y); append the means of each class, for the gradient, to `means`."""
        log_joint = np.empty((len(X), len(self.kernels_)))
        points, constant = self.shape_.points(X), self.shape_.constant
        for k, kernels in enumerate(self.kernels_):
            log_joint[:, k], mean = kernels.log_sums(points, with_means=means is not None)
            log_joint[:, k] += constant + self.log_prior_[k] - np.log(len(kernels))
            if means is not None:
                means.append(mean)
        if self.line_weights_:
            log_joint -= self._measure(X)[:, None]
        return log_joint

    def sample(
        self, n: int, *, rng: np.random.Generator, label: object = None
    ) -> tuple[FloatArray, Labels]:
        index = None if label is None else self.class_index(label)
        chosen = draw_classes(self.log_prior_, n, rng=rng, index=index)
        noise = rng.normal(scale=self.bandwidth_, size=(n, self.encoding_.width))
        position = rng.random(n)
        uniform = rng.random((n, len(self.shape_.layout.columns)))
        for k in np.unique(chosen):
            members, kernels = chosen == k, self.kernels_[k]
            place = (position[members] * len(kernels)).astype(np.intp)
            if kernels.log_shares is not None:
                shares = np.cumsum(np.exp(kernels.log_shares))
                place = np.searchsorted(shares / shares[-1], position[members])
            noise[members] = kernels.around(place, noise[members], uniform[members])
        return noise, self.classes_[chosen]

    def to_arrays(self) -> tuple[dict[str, FloatArray], dict[str, Any]]:
        if self.kernels_[0].log_shares is not None:
            raise InvalidInput("A density given some features cannot be saved: save the whole one.")
        arrays = {f"rows_{k}": rows for k, rows in enumerate(self.rows_)}
        arrays["log_prior"] = self.log_prior_
        settings = {
            "bandwidth": self.bandwidth,
            "smoothing": self.smoothing,
            "max_rows_per_class": self.max_rows_per_class,
            "fitted_bandwidth": self.bandwidth_,
        }
        if len(self.shape_.layout.columns):
            arrays["line_weights"] = self.weights_
            arrays["atom_values"] = self.shape_.layout.values
            settings["fitted_smoothing"] = self.smoothing_
        return arrays, settings

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray], settings: Mapping[str, Any]) -> Self:
        density = cls(
            bandwidth=settings["bandwidth"],
            smoothing=settings.get("smoothing", "cv"),  # files of earlier versions have none
            max_rows_per_class=settings["max_rows_per_class"],
        )
        log_prior = arrays["log_prior"]
        rows = [arrays[f"rows_{k}"] for k in range(len(log_prior))]
        if any(r.ndim != 2 or r.shape[1:] != rows[0].shape[1:] or not len(r) for r in rows):
            raise ValueError("the rows of the classes have different widths")
        if any((np.abs(r) > FARTHEST).any() for r in rows):
            raise ValueError("a row is too far away")
        h = float(settings["fitted_bandwidth"])
        if not (np.isfinite(h) and h > 0):
            raise ValueError("the bandwidth is not a positive number")
        if "encoding" not in settings:
            density._keep(rows, log_prior, _plain_shape(rows[0].shape[1], h))
            return density
        encoding, smoothing = settings["encoding"], float(settings["fitted_smoothing"])
        if not 0 < smoothing <= 1:
            raise ValueError("the smoothing is not above 0 and at most 1")
        for r in rows:
            check_model_rows(r, encoding)
        layout = CodeLayout.of_columns(encoding, arrays["atom_values"])
        shape = KernelShape(layout, h, code_kernels(encoding, smoothing))
        density._keep(rows, log_prior, shape, smoothing)
        check_line_weights(arrays["line_weights"], layout)
        density._weigh(arrays["line_weights"])
        return density


def _plain_shape(width: int, h: float) -> KernelShape:
    """Return Gaussian kernels on numbers without atoms."""
    return KernelShape(CodeLayout.plain(width), h, ())
