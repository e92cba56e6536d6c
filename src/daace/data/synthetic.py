"""Tables whose true density is known: Gaussian mixtures, and moons and rings made of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from daace._typing import FloatArray, Labels
from daace.data.table import Table


class MixtureParameters(NamedTuple):
    """Parameters of a Gaussian mixture; `daace.GaussianMixture(*parameters)` is its density.

    Attributes:
        weights: positive, shape `(components,)`.
        means: shape `(components, features)`.
        covariances: shape `(components, features, features)`.
        labels: class of each component, shape `(components,)`.
    """

    weights: FloatArray
    means: FloatArray
    covariances: FloatArray
    labels: Labels


def curve_mixture(
    curves: dict[str, FloatArray], *, width: float, weights: dict[str, float] | None = None
) -> MixtureParameters:
    """Spread each class along a curve, as round Gaussians of standard deviation `width`.

    Args:
        curves: points along the curve of each class, shape `(points, features)`.
        width: standard deviation around the curve.
        weights: share of each class; equal when left out.
    """
    shares = weights or {label: 1 / len(curves) for label in curves}
    means = np.concatenate(list(curves.values()))
    return MixtureParameters(
        np.concatenate([np.full(len(c), shares[k] / len(c)) for k, c in curves.items()]),
        means,
        np.broadcast_to(width**2 * np.eye(means.shape[1]), (len(means), *means.shape[1:] * 2)),
        np.concatenate([np.full(len(c), k) for k, c in curves.items()]),
    )


def moons(*, width: float = 0.15, components: int = 24) -> MixtureParameters:
    """Two interleaved half circles of radius 1, the classes 'lower' and 'upper'.

    Args:
        width: standard deviation around the half circles.
        components: Gaussians along each of them.

    Example:
        >>> moons().means.shape
        (48, 2)
    """
    angle = np.linspace(0, np.pi, components)
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    lower = np.column_stack([1 - np.cos(angle), 0.5 - np.sin(angle)])
    return curve_mixture({"lower": lower, "upper": upper}, width=width)


def rings(*, radii: tuple[float, float] = (1.0, 2.5), width: float = 0.2) -> MixtureParameters:
    """Two concentric circles, the classes 'inner' and 'outer'.

    Args:
        radii: radius of the inner and of the outer circle.
        width: standard deviation around the circles.
    """
    curves = {}
    for label, radius in zip(("inner", "outer"), radii, strict=True):
        count = max(8, round(2 * np.pi * radius / width))
        angle = np.linspace(0, 2 * np.pi, count, endpoint=False)
        curves[label] = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return curve_mixture(curves, width=width)


def random_mixture(
    features: int,
    *,
    classes: int = 2,
    components: int = 2,
    spread: float = 2.0,
    rng: np.random.Generator,
) -> MixtureParameters:
    """Draw a mixture with random weights, means and covariances.

    Args:
        features: number of features.
        classes: number of classes, called 'c0', 'c1', ...
        components: Gaussians of each class.
        spread: standard deviation of the means.
        rng: source of the parameters.
    """
    count = classes * components
    means = rng.normal(scale=spread, size=(count, features))
    roots = rng.normal(size=(count, features, features)) / np.sqrt(features)
    covariances = roots @ roots.transpose(0, 2, 1) + 0.3 * np.eye(features)
    weights = rng.dirichlet(np.full(count, 5.0))
    labels = np.repeat([f"c{k}" for k in range(classes)], components)
    return MixtureParameters(weights, means, covariances, labels)


def draw_table(
    parameters: MixtureParameters, rows: int, *, rng: np.random.Generator, name: str = "mixture"
) -> Table:
    """Draw a table of independent rows from a mixture.

    Args:
        parameters: the mixture.
        rows: number of rows.
        rng: source of the rows.
        name: name of the table.

    Example:
        >>> draw_table(moons(), 100, rng=np.random.default_rng(0), name="moons")
        Table(name='moons', rows=100, features=2, classes=['lower', 'upper'])
    """
    weights, means, covariances, labels = parameters
    chosen = rng.choice(len(weights), size=rows, p=weights / np.sum(weights))
    roots = np.linalg.cholesky(covariances)
    noise = rng.normal(size=(rows, means.shape[1]))
    X = means[chosen] + np.einsum("rij,rj->ri", roots[chosen], noise)
    frame = pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(means.shape[1])])
    frame["class"] = np.asarray(labels)[chosen]
    return Table.from_frame(frame, target="class", name=name)
