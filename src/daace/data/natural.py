"""Natural properties of numbers: atoms, the gaps beside them, and bounds."""

from __future__ import annotations

import numpy as np

from daace._typing import FloatArray
from daace.data.names import is_share
from daace.data.spacing import find_spacing

#: Values with fewer rows are not kept, since a model must not reveal a few people.
FEWEST_ROWS = 10

#: A value is an atom at this share of the rows; or at the smaller one, if these are also twice as
#: many rows as at the nearest other value. Measured on 23 tables: the six bills of credit_default
#: are 0 in 7% to 13% of the rows, 60 times as often as the nearest amount; a tenth alone would
#: split them. In small tables an atom has at least `FEWEST_ROWS` rows.
ATOM_SHARE, SPIKE_SHARE, SPIKE = 0.1, 0.05, 2.0

#: An end of numbers with a spacing, such as whole ones, is a wall if it has at least this share of
#: the rows that the nearest other values have on average, so that the column does not fade out
#: there: days begin at 1.
WALL, NEAREST_VALUES = 0.1, 5


def is_whole(values: FloatArray) -> bool:
    """Whether numbers are all whole, and small enough to be exact."""
    return bool((np.abs(values) < 2**53).all() and (values == np.rint(values)).all())


def find_atoms(values: FloatArray) -> tuple[float, ...]:
    """Return the values among 0, the smallest and the largest that many rows share, ascending.

    Args:
        values: values of a number, without gaps.

    Example:
        >>> find_atoms(np.array([0.0] * 10 + [40.0] * 30 + list(range(1, 61))))
        (0.0,)
    """
    if len(values) == 0:
        return ()
    distinct, counts = np.unique(values, return_counts=True)
    found = []
    for atom in sorted({0.0, float(distinct[0]), float(distinct[-1])}):
        place = int(np.searchsorted(distinct, atom))
        if place == len(distinct) or distinct[place] != atom:
            continue
        others = np.delete(distinct, place), np.delete(counts, place)
        nearest = others[1][np.argmin(np.abs(others[0] - atom))] if len(others[0]) else 0
        share = counts[place] / len(values)
        spike = share >= SPIKE_SHARE and counts[place] >= SPIKE * nearest
        if counts[place] >= FEWEST_ROWS and (share >= ATOM_SHARE or spike):
            found.append(atom)
    return tuple(found)


def clear_sides(values: FloatArray, atom: float) -> tuple[float, float]:
    """Return the distances below and above an atom within which hardly any row has another value.

    They are the mean distance of the ten nearest, which is not one of a row; 0 if there are fewer.

    Args:
        values: values of a number, without gaps.
        atom: one of its values.

    Example:
        >>> clear_sides(np.array([0.0] * 20 + [3.0] * 10 + [9.0] * 5), 0.0)
        (0.0, 3.0)
    """
    sides = []
    for away in (atom - values, values - atom):
        nearest = np.sort(away[away > 0])[:FEWEST_ROWS]
        sides.append(float(nearest.mean()) if len(nearest) == FEWEST_ROWS else 0.0)
    return sides[0], sides[1]


def natural_bounds(name: str, values: FloatArray) -> tuple[float | None, float | None]:
    """Return the natural bounds of a number, as far as they can be inferred.

    The lower bound is 0 if no row is negative. The upper bound is 1 (or 100) if all rows are
    between 0 and 1 (or 100) and either the name is that of a share, or there are rows at both ends:
    measurements that happen to be small are not bounded. Ends at which there are many rows are
    bounds: an atom, or an end of numbers with a spacing, such as whole ones, that do not fade out.

    Args:
        name: name of the feature.
        values: values of a number, without gaps.

    Example:
        >>> natural_bounds("share of rent", np.array([0.2, 0.4])), natural_bounds("x", np.eye(1)[0])
        ((0.0, 1.0), (0.0, None))
    """
    if len(values) == 0:
        return None, None
    lower, upper = _walls(values)
    if values.min() < 0:
        return lower, upper
    lower = 0.0 if lower is None else lower
    for end in (1.0, 100.0):
        if values.max() <= end:
            both = values.min() == 0 and values.max() == end and len(np.unique(values)) > 2
            return lower, end if both or is_share(name) else upper
    return lower, upper


def _walls(values: FloatArray) -> tuple[float | None, float | None]:
    """Return the ends of numbers at which there are many rows."""
    distinct, counts = np.unique(values, return_counts=True)
    atoms, even = find_atoms(values), len(distinct) > NEAREST_VALUES and find_spacing(values) > 0

    def is_wall(end: int, nearest: slice) -> bool:
        many = counts[end] >= FEWEST_ROWS
        steep = even and counts[end] >= WALL * counts[nearest].mean()
        return len(distinct) > 1 and bool(distinct[end] in atoms or (many and steep))

    lower = float(distinct[0]) if is_wall(0, slice(1, 1 + NEAREST_VALUES)) else None
    upper = float(distinct[-1]) if is_wall(-1, slice(-1 - NEAREST_VALUES, -1)) else None
    return lower, upper
