"""Points at which densities are checked."""

from __future__ import annotations

import numpy as np

from daace._typing import BoolArray, FloatArray
from daace.density.base import ConditionalDensity


def near_and_far(density: ConditionalDensity, rng: np.random.Generator) -> FloatArray:
    """Return 40 draws, and 40 points 50 standard deviations away in random directions.

    Codes, and numbers that stand at atoms, are those of the draws.
    """
    X, _ = density.sample(40, rng=rng)
    directions = rng.normal(size=X.shape)
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    far = X.mean(axis=0) + 50 * X.std(axis=0) * directions
    return np.concatenate([X, np.where(movable(density, X), far, X)])


def movable(density: ConditionalDensity, X: FloatArray) -> BoolArray:
    """Return which entries of rows can be any number: neither codes nor numbers at an atom."""
    free = np.ones(X.shape, dtype=bool)
    free[:, list(density.encoding_.code_sizes)] = False
    for j, column in density.encoding_.atom_columns.items():
        free[:, j] = X[:, column] == 0
    return free
