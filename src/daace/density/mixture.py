"""A Gaussian mixture given by its parameters: a density that is known exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from daace._typing import FloatArray, IntArray, Labels, Pullback
from daace.data.encoding import Encoding
from daace.data.labels import label_array
from daace.data.standardizer import Standardizer
from daace.density.base import ConditionalDensity
from daace.density.base_measure import weigh_lines
from daace.density.codes import CodeLayout, CodeTables
from daace.density.components import ClassComponents
from daace.density.draws import check_draw
from daace.density.gaussian import WhitenedGaussians
from daace.density.given import draw_given_components, given_components
from daace.exceptions import InvalidInput


class GaussianMixture(ConditionalDensity):
    """p(x, y) = sum over the components c of class y of w_c N(x; mu_c, Sigma_c).

    It is not learned: model space is the user's space. With `tables` and `encoding` it is a density
    over numbers and codes, `sum_c w_c prod_j T_j[c, d_j] N(x; mu_c, Sigma_c)`. A number at an atom
    is given: N is then the product of the densities of the other numbers, each given those
    before it.

    Args:
        weights: positive, normalised here, shape `(components,)`.
        means: shape `(components, n)`.
        covariances: symmetric positive definite, shape `(components, n, n)`.
        labels: class of each component, shape `(components,)`.
        tables: probabilities of the codes, one array of shape `(components, codes)` for each
            column that holds codes, in the order of `encoding.code_sizes`.
        encoding: encoding of the columns; numbers x1, x2, ... when left out.

    Example:
        >>> m = GaussianMixture([1, 1], [[0.0], [3.0]], [[[1.0]], [[1.0]]], ["a", "b"])
        >>> m.predict_proba(np.array([[1.5]])).round(3).tolist()
        [[0.5, 0.5]]
        >>> from daace.data.kinds import Feature
        >>> housing = Feature("housing", "category", levels=("own", "rent"), dtype="str")
        >>> encoding = Encoding((Feature("age"), housing))
        >>> own = [[0.9, 0.1], [0.2, 0.8]]
        >>> gaussians = [1, 1], [[0.0], [0.0]], np.ones((2, 1, 1)), ["a", "b"]
        >>> m = GaussianMixture(*gaussians, tables=[own], encoding=encoding)
        >>> m.predict_proba(m.to_model({"age": 0.0, "housing": "rent"})).round(3).tolist()
        [[0.111, 0.889]]
    """

    kind: ClassVar[str] = "gaussian-mixture"
    takes_codes: ClassVar[bool] = True

    def __init__(
        self,
        weights: npt.ArrayLike,
        means: npt.ArrayLike,
        covariances: npt.ArrayLike,
        labels: npt.ArrayLike,
        *,
        tables: Sequence[npt.ArrayLike] = (),
        encoding: Encoding | None = None,
    ) -> None:
        w, mu, sigma, names = _read_gaussians(weights, means, covariances, labels)
        plain = Encoding.of_numbers([f"x{j + 1}" for j in range(mu.shape[1])])
        known = plain if encoding is None else encoding
        shares = _read_tables(tables, known, mu.shape)
        whiteners = np.asarray(np.linalg.inv(_roots(sigma)), dtype=np.float64)
        self.weights = w / w.sum()
        self.means = mu
        self.covariances = sigma
        self.labels = names
        self.tables, self.encoding = shares, encoding
        self.classes_ = np.unique(names)
        self.features_, self.encoding_ = known.names, known
        self.target_ = "class"
        self.units_ = {}
        self.standardizer_ = Standardizer.identity(known.width)
        order = np.argsort(np.searchsorted(self.classes_, names), kind="stable")
        offsets = -np.einsum("cij,cj->ci", whiteners, mu)
        self._rank = np.argsort(order)  # place of each component among those of its class
        codes = None
        if shares:
            logs = [np.log(table[order].T)[None] for table in shares]
            layout = CodeLayout.of(known, self.standardizer_)
            parents = np.full(len(logs), -1, dtype=np.intp)
            codes = CodeTables(layout, parents, logs, np.zeros(mu.shape[1]))
        components = ClassComponents(
            WhitenedGaussians(np.log(self.weights)[order], whiteners[order], offsets[order]),
            np.searchsorted(self.classes_, names[order]),
            len(self.classes_),
            codes,
        )
        self.components_ = weigh_lines(components)
        self.line_weights_ = self.components_.line_weights
        self.gaussian_ = self.components_.single and codes is None
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
        return self.components_.draw(self._rank[chosen], rng=rng), self.labels[chosen]

    def given(self, values: Mapping[str, object]) -> ConditionalDensity:
        return given_components(self, self.components_, values)

    def draw_given(
        self, fixed: IntArray, x: FloatArray, draws: int, *, label: object = None
    ) -> FloatArray | None:
        index = None if label is None else self.class_index(label)
        return draw_given_components(self.components_, fixed, x, draws, index)

    def to_arrays(self) -> tuple[dict[str, FloatArray], dict[str, Any]]:
        arrays = {"weights": self.weights, "means": self.means, "covariances": self.covariances}
        arrays |= {f"table.{j}": table for j, table in enumerate(self.tables)}
        return arrays, {"labels": self.labels.tolist()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray], settings: Mapping[str, Any]) -> Self:
        encoding: Encoding | None = settings.get("encoding")
        coded = encoding is not None and encoding.code_sizes
        return cls(
            arrays["weights"],
            arrays["means"],
            arrays["covariances"],
            np.array(settings["labels"]),
            tables=[arrays[f"table.{j}"] for j in range(len(coded or ()))],
            encoding=encoding if coded else None,
        )


def _read_gaussians(
    weights: npt.ArrayLike, means: npt.ArrayLike, covariances: npt.ArrayLike, labels: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray, Labels]:
    """Return the parameters as arrays that fit each other."""
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
    return w, mu, sigma, names


def _roots(covariances: FloatArray) -> FloatArray:
    """Return the Cholesky factors of covariances."""
    wrong = InvalidInput(argument="covariances", expected="be symmetric and positive definite")
    try:
        roots = np.linalg.cholesky(covariances)
    except np.linalg.LinAlgError:
        raise wrong from None
    if not np.allclose(covariances, covariances.transpose(0, 2, 1)):
        raise wrong
    return np.asarray(roots, dtype=np.float64)


def _read_tables(
    tables: Sequence[npt.ArrayLike], encoding: Encoding, shape: tuple[int, ...]
) -> tuple[FloatArray, ...]:
    """Return the tables as arrays whose rows sum to 1."""
    components, numbers = shape
    if len(encoding.number_columns) != numbers or len(encoding.code_sizes) != len(tables):
        raise InvalidInput(
            argument="encoding",
            expected=f"have {numbers} numbers and {len(tables)} columns of codes",
            got=f"{len(encoding.number_columns)} and {len(encoding.code_sizes)}",
        )
    found = []
    for table, size in zip(tables, encoding.code_sizes.values(), strict=True):
        shares = np.asarray(table, dtype=np.float64)
        if shares.shape != (components, size):
            raise InvalidInput(
                argument="Each of the tables",
                expected=f"have one row per component, here shape {(components, size)}",
                got=str(shares.shape),
            )
        if not (np.isfinite(shares).all() and (shares > 0).all()):
            raise InvalidInput(argument="tables", expected="be positive and finite")
        found.append(shares / shares.sum(axis=1, keepdims=True))
    return tuple(found)
