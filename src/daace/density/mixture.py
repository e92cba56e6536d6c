"""A Gaussian mixture given by its parameters: a density that is known exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from daace._typing import FloatArray, IntArray, Labels, Pullback
from daace.data.labels import label_array
from daace.data.standardizer import Standardizer
from daace.density.base import ConditionalDensity
from daace.density.components import ClassComponents
from daace.density.draws import check_draw
from daace.density.gaussian import WhitenedGaussians
from daace.density.given import GivenComponents, read_given
from daace.exceptions import InvalidInput


class GaussianMixture(ConditionalDensity):
    """p(x, y) = sum over the components c of class y of w_c N(x; mu_c, Sigma_c).

    It is not learned: model space is the user's space.

    Args:
        weights: positive, normalised here, shape `(components,)`.
        means: shape `(components, n)`.
        covariances: symmetric positive definite, shape `(components, n, n)`.
        labels: class of each component, shape `(components,)`.

    Example:
        >>> m = GaussianMixture([1, 1], [[0.0], [3.0]], [[[1.0]], [[1.0]]], ["a", "b"])
        >>> m.predict_proba(np.array([[1.5]])).round(3).tolist()
        [[0.5, 0.5]]
    """

    kind: ClassVar[str] = "gaussian-mixture"

    def __init__(
        self,
        weights: npt.ArrayLike,
        means: npt.ArrayLike,
        covariances: npt.ArrayLike,
        labels: npt.ArrayLike,
    ) -> None:
        try:
            w = np.asarray(weights, dtype=np.float64)
            mu = np.asarray(means, dtype=np.float64)
            sigma = np.asarray(covariances, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidInput(
                argument="'weights', 'means' and 'covariances'", expected="be arrays of numbers"
            ) from None
        names = label_array(np.asarray(labels))
        if mu.ndim != 2 or mu.size == 0 or w.shape != mu.shape[:1] or names.shape != mu.shape[:1]:
            raise InvalidInput(
                argument="'weights', 'means' and 'labels'",
                expected="have one entry per component",
                got=f"shapes {w.shape}, {mu.shape} and {names.shape}",
            )
        if sigma.shape != (*mu.shape, mu.shape[1]):
            raise InvalidInput(
                argument="covariances",
                expected=f"have shape {(*mu.shape, mu.shape[1])}",
                got=str(sigma.shape),
            )
        if not (np.all(w > 0) and np.all(np.isfinite(w))):
            raise InvalidInput(argument="weights", expected="be positive and finite")
        if not np.isfinite(mu).all():
            raise InvalidInput(argument="means", expected="be finite")
        wrong = InvalidInput(argument="covariances", expected="be symmetric and positive definite")
        try:
            roots = np.linalg.cholesky(sigma)
        except np.linalg.LinAlgError:
            raise wrong from None
        if not np.allclose(sigma, sigma.transpose(0, 2, 1)):
            raise wrong
        whiteners = np.linalg.inv(roots)
        self.weights = w / w.sum()
        self.means = mu
        self.covariances = sigma
        self.labels = names
        self.classes_ = np.unique(names)
        self.features_ = tuple(f"x{j + 1}" for j in range(mu.shape[1]))
        self.target_ = "class"
        self.units_ = {}
        self.standardizer_ = Standardizer.identity(mu.shape[1])
        order = np.argsort(np.searchsorted(self.classes_, names), kind="stable")
        offsets = -np.einsum("cij,cj->ci", whiteners, mu)
        self._rank = np.argsort(order)  # place of each component among those of its class
        self.components_ = ClassComponents(
            WhitenedGaussians(np.log(self.weights)[order], whiteners[order], offsets[order]),
            np.searchsorted(self.classes_, names[order]),
            len(self.classes_),
        )
        self.gaussian_ = self.components_.single
        self.resolution_ = self.components_.resolution
        self._describe_draws()

    def __repr__(self) -> str:
        return f"GaussianMixture(components={len(self.weights)}, classes={self.classes_.tolist()})"

    def log_joint(self, X: FloatArray) -> FloatArray:
        """Return log p(x, y) for every class, shape `(rows, classes)`, block by block."""
        return self.components_.log_joint(self._check_rows(X))

    def log_joint_and_pullback(self, X: FloatArray) -> tuple[FloatArray, Pullback]:
        return self.components_.log_joint_and_pullback(X)

    def log_joint_along(self, paths: FloatArray, nodes: FloatArray) -> tuple[FloatArray, Pullback]:
        return self.components_.log_joint_along(paths, nodes)

    def sample(
        self, n: int, *, rng: np.random.Generator, label: object = None
    ) -> tuple[FloatArray, Labels]:
        check_draw(n, rng)
        weights = self.weights
        if label is not None:
            wanted = self.classes_.item(self.class_index(label))
            weights = np.where(self.labels == wanted, weights, 0.0)
        chosen = rng.choice(len(weights), size=n, p=weights / weights.sum())
        return self.components_.gaussians.sample(self._rank[chosen], rng=rng), self.labels[chosen]

    def given(self, values: Mapping[str, float]) -> ConditionalDensity:
        fixed, x = read_given(self, values)
        free = np.setdiff1d(np.arange(len(self.features_)), fixed)
        return GivenComponents(self, free, self.components_.given(fixed, x)[0])

    def draw_given(
        self, fixed: IntArray, x: FloatArray, draws: int, *, label: object = None
    ) -> FloatArray | None:
        index = None if label is None else self.class_index(label)
        return self.components_.draw_given(fixed, x, draws, index=index)

    def to_arrays(self) -> tuple[dict[str, FloatArray], dict[str, Any]]:
        arrays = {"weights": self.weights, "means": self.means, "covariances": self.covariances}
        return arrays, {"labels": self.labels.tolist()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray], settings: Mapping[str, Any]) -> Self:
        return cls(
            arrays["weights"], arrays["means"], arrays["covariances"], np.array(settings["labels"])
        )
