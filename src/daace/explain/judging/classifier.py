"""A user's classifier as the judge of the class."""

from __future__ import annotations

from collections.abc import Callable, Collection
from copy import copy
from functools import cached_property
from typing import Any
from weakref import ref

import numpy as np
import pandas as pd

from daace._typing import BoolArray, FloatArray, Labels
from daace.density.base import ConditionalDensity
from daace.density.draws import DRAWS_SEED
from daace.exceptions import InvalidInput
from daace.explain.judging.interface import (
    OF_ARRAYS,
    check_probabilities,
    match_classes,
    match_columns,
    read_columns,
    read_questions,
)
from daace.explain.judging.pipelines import ForestPipeline, is_forest_pipeline
from daace.landscape.rows import frame_of_numbers, frame_of_rows

#: Step of difference quotients, in standard deviations; half of it must give the same.
STEP = 1e-3

#: Share by which two difference quotients of a smooth classifier may differ.
AGREEMENT = 0.05

#: Draws at which a classifier is tried: does it answer, is it smooth?
TRIED = 32

#: Below it a probability counts as this: the logarithm of what underflows has no slope.
SMALLEST = 1e-300

#: A number this close to a whole one is that one, rounded on its way through model space.
NEARLY_WHOLE = 1e-6


class ClassifierPosterior:
    """`log p(y | x)` from a classifier; the density still says what is plausible.

    The classifier sees the user's columns in the user's units: as a DataFrame, or as an array if
    it is an estimator that was fitted without names; a torch module gets a tensor of its own
    precision. It returns one column for each class, in the order of its `classes_`, or of the
    density's if it has none; with two classes, the second alone will do.

    Args:
        classifier: has `predict_proba`, or is a torch module, or a function of rows.
        density: maps model space to the user's columns.
        grad: function of the same rows: the gradient of every class probability with respect to
            the columns, in the user's units, shape `(rows, classes, columns)`; or, with two
            classes, that of the second, shape `(rows, columns)`. Order of classes and columns as
            the classifier has them. When left out, a torch module is differentiated by torch,
            and any other smooth classifier by difference quotients.
        whole: features that are whole numbers in every answer. A classifier without slopes sees
            them whole from the beginning of a search, as integers; one with slopes at its end.

    Attributes:
        classes_: those of the density, in its order.
        has_grad: whether the user gave its gradient.

    Raises:
        InvalidInput: the classifier knows other classes or other columns than the density, does
            not return probabilities of its draws, or `grad` is not their gradient.

    Example:
        >>> from daace import load_table, LinearGaussianNetwork
        >>> from sklearn.linear_model import LogisticRegression
        >>> table = load_table("iris")
        >>> model = LogisticRegression(max_iter=1000).fit(table.X, table.y)
        >>> density = LinearGaussianNetwork().fit(table)
        >>> ClassifierPosterior(model, density).log_posterior(np.zeros((1, 4))).shape
        (1, 3)
    """

    classes_: Labels

    def __init__(
        self,
        classifier: Any,
        density: ConditionalDensity,
        grad: Callable[[Any], Any] | None = None,
        *,
        whole: Collection[str] = (),
    ) -> None:
        self.classes_ = density.classes_
        self.has_grad = grad is not None
        self._density = density
        self._ask, self._slope = read_questions(classifier, grad)
        self._columns = match_classes(classifier, density)
        owner = getattr(classifier, "__self__", classifier)  # of model.predict_proba, the model
        names = read_columns(owner, density)
        unnamed = names is None and hasattr(owner, "n_features_in_")
        self._plain = unnamed or isinstance(self._ask, OF_ARRAYS)
        self._names = tuple(density.features_ if names is None else names)
        encoding = density.encoding_
        self._coded = bool(encoding.code_sizes or encoding.derived)
        shown = [*density.features_, *(d.name for d in encoding.derived)] if self._coded else None
        self._place = match_columns(self._names, density.features_ if shown is None else shown)
        self._moving = np.ones(encoding.width)
        self._moving[list(encoding.code_sizes)] = 0.0  # codes have no slopes
        self._rounded = frozenset(whole)
        self._whole = np.flatnonzero([name in whole for name in density.features_])
        self._known: dict[int, tuple[ref[FloatArray], FloatArray]] = {}
        self._like: pd.DataFrame | None = None
        self._direct = self._as_pipeline(classifier)
        self._try()

    def beside(self, like: pd.DataFrame) -> ClassifierPosterior:
        """Return the judge of rows that come from others, whose rare levels it sees.

        Args:
            like: cells of levels that the density does not name: of one row, or of all that will
                be judged at once.
        """
        judge = copy(self)
        judge._like, judge._known = like, {}
        return judge

    def can_be_shown(self, X: FloatArray) -> BoolArray:
        """Return which rows can be shown to the classifier: a pooled level needs a row's own."""
        shown: BoolArray = np.ones(len(X), dtype=bool)
        if self._like is None:
            for j, feature in enumerate(self._density.encoding_.features):
                if feature.pooled:
                    shown &= X[:, j] != feature.pool_code
        return shown

    def log_posterior(self, X: FloatArray) -> FloatArray:
        """Return log p(y | x) of model-space rows; -inf where the classifier says never."""
        return self.log_posterior_of_rows(self.to_rows(X))

    def log_posterior_of_rows(self, rows: FloatArray) -> FloatArray:
        """Return log p(y | x) of rows in user units, in the density's order of features."""
        with np.errstate(divide="ignore"):
            logs: FloatArray = np.log(self._shares(rows))
        return logs

    def to_rows(self, X: FloatArray) -> FloatArray:
        """Return model-space rows in user units, as the classifier sees them in a search."""
        return self.round_rows(self._density.standardizer_.inverse(X))

    def round_rows(self, rows: FloatArray) -> FloatArray:
        """Round what must be whole: for a smooth classifier only what is nearly so.

        While a search still moves fractions, a classifier with slopes judges these; one without
        judges the whole numbers that they will become.
        """
        if len(self._whole) == 0:
            return rows
        numbers = rows[:, self._whole]
        nearest = np.rint(numbers)
        close = np.abs(numbers - nearest) <= NEARLY_WHOLE * np.maximum(1.0, np.abs(nearest))
        rounded = rows.copy()
        rounded[:, self._whole] = np.where(close | (not self.smooth), nearest, numbers)
        return rounded

    def log_posterior_and_gradient(
        self, X: FloatArray, index: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return log p(y | x) and the gradient of log p(y = index | x), by one question.

        `d log p / dz = (dp / dx) s / p`, where s is the standard deviation of each feature x. Where
        no gradient is known, central differences of the log-odds `l = log p - log(1 - p)`, which
        bend less than p does: `d log p / dz = (1 - p) dl / dz`.
        """
        here = self.to_rows(X)  # what is said is said of these rows, nearly whole ones made whole
        if self._slope is not None:
            shares = self._shares(here)
            slopes = self._gradients(X)[:, index] / np.maximum(shares[:, [index]], SMALLEST)
        else:
            rows, n = X.shape
            ways = STEP * np.concatenate([np.zeros((1, n)), np.eye(n), -np.eye(n)]) * self._moving
            around = self._density.standardizer_.inverse((X[:, None] + ways).reshape(-1, n))
            around[:: 2 * n + 1] = here
            shares = self._shares(around)
            share, others = shares[:, index], np.delete(shares, index, axis=1).sum(axis=1)
            odds = np.log(np.maximum(share, SMALLEST)) - np.log(np.maximum(others, SMALLEST))
            odds = odds.reshape(rows, -1)
            slopes = (odds[:, 1 : n + 1] - odds[:, n + 1 :]) / (2 * STEP)
            shares, others = shares[:: 2 * n + 1], others[:: 2 * n + 1]
            slopes *= others[:, None]
        with np.errstate(divide="ignore"):
            return np.log(shares), slopes

    @property
    def rows_per_gradient(self) -> int:
        """Rows that `log_posterior_and_gradient` asks about for each of its own."""
        return 1 if self._slope is not None else 2 * len(self._moving) + 1

    @cached_property
    def smooth(self) -> bool:
        """Whether slopes mean something: for trees, which are all steps, they do not.

        Tried at some draws of the density, along random directions, with two lengths.
        """
        if self._slope is not None:
            return True
        long, short = self._quotients
        slope = np.abs(long).max(axis=1)
        alike = np.abs(long - short).max(axis=1) <= AGREEMENT * slope
        return bool(np.median(slope) > 0 and alike.mean() >= 1 - AGREEMENT)

    # Draws that are judged once ---------------------------------------------------------------

    def known(self, X: FloatArray) -> FloatArray | None:
        """Return what was remembered of an array, if anything."""
        whose, logs = self._known.get(id(X), (None, None))
        return logs if whose is not None and whose() is X else None

    def remember(self, X: FloatArray, logs: FloatArray) -> None:
        """Keep log p(y | x) of an array that nobody can write to, as long as it lives."""
        number = id(X)
        self._known[number] = (ref(X, lambda _: self._known.pop(number, None)), logs)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known": {}}  # arrays are others in another process

    # How it is asked --------------------------------------------------------------------------

    def _shares(self, rows: FloatArray) -> FloatArray:
        """Return the class probabilities of rows in user units, in the density's order."""
        direct = None if self._direct is None else self._direct(rows)
        if direct is not None:
            return check_probabilities(direct, len(rows), len(self.classes_))[:, self._columns]
        table = self._table(rows)
        try:
            answer = self._ask(table)
        except Exception as error:
            raise InvalidInput(
                f"'classifier' must judge {_number_of(rows)} in your columns and units. "
                f"It raised {_in_short(error)}: try it on {_shown(table)}.",
                argument="classifier",
            ) from error
        return check_probabilities(answer, len(rows), len(self.classes_))[:, self._columns]

    def _gradients(self, X: FloatArray) -> FloatArray:
        """Return the gradient of every class probability in model space, `(rows, classes, n)`."""
        assert self._slope is not None
        table, (count, n) = self._table(self._density.standardizer_.inverse(X)), X.shape
        try:
            slopes = np.asarray(self._slope(table), dtype=np.float64)
        except Exception as error:
            raise InvalidInput(
                f"'classifier_grad' must be a function of {_shown(table)}. "
                f"It raised {_in_short(error)}.",
                argument="classifier_grad",
            ) from error
        classes = len(self.classes_)
        if classes == 2 and slopes.shape == (count, n):
            slopes = np.stack([-slopes, slopes], axis=1)
        if slopes.shape != (count, classes, n) or not np.isfinite(slopes).all():
            wanted = f"({count}, {classes}, {n})" + f" or ({count}, {n})" * (classes == 2)
            got = "NaN or infinity" if slopes.shape == (count, classes, n) else slopes.shape
            raise InvalidInput(
                argument="classifier_grad",
                expected=f"return finite numbers of shape {wanted}",
                got=str(got),
            )
        slopes = slopes[:, :, np.argsort(self._place)]
        return slopes[:, self._columns] * self._density.standardizer_.scale

    def _table(self, rows: FloatArray) -> pd.DataFrame | FloatArray:
        """Return rows in user units as the classifier takes them."""
        if self._coded:
            encoding = self._density.encoding_
            frame = encoding.decode(rows, like=self._like, whole=self._rounded)
            names = [*self._density.features_, *(d.name for d in encoding.derived)]
            return frame[[names[j] for j in self._place]].set_axis(list(self._names), axis=1)
        if self._plain:
            return rows[:, self._place]
        encoding = self._density.encoding_
        if encoding.plain:
            whole = np.flatnonzero(np.isin(self._place, self._whole))
            return frame_of_rows(rows[:, self._place], self._names, whole=whole)
        frame = frame_of_numbers(rows, encoding, whole=self._whole)
        return frame.iloc[:, self._place].set_axis(list(self._names), axis=1)

    def _as_pipeline(self, classifier: Any) -> ForestPipeline | None:
        """Return how a pipeline with a forest is asked without a frame; None for others."""
        encoding = self._density.encoding_
        if not (self._coded and is_forest_pipeline(classifier)):
            return None
        sources = [encoding.names.index(derived.source) for derived in encoding.derived]
        owners = [*range(len(encoding.names)), *sources]
        shows = {name: owners[j] for name, j in zip(self._names, self._place, strict=True)}
        rows = self._density.standardizer_.inverse(self._trial[0])
        return ForestPipeline(classifier, encoding, shows, self._table, self._whole, rows)

    @cached_property
    def _trial(self) -> tuple[FloatArray, FloatArray]:
        """Draws at which the classifier is tried, and a direction for each."""
        rng = np.random.default_rng(DRAWS_SEED)
        X, _ = self._density.sample(TRIED, rng=rng)
        way = rng.normal(size=X.shape) * self._moving
        way /= np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-300)
        return X, way

    @cached_property
    def _quotients(self) -> tuple[FloatArray, FloatArray]:
        """Slopes of log p(y | x) along the trial's directions, by long and by short steps."""
        X, way = self._trial
        ends = [X + length * way for length in (STEP, -STEP, STEP / 2, -STEP / 2)]
        rows = self._density.standardizer_.inverse(np.concatenate(ends))
        shares = self._shares(rows).reshape(4, TRIED, -1)
        logs = np.log(np.maximum(shares, SMALLEST))
        return (logs[0] - logs[1]) / (2 * STEP), (logs[2] - logs[3]) / STEP

    def _try(self) -> None:
        """Ask once, so that what is wrong is said before a search begins."""
        X, way = self._trial
        if self._slope is None:
            _ = self._quotients
            return
        shares = np.maximum(self._shares(self._density.standardizer_.inverse(X)), SMALLEST)
        exact = np.einsum("rkn,rn->rk", self._gradients(X), way) / shares
        error = np.abs(exact - self._quotients[0]).max(axis=1)
        size = np.abs(self._quotients[0]).max(axis=1)
        if np.median(error) > 2 * AGREEMENT * np.median(size):
            raise InvalidInput(
                "'classifier_grad' must be the gradient of the class probabilities with respect to "
                "your columns, in your units. Against difference quotients it is off by "
                f"{np.median(error) / max(np.median(size), SMALLEST):.0%}: leave it out to let "
                "these be used.",
                argument="classifier_grad",
            )


def _in_short(error: Exception) -> str:
    first = str(error).strip().split("\n")[0].rstrip(".:")
    return f"{type(error).__name__} ({first[:200]})" if first else type(error).__name__


def _number_of(rows: FloatArray) -> str:
    return "any row" if len(rows) == 1 else f"any {len(rows)} rows"


def _shown(rows: pd.DataFrame | FloatArray) -> str:
    kind = "an array" if isinstance(rows, np.ndarray) else "a DataFrame"
    return f"{kind} of shape (rows, {rows.shape[1]})"
