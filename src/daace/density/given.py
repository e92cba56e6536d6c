"""The density of the other features, given the values of some: p(x_free, y | x_fixed)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from daace._typing import FloatArray, IntArray, Labels, Pullback
from daace._wording import quote
from daace.data.standardizer import Standardizer
from daace.density.base import ConditionalDensity
from daace.density.components import ClassComponents
from daace.density.draws import check_draw
from daace.exceptions import InvalidInput


class GivenComponents(ConditionalDensity):
    """A network or mixture over the features that are free, given those that are fixed.

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


def given_components(
    density: ConditionalDensity, components: ClassComponents, values: Mapping[str, float]
) -> GivenComponents:
    """Return the density of the other features of a network or mixture of numbers.

    Args:
        density: of all features.
        components: what it is made of.
        values: by feature, in user units.

    Raises:
        InvalidInput: the values do not fit, or there are codes, for which this is not exact.
    """
    if components.codes is not None:
        raise InvalidInput("A density of some features given others needs numbers without atoms.")
    fixed, x = read_given(density, values)
    free = np.setdiff1d(np.arange(len(density.features_)), fixed)
    return GivenComponents(density, free, components.given(fixed, x)[0])


def take_names(density: ConditionalDensity, base: ConditionalDensity, free: IntArray) -> None:
    """Give a density the names and scaling of some features of another.

    Args:
        density: over the free features only.
        base: over all features.
        free: positions of the free features.
    """
    density.classes_ = base.classes_
    density.features_ = tuple(base.features_[j] for j in free)
    density.target_ = base.target_
    density.units_ = {name: base.units_[name] for name in density.features_ if name in base.units_}
    density.encoding_ = base.encoding_.select(density.features_)[0]
    scaling = base.standardizer_
    density.standardizer_ = Standardizer(scaling.mean[free], scaling.scale[free])


def read_given(
    density: ConditionalDensity, values: Mapping[str, float]
) -> tuple[IntArray, FloatArray]:
    """Return the positions of fixed features and their values in model space.

    Args:
        density: knows names and units.
        values: by feature, in user units; at least one, and not all.

    Raises:
        InvalidInput: a name is unknown, a value is not a finite number, or no feature is free.
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
    fixed = np.array(sorted(names.index(name) for name in values), dtype=np.intp)
    try:
        row = np.array([float(values[names[j]]) for j in fixed])
    except (TypeError, ValueError):
        row = np.full(len(fixed), np.nan)
    if not np.isfinite(row).all():
        raise InvalidInput(argument="given", expected="have finite numbers", got=repr(dict(values)))
    scaling = density.standardizer_
    return fixed, (row - scaling.mean[fixed]) / scaling.scale[fixed]
