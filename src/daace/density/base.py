"""What every density can do: Bayes' rule, once, in log space."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, wraps
from types import MappingProxyType
from typing import Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar

import numpy as np
import pandas as pd

from daace._checks import check_integer
from daace._typing import FloatArray, IntArray, Labels
from daace.data.classes import label_array
from daace.data.table import (
    Standardizer,
    Table,
    as_pandas,
    check_table,
    check_unique,
    numeric_matrix,
    quote,
)
from daace.exceptions import InvalidInput, NotFitted

Pullback = Callable[[FloatArray], FloatArray]
ToEnd = tuple[
    FloatArray, FloatArray, Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
]
Density = TypeVar("Density", bound="ConditionalDensity")
Arguments = ParamSpec("Arguments")

#: Rows that every class must have in a model without rows: fewer could be read out of its
#: parameters. Two rows are the mean and the standard deviation of their class, to the last digits.
FEWEST_ROWS = 10

#: Model space is standardised, or in units that somebody has chosen: larger numbers are neither.
FARTHEST = 1e15

#: Draws that describe a density, and their seed: the same for every density, on every machine.
DRAWS = 10_000
DRAWS_SEED = 20_250_615


def all_or_nothing(
    fit: Callable[Concatenate[Density, Arguments], Density],
) -> Callable[Concatenate[Density, Arguments], Density]:
    """Decorate `fit`: one that fails or is interrupted leaves the density as it was."""

    @wraps(fit)
    def whole(density: Density, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Density:
        before = dict(density.__dict__)
        try:
            return fit(density, *args, **kwargs)
        except BaseException:
            density.__dict__.clear()
            density.__dict__.update(before)
            raise

    return whole


@dataclass(frozen=True, eq=False)
class DrawStatistics:
    """What 10,000 draws of a density say about it; no single draw is kept.

    Attributes:
        quantiles: of log p(x), at 0, 0.01, ..., 1, shape `(101,)`.
        mean, sd: of log p(x).
        lower, upper: 0.1 and 99.9 percentiles of each feature, widened by a tenth of their range.
    """

    quantiles: FloatArray
    mean: float
    sd: float
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def of(cls, X: FloatArray, log_prob: FloatArray) -> DrawStatistics:
        """Summarise draws and their log-densities."""
        low, high = np.percentile(X, [0.1, 99.9], axis=0)
        margin = 0.1 * (high - low)
        quantiles = np.quantile(log_prob, np.linspace(0, 1, 101))
        sd = float(log_prob.std())
        return cls(quantiles, float(log_prob.mean()), sd, low - margin, high + margin)

    @property
    def level(self) -> float:
        """0.99 quantile of log p: flat ground."""
        return float(self.quantiles[99])

    @property
    def spread(self) -> float:
        """Robust standard deviation of log p: interquartile range / 1.349."""
        return float(self.quantiles[75] - self.quantiles[25]) / 1.349

    def percentile(self, log_prob: float) -> float:
        """Share of draws, in percent, whose density is at most this."""
        return float(np.interp(log_prob, self.quantiles, np.arange(101.0)))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What a density says of rows that it, or its like, has not seen.

    Attributes:
        log_joint: log p(x, y) of each row and class, shape `(rows, classes)`.
        labels: index of each row's class.
        draws: of the density that says so.
    """

    log_joint: FloatArray
    labels: IntArray
    draws: DrawStatistics


@dataclass(frozen=True, eq=False)
class Pool:
    """Fixed-seed draws of one class, with their log-densities: where planners look for goals."""

    X: FloatArray
    log_joint: FloatArray

    @cached_property
    def principal_axes(self) -> tuple[FloatArray, FloatArray]:
        """Variances along the principal axes of the draws, and the axes as columns."""
        variance, axes = np.linalg.eigh(np.atleast_2d(np.cov(self.X, rowvar=False)))
        return variance, axes


class ConditionalDensity(ABC):
    """A density p(x, y) over features x (model space) and a class y.

    To write your own, set the attributes below in `fit` by `_learn_names`, write
    `log_joint_and_pullback` and `sample`, and end `fit` with `_describe_draws`. Everything else
    (probabilities, gradients, planning, plots) follows. With `all_or_nothing` above it, a `fit`
    that fails changes nothing. The densities of this package can also be saved in a model file,
    by `kind`, `to_arrays` and `from_arrays`. Those that hold no rows set `fewest_rows`, the rows
    that `_learn_names` asks of every class, to `FEWEST_ROWS`.

    Attributes:
        classes_: class labels, in the order of the columns of `log_joint`.
        features_: feature names, in the order of the columns of `X`.
        target_: name of the class column.
        units_: unit by feature name, where known.
        whole_: features that were whole numbers in every row, with few values.
        nonnegative_: features that were in no row below 0.
        left_out_: columns of the table that are not part of the model, and why.
        columns_: the order of features and columns that are left out, in rows that are arrays
            with both.
        standardizer_: map between user units and model space.
        draws_: `DrawStatistics`.
        resolution_: length, in model space, over which log p may change its course; infinite
            for smooth densities, the bandwidth for a KDE.
        gaussian_: whether each class is one Gaussian: with two of them there are no walls.
    """

    kind: ClassVar[str] = ""
    holds_rows: ClassVar[bool] = False
    fewest_rows: ClassVar[int] = 2

    classes_: Labels
    features_: tuple[str, ...]
    target_: str
    units_: Mapping[str, str]
    whole_: tuple[str, ...] = ()
    nonnegative_: tuple[str, ...] = ()
    left_out_: Mapping[str, str] = MappingProxyType({})
    columns_: tuple[str, ...] = ()
    standardizer_: Standardizer
    draws_: DrawStatistics
    resolution_: float = np.inf
    gaussian_: bool = False

    # What a concrete density writes -----------------------------------------------------------

    @abstractmethod
    def log_joint_and_pullback(self, X: FloatArray) -> tuple[FloatArray, Pullback]:
        """Return `J[i, k] = log p(x_i, y=k)` and its pullback.

        `pullback(W)[i] = sum_k W[i, k] * dJ[i, k] / dx_i`, from the same pass.
        """

    @abstractmethod
    def sample(
        self, n: int, *, rng: np.random.Generator, label: object = None
    ) -> tuple[FloatArray, Labels]:
        """Draw `n` rows (model space) and their classes; only of class `label` when given."""

    def to_arrays(self) -> tuple[dict[str, FloatArray], dict[str, Any]]:
        """Return what was learned: arrays, and settings that JSON can hold."""
        raise InvalidInput(f"A {type(self).__name__} cannot be saved: it has no 'to_arrays'.")

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray], settings: Mapping[str, Any]) -> Self:
        """Rebuild from `to_arrays`; raises `KeyError` or `ValueError` where they do not fit."""
        raise InvalidInput(f"A {cls.__name__} cannot be loaded: it has no 'from_arrays'.")

    def held_out(self, table: Table) -> HeldOut | None:
        """Return what a density like this one says of rows of the table that it has not seen.

        For a check of how good it is, as part of `daace.fit`; None where there are too few rows
        for that, or another fit would take too long. Write it with `judge_table`.

        Args:
            table: what this density was fitted on.
        """
        return None

    def judge_table(self, table: Table) -> HeldOut:
        """Return what this density says of the rows of a table with its features and classes."""
        X = self.to_model(table.to_frame())
        return HeldOut(self.log_joint(X), np.searchsorted(self.classes_, table.y), self.draws_)

    # What follows from it ---------------------------------------------------------------------

    def log_joint_along(self, paths: FloatArray, nodes: FloatArray) -> tuple[FloatArray, Pullback]:
        """Return log p(x, y) at the same places of every segment of many paths, and its pullback.

        Densities that know their course along a line may do better than point by point.

        Args:
            paths: shape `(paths, waypoints, n)`.
            nodes: places on a segment, from 0, its beginning, to 1.

        Returns:
            J of shape `(paths, segments, nodes, classes)`, and a function that takes W of that
            shape to the gradient of its sum with J, with respect to the waypoints.
        """
        points = _places(paths, nodes)
        joint, pullback = self.log_joint_and_pullback(points.reshape(-1, paths.shape[-1]))

        def to_waypoints(W: FloatArray) -> FloatArray:
            pulled = pullback(W.reshape(joint.shape))
            return _to_waypoints(pulled.reshape(points.shape), nodes)

        return joint.reshape(*points.shape[:-1], joint.shape[1]), to_waypoints

    def log_joint_to_end(self, paths: FloatArray, nodes: FloatArray, looks: int) -> ToEnd:
        """Return log p(x, y) along many paths and at their ends, and the pullback of both.

        In one pass over all points: with few paths it is passes that cost, not points. A density
        with a `log_joint_along` of its own does better in two.

        Args:
            paths: shape `(paths, waypoints, n)`.
            nodes: places on a segment, from 0, its beginning, to 1.
            looks: gradients wanted at each end, at least 1.

        Returns:
            J of shape `(paths, segments, nodes, classes)`; that of the ends, shape `(paths,
            classes)`; and a function of W of the shape of J and V of shape `(paths, looks,
            classes)`: it returns the gradient of the sum of W and J with respect to the waypoints,
            and the `looks` gradients at the ends, shape `(paths, looks, n)`.
        """
        if type(self).log_joint_along is not ConditionalDensity.log_joint_along:
            return _in_two_passes(self, paths, nodes, looks)
        points, n = _places(paths, nodes), paths.shape[-1]
        ends = np.repeat(paths[:, -1], looks, axis=0)
        joint, pullback = self.log_joint_and_pullback(np.concatenate([points.reshape(-1, n), ends]))
        classes, along = joint.shape[1], len(joint) - len(ends)

        def to_waypoints_and_ends(W: FloatArray, V: FloatArray) -> tuple[FloatArray, FloatArray]:
            pulled = pullback(np.concatenate([W.reshape(-1, classes), V.reshape(-1, classes)]))
            gradient = _to_waypoints(pulled[:along].reshape(points.shape), nodes)
            return gradient, pulled[along:].reshape(len(paths), looks, n)

        there = joint[along::looks]
        return joint[:along].reshape(*points.shape[:-1], classes), there, to_waypoints_and_ends

    def log_joint(self, X: FloatArray) -> FloatArray:
        """Return log p(x, y) for every class, shape `(rows, classes)`."""
        return self.log_joint_and_pullback(self._check_rows(X))[0]

    def log_prob(self, X: FloatArray) -> FloatArray:
        """Return `log p(x) = logsumexp_k log p(x, y=k)`, shape `(rows,)`."""
        return log_sum_exp(self.log_joint(X))

    def log_posterior(self, X: FloatArray) -> FloatArray:
        """Return `log p(y | x) = log p(x, y) - log p(x)`; exact however far from the data."""
        return log_posterior(self.log_joint(X))

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return p(y | x), shape `(rows, classes)`."""
        return np.exp(self.log_posterior(X))

    def log_joint_vjp(self, X: FloatArray, W: FloatArray) -> FloatArray:
        """Return the gradient of `sum_k W[i, k] log p(x_i, y=k)` with respect to each row."""
        joint, pullback = self.log_joint_and_pullback(self._check_rows(X))
        weights = np.asarray(W, dtype=np.float64)
        if weights.shape != joint.shape:
            raise InvalidInput(f"'W' must have shape {joint.shape}. Got {weights.shape}.")
        return pullback(weights)

    def pool(self, label: object) -> Pool:
        """Return 4,000 fixed-seed draws of a class with their log-densities; made once."""
        index = self.class_index(label)
        pools: dict[int, Pool] = self.__dict__.setdefault("_pools", {})
        if index not in pools:
            rng = np.random.default_rng([DRAWS_SEED, index])
            X = self.sample(4_000, rng=rng, label=label)[0].copy()
            X.flags.writeable = False  # whoever has judged these draws may remember them
            pools[index] = Pool(X, self.log_joint(X))
        return pools[index]

    def class_index(self, label: object) -> int:
        """Return the column of a class.

        Raises:
            InvalidInput: there is no such class.
        """
        known = self.classes_.tolist()
        text = str(label_array([label]).item(0))  # 1.0 is 1, as it was when the table was read
        wanted = (str(label), text)
        match = [k for k, name in enumerate(known) if str(name) in wanted]
        if not match:
            raise InvalidInput(
                f"The class must be one of {quote(self.classes_.tolist(), limit=20)}. "
                f"Got '{label}'."
            )
        return match[0]

    def to_model(self, rows: object) -> FloatArray:
        """Map rows in user units (frame, Series, dict or array) to model space, shape `(rows, n)`.

        A frame's columns may stand in any order; the target and columns that were left out of
        the model are ignored.

        Raises:
            InvalidInput: columns are missing, unknown or not finite numbers.
        """
        return self.standardizer_.transform(self.user_values(rows))

    def user_values(self, rows: object) -> FloatArray:
        """Return rows in user units as an array with the density's feature order."""
        frame = self.user_frame(rows)
        known = {*self.features_, *self.left_out_, self.target_}
        extra = [name for name in frame.columns if name not in known]
        if extra:
            raise InvalidInput(
                f"The row must have the features of the model only. Unknown: {quote(extra)}: "
                "drop these columns."
            )
        frame = frame[list(self.features_)]
        objects = {  # a Series that also held a class name arrives as objects: numbers are numbers
            name: frame[name].astype(np.float64)
            for name, kind in zip(self.features_, frame.dtypes, strict=True)
            if pd.api.types.is_object_dtype(kind)
            and frame[name].map(lambda value: isinstance(value, int | float | np.number)).all()
        }
        frame = frame.assign(**objects) if objects else frame
        return numeric_matrix(frame, what="The row")

    def user_frame(self, rows: object) -> pd.DataFrame:
        """Return rows in user units (frame, Series, dict or array) as a frame with every feature.

        Values and other columns are as they came.

        Raises:
            InvalidInput: features are missing, or names are repeated.
        """
        self._check_fitted()
        if isinstance(rows, Mapping):
            rows = pd.DataFrame([{str(name): value for name, value in rows.items()}])
        elif isinstance(rows, pd.Series):
            rows = pd.DataFrame([rows.to_list()], columns=[str(name) for name in rows.index])
        rows = as_pandas(rows)
        if not isinstance(rows, pd.DataFrame):
            rows = self._frame_of_array(rows)
        names = [str(column) for column in rows.columns]
        check_unique(names, what="The row")
        missing = [name for name in self.features_ if name not in names]
        if missing:
            raise InvalidInput(f"The row must have every feature. Missing: {quote(missing)}.")
        return rows.set_axis(names, axis=1)

    def to_user(self, X: FloatArray) -> pd.DataFrame:
        """Map model-space rows to a DataFrame in user units."""
        rows = self._check_rows(X)
        return pd.DataFrame(self.standardizer_.inverse(rows), columns=list(self.features_))

    # As scikit-learn has it -------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments that make this density, unfitted, once more.

        Args:
            deep: for scikit-learn; no argument of a density has arguments of its own.
        """
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Change arguments, by name; what was learned stays until the next fit.

        Raises:
            InvalidInput: there is no such argument, or its value is not allowed.

        Example:
            >>> from daace import KernelDensity
            >>> KernelDensity().set_params(bandwidth=0.5)
            KernelDensity(bandwidth=0.5, max_rows_per_class=10000)
        """
        known = self.get_params()
        unknown = [name for name in params if name not in known]
        if unknown:
            raise InvalidInput(
                f"'{unknown[0]}' must be an argument of {type(self).__name__}: {quote(known, 20)}."
            )
        checked = type(self)(**{**known, **params})
        self.__dict__.update(checked.__dict__)
        return self

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted density with the same arguments: `sklearn.base.clone`."""
        return type(self)(**deepcopy(self.get_params()))

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({settings})"

    def __getattr__(self, name: str) -> Any:
        learned = name.endswith("_") and not name.startswith("_")
        if learned and "standardizer_" not in self.__dict__:
            raise NotFitted(
                f"This {type(self).__name__} has no '{name}' yet: call fit(table) first."
            )
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_pools"}

    # For concrete densities -------------------------------------------------------------------

    def _learn_names(self, table: Table) -> tuple[FloatArray, IntArray]:
        """Keep names and standardisation of a table; return its rows and class indices."""
        check_table(table)
        check_class_sizes(table, self.fewest_rows)
        standardizer = Standardizer.fit(table.X, features=table.features)
        self.classes_ = table.classes
        self.features_ = table.features
        self.target_ = table.target
        self.units_ = dict(table.units)
        self.whole_ = table.whole
        self.nonnegative_ = table.nonnegative
        self.left_out_ = dict(table.left_out)
        self.columns_ = table.columns
        self.standardizer_ = standardizer
        self.__dict__.pop("_pools", None)
        return standardizer.transform(table.X), np.searchsorted(table.classes, table.y)

    def _describe_draws(self) -> None:
        X, _ = self.sample(DRAWS, rng=np.random.default_rng(DRAWS_SEED))
        self.draws_ = DrawStatistics.of(X, self.log_prob(X))

    def _check_fitted(self) -> None:
        if "standardizer_" not in self.__dict__:
            name = type(self).__name__
            raise NotFitted(f"This {name} is not fitted: call fit(table) first.")

    def _check_rows(self, X: FloatArray) -> FloatArray:
        self._check_fitted()
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != len(self.features_):
            raise InvalidInput(
                f"'X' must have shape (rows, {len(self.features_)}). Got {rows.shape}."
            )
        return rows

    def _frame_of_array(self, rows: Any) -> pd.DataFrame:
        try:
            array = np.atleast_2d(np.asarray(rows, dtype=np.float64))
        except (TypeError, ValueError):
            raise InvalidInput(
                "The row must be a Series, a dict, a DataFrame or an array of numbers. "
                f"Got {type(rows).__name__}."
            ) from None
        for names in (self.features_, self.columns_):
            if array.ndim == 2 and array.shape[1] == len(names):
                return pd.DataFrame(array, columns=list(names))
        raise InvalidInput(
            f"The row must have {len(self.features_)} values. Got shape {np.shape(rows)}."
        )


def check_class_sizes(table: Table, fewest: int) -> None:
    """Raise `InvalidInput` for a class with too few rows.

    Args:
        table: rows with their class.
        fewest: the `fewest_rows` of a density.
    """
    counts = [int((table.y == label).sum()) for label in table.classes]
    if min(counts) >= fewest:
        return
    got = f"Got {min(counts)} of '{table.classes[int(np.argmin(counts))]}'"
    if fewest < FEWEST_ROWS:
        raise InvalidInput(
            f"Every class must have at least {fewest} rows. {got}: drop this class or merge it "
            "with another."
        )
    raise InvalidInput(
        f"Every class must have at least {fewest} rows: fewer could be read out of the model. "
        f"{got}: drop this class, merge it with another, or use a KernelDensity ('kde'), which "
        "keeps its rows."
    )


def _in_two_passes(
    density: ConditionalDensity, paths: FloatArray, nodes: FloatArray, looks: int
) -> ToEnd:
    """Do what `log_joint_to_end` does by `log_joint_along`, and by a look at the ends alone."""
    joint, to_waypoints = density.log_joint_along(paths, nodes)
    there, pullback = density.log_joint_and_pullback(paths[:, -1])

    def both(W: FloatArray, V: FloatArray) -> tuple[FloatArray, FloatArray]:
        return to_waypoints(W), np.stack([pullback(V[:, k]) for k in range(looks)], axis=1)

    return joint, there, both


def _places(paths: FloatArray, nodes: FloatArray) -> FloatArray:
    """Return the points at the nodes of every segment, shape `(paths, segments, nodes, n)`."""
    vectors = paths[:, 1:] - paths[:, :-1]
    return paths[:, :-1, None] + nodes[:, None] * vectors[:, :, None]


def _to_waypoints(pulled: FloatArray, nodes: FloatArray) -> FloatArray:
    """Share gradients at the places between the waypoints before and behind them."""
    behind = np.einsum("bsqn,q->bsn", pulled, nodes)
    gradient = np.zeros((len(pulled), pulled.shape[1] + 1, pulled.shape[3]))
    gradient[:, 1:] = behind
    gradient[:, :-1] += pulled.sum(axis=2) - behind
    return gradient


def log_sum_exp(rows: FloatArray) -> FloatArray:
    """Return `log sum_k exp(rows[i, k])` of finite numbers, without overflow.

    scipy's function does the same at ten times the overhead on the few rows of a path.
    """
    columns = np.array(rows.T, order="C")  # reductions along the long axis are the fast ones
    top = columns.max(axis=0)
    columns -= top
    total: FloatArray = top + np.log(np.exp(columns, out=columns).sum(axis=0))
    return total


def log_posterior(log_joint: FloatArray) -> FloatArray:
    """Normalise the rows of a log-joint: `log p(y|x) = log p(x,y) - logsumexp_y log p(x,y)`."""
    return log_joint - log_sum_exp(log_joint)[:, None]


def check_draw(n: int, rng: np.random.Generator) -> None:
    """Raise `InvalidInput` unless `n` rows can be drawn with `rng`."""
    check_integer("n", n, at_least=0)
    if not isinstance(rng, np.random.Generator):
        raise InvalidInput(
            f"'rng' must be a numpy Generator. Got {type(rng).__name__}: "
            "make one with np.random.default_rng(seed)."
        )


def draw_classes(
    log_prior: FloatArray, n: int, *, rng: np.random.Generator, index: int | None
) -> IntArray:
    """Draw class indices from the prior, or repeat one index."""
    check_draw(n, rng)
    if index is not None:
        return np.full(n, index, dtype=np.intp)
    prior = np.exp(log_prior)
    return rng.choice(len(prior), size=n, p=prior / prior.sum()).astype(np.intp)
