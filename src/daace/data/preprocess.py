"""The paper's selection of features: nearly discrete or nearly constant ones are dropped."""

from __future__ import annotations

import numpy as np

from daace._typing import FloatArray
from daace.data.table import Table
from daace.exceptions import InvalidInput


def fullest_bins_share(values: FloatArray, *, bins: int = 100, fullest: int = 3) -> float:
    """Return the share of rows in the fullest bins of a histogram.

    Args:
        values: one feature, shape `(rows,)`.
        bins: number of equal-width bins.
        fullest: number of the fullest bins to count.
    """
    low, high = float(values.min()), float(values.max())
    if not high > low:
        return 1.0
    place = ((values - low) / (high - low) * bins).astype(np.intp)
    counts = np.bincount(np.minimum(place, bins - 1))  # the last bin holds its upper edge too
    return float(np.sort(counts)[-fullest:].sum() / len(values))


def preprocess(table: Table, *, min_distinct: int = 20, max_share: float = 0.95) -> Table:
    """Keep the features that a continuous density can describe.

    A feature is dropped when it has fewer than `min_distinct` distinct values, or when the
    3 fullest of 100 equal-width bins hold at least `max_share` of its rows.

    Args:
        table: rows with their class.
        min_distinct: smallest number of distinct values of a feature that is kept.
        max_share: share of the rows in the 3 fullest bins at which a feature is dropped.

    Raises:
        InvalidInput: no feature is left.

    Example:
        >>> from daace.data.catalog import load_table
        >>> len(preprocess(load_table("breast_cancer")).features)
        30
    """
    kept = [
        name
        for name, column in zip(table.features, table.X.T[: len(table.features)], strict=True)
        if len(np.unique(column)) >= min_distinct and fullest_bins_share(column) < max_share
    ]
    if not kept:
        raise InvalidInput(
            f"No feature of '{table.name}' has {min_distinct} distinct values spread over its "
            "range: use other columns, or lower 'min_distinct'."
        )
    return table.select(kept)
