"""How far the rows of a class reach: beyond all of them, no judge has seen anybody.

No row can be told from a reach. Each side of a number is a value that ten rows share, or the mean
of rows with ten different values; both lie within the rows of the class.
"""

from __future__ import annotations

import numpy as np

from daace._typing import FloatArray, IntArray
from daace.data.encoding import Encoding
from daace.density.privacy import FEWEST_ROWS

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
    for j in encoding.number_columns:
        code = encoding.atom_columns.get(j)
        at_atom = np.zeros(len(X), dtype=bool) if code is None else X[:, code] > 0
        for k in range(reach.shape[1]):
            values = X[(y == k) & ~at_atom, j]
            low, high = _begin(values), -_begin(-values)
            if low < high and np.isfinite(high - low):
                sides = min(low, *X[at_atom, j], np.inf), max(high, *X[at_atom, j], -np.inf)
                reach[:, k, j] = np.clip(sides, box[0][j], box[1][j])
    return reach


def _begin(values: FloatArray) -> float:
    """Return where values begin, so that it rests on ten rows; minus infinity if they are fewer.

    Example:
        >>> _begin(np.r_[-1e6, np.arange(199.0)]), _begin(np.repeat([0.0, 1.0, 2.0], 20))
        (4.5, 0.0)
    """
    inner = np.sort(values)[int(OUTLIERS * len(values)) :]
    different, counts = np.unique(inner, return_counts=True)
    shared = different[counts >= FEWEST_ROWS]
    found = [float(shared[0])] if len(shared) else []
    if len(different) >= FEWEST_ROWS:
        few = counts[:FEWEST_ROWS]
        found.append(float(different[:FEWEST_ROWS] @ few / few.sum()))
    return min(found, default=-np.inf)
