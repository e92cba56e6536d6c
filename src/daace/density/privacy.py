"""The number of rows that parameters must rest on so that no row can be read out of a model.

Parameters of numbers (means, coefficients, variances) rest on `FEWEST_ROWS` *different* rows: two
rows that are copied five times are still their mean and standard deviation. Equal rows are copies
if there are more than expected by chance, so coarse tables, in which many people agree, are
not refused. Tables of codes count every row: they hold the number of rows of each level, not which
levels occur together, and five people of one category are nothing unusual.
"""

from __future__ import annotations

import numpy as np

from daace._typing import FloatArray, IntArray

# Rows that every class must have in a model without rows: fewer could be read out of its
# parameters. Two rows are the mean and the standard deviation of their class, to the last digits.
from daace.data.natural import FEWEST_ROWS as FEWEST_ROWS
from daace.data.table import Table
from daace.exceptions import InvalidInput


def check_class_sizes(table: Table, fewest: int) -> None:
    """Raise `InvalidInput` for a class, or a number with atoms, with too few rows.

    Args:
        table: rows with their class.
        fewest: the `fewest_rows` of a density.
    """
    y = np.searchsorted(table.classes, table.y)
    counts = np.bincount(y, minlength=len(table.classes))
    if counts.min() < fewest:
        got = f"{counts.min()} of '{table.classes.item(int(np.argmin(counts)))}'"
        if fewest < FEWEST_ROWS:
            raise InvalidInput(
                argument="Every class",
                expected=f"have at least {fewest} rows",
                got=got,
                remedy="drop this class or merge it with another",
            )
        raise _too_small(fewest, "rows", got)
    if fewest >= FEWEST_ROWS:
        _check_different_rows(table, y, fewest)


def count_copies(X: FloatArray, y: IntArray) -> FloatArray:
    """Return the weight of each row: 1, or less if it has more copies than expected by chance.

    A set of m equal rows of a class with n rows counts like `n prod_j p(x_j)` rows, at least 1 and
    at most m, with p the shares of the values in the whole table.

    Args:
        X: rows of numbers.
        y: class index of each row.

    Example:
        >>> count_copies(np.array([[0.5], [0.5], [7.1], [2.2]]), np.zeros(4, dtype=int)).tolist()
        [1.0, 1.0, 1.0, 1.0]
        >>> count_copies(np.array([[0.5, 3], [0.5, 3], [7.1, 2], [2.2, 1]]), np.zeros(4, dtype=int))
        array([0.5, 0.5, 1. , 1. ])
    """
    log_chance = np.zeros(len(X))
    for column in X.T:
        _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
        if counts.max() == 1:
            return np.ones(len(X))
        log_chance += np.log(counts[place.reshape(-1)] / len(X))
    rows = np.column_stack([y, X])
    _, place, equal = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    copies = equal[place.reshape(-1)]
    by_chance = np.bincount(y)[y] * np.exp(log_chance)
    counted: FloatArray = np.clip(by_chance * (1 + 1e-9), 1, copies) / copies
    return counted


def join_small(sizes: FloatArray, fewest: float) -> IntArray:
    """Return the group of each part: small ones are joined with each other and the next larger.

    Leaving the others out of what is known of the whole then leaves a group that is large enough.

    Args:
        sizes: sizes of the parts.
        fewest: the smallest size of a group, where the whole is as large.

    Example:
        >>> join_small(np.array([40.0, 3.0, 12.0, 4.0]), 10.0).tolist()
        [0, 2, 2, 2]
    """
    groups = np.arange(len(sizes))
    if not len(sizes) or sizes.min() >= fewest:
        return groups
    order = np.argsort(sizes, kind="stable")
    together = int((sizes < fewest).sum())
    while together < len(sizes) and sizes[order[:together]].sum() < fewest:
        together += 1
    groups[order[:together]] = order[together - 1]
    return groups


def _check_different_rows(table: Table, y: IntArray, fewest: int) -> None:
    """Raise `InvalidInput` where numbers of a class, or beside atoms, are too few or copies."""
    encoding = table.encoding
    numbers = table.X[:, encoding.number_columns]
    if not numbers.shape[1]:
        return
    counted = count_copies(numbers, y)
    if not encoding.code_sizes:  # else classes with few numbers share their parameters
        different = np.bincount(y, weights=counted)
        if different.min() < fewest - 1e-6:
            label = table.classes.item(int(np.argmin(different)))
            raise _too_small(fewest, "different rows", f"{different.min():.0f} of '{label}'")
    for j, column in encoding.atom_columns.items():
        elsewhere = float(counted[table.X[:, column] == 0].sum())
        if 0 < elsewhere < FEWEST_ROWS - 1e-6:
            raise InvalidInput(
                argument=f"'{encoding.names[j]}'",
                expected=(
                    f"have at least {FEWEST_ROWS} different values beside those that many rows "
                    "share: fewer could be read out of the model"
                ),
                got=f"{elsewhere:.0f}",
                remedy="drop it, or make it a category with kinds={...}",
                in_shell="leave it out with --drop",
            )


def _too_small(fewest: int, what: str, got: str) -> InvalidInput:
    return InvalidInput(
        argument="Every class",
        expected=f"have at least {fewest} {what}: fewer could be read out of the model",
        got=got,
        remedy=(
            "drop this class, merge it with another, or use a KernelDensity ('kde'), which keeps "
            "its rows"
        ),
    )
