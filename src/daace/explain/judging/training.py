"""Training of a committee: scikit-learn fits its members, their weights are kept as arrays.

The members are of different kinds on purpose: an end that a straight line, sums of curves and small
networks of other samples all accept is accepted by models that are not among them, too. All are
smooth: the edge of a forest follows single rows, and a path would end on the wrong side of them.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from daace._typing import BoolArray, FloatArray, IntArray
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.draws import DRAWS_SEED
from daace.density.privacy import FEWEST_ROWS, count_copies, join_small
from daace.density.splits import sets_of_copies
from daace.explain.judging.members import (
    HiddenLayer,
    Inputs,
    Kernels,
    Linear,
    Member,
    Splines,
    bumps,
    join_levels,
)

#: Rows that members are trained on at most, at random from each class.
MOST_ROWS = 10_000

#: Small networks, each of its own bootstrap sample, and their largest number of hidden units.
NETWORKS, UNITS = 3, 8

#: Knots of each spline.
KNOTS = 5

#: Draws of the density that the knots are quantiles of: no row's value is among them.
KNOT_DRAWS = 2_000

#: Largest number of bumps, and rows that there are for each. Their centres are draws, too.
BUMPS, ROWS_OF_BUMP = 200, 4

#: Inverse weight of the squared weights of regressions, and that weight for networks.
LINEAR_C, SPLINES_C, KERNELS_C, NETWORK_ALPHA = 0.5, 0.5, 10.0, 10.0

#: Parts that the rows are divided into, and the largest number of rows of which each part is judged
#: by members that have not seen it; of more rows, one part is.
FOLDS, ROTATED = 4, 2_500

#: Largest number of steps of each training.
STEPS = 100


class Fold(NamedTuple):
    """Some of the rows, and members like the committee's, trained on all others."""

    rows: IntArray
    members: tuple[Member, ...]


@dataclass(frozen=True, eq=False)
class Training:
    """Members trained on some rows, and what is needed to see how such members do on others.

    Attributes:
        inputs: from model-space rows to what members look at.
        members: with one score for two classes, one for each of more.
        X: rows that they were trained on, in model space.
        y: class index of each.
        parts: rows, and members that have not seen them.
    """

    inputs: Inputs
    members: tuple[Member, ...]
    X: FloatArray
    y: IntArray
    parts: tuple[Fold, ...]

    @property
    def unseen(self) -> BoolArray:
        """Which rows are in a part."""
        chosen = np.zeros(len(self.y), dtype=bool)
        for part in self.parts:
            chosen[part.rows] = True
        return chosen


def train_members(density: ConditionalDensity, table: Table) -> Training:
    """Train members on the rows that a density was fitted on.

    The result does not depend on the order of the rows.

    Args:
        density: fitted on the table; maps its rows to model space.
        table: rows with their class.
    """
    X = density.to_model(table.to_frame())
    y = np.searchsorted(density.classes_, table.y)
    order = np.lexsort((y, *X.T))
    rng = np.random.default_rng(DRAWS_SEED)
    order = order[_some_rows(y[order], rng)]
    X, y = X[order], y[order]
    folds = _folds(X, y, rng)
    draws = density.sample(KNOT_DRAWS, rng=rng)[0]
    inputs = find_inputs(density, X, draws)
    if not _all_differ(density, X, y):
        return Training(inputs, (), X, y, ())
    U, knots = inputs(X), inputs(draws)
    numbers, judged = len(inputs.columns), FOLDS if len(X) <= ROTATED else 1
    chosen = [folds != fold for fold in range(judged)]
    with warnings.catch_warnings():  # members need not be at rest: they are small on purpose
        warnings.simplefilter("ignore")
        trained = [
            MemberTraining(U[rows], y[rows], len(density.classes_), rng).all(knots, numbers)
            for rows in (*chosen, np.ones(len(y), dtype=bool))
        ]
    able = [None not in same for same in zip(*trained, strict=True)]  # also without a part's rows
    kept = [
        tuple(member for member, fine in zip(members, able, strict=True) if fine and member)
        for members in trained
    ]
    parts = [
        Fold(np.flatnonzero(~rows), members) for rows, members in zip(chosen, kept, strict=False)
    ]
    return Training(inputs, kept[-1], X, y, tuple(parts))


def _folds(X: FloatArray, y: IntArray, rng: np.random.Generator) -> IntArray:
    """Return the fold of each row, copies together; -1 for classes with too few different rows."""
    fold_of = np.full(len(y), -1)
    for k in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == k))
        sets = sets_of_copies(X[rows])
        if sets.max() + 1 >= FOLDS:
            fold_of[rows] = sets % FOLDS
    return fold_of


def find_inputs(density: ConditionalDensity, X: FloatArray, draws: FloatArray) -> Inputs:
    """Return what members look at: numbers, ordered codes, and a mark for each other code.

    Args:
        density: knows which columns hold codes.
        X: rows in model space that members are trained on. Levels that fewer than `FEWEST_ROWS` of
            them have are joined with others.
        draws: of the density, in model space; their mean and standard deviation scale the columns.
            With those of rows, what the others are could be computed.
    """
    encoding = density.encoding_
    ordered = [
        j for j in encoding.code_sizes
        if j < len(encoding.features) and encoding.features[j].kind == "ordered"
    ]  # fmt: skip
    moving = [j for j in range(encoding.width) if j not in encoding.code_sizes]
    columns = np.array([*moving, *ordered], dtype=np.intp)
    marks: list[tuple[int, int]] = []
    small: list[tuple[int, int, int]] = []
    for j, size in encoding.code_sizes.items():
        counts = (X[:, j] == np.arange(size)[:, None]).sum(axis=1).astype(np.float64)
        groups = _join_neighbours(counts) if j in ordered else join_small(counts, FEWEST_ROWS)
        small += [(j, code, groups[code]) for code in range(size) if groups[code] != code]
        if j not in ordered:
            marks += [(j, code) for code in np.unique(groups)]
    joined = np.array(small, dtype=np.float64).reshape(-1, 3)
    scaled = join_levels(draws, joined)[:, columns]
    spread = scaled.std(axis=0)
    return Inputs(
        columns=columns,
        center=scaled.mean(axis=0),
        scale=np.where(spread > 0, spread, 1.0),
        moving=np.arange(len(columns)) < len(moving),
        marked=np.array([j for j, _ in marks], dtype=np.intp),
        codes=np.array([code for _, code in marks], dtype=np.float64),
        joined=joined,
    )


def _join_neighbours(counts: FloatArray) -> IntArray:
    """Return for each level of a ladder itself, or the nearest that enough rows have."""
    enough = np.flatnonzero(counts >= FEWEST_ROWS)
    if not len(enough):
        return np.zeros(len(counts), dtype=np.intp)
    away = np.abs(np.arange(len(counts))[:, None] - enough)
    nearest: IntArray = enough[away.argmin(axis=1)]
    return nearest


def _all_differ(density: ConditionalDensity, X: FloatArray, y: IntArray) -> bool:
    """Tell whether enough rows of each class differ in their numbers.

    Two rows that were copied five times can be computed from the curves that fit them.
    """
    numbers = density.encoding_.number_columns
    if not len(numbers):
        return True
    different = np.bincount(y, weights=count_copies(X[:, numbers], y))
    return bool(different.min() >= FEWEST_ROWS - 1e-6)


def _some_rows(y: IntArray, rng: np.random.Generator) -> IntArray:
    """Return at most `MOST_ROWS` rows, of each class its share but not fewer than 500."""
    if len(y) <= MOST_ROWS:
        return np.arange(len(y))
    chosen = []
    for k in np.unique(y):
        members = np.flatnonzero(y == k)
        wanted = max(500, round(MOST_ROWS * len(members) / len(y)))
        chosen.append(rng.permutation(members)[:wanted])
    return np.sort(np.concatenate(chosen))


@dataclass(eq=False)
class MemberTraining:
    """Trains members on the same rows.

    Attributes:
        U: inputs, shape `(rows, width)`.
        y: class index of each row.
        classes: number of classes.
        rng: source of the bootstrap samples and of the networks' first weights.
    """

    U: FloatArray
    y: IntArray
    classes: int
    rng: np.random.Generator

    @property
    def _scores(self) -> int:
        return 1 if self.classes == 2 else self.classes

    def all(self, draws: FloatArray, numbers: int) -> list[Member | None]:
        """Return the members of a committee; None for those that there are too few rows for.

        Args:
            draws: of the density, as inputs, for knots and bumps.
            numbers: how many of the inputs are numbers; they come first.
        """
        return [
            self.linear(),
            self.splines(draws[:, :numbers]),
            self.kernels(draws),
            *(self.network() for _ in range(NETWORKS)),
        ]

    def linear(self) -> Linear | None:
        """Return a logistic regression; None if there are too few rows for its weights."""
        if not self._enough((self.U.shape[1] + 1) * self._scores):
            return None
        return Linear(*self._regress(self.U, LINEAR_C))

    def splines(self, draws: FloatArray) -> Splines | None:
        """Return a logistic regression on cubic splines; None if there are too few rows for it.

        Args:
            draws: of the numbers, for the knots.
        """
        from scipy.interpolate import BSpline
        from sklearn.preprocessing import SplineTransformer

        numbers = draws.shape[1]
        knots = _knots(draws)
        each = KNOTS + 1  # cubic splines without the constant
        if not self._enough((numbers * each + self.U.shape[1] - numbers + 1) * self._scores):
            return None
        if numbers == 0:
            return None
        basis = SplineTransformer(
            degree=3, knots=knots.T, extrapolation="linear", include_bias=False
        ).fit(self.U[:, :numbers])
        curves = basis.transform(self.U[:, :numbers])
        weights, bias = self._regress(np.hstack([curves, self.U[:, numbers:]]), SPLINES_C)
        pieces = np.zeros((numbers, KNOTS + 1, 4, self._scores))
        for j in range(numbers):
            own = np.vstack([weights[j * each : (j + 1) * each], np.zeros(self._scores)])
            curve = BSpline(basis.bsplines_[j].t, own, 3)
            for power in range(4):  # Taylor's series at the left end of each piece
                at = curve.derivative(power)(knots[j, :-1]) if power else curve(knots[j, :-1])
                pieces[j, 1:-1, power] = at / math.factorial(power)
            for at, knot in ((0, knots[j, 0]), (-1, knots[j, -1])):
                pieces[j, at, 0], pieces[j, at, 1] = curve(knot), curve.derivative()(knot)
        return Splines(knots, pieces, weights[numbers * each :], bias)

    def kernels(self, draws: FloatArray) -> Kernels | None:
        """Return a logistic regression on bumps; None if there are too few rows for its weights.

        Args:
            draws: the first are the centres.
        """
        centers = draws[: min(BUMPS, len(self.U) // ROWS_OF_BUMP)]
        if len(centers) < 2 or not self._enough((len(centers) + 1) * self._scores):
            return None
        sharpness = 1.0 / (self.U.shape[1] * max(float(self.U.var()), 1e-9))
        weights, bias = self._regress(bumps(self.U, centers, sharpness), KERNELS_C)
        return Kernels(centers, np.array([sharpness]), weights, bias)

    def network(self) -> HiddenLayer | None:
        """Return a small network of a bootstrap sample; None if there are too few rows for it."""
        from sklearn.neural_network import MLPClassifier

        rows = self._sample()
        each = self.U.shape[1] + 1 + self._scores
        units = min(UNITS, (len(np.unique(rows)) - 2 - self._scores) // each)
        if units < 2:
            return None
        model: Any = MLPClassifier(
            (units,),
            activation="tanh",
            solver="lbfgs",
            alpha=NETWORK_ALPHA,
            max_iter=STEPS,
            random_state=int(self.rng.integers(2**31)),
        ).fit(self.U[rows], self.y[rows])
        (hidden, weights), (shift, bias) = model.coefs_, model.intercepts_
        return HiddenLayer(hidden, shift, weights, bias)

    def _sample(self) -> IntArray:
        """Return a bootstrap sample with as many rows of each class as there are."""
        groups = [np.flatnonzero(self.y == k) for k in range(self.classes)]
        return np.concatenate([self.rng.choice(group, size=len(group)) for group in groups])

    def _enough(self, parameters: int) -> bool:
        return len(self.U) >= max(FEWEST_ROWS, parameters + 2)

    def _regress(self, U: FloatArray, C: float) -> tuple[FloatArray, FloatArray]:
        """Return weights and bias of a logistic regression."""
        from sklearn.linear_model import LogisticRegression

        model: Any = LogisticRegression(C=C, max_iter=STEPS).fit(U, self.y)
        return model.coef_.T, model.intercept_


def _knots(draws: FloatArray) -> FloatArray:
    """Return knots at quantiles of draws, further apart where these coincide.

    Args:
        draws: of the numbers, shape `(draws, numbers)`.
    """
    low, high = np.quantile(draws, [0.01, 0.99], axis=0)
    even = np.linspace(low, np.maximum(high, low + 1e-3), KNOTS)
    quantiles = np.quantile(draws, np.linspace(0.01, 0.99, KNOTS), axis=0)
    crowded = (np.diff(quantiles, axis=0) < 0.02 * (even[-1] - even[0])).any(axis=0)
    knots: FloatArray = np.where(crowded, even, quantiles).T
    return knots
