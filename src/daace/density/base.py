"""The interface of every density, and the recipe to write your own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from daace._typing import FloatArray, IntArray, Labels, Pullback
from daace.data.encoding import Encoding
from daace.data.labels import find_class
from daace.data.standardizer import Standardizer
from daace.data.table import Table, check_numbers, check_table
from daace.density.bayes import log_posterior, log_sum_exp
from daace.density.draws import DRAWS, DRAWS_SEED, POOLED, DrawStatistics, HeldOut, Pool
from daace.density.parameters import change_params, copy_unfitted, read_params, show_params
from daace.density.privacy import check_class_sizes
from daace.density.rows import check_model_rows, encode_rows, frame_of_rows
from daace.density.segments import ToEnd, along_segments, in_one_pass, in_two_passes
from daace.exceptions import InvalidInput, NotFitted


class ConditionalDensity(ABC):
    """A density p(x, y) over features x (model space) and a class y.

    To write your own density, subclass this one:

    1. `fit(table)` begins with `X, y = self._learn_names(table)`, which sets the attributes below
       and returns standardised rows and class indices. It ends with `self._describe_draws()` and
       returns self. With the decorator `all_or_nothing` a `fit` that fails changes nothing.
    2. Write `log_joint_and_pullback` and `sample`. Everything else (probabilities, gradients,
       planning, plots) follows from them. With `held_out`, too, `daace.fit` checks each fit.
    3. For model files, set `kind` and write `to_arrays` and `from_arrays`. A density that consists
       of training rows sets `holds_rows = True`; any other one sets `fewest_rows = FEWEST_ROWS`,
       the rows that `_learn_names` requires of every class.
    4. Check it with `daace.testing.check_density(density)`, and add it to `density/registry.py` to
       make it known to `daace.fit`, to the command line and to model files.

    Attributes:
        kind: name of the density in `daace.fit`, on the command line and in model files.
        holds_rows: whether the density consists of training rows.
        fewest_rows: smallest number of rows of a class that it can be fitted on.
        takes_codes: whether it can be fitted on tables with categories, ordered features or atoms.
        classes_: class labels, in the order of the columns of `log_joint`.
        features_: feature names, in the order of the columns of `X`.
        encoding_: encoding of the `encoding_.width` columns of `X`: numbers or codes.
        line_weights_: h by index of the feature, see `log_measure`.
        target_: name of the class column.
        units_: unit by feature name, where known.
        whole_: features that hold only integers, with few distinct values.
        nonnegative_: features without a value below 0.
        left_out_: columns of the table that are not part of the model, each with the reason.
        columns_: names of features and left-out columns, in the order of arrays that have both.
        standardizer_: map between user units and model space.
        draws_: statistics of 10,000 draws.
        resolution_: length, in model space, over which log p may bend; infinite for smooth
            densities, the bandwidth for a KDE.
        gaussian_: whether each class is a single Gaussian, so that no barriers separate two points.
    """

    kind: ClassVar[str] = ""
    holds_rows: ClassVar[bool] = False
    fewest_rows: ClassVar[int] = 2
    takes_codes: ClassVar[bool] = False

    classes_: Labels
    features_: tuple[str, ...]
    encoding_: Encoding
    line_weights_: Mapping[int, float] = MappingProxyType({})
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

        Args:
            X: rows in model space, shape `(rows, n)`.

        Returns:
            J of shape `(rows, classes)`, and a function that takes W of that shape to
            `sum_k W[i, k] * dJ[i, k] / dx_i`, shape `(rows, n)`, from the same pass.
        """

    @abstractmethod
    def sample(
        self, n: int, *, rng: np.random.Generator, label: object = None
    ) -> tuple[FloatArray, Labels]:
        """Draw rows of the density.

        Args:
            n: number of rows.
            rng: source of the draws.
            label: draw from p(x | y=label) only.

        Returns:
            Rows in model space, shape `(n, features)`, and the class of each, shape `(n,)`.
        """

    def to_arrays(self) -> tuple[dict[str, FloatArray], dict[str, Any]]:
        """Return the learned state: float64 arrays by name, and settings in JSON's types."""
        raise InvalidInput(f"A {type(self).__name__} cannot be saved: it has no 'to_arrays'.")

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray], settings: Mapping[str, Any]) -> Self:
        """Rebuild a density from `to_arrays`.

        Args:
            arrays: arrays by name.
            settings: settings in JSON's types; for a table with codes also its `encoding`.

        Raises:
            KeyError: something is missing.
            ValueError: something does not fit.
        """
        raise InvalidInput(f"A {cls.__name__} cannot be loaded: it has no 'from_arrays'.")

    def held_out(self, table: Table) -> HeldOut | None:
        """Evaluate a density like this one on rows of its table that it was not fitted on.

        `daace.fit` uses it to check the quality of the density. Return None if there are too few
        rows for that, or another fit would take too long. Write it with `judge_table`.

        Args:
            table: the table that this density was fitted on.
        """
        return None

    def judge_table(self, table: Table) -> HeldOut:
        """Evaluate this density on the rows of a table.

        Args:
            table: a table with the features and classes of this density.
        """
        X = self.to_model(table.to_frame())
        return HeldOut(self.log_joint(X), np.searchsorted(self.classes_, table.y), self.draws_)

    def given(self, values: Mapping[str, object]) -> ConditionalDensity:
        """Return the density of the other features, p(x_free, y | x_fixed).

        Args:
            values: values by feature, in user units; a gap (NaN or None) is given as one.

        Raises:
            InvalidInput: this density has no exact conditional, or the values do not fit.
        """
        raise InvalidInput(
            f"A {type(self).__name__} has no exact density of some features given others: "
            "networks, mixtures and kernel densities have."
        )

    def draw_given(
        self, fixed: IntArray, x: FloatArray, draws: int, *, label: object = None
    ) -> FloatArray | None:
        """Return fixed-seed draws that share some columns with a row.

        Args:
            fixed: the shared columns; a number with atoms counts if its code is shared, too.
            x: the row in model space, shape `(n,)`.
            draws: number of draws.
            label: draw from one class only.

        Returns:
            Shape `(draws, n)`; None if this density cannot make such draws.
        """
        return None

    def find_profiles(self, X: FloatArray) -> tuple[list[str], dict[str, str]]:
        """Return the most probable profile of each row, and descriptions of those that occur.

        Args:
            X: rows in model space, shape `(rows, n)`.

        Returns:
            Class and number of each row's profile, such as 'benign 2', or empty text without
            profiles; and the description of each by name.
        """
        return [""] * len(X), {}

    # What follows from it ---------------------------------------------------------------------

    def log_joint_along(self, paths: FloatArray, nodes: FloatArray) -> tuple[FloatArray, Pullback]:
        """Return log p(x, y) at the same nodes of every segment of many paths, and its pullback.

        A segment has the codes of its last waypoint. Densities with a closed form may override it.

        Args:
            paths: shape `(paths, waypoints, n)`.
            nodes: positions on a segment, from 0, its beginning, to 1.

        Returns:
            J of shape `(paths, segments, nodes, classes)`, and a function that takes W of that
            shape to the gradient of `sum(W * J)` with respect to the waypoints.
        """
        return along_segments(self.log_joint_and_pullback, paths, nodes, self.encoding_.code_sizes)

    def log_joint_to_end(self, paths: FloatArray, nodes: FloatArray, looks: int) -> ToEnd:
        """Return log p(x, y) along many paths and at their ends, and the pullback of both.

        All points go through one pass, since with few paths the cost is in passes, not points. A
        density with its own `log_joint_along` is faster in two passes.

        Args:
            paths: shape `(paths, waypoints, n)`.
            nodes: positions on a segment, from 0, its beginning, to 1.
            looks: number of gradients wanted at each end, at least 1.

        Returns:
            J of shape `(paths, segments, nodes, classes)`; that of the ends, shape `(paths,
            classes)`; and a function of W of the shape of J and V of shape `(paths, looks,
            classes)`: it returns the gradient of `sum(W * J)` with respect to the waypoints,
            and the `looks` gradients at the ends, shape `(paths, looks, n)`.
        """
        evaluate = self.log_joint_and_pullback
        if type(self).log_joint_along is not ConditionalDensity.log_joint_along:
            return in_two_passes(self.log_joint_along, evaluate, paths, nodes, looks)
        return in_one_pass(evaluate, paths, nodes, looks, self.encoding_.code_sizes)

    def log_joint(self, X: FloatArray) -> FloatArray:
        """Return log p(x, y) for every class, shape `(rows, classes)`."""
        return self.log_joint_and_pullback(self._check_rows(X))[0]

    def log_prob(self, X: FloatArray) -> FloatArray:
        """Return `log p(x) = logsumexp_k log p(x, y=k)`, shape `(rows,)`."""
        return log_sum_exp(self.log_joint(X))

    def log_measure(self, X: FloatArray) -> FloatArray:
        """Return the sum of h over the numbers with atoms that are at none, shape `(rows,)`.

        `log_joint` is with respect to a measure in which the line of such a number has the weight
        e^h beside the mass 1 of each atom; with `log_measure(X)` added, it is the plain one.
        """
        total = np.zeros(len(rows := self._check_rows(X)))
        for j, weight in self.line_weights_.items():
            total += weight * (rows[:, self.encoding_.atom_columns[j]] == 0)
        return total

    def log_posterior(self, X: FloatArray) -> FloatArray:
        """Return `log p(y | x) = log p(x, y) - log p(x)`; exact however far from the data."""
        return log_posterior(self.log_joint(X))

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return p(y | x), shape `(rows, classes)`."""
        return np.exp(self.log_posterior(X))

    def log_joint_vjp(self, X: FloatArray, W: FloatArray) -> FloatArray:
        """Return the gradient of `sum_k W[i, k] log p(x_i, y=k)` with respect to each row.

        Args:
            X: rows in model space, shape `(rows, n)`.
            W: weights, shape `(rows, classes)`.

        Returns:
            Shape `(rows, n)`.
        """
        joint, pullback = self.log_joint_and_pullback(self._check_rows(X))
        if (weights := np.asarray(W, dtype=np.float64)).shape != joint.shape:
            raise InvalidInput(
                argument="W", expected=f"have shape {joint.shape}", got=str(weights.shape)
            )
        return pullback(weights)

    def pool(self, label: object) -> Pool:
        """Return 4,000 fixed-seed draws of a class with their log-densities; drawn once.

        Args:
            label: the class.

        Raises:
            InvalidInput: there is no such class.
        """
        index = self.class_index(label)
        pools: dict[int, Pool] = self.__dict__.setdefault("_pools", {})
        if index not in pools:
            rng = np.random.default_rng([DRAWS_SEED, index])
            X = self.sample(POOLED, rng=rng, label=label)[0].copy()
            pools[index] = Pool(X, self.log_joint(X))
        return pools[index]

    def class_index(self, label: object) -> int:
        """Return the column of a class in `log_joint`.

        Args:
            label: the class.

        Raises:
            InvalidInput: there is no such class.
        """
        return find_class(label, self.classes_)

    def to_model(self, rows: object) -> FloatArray:
        """Map rows in user units to model space, shape `(rows, n)`.

        Args:
            rows: a frame of pandas, polars or pyarrow, a Series, a dict or an array. The columns
                of a frame may be in any order; the target and columns that were left out of the
                model are ignored.

        Raises:
            InvalidInput: columns are missing, unknown or not finite numbers.
        """
        return self.standardizer_.transform(self.user_values(rows))

    def user_values(self, rows: object) -> FloatArray:
        """Return rows in user units as the array of numbers and codes, see `Encoding`.

        Args:
            rows: as in `to_model`.

        Raises:
            InvalidInput: columns are missing, unknown, or have values unknown to the model.
        """
        return encode_rows(self.user_frame(rows), self.encoding_, self.target_)

    def user_frame(self, rows: object) -> pd.DataFrame:
        """Return rows in user units (frame, Series, dict or array) as a frame with every feature.

        Values and other columns are unchanged.

        Args:
            rows: as in `to_model`.

        Raises:
            InvalidInput: features are missing, or names are repeated.
        """
        self._check_fitted()
        return frame_of_rows(rows, features=self.features_, columns=self.columns_)

    def to_user(self, X: FloatArray) -> pd.DataFrame:
        """Map model-space rows to a DataFrame in user units and dtypes."""
        rows = self.standardizer_.inverse(self._check_rows(X))
        if not self.encoding_.code_sizes:
            return pd.DataFrame(rows, columns=list(self.features_))
        return self.encoding_.decode(rows)

    # As scikit-learn has it -------------------------------------------------------------------

    get_params = read_params
    set_params = change_params
    __sklearn_clone__ = copy_unfitted
    __repr__ = show_params

    def __getattr__(self, name: str) -> Any:
        learned = name.endswith("_") and not name.startswith("_")
        if learned and "standardizer_" not in self.__dict__:
            raise NotFitted(
                f"This {type(self).__name__} has no '{name}' yet: call fit(table) first."
            )
        if name == "encoding_" and "features_" in self.__dict__:  # names by hand: plain numbers
            return Encoding.of_numbers(self.features_)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_pools"}

    # For concrete densities -------------------------------------------------------------------

    def _learn_names(self, table: Table) -> tuple[FloatArray, IntArray]:
        """Keep names and standardisation of a table; return its rows and class indices."""
        check_table(table)
        if not self.takes_codes:
            check_numbers(table)
        check_class_sizes(table, self.fewest_rows)
        names, codes = table.encoding.column_names, tuple(table.encoding.code_sizes)
        standardizer = Standardizer.fit(table.X, features=names, codes=codes)
        self.classes_, self.features_ = table.classes, table.features
        self.encoding_ = table.encoding
        self.line_weights_ = {}
        self.target_, self.units_ = table.target, dict(table.units)
        self.whole_, self.nonnegative_ = table.whole, table.nonnegative
        self.left_out_, self.columns_ = dict(table.left_out), table.columns
        self.standardizer_ = standardizer
        self.__dict__.pop("_pools", None)
        return standardizer.transform(table.X), np.searchsorted(table.classes, table.y)

    def _describe_draws(self) -> None:
        X, _ = self.sample(DRAWS, rng=np.random.default_rng(DRAWS_SEED))
        self.draws_ = DrawStatistics.of(X, self.log_prob(X), self.encoding_.code_sizes)

    def _check_fitted(self) -> None:
        if "standardizer_" not in self.__dict__:
            raise NotFitted(f"This {type(self).__name__} is not fitted: call fit(table) first.")

    def _check_rows(self, X: FloatArray) -> FloatArray:
        self._check_fitted()
        return check_model_rows(X, self.encoding_)
