"""Splits of a table into rows to train on and rows to test on, stratified by class.

Copies of a row stay together: a test row with copies in training is not evidence on new rows. If a
table has more rows than there could be different ones, as with a few yes/no features, equal rows
are not treated as copies.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from daace._typing import BoolArray, FloatArray, IntArray, Labels
from daace.data.table import Table
from daace.density.privacy import FEWEST_ROWS
from daace.exceptions import InvalidInput

#: Share of each class that early stopping holds out.
VALIDATION = 0.1

#: Share of each class that a fitted density is checked on, and the smallest numbers of rows, in all
#: and of a class, that allow a check.
CHECKED, FEWEST_CHECKED, FEWEST_OF_CLASS = 0.2, 50, 20

#: Smallest number of different rows of a class for cross-validation: with fewer, hardly any are
#: left to train on in each fold.
FEWEST = 4


def hold_out(
    X: FloatArray, y: IntArray, *, rng: np.random.Generator, share: float = VALIDATION
) -> BoolArray:
    """Return which rows to hold out for validation: a share of each class, at random.

    At least one row of a class is held out, unless fewer than `FEWEST_ROWS` would be left to train
    on.

    Args:
        X: rows, shape `(rows, features)`.
        y: class index of each row.
        rng: source of the split.
        share: share of each class to hold out.

    Example:
        >>> X, y = np.arange(42.0)[:, None], np.repeat([0, 1], [30, 12])
        >>> np.bincount(y[hold_out(X, y, rng=np.random.default_rng(0))]).tolist()
        [3, 1]
    """
    held_out = np.zeros(len(y), dtype=bool)
    for k in np.unique(y):
        members, sets = _shuffled(X, y == k, rng)
        if len(members) <= FEWEST_ROWS:
            continue
        room = max(1, int(share * len(members)))
        if np.bincount(sets).min() > room:  # rows as common as this are not copies either
            sets = np.arange(len(members))
        taken = []
        for number, size in enumerate(np.bincount(sets)):
            if size <= room:
                taken.append(number)
                room -= size
            if room == 0:
                break
        held_out[members[np.isin(sets, taken)]] = True
    return held_out


def can_be_checked(table: Table) -> bool:
    """Whether a table has enough rows to evaluate a density of it."""
    counts = [int((table.y == label).sum()) for label in table.classes.tolist()]
    return len(table) >= FEWEST_CHECKED and min(counts) >= FEWEST_OF_CLASS


def split_for_check(table: Table) -> tuple[Table, Table] | None:
    """Split a table into four fifths to fit and one fifth to check; None if there are few rows.

    The parts do not depend on the order of the rows.

    Args:
        table: rows with their class.

    Example:
        >>> from daace.data.catalog import load_table
        >>> [len(part) for part in split_for_check(load_table("iris"))]
        [120, 30]
    """
    if not can_be_checked(table):
        return None
    y = np.searchsorted(table.classes, table.y)
    order = np.lexsort((y, *table.X.T))
    held_out = hold_out(table.X[order], y[order], rng=np.random.default_rng(0), share=CHECKED)
    return table.take(order[~held_out]), table.take(order[held_out])


def spread_folds(X: FloatArray, y: Labels, folds: int, *, rng: np.random.Generator) -> IntArray:
    """Return the fold of each row: at random, each class spread evenly.

    Args:
        X: rows, shape `(rows, features)`.
        y: class of each row.
        folds: number of folds.
        rng: source of the split.

    Raises:
        InvalidInput: the table, or a class, has too few rows for that.

    Example:
        >>> X, y = np.arange(8.0)[:, None], np.repeat(["a", "b"], 4)
        >>> np.bincount(spread_folds(X, y, 4, rng=np.random.default_rng(0))).tolist()
        [2, 2, 2, 2]
    """
    fold_of = np.empty(len(y), dtype=np.intp)
    offset = 0  # otherwise the first folds would get the remainder of every class
    for label in np.unique(y):
        members, sets = _shuffled(X, y == label, rng)
        different = int(sets.max()) + 1
        if different < FEWEST:
            raise InvalidInput(
                argument="Every class",
                expected=f"have at least {FEWEST} different rows to be tuned on",
                got=f"{different} of '{label}'",
                remedy="drop this class or merge it with another",
            )
        fold_of[members] = (offset + sets) % folds
        offset += different
    if folds > offset:
        raise InvalidInput(
            argument="folds", expected=f"be at most {offset}, the different rows", got=str(folds)
        )
    return fold_of


def _shuffled(
    X: FloatArray, chosen: BoolArray, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Return the chosen rows in random order, and for each the number of its set of copies."""
    members = rng.permutation(np.flatnonzero(chosen))
    return members, sets_of_copies(X[members])


def sets_of_copies(rows: FloatArray) -> IntArray:
    """Return for each row the number of its set of copies, in order of appearance.

    Example:
        >>> sets_of_copies(np.array([[0.5, 7.0], [0.1, 6.0], [0.5, 7.0]])).tolist()
        [0, 1, 0]
    """
    if math.prod(len(np.unique(column)) for column in rows.T) <= len(rows):
        return np.arange(len(rows))
    same = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    sets: IntArray = pd.factorize(same)[0]
    return sets
