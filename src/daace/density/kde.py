"""Exact kernel density estimate: one Gaussian kernel on every row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np

from daace._checks import check_integer, check_number
from daace._typing import FloatArray, IntArray, Labels, Pullback
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.bayes import log_sum_exp
from daace.density.draws import DRAWS_SEED, HeldOut, draw_classes
from daace.density.given import read_given, take_names
from daace.density.soundness import FARTHEST
from daace.density.splits import can_be_checked, sets_of_copies
from daace.density.transaction import all_or_nothing
from daace.exceptions import InvalidInput

#: Kernels evaluated at once: 4 MB stay in the cache.
BLOCK = 500_000

#: Rows that are judged without their own kernel: more would hardly tell more of how good it is.
JUDGED = 5_000

#: exp(-37) is 8e-17: ten thousand such kernels change the twelfth digit of one of size 1.
NEGLIGIBLE = -37.0


class KernelDensity(ConditionalDensity):
    """p(x, y=k) = prior_k * mean over the rows r of class k of N(x; r, h^2 I).

    Evaluated exactly, in log space, block by block; the gradient comes from the same pass:
    `d log p / dx = (sum_r w_r r - x) / h^2` with w the kernels divided by their sum. The
    bandwidth that maximises the cross-validated likelihood was proposed by Habbema, Hermans and
    van den Broek 1974 and by Duin 1976 (doi:10.1109/TC.1976.1674577).

    Args:
        bandwidth: h in standard deviations, or 'cv' for the best of 10 log-spaced values in
            0.1..1 by 10-fold cross-validated log-likelihood.
        max_rows_per_class: larger classes keep a random subset of this many rows.

    Attributes:
        rows_: the rows of each class, in model space.
        log_prior_: log p(y).
        bandwidth_: h, as given or chosen.

    Example:
        >>> from daace.data.catalog import load_table
        >>> kde = KernelDensity(bandwidth=0.5).fit(load_table("iris"))
        >>> kde.predict_proba(kde.to_model([5.0, 3.4, 1.5, 0.2])).round(3).tolist()
        [[1.0, 0.0, 0.0]]
    """

    kind: ClassVar[str] = "kde"
    holds_rows: ClassVar[bool] = True

    def __init__(
        self, *, bandwidth: float | Literal["cv"] = "cv", max_rows_per_class: int = 10_000
    ) -> None:
        if bandwidth != "cv":
            try:
                check_number("bandwidth", bandwidth, above=0)
            except InvalidInput:
                raise InvalidInput(
                    argument="bandwidth",
                    expected="be a positive number or 'cv'",
                    got=repr(bandwidth),
                ) from None
        check_integer("max_rows_per_class", max_rows_per_class, at_least=2)
        self.bandwidth = bandwidth
        self.max_rows_per_class = max_rows_per_class

    @all_or_nothing
    def fit(self, table: Table) -> Self:
        """Keep the rows, standardised, and choose the bandwidth.

        Args:
            table: rows with their class.

        Raises:
            InvalidInput: a class has fewer than 2 rows.
        """
        X, y = self._learn_names(table)
        counts = np.bincount(y, minlength=len(self.classes_))
        rows = [X[members] for members in self._choose_kernels(y)]
        h = best_bandwidth(rows) if self.bandwidth == "cv" else float(self.bandwidth)
        self._keep(rows, np.log(counts / counts.sum()), h)
        self._describe_draws()
        return self

    def _choose_kernels(self, y: IntArray) -> list[IntArray]:
        """Return which rows of each class are kept."""
        rng = np.random.default_rng(0)
        chosen = []
        for k in range(len(self.classes_)):
            members = np.flatnonzero(y == k)
            if len(members) > self.max_rows_per_class:
                members = np.sort(rng.choice(members, self.max_rows_per_class, replace=False))
            chosen.append(members)
        return chosen

    def held_out(self, table: Table) -> HeldOut | None:
        """Return what this density says of each row without the row itself (leave-one-out).

        For row x of class k, with n_k rows of N and the kernels R_k kept of them:
        `p(x, y=k) = (n_k - c) / (N - c) * mean over r in R_k that do not equal x of N(x; r, h^2 I)`
        and `p(x, y=j) = n_j / (N - c) * mean over R_j` for the other classes, where c counts the
        copies of x in its class, itself included. That is a refit without them, with the same
        bandwidth and standardisation. Of more than `JUDGED` rows a fixed subset is judged; all
        others stay kernels.
        """
        if not can_be_checked(table):
            return None
        X, y = self.to_model(table.to_frame()), np.searchsorted(self.classes_, table.y)
        kernels = self._choose_kernels(y)
        copies = np.empty(len(y), dtype=np.intp)
        for k in range(len(kernels)):
            sets = sets_of_copies(X[y == k])
            copies[y == k] = sets if sets.any() else np.arange(len(sets))  # all of them equal
        judged = np.random.default_rng(0).permutation(np.lexsort((y, *table.X.T)))[:JUDGED]
        log_joint = self.log_joint(X[judged])
        for k, members in enumerate(kernels):
            own = y[judged] == k
            mine = copies[judged[own]]
            left_out = np.bincount(copies[y == k])[mine]
            means = _log_mean_of_others(
                X[judged[own]], mine, self.rows_[k], copies[members], self.bandwidth_
            )
            if np.isneginf(means).any():  # no kernel is left
                return None
            log_joint[own] += np.log(len(y) / (len(y) - left_out))[:, None]
            shares = ((y == k).sum() - left_out) / (len(y) - left_out)
            log_joint[own, k] = np.log(shares) + means
        return HeldOut(log_joint, y[judged], self.draws_)

    def _keep(
        self,
        rows: list[FloatArray],
        log_prior: FloatArray,
        h: float,
        log_shares: list[FloatArray] | None = None,
    ) -> None:
        """Keep kernels; `log_shares` are their weights within each class, equal when left out."""
        self.rows_ = rows
        self.log_prior_ = log_prior
        self.bandwidth_ = h
        self.resolution_ = h
        self.log_shares_ = log_shares
        self.lifted_ = [
            np.column_stack([r, np.ones(len(r)), -0.5 * np.einsum("rn,rn->r", r, r) / h**2])
            for r in rows
        ]
        if log_shares is not None:
            for lifted, logs in zip(self.lifted_, log_shares, strict=True):
                lifted[:, -1] += logs + np.log(len(logs))

    def given(self, values: Mapping[str, float]) -> ConditionalDensity:
        fixed, x = read_given(self, values)
        density = self._given(fixed, x)
        density._describe_draws()
        return density

    def draw_given(
        self, fixed: IntArray, x: FloatArray, draws: int, *, label: object = None
    ) -> FloatArray | None:
        density = self._given(fixed, x[fixed])
        X = np.repeat(x[None], draws, axis=0)
        free = np.setdiff1d(np.arange(len(x)), fixed)
        rng = np.random.default_rng(DRAWS_SEED)
        X[:, free] = density.sample(draws, rng=rng, label=label)[0]
        return X

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
        density._keep(rows, masses - everyone, h, shares)
        take_names(density, self, free)
        return density

    def log_joint(self, X: FloatArray) -> FloatArray:
        """Return log p(x, y) for every class, shape `(rows, classes)`."""
        return self._evaluate(self._check_rows(X), None)

    def log_joint_and_pullback(self, X: FloatArray) -> tuple[FloatArray, Pullback]:
        rows, means = self._check_rows(X), list[FloatArray]()
        log_joint, h2 = self._evaluate(rows, means), self.bandwidth_**2

        def pullback(W: FloatArray) -> FloatArray:
            gradient = -W.sum(axis=1)[:, None] * rows
            for k, mean in enumerate(means):
                gradient += W[:, k, None] * mean
            scaled: FloatArray = gradient / h2
            return scaled

        return log_joint, pullback

    def _evaluate(self, X: FloatArray, means: list[FloatArray] | None) -> FloatArray:
        """Return log p(x, y); append the kernel-weighted mean of the rows of each class to `means`.

        A gradient needs nothing else. One product gives `-|x - r|^2 / 2h^2`, another the weighted
        sums of the rows.
        """
        m, n = X.shape
        log_joint = np.empty((m, len(self.rows_)))
        h2 = self.bandwidth_**2
        half = 0.5 * np.einsum("rn,rn->r", X, X)
        points = np.column_stack([X / h2, -half / h2, np.ones(m)])
        constant = -n * np.log(self.bandwidth_) - 0.5 * n * np.log(2 * np.pi)
        for k, lifted in enumerate(self.lifted_):
            mean = np.empty(X.shape if means is not None else 0)
            step = max(1, BLOCK // len(lifted))
            for begin in range(0, m, step):
                part = slice(begin, begin + step)
                exponent = points[part] @ lifted.T
                top = exponent.max(axis=1)
                exponent -= top[:, None]
                kernels = exp_where_it_counts(exponent)
                total = kernels.sum(axis=1)
                log_joint[part, k] = np.log(total) + top
                if means is not None:
                    mean[part] = kernels @ lifted[:, :n] / total[:, None]
            log_joint[:, k] += constant + self.log_prior_[k] - np.log(len(lifted))
            if means is not None:
                means.append(mean)
        return log_joint

    def sample(
        self, n: int, *, rng: np.random.Generator, label: object = None
    ) -> tuple[FloatArray, Labels]:
        index = None if label is None else self.class_index(label)
        chosen = draw_classes(self.log_prior_, n, rng=rng, index=index)
        noise = rng.normal(scale=self.bandwidth_, size=(n, self.encoding_.width))
        position = rng.random(n)
        for k in np.unique(chosen):
            members, rows = chosen == k, self.rows_[k]
            place = (position[members] * len(rows)).astype(np.intp)
            if self.log_shares_ is not None:
                shares = np.cumsum(np.exp(self.log_shares_[k]))
                place = np.searchsorted(shares / shares[-1], position[members])
            noise[members] += rows[place]
        return noise, self.classes_[chosen]

    def to_arrays(self) -> tuple[dict[str, FloatArray], dict[str, Any]]:
        if self.log_shares_ is not None:
            raise InvalidInput("A density given some features cannot be saved: save the whole one.")
        arrays = {f"rows_{k}": rows for k, rows in enumerate(self.rows_)}
        arrays["log_prior"] = self.log_prior_
        settings = {
            "bandwidth": self.bandwidth,
            "max_rows_per_class": self.max_rows_per_class,
            "fitted_bandwidth": self.bandwidth_,
        }
        return arrays, settings

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray], settings: Mapping[str, Any]) -> Self:
        density = cls(
            bandwidth=settings["bandwidth"], max_rows_per_class=settings["max_rows_per_class"]
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
        density._keep(rows, log_prior, h)
        return density


def exp_where_it_counts(exponent: FloatArray) -> FloatArray:
    """Exponentiate in place; kernels that are negligible beside the largest, 1, become 0.

    Most kernels are far away. Computing them takes 2 to 15 times as long as skipping them (most
    if they underflow to subnormal numbers), and rounding discards the result.
    """
    flat = exponent.reshape(-1)
    near = np.flatnonzero(flat > NEGLIGIBLE)
    if 2 * len(near) > len(flat):
        return np.exp(exponent, out=exponent)
    values = np.exp(flat[near])
    flat.fill(0.0)
    flat[near] = values
    return exponent


def best_bandwidth(
    rows: list[FloatArray], *, folds: int = 10, candidates: FloatArray | None = None
) -> float:
    """Return the bandwidth with the highest cross-validated log p(x | y).

    One matrix of distances per class and fold is used for all candidates.

    Args:
        rows: model-space rows of each class.
        folds: number of folds, assigned by a fixed shuffle.
        candidates: 10 log-spaced values in 0.1..1 when left out.
    """
    grid = np.logspace(-1, 0, 10) if candidates is None else candidates
    n = rows[0].shape[1]
    scores = np.zeros(len(grid))
    rng = np.random.default_rng(0)
    for members in rows:
        parts = min(folds, len(members))
        fold = rng.permutation(len(members)) % parts
        for f in range(parts):
            train, test = members[fold != f], members[fold == f]
            scores += _held_out(test, train, grid)
            scores -= len(test) * (n * np.log(grid) + np.log(len(train)))
    return float(grid[int(np.argmax(scores))])


def _log_mean_of_others(
    X: FloatArray, copies: IntArray, rows: FloatArray, sets: IntArray, h: float
) -> FloatArray:
    """Return the log of the mean kernel at each point, without those on copies of it.

    Args:
        X: points.
        copies: number of each point's set of copies.
        rows: where the kernels are.
        sets: numbers of their sets.
        h: bandwidth.

    Returns:
        -inf where no kernel is left.
    """
    means = np.full(len(X), -np.inf)
    n = X.shape[1]
    squares = np.einsum("rn,rn->r", rows, rows)
    step = max(1, BLOCK // len(rows))
    for begin in range(0, len(X), step):
        part = slice(begin, begin + step)
        distance = squares - 2 * (X[part] @ rows.T)
        distance += np.einsum("rn,rn->r", X[part], X[part])[:, None]
        same = copies[part, None] == sets
        distance[same] = np.inf
        np.maximum(distance, 0.0, out=distance)
        nearest, others = distance.min(axis=1), (~same).sum(axis=1)
        some = others > 0
        kernels = (distance[some] - nearest[some, None]) * (-0.5 / h**2)
        total = exp_where_it_counts(kernels).sum(axis=1)
        means[part][some] = np.log(total) - np.log(others[some]) - 0.5 * nearest[some] / h**2
    log_means: FloatArray = means - n * np.log(h) - 0.5 * n * np.log(2 * np.pi)
    return log_means


def _held_out(test: FloatArray, train: FloatArray, grid: FloatArray) -> FloatArray:
    """Sum over the test rows of the log-sum of kernels, for each bandwidth."""
    total = np.zeros(len(grid))
    squares = np.einsum("rn,rn->r", train, train)
    step = max(1, BLOCK // len(train))
    for begin in range(0, len(test), step):
        part = test[begin : begin + step]
        distance = squares - 2 * (part @ train.T) + np.einsum("rn,rn->r", part, part)[:, None]
        np.maximum(distance, 0.0, out=distance)
        nearest = distance.min(axis=1)
        distance -= nearest[:, None]
        for b, h in enumerate(grid):
            kernels = exp_where_it_counts(distance * (-0.5 / h**2))
            total[b] += (np.log(kernels.sum(axis=1)) - 0.5 * nearest / h**2).sum()
    return total
