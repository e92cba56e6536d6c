"""Waypoints as rows of the user's table: what is returned, and therefore what is judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from daace._typing import FloatArray, IntArray
from daace.data.standardizer import Standardizer
from daace.landscape.constraints import Constraints


@dataclass(frozen=True, eq=False)
class UserRow:
    """A start in user units, as an array in the model's order of features."""

    values: FloatArray


@dataclass(frozen=True, eq=False)
class RowMap:
    """The map from waypoints of one problem to rows in user units.

    Each feature is mapped by itself and never falls where the waypoint rises. So the order of
    waypoints, bounds and whole numbers survive the rounding of the way back from model space, and
    what the path leaves alone is the user's own value, bit for bit.

    Attributes:
        standardizer: of the density.
        x: the start in model space.
        start: the start in user units.
        lower, upper: bounds in user units; the start is between them.
        whole: positions of the features that are whole numbers.
    """

    standardizer: Standardizer
    x: FloatArray
    start: FloatArray
    lower: FloatArray
    upper: FloatArray
    whole: IntArray

    @classmethod
    def compile(
        cls,
        constraints: Constraints,
        features: Sequence[str],
        standardizer: Standardizer,
        x: FloatArray,
        start: FloatArray,
    ) -> RowMap:
        """Return the map for the rules of one problem.

        Args:
            constraints: rules in user units.
            features: names, in the model's order.
            standardizer: of the density.
            x: the start in model space.
            start: the start in user units.
        """
        position = {name: j for j, name in enumerate(features)}
        lower, upper = np.full(len(start), -np.inf), np.full(len(start), np.inf)
        for feature, bound in constraints.lower.items():
            lower[position[feature]] = bound
        for feature, bound in constraints.upper.items():
            upper[position[feature]] = bound
        for feature, rise in constraints.max_rise.items():
            j = position[feature]
            upper[j] = min(upper[j], start[j] + rise)
        for feature, fall in constraints.max_fall.items():
            j = position[feature]
            lower[j] = max(lower[j], start[j] - fall)
        whole = np.array(sorted({position[f] for f in constraints.integer}), dtype=np.intp)
        lower[whole], upper[whole] = np.ceil(lower[whole]), np.floor(upper[whole])
        rising = [position[f] for f in (*constraints.only_up, *constraints.fixed)]
        falling = [position[f] for f in (*constraints.only_down, *constraints.fixed)]
        lower[rising], upper[falling] = start[rising], start[falling]
        lower, upper = np.minimum(lower, start), np.maximum(upper, start)
        return cls(standardizer, x, start, lower, upper, whole)

    def __call__(self, waypoints: FloatArray) -> FloatArray:
        """Return model-space waypoints, shape `(waypoints, n)`, in user units."""
        rows = self.standardizer.inverse(waypoints)
        rows[:, self.whole] = np.rint(rows[:, self.whole])
        rows = np.clip(rows, self.lower, self.upper)
        rows = np.where(waypoints > self.x, np.maximum(rows, self.start), rows)
        rows = np.where(waypoints < self.x, np.minimum(rows, self.start), rows)
        return np.where(waypoints == self.x, self.start, rows)


def frame_of_rows(
    rows: FloatArray, columns: tuple[str, ...], *, whole: Sequence[int] | IntArray = ()
) -> pd.DataFrame:
    """Return rows in user units as a frame; thousands of them share its columns.

    Args:
        rows: shape `(rows, n)`.
        columns: names.
        whole: positions of columns that are whole numbers, and get an integer dtype.
    """
    frame = pd.DataFrame(rows, columns=_index(columns))
    if len(whole):
        numbers = rows[:, whole]
        if np.all((numbers == np.rint(numbers)) & (np.abs(numbers) < 2.0**53)):
            frame = frame.astype(dict.fromkeys(frame.columns[np.asarray(whole)], np.int64))
    return frame


@lru_cache(maxsize=8)
def _index(columns: tuple[str, ...]) -> pd.Index:
    return pd.Index(columns)
