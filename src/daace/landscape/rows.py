"""Waypoints as rows of the user's table: what is returned, and therefore what is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import pandas as pd

from daace._typing import FloatArray, IntArray
from daace.data.encoding import Encoding
from daace.data.standardizer import Standardizer


@dataclass(frozen=True, eq=False)
class UserRow:
    """A start in user units, as an array in the model's order of features."""

    values: FloatArray


@dataclass(frozen=True, eq=False)
class RowMap:
    """The map from waypoints of one problem to rows in user units.

    Each feature is mapped by itself and never falls where the waypoint rises. So the order of
    waypoints, bounds and whole numbers survive the rounding of the map back from model space. If a
    number of 12 digits is the same waypoint, it is used: 1500, not 1500.0000000000002. Features
    that the path does not change have the user's own values, bit for bit.

    Attributes:
        standardizer: the density's standardizer.
        x: the start in model space.
        start: the start in user units.
        lower: lower bounds in user units, not above the start.
        upper: upper bounds in user units, not below the start.
        whole: positions of the features that are whole numbers.
        atoms: code column of each number with atoms, and the value at each code; NaN if the code
            has none.
    """

    standardizer: Standardizer
    x: FloatArray
    start: FloatArray
    lower: FloatArray
    upper: FloatArray
    whole: IntArray
    atoms: Mapping[int, tuple[int, FloatArray]] = field(default_factory=dict)

    def __call__(self, waypoints: FloatArray) -> FloatArray:
        """Return model-space waypoints, shape `(waypoints, n)`, in user units."""
        rows = self.standardizer.inverse(waypoints)
        short = shorten(rows)
        rows = np.where(self.standardizer.transform(short) == waypoints, short, rows)
        rows[:, self.whole] = np.rint(rows[:, self.whole])
        rows = np.clip(rows, self.lower, self.upper)
        rows = np.where(waypoints > self.x, np.maximum(rows, self.start), rows)
        rows = np.where(waypoints < self.x, np.minimum(rows, self.start), rows)
        rows = np.where(waypoints == self.x, self.start, rows)
        for j, (column, places) in self.atoms.items():
            place = places[waypoints[:, column].astype(np.intp)]
            rows[:, j] = np.where(np.isnan(place), rows[:, j], place)
        return rows


def shorten(values: FloatArray) -> FloatArray:
    """Return numbers rounded to 12 significant digits.

    Example:
        >>> shorten(np.array([1500.0000000000002, -0.1 - 0.2, 0.0])).tolist()
        [1500.0, -0.3, 0.0]
    """
    size = np.abs(values)
    power = 11 - np.floor(np.log10(np.where(size > 0, size, 1.0)))
    up, down = 10.0 ** np.clip(power, 0, 300), 10.0 ** np.clip(-power, 0, 300)
    short: FloatArray = np.rint(values * up / down) / up * down
    return short


def frame_of_rows(
    rows: FloatArray, columns: tuple[str, ...], *, whole: Sequence[int] | IntArray = ()
) -> pd.DataFrame:
    """Return rows in user units as a frame; thousands of them share its columns.

    Args:
        rows: shape `(rows, n)`.
        columns: names of the columns.
        whole: positions of columns that are whole numbers, and get an integer dtype.
    """
    frame = pd.DataFrame(rows, columns=_index(columns))
    if len(whole):
        numbers = rows[:, whole]
        if np.all((numbers == np.rint(numbers)) & (np.abs(numbers) < 2.0**53)):
            frame = frame.astype(dict.fromkeys(frame.columns[np.asarray(whole)], np.int64))
    return frame


def frame_of_numbers(
    rows: FloatArray, encoding: Encoding, *, whole: Sequence[int] | IntArray = ()
) -> pd.DataFrame:
    """Return rows of a table without codes as a frame in the user's dtypes.

    Nothing is rounded: a column of integers in which one number is not whole is float64, and so is
    one of float32.

    Args:
        rows: rows in user units, shape `(rows, features)`.
        encoding: encoding of the columns.
        whole: positions of columns that are whole numbers, and get an integer dtype.
    """
    if encoding.plain:
        return frame_of_rows(rows, encoding.names, whole=whole)
    frame = encoding.decode(rows, whole=())
    floats = [j for j in whole if encoding.features[j].dtype == "float64"]
    if floats:
        numbers = frame_of_rows(rows, encoding.names, whole=floats)
        frame = frame.assign(**{name: numbers[name] for name in numbers.columns[floats]})
    return frame


def frame_of_codes(
    rows: FloatArray, encoding: Encoding, *, like: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return rows of numbers and codes as a frame in the user's columns and dtypes.

    Nothing is rounded: a column of whole numbers in which one is not whole is float64, and so is
    one of float32.

    Args:
        rows: rows in user units, shape `(rows, encoding.width)`.
        encoding: encoding of the columns.
        like: rows with the user's own values for levels that are pooled.
    """
    return encoding.decode(rows, like=like, whole=())


@lru_cache(maxsize=8)
def _index(columns: tuple[str, ...]) -> pd.Index:
    return pd.Index(columns)
