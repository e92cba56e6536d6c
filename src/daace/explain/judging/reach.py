"""How far the rows of a class reach: beyond all of them, no judge has seen anybody.

No row can be told from a reach. Each side of a number is a value that ten rows share, or where the
ten outermost rows would end if they were spread evenly: their mean and sqrt(3) standard deviations.
"""

from __future__ import annotations

import math

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.data.encoding import Encoding
from daace.density.privacy import FEWEST_ROWS, count_copies

#: Share of the rows of a class on either side that may be errors and do not count.
OUTLIERS = 0.005


def find_reach(
    X: FloatArray, y: IntArray, box: tuple[FloatArray, FloatArray], encoding: Encoding
) -> FloatArray:
    """Return lower and upper bounds of each class, shape `(2, classes, n)`.

    Args:
        X: rows in model space.
        y: class index of each; every class has rows.
        box: bounds where rows say no more, because they are too few, and of codes.
        encoding: what the columns are. A number's atoms are within reach.
    """
    reach = np.repeat(np.stack(box)[:, None], int(y.max()) + 1, axis=1)
    weights = count_copies(X, y)
    for j in encoding.number_columns:
        code = encoding.atom_columns.get(j)
        at_atom = np.zeros(len(X), dtype=bool) if code is None else X[:, code] > 0
        for k in range(reach.shape[1]):
            rows = (y == k) & ~at_atom
            values, counted = X[rows, j], weights[rows]
            low, high = _begin(values, counted), -_begin(-values, counted)
            if low < high and np.isfinite(high - low):
                sides = min(low, *X[at_atom, j], np.inf), max(high, *X[at_atom, j], -np.inf)
                reach[:, k, j] = np.clip(sides, box[0][j], box[1][j])
    return reach


def _begin(values: FloatArray, weights: FloatArray) -> float:
    """Return where values begin, so that it rests on ten rows; minus infinity if they are fewer.

    Args:
        values: of a feature.
        weights: what each row counts, less than 1 if it has copies.

    Example:
        >>> begin = _begin(np.r_[-1e6, np.arange(199.0)], np.ones(200))
        >>> round(begin, 2), _begin(np.repeat([0.0, 1.0, 2.0], 20), np.ones(60))
        (-0.47, 0.0)
    """
    order = np.argsort(values, kind="stable")[int(OUTLIERS * len(values)) :]
    inner, counted = values[order], weights[order]
    enough = np.flatnonzero(np.cumsum(counted) >= FEWEST_ROWS - 1e-9)
    if not len(enough):
        return -math.inf
    outermost, share = inner[: enough[0] + 1], counted[: enough[0] + 1]
    mean = np.average(outermost, weights=share)
    sd = math.sqrt(np.average((outermost - mean) ** 2, weights=share))
    return float(mean - math.sqrt(3.0) * sd)
