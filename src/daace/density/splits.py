"""Rows to train on and rows to judge by: each class spread evenly, copies of a row together.

A row of which copies were trained on says nothing about rows that were not. Where there are more
rows than there could be different ones, as with a few answers of yes and no, equal rows are no
copies, but what the data are like.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from daace._typing import BoolArray, FloatArray, IntArray, Labels
from daace.data.table import Table
from daace.density.base import FEWEST_ROWS
from daace.exceptions import InvalidInput

#: Share of each class that early stopping holds out.
VALIDATION = 0.1

#: Share of each class that a fitted density is checked on; and with fewer rows, in all or of a
#: class, there is no saying how good it is.
CHECKED, FEWEST_CHECKED, FEWEST_OF_CLASS = 0.2, 50, 20

#: With fewer rows of a class, hardly any is left to train on in each fold.
FEWEST = 4


def hold_out(
    X: FloatArray, y: IntArray, *, rng: np.random.Generator, share: float = VALIDATION
) -> BoolArray:
    """Return which rows are held out for validation: a share of each class, at random.

    At least one row of a class, unless fewer than `FEWEST_ROWS` would be left to train on.

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
        if np.bincount(sets).min() > room:  # rows that common are no copies either
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
    """Tell whether a table has enough rows to say how good a density of it is."""
    counts = [int((table.y == label).sum()) for label in table.classes]
    return len(table) >= FEWEST_CHECKED and min(counts) >= FEWEST_OF_CLASS


def split_for_check(table: Table) -> tuple[Table, Table] | None:
    """Return four fifths of the rows to fit and the others to check by; None if they are few.

    The parts do not depend on the order of the rows.

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

    Raises:
        InvalidInput: the table, or a class, has too few rows for that.

    Example:
        >>> X, y = np.arange(8.0)[:, None], np.repeat(["a", "b"], 4)
        >>> np.bincount(spread_folds(X, y, 4, rng=np.random.default_rng(0))).tolist()
        [2, 2, 2, 2]
    """
    fold_of = np.empty(len(y), dtype=np.intp)
    offset = 0  # so that the first folds do not get the remainder of every class
    for label in np.unique(y):
        members, sets = _shuffled(X, y == label, rng)
        different = int(sets.max()) + 1
        if different < FEWEST:
            raise InvalidInput(
                f"Every class must have at least {FEWEST} different rows to be tuned on. "
                f"Got {different} of '{label}': drop this class or merge it with another."
            )
        fold_of[members] = (offset + sets) % folds
        offset += different
    if folds > offset:
        raise InvalidInput(f"'folds' must be at most {offset}, the different rows. Got {folds}.")
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
