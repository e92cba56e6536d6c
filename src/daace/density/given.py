"""The density of the other features, given the values of some: p(x_free, y | x_fixed)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import pandas as pd

from daace._typing import FloatArray, IntArray, Labels, Pullback
from daace._wording import quote
from daace.data.standardizer import Standardizer
from daace.density.base import ConditionalDensity
from daace.density.components import ClassComponents
from daace.density.draws import DRAWS_SEED, check_draw
from daace.density.given_components import ComponentsGiven
from daace.exceptions import InvalidInput


class GivenComponents(ConditionalDensity):
    """A network or mixture over the free features, given the fixed ones.

    Made by `density.given({...})`; exact, and itself a mixture of Gaussians.

    Args:
        base: the density of all features.
        free: positions of the free features.
        components: p(x_free, y | x_fixed).
    """

    def __init__(
        self, base: ConditionalDensity, free: IntArray, components: ClassComponents
    ) -> None:
        self.base = base
        self.free = free
        self.components = components
        take_names(self, base, free)
        self.resolution_ = components.resolution
        self.gaussian_ = components.single
        self._describe_draws()

    def __repr__(self) -> str:
        return f"{self.base!r} given {len(self.base.features_) - len(self.features_)} features"

    def log_joint(self, X: FloatArray) -> FloatArray:
        """Return log p(x_free, y | x_fixed) for every class, shape `(rows, classes)`."""
        return self.components.log_joint(self._check_rows(X))

    def log_joint_and_pullback(self, X: FloatArray) -> tuple[FloatArray, Pullback]:
        return self.components.log_joint_and_pullback(X)

    def log_joint_along(self, paths: FloatArray, nodes: FloatArray) -> tuple[FloatArray, Pullback]:
        return self.components.log_joint_along(paths, nodes)

    def sample(
        self, n: int, *, rng: np.random.Generator, label: object = None
    ) -> tuple[FloatArray, Labels]:
        check_draw(n, rng)
        index = None if label is None else self.class_index(label)
        X, chosen = self.components.sample(n, rng=rng, index=index)
        return X, self.classes_[self.components.owner[chosen]]


class RowsGiven(Protocol):
    """Rows of a density given some of their columns.

    Attributes:
        log_mass: log p of the given values.
    """

    log_mass: float

    def draw(
        self, n: int, *, rng: np.random.Generator, index: int | None = None
    ) -> tuple[FloatArray, IntArray]:
        """Draw rows with all columns, and the class index of each.

        Args:
            n: number of rows.
            rng: source of the draws.
            index: draw from one class only.
        """
        ...


class GivenRows(ConditionalDensity):
    """A density of numbers and codes: of the free features, given the fixed ones.

    `log p(free, y | fixed) = log p(free, fixed, y) - log p(fixed)`: the density of all features at
    rows with the fixed values. Made by `density.given({...})`.

    Args:
        base: the density of all features.
        free: positions of the free features.
        row: a row with the fixed values, in model space.
        rows: the rows of the base with the same columns.
    """

    def __init__(
        self, base: ConditionalDensity, free: IntArray, row: FloatArray, rows: RowsGiven
    ) -> None:
        self.base, self.free, self.row, self.rows = base, free, row, rows
        self.columns = take_names(self, base, free)
        places = {int(j): i for i, j in enumerate(free)}
        weights = base.line_weights_.items()
        self.line_weights_ = {places[j]: weight for j, weight in weights if j in places}
        self.resolution_ = base.resolution_
        self._describe_draws()

    def __repr__(self) -> str:
        return f"{self.base!r} given {len(self.base.features_) - len(self.features_)} features"

    def _whole(self, X: FloatArray) -> FloatArray:
        """Return rows of the free features as rows of all features."""
        rows = np.empty((*X.shape[:-1], len(self.row)))
        rows[...] = self.row
        rows[..., self.columns] = X
        return rows

    def log_joint(self, X: FloatArray) -> FloatArray:
        """Return log p(x_free, y | x_fixed) for every class, shape `(rows, classes)`."""
        return self.base.log_joint(self._whole(self._check_rows(X))) - self.rows.log_mass

    def log_joint_and_pullback(self, X: FloatArray) -> tuple[FloatArray, Pullback]:
        rows = self._whole(self._check_rows(X))
        joint, pullback = self.base.log_joint_and_pullback(rows)
        return joint - self.rows.log_mass, lambda W: pullback(W)[:, self.columns]

    def log_joint_along(self, paths: FloatArray, nodes: FloatArray) -> tuple[FloatArray, Pullback]:
        joint, pullback = self.base.log_joint_along(self._whole(paths), nodes)
        return joint - self.rows.log_mass, lambda W: pullback(W)[..., self.columns]

    def sample(
        self, n: int, *, rng: np.random.Generator, label: object = None
    ) -> tuple[FloatArray, Labels]:
        check_draw(n, rng)
        index = None if label is None else self.class_index(label)
        X, classes = self.rows.draw(n, rng=rng, index=index)
        return X[:, self.columns], self.classes_[classes]


def given_components(
    density: ConditionalDensity, components: ClassComponents, values: Mapping[str, object]
) -> ConditionalDensity:
    """Return the density of the other features of a network or mixture.

    Args:
        density: density of all features.
        components: its components.
        values: values by feature, in user units.

    Raises:
        InvalidInput: the values do not fit; or the fixed numbers depend on too many other numbers
            with atoms.
    """
    fixed, x = read_given(density, values)
    free = free_features(density, values)
    if components.codes is None:
        return GivenComponents(density, free, components.given(fixed, x[fixed])[0])
    try:
        rows = ComponentsGiven(components, fixed, x)
    except ValueError as error:
        raise InvalidInput(
            argument="given",
            expected="fix numbers that depend on few others with atoms",
            got=str(error),
        ) from None
    return GivenRows(density, free, x, rows)


def draw_given_components(
    components: ClassComponents, fixed: IntArray, x: FloatArray, draws: int, index: int | None
) -> FloatArray | None:
    """Return fixed-seed draws of components that share some columns with a row.

    Args:
        components: components of a network or mixture.
        fixed: the shared columns.
        x: the row in model space.
        draws: number of draws.
        index: draw from one class only.

    Returns:
        None if too many atoms matter.
    """
    if components.codes is None:
        return components.draw_given(fixed, x, draws, index=index)
    try:
        rows = ComponentsGiven(components, fixed, x)
    except ValueError:
        return None
    return rows.draw(draws, rng=np.random.default_rng(DRAWS_SEED), index=index)[0]


def free_features(density: ConditionalDensity, values: Mapping[str, object]) -> IntArray:
    """Return the positions of the features that have no value."""
    names = density.features_
    return np.array([j for j, name in enumerate(names) if name not in values], dtype=np.intp)


def take_names(density: ConditionalDensity, base: ConditionalDensity, free: IntArray) -> list[int]:
    """Give a density the names and scaling of some features of another.

    Args:
        density: density of the free features only.
        base: density of all features.
        free: positions of the free features.

    Returns:
        The columns of the other density that belong to them.
    """
    density.classes_ = base.classes_
    density.features_ = tuple(base.features_[j] for j in free)
    density.target_ = base.target_
    density.units_ = {name: base.units_[name] for name in density.features_ if name in base.units_}
    density.encoding_, columns = base.encoding_.select(density.features_)
    scaling = base.standardizer_
    density.standardizer_ = Standardizer(scaling.mean[columns], scaling.scale[columns])
    return columns


def read_given(
    density: ConditionalDensity, values: Mapping[str, object]
) -> tuple[IntArray, FloatArray]:
    """Return the columns of fixed features, and a model-space row with their values, 0 elsewhere.

    Args:
        density: the density, with names and units.
        values: values by feature, in user units; at least one, and not all.

    Raises:
        InvalidInput: a name is unknown, a value is not one of the feature, or no feature is free.
    """
    names = list(density.features_)
    unknown = [name for name in values if name not in names]
    if unknown:
        raise InvalidInput(argument="given", expected="name features", got=quote(unknown))
    if not 0 < len(values) < len(names):
        raise InvalidInput(
            argument="given",
            expected="fix at least one feature and leave at least one free",
            got=f"{len(values)} of {len(names)}",
        )
    fixed = [name for name in names if name in values]
    encoding, columns = density.encoding_.select(fixed)
    if density.encoding_.code_sizes:
        row = encoding.encode(pd.DataFrame({name: [values[name]] for name in fixed}))[0]
    else:
        row = _read_numbers(values, fixed)
    scaling, x = density.standardizer_, np.zeros(density.encoding_.width)
    x[columns] = (row - scaling.mean[columns]) / scaling.scale[columns]
    return np.array(columns, dtype=np.intp), x


def _read_numbers(values: Mapping[str, object], names: list[str]) -> FloatArray:
    try:
        row = np.array([float(values[name]) for name in names])  # type: ignore[arg-type]
    except (TypeError, ValueError):
        row = np.full(len(names), np.nan)
    if not np.isfinite(row).all():
        raise InvalidInput(argument="given", expected="have finite numbers", got=repr(dict(values)))
    return row
