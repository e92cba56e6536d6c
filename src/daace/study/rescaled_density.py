"""A density in the model space of another: all paths of a study are in one space."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from daace._typing import FloatArray, Labels, Pullback
from daace.data.standardizer import Standardizer
from daace.density.base import ConditionalDensity
from daace.density.segments import ToEnd


class RescaledDensity(ConditionalDensity):
    """A fitted density after a change of model space, that is, with another `Standardizer`.

    With z' = a z + b from the new model space to the density's own, feature by feature,
    `log p(z) = log p'(z') + sum_j log a_j`.

    Args:
        inner: a fitted density.
        standardizer: standardizer of the new model space.

    Example:
        >>> from daace import GaussianMixture
        >>> inner = GaussianMixture([1, 1], [[0.0], [4.0]], [[[4.0]], [[4.0]]], ["a", "b"])
        >>> density = RescaledDensity(inner, Standardizer(np.array([0.0]), np.array([2.0])))
        >>> gain = density.log_prob(np.array([[1.0]])) - inner.log_prob(np.array([[2.0]]))
        >>> np.exp(gain).round(9).tolist()
        [2.0]
    """

    def __init__(self, inner: ConditionalDensity, standardizer: Standardizer) -> None:
        own, draws = inner.standardizer_, inner.draws_
        self.inner = inner
        self.factor = standardizer.scale / own.scale
        self.shift = (standardizer.mean - own.mean) / own.scale
        self.log_volume = float(np.log(self.factor).sum())
        self.classes_ = inner.classes_
        self.features_, self.encoding_ = inner.features_, inner.encoding_
        self.target_ = inner.target_
        self.units_ = inner.units_
        self.standardizer_ = standardizer
        self.gaussian_ = inner.gaussian_
        self.resolution_ = inner.resolution_ / float(self.factor.max())
        self.draws_ = replace(
            draws,
            quantiles=draws.quantiles + self.log_volume,
            mean=draws.mean + self.log_volume,
            lower=(draws.lower - self.shift) / self.factor,
            upper=(draws.upper - self.shift) / self.factor,
        )

    def log_joint(self, X: FloatArray) -> FloatArray:
        """Return log p(x, y) for every class, by the inner density's own method."""
        rows = self._check_rows(X)
        return self.inner.log_joint(rows * self.factor + self.shift) + self.log_volume

    def log_joint_and_pullback(self, X: FloatArray) -> tuple[FloatArray, Pullback]:
        joint, inner_pullback = self.inner.log_joint_and_pullback(X * self.factor + self.shift)

        def pullback(W: FloatArray) -> FloatArray:
            return inner_pullback(W) * self.factor

        return joint + self.log_volume, pullback

    def log_joint_along(self, paths: FloatArray, nodes: FloatArray) -> tuple[FloatArray, Pullback]:
        rescaled = paths * self.factor + self.shift
        joint, inner_pullback = self.inner.log_joint_along(rescaled, nodes)
        return joint + self.log_volume, lambda W: inner_pullback(W) * self.factor

    def log_joint_to_end(self, paths: FloatArray, nodes: FloatArray, looks: int) -> ToEnd:
        """Return log p(x, y) along many paths and at their ends, by the inner density's method."""
        rescaled = paths * self.factor + self.shift
        joint, there, inner_pullback = self.inner.log_joint_to_end(rescaled, nodes, looks)

        def pullback(W: FloatArray, V: FloatArray) -> tuple[FloatArray, FloatArray]:
            along, at_end = inner_pullback(W, V)
            return along * self.factor, at_end * self.factor

        return joint + self.log_volume, there + self.log_volume, pullback

    def sample(
        self, n: int, *, rng: np.random.Generator, label: object = None
    ) -> tuple[FloatArray, Labels]:
        X, y = self.inner.sample(n, rng=rng, label=label)
        return (X - self.shift) / self.factor, y
