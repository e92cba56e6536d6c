"""What may change on the way, in the user's words; compiled into a set in model space."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.data.table import quote
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput


@dataclass(frozen=True)
class Constraints:
    """Rules for every waypoint, by feature name and in the user's units.

    Args:
        fixed: features that keep their value.
        lower, upper: bounds by feature.
        only_up, only_down: features that may only rise, or only fall, from waypoint to waypoint.
        weights: how hard a change is: a feature of weight 2 counts twice in the length.

    Example:
        >>> Constraints(fixed=["age"], only_up=["education"], upper={"debt": 20_000}).fixed
        ('age',)
    """

    fixed: Collection[str] = ()
    lower: Mapping[str, float] = field(default_factory=dict)
    upper: Mapping[str, float] = field(default_factory=dict)
    only_up: Collection[str] = ()
    only_down: Collection[str] = ()
    weights: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("fixed", "only_up", "only_down"):
            value = getattr(self, name)
            if isinstance(value, str) or not isinstance(value, Iterable):
                raise InvalidInput(f"'{name}' must be a list of features. Got {value!r}.")
            object.__setattr__(self, name, tuple(str(feature) for feature in value))
        for name in ("lower", "upper", "weights"):
            value = getattr(self, name)
            if not isinstance(value, Mapping):
                raise InvalidInput(
                    f"'{name}' must map features to numbers. Got {type(value).__name__}."
                )
            try:
                numbers = {str(feature): float(number) for feature, number in value.items()}
            except (TypeError, ValueError):
                raise InvalidInput(
                    f"'{name}' must map features to numbers. Got {dict(value)!r}."
                ) from None
            nowhere = {"lower": np.inf, "upper": -np.inf}.get(name, np.nan)
            wrong = [f for f, number in numbers.items() if np.isnan(number) or number == nowhere]
            if name == "weights":
                wrong = [f for f, number in numbers.items() if not 0 < number < np.inf]
            if wrong:
                raise InvalidInput(
                    f"'{name}' must be {'positive numbers' if name == 'weights' else 'numbers'}. "
                    f"Got {numbers[wrong[0]]} for '{wrong[0]}'."
                )
            object.__setattr__(self, name, numbers)
        both = sorted(set(self.only_up) & set(self.only_down))
        if both:
            raise InvalidInput(
                f"'only_up' and 'only_down' must differ. Got {quote(both)} in both: use 'fixed'."
            )
        crossed = [f for f in self.lower if self.lower[f] > self.upper.get(f, np.inf)]
        if crossed:
            raise InvalidInput(
                f"'lower' must not exceed 'upper'. Got {self.lower[crossed[0]]} > "
                f"{self.upper[crossed[0]]} for '{crossed[0]}'."
            )

    def features(self) -> set[str]:
        """Return every feature that a rule names."""
        return {
            *self.fixed,
            *self.lower,
            *self.upper,
            *self.only_up,
            *self.only_down,
            *self.weights,
        }

    def compile(
        self,
        density: ConditionalDensity,
        start: FloatArray,
        box: tuple[FloatArray, FloatArray] | None = None,
    ) -> FeasibleSet:
        """Return the model-space set that waypoints must stay in.

        Args:
            density: knows names and units.
            start: model-space start, always inside.
            box: model-space bounds of all waypoints; those of the density's draws when left out.

        Raises:
            InvalidInput: a rule names an unknown feature or excludes the start.
        """
        names = density.features_
        unknown = sorted(self.features() - set(names))
        if unknown:
            raise InvalidInput(
                f"'constraints' must name features of the model. Got {quote(unknown)}."
            )
        position = {name: j for j, name in enumerate(names)}
        scale, mean = density.standardizer_.scale, density.standardizer_.mean
        low, high = box if box is not None else (density.draws_.lower, density.draws_.upper)
        if np.shape(low) != start.shape or np.shape(high) != start.shape:
            raise InvalidInput(f"'box' must be two arrays of {len(start)} numbers.")
        if not np.all(np.asarray(low) <= np.asarray(high)):
            raise InvalidInput("'box' must have its lower bounds below its upper bounds.")
        lower = np.minimum(np.asarray(low, dtype=np.float64), start)
        upper = np.maximum(np.asarray(high, dtype=np.float64), start)
        direction = np.zeros(len(names), dtype=np.intp)
        weights = np.ones(len(names))
        for sense, bounds in (("lower", self.lower), ("upper", self.upper)):
            for feature, bound in bounds.items():
                j = position[feature]
                value = (bound - mean[j]) / scale[j]
                slack = start[j] - value if sense == "lower" else value - start[j]
                if slack < -1e-9 * max(1.0, abs(value)):
                    here = start[j] * scale[j] + mean[j]
                    raise InvalidInput(
                        f"'{sense}' must allow the start. Got {sense}={bound:g} for '{feature}', "
                        f"which is {here:g} now: move the bound or leave it out."
                    )
                if sense == "lower":
                    lower[j] = min(max(lower[j], value), start[j])
                else:
                    upper[j] = max(min(upper[j], value), start[j])
        for feature in self.only_up:
            direction[position[feature]] = 1
            lower[position[feature]] = start[position[feature]]
        for feature in self.only_down:
            direction[position[feature]] = -1
            upper[position[feature]] = start[position[feature]]
        for feature in self.fixed:
            j = position[feature]
            lower[j] = upper[j] = start[j]
            direction[j] = 0
        for feature, weight in self.weights.items():
            weights[position[feature]] = weight
        return FeasibleSet(lower, upper, direction, weights)


@dataclass(frozen=True, eq=False)
class FeasibleSet:
    """Where waypoints may be, in model space.

    Attributes:
        lower, upper: box; equal where a feature is fixed.
        direction: 1 where a feature may only rise along the path, -1 only fall, 0 free.
        weights: of each feature in the length.
    """

    lower: FloatArray
    upper: FloatArray
    direction: IntArray
    weights: FloatArray

    @property
    def weighted(self) -> bool:
        """Whether any weight differs from 1."""
        return bool((self.weights != 1.0).any())

    def contains(self, waypoints: FloatArray) -> bool:
        """Whether every waypoint of a path is allowed."""
        inside = (waypoints >= self.lower) & (waypoints <= self.upper)
        steps = np.diff(waypoints, axis=0) * self.direction
        return bool(inside.all() and (steps >= 0).all())

    def project(self, paths: FloatArray) -> FloatArray:
        """Return the nearest allowed paths; the first waypoint of each is the start and stays.

        Bounded isotonic regression along the path where a direction is given, clipping elsewhere.
        """
        free = project_paths(paths[..., 1:, :], self.lower, self.upper, self.direction)
        return np.concatenate([paths[..., :1, :], free], axis=-2)


def project_paths(
    free: FloatArray, lower: FloatArray, upper: FloatArray, direction: IntArray
) -> FloatArray:
    """Return the nearest allowed waypoints after the start, shape `(..., waypoints, n)`.

    Clipping to the bounds, which broadcast; isotonic along the path first where a direction is
    given: together the exact projection.
    """
    moved, j = free, np.flatnonzero(direction)
    if len(j):
        moved, sign = free.copy(), direction[j][:, None]
        ordered = sign * isotonic(sign * np.swapaxes(free[..., j], -1, -2))
        moved[..., j] = np.swapaxes(ordered, -1, -2)
    return np.clip(moved, lower, upper)


def isotonic(values: FloatArray, crowd: IntArray | None = None) -> FloatArray:
    """Return the nearest non-decreasing sequence along the last axis.

    By the min-max formula: entry k is the largest, over beginnings i <= k, of the smallest, over
    ends j >= k, of the means of the entries i..j.

    Args:
        values: shape `(..., size)`.
        crowd: numbers that do not fall along the last axis; only entries with the same number
            need to be in order. One crowd when left out.
    """
    size = values.shape[-1]
    if size == 1:
        return values.copy()
    sums = np.concatenate([np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1)], axis=-1)
    begin, end = np.indices((size, size))
    length = np.maximum(end - begin + 1, 1)
    together = end >= begin
    if crowd is not None:
        together = together & (crowd[..., begin] == crowd[..., end])
    means = np.where(together, (sums[..., end + 1] - sums[..., begin]) / length, np.inf)
    smallest = np.minimum.accumulate(means[..., ::-1], axis=-1)[..., ::-1]
    largest: FloatArray = np.where(together, smallest, -np.inf).max(axis=-2)
    return largest if crowd is not None else np.maximum.accumulate(largest, axis=-1)
