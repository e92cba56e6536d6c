"""Distances of a path to single rows: whether a waypoint is a record."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from daace._typing import FloatArray
from daace.data.frames import numeric_matrix
from daace.exceptions import InvalidInput
from daace.explain.answers.answer import Answer
from daace.explain.trust.check import as_frame

#: In tables with categories or gaps, rows whose distances to their own closest row are taken.
COMPARED = 2000


def nearest_rows(e: Answer, rows: object) -> pd.DataFrame:
    """Return how far each waypoint is from the closest of some rows.

    Args:
        e: an explanation.
        rows: training rows, as a `Table` or a frame in user units.

    Returns:
        for each waypoint the distance (standard deviations), the position of the closest row, and
        the percentile of that distance among those of the rows to their own closest row: near 0
        the waypoint is a copy of a row, near 100 no row is like it.

    Raises:
        InvalidInput: there are fewer than two rows, or they have other columns.
    """
    if e.status == "invalid_row":
        raise InvalidInput("The explanation must be of a valid row. This one is invalid.")
    frame = as_frame(rows, name="rows")
    names = list(map(str, e.states.columns))
    if not set(names) <= set(map(str, frame.columns)):
        raise InvalidInput(
            "'rows' must be a daace.Table or a frame with every feature.", argument="rows"
        )
    known = frame.set_axis([str(name) for name in frame.columns], axis=1)[names]
    data, places = _places(e, known)
    if len(data) < 2:
        raise InvalidInput(argument="rows", expected="be at least two", got=str(len(data)))
    tree = scipy.spatial.cKDTree(data)
    distance, position = tree.query(places)
    few = data if data.shape[1] <= len(names) else data[:: -(-len(data) // COMPARED)]
    among = np.sort(tree.query(few, k=2)[0][:, 1])
    return pd.DataFrame(
        {
            "distance": distance,
            "row": known.index[position],
            "percentile": 100 * np.searchsorted(among, distance, side="right") / len(among),
        }
    ).rename_axis("waypoint")


def _places(e: Answer, known: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
    """Return rows and waypoints so that their distances are in standard deviations.

    Numbers are in units of their own; two levels of a category are as far apart as a switch is
    long; a number that is missing is at the median and apart from the others.

    Args:
        e: an explanation.
        known: the rows, with the features of the answer.
    """
    rows, path = [], []
    for (name, own), sd in zip(e.states.items(), e.sd, strict=True):
        theirs = known[name]
        kind = own.dtype
        if is_numeric_dtype(kind) and not is_bool_dtype(kind):
            gaps = [cells.isna().to_numpy() for cells in (theirs, own)]
            if not gaps[0].all() and (e.density is None or _may_be_missing(e, str(name))):
                middle = theirs.median()
                theirs, own = theirs.fillna(middle), own.fillna(middle)
                length = 1 / max(float(np.std(gaps[0])), 1 / len(known))
                rows.append(length * gaps[0][:, None])
                path.append(length * gaps[1][:, None])
            rows.append(numeric_matrix(theirs.to_frame(), what="'rows'") / sd)
            path.append(own.to_numpy(dtype=np.float64)[:, None] / sd)
            continue
        names = [
            np.array([_level(cell) for cell in cells], dtype=object) for cells in (theirs, own)
        ]
        levels = np.unique(np.concatenate(names).astype(str))
        for cells, parts in zip(names, (rows, path), strict=True):
            parts.append((cells[:, None] == levels) / (sd * np.sqrt(2.0)))
    return np.hstack(rows), np.hstack(path)


def _level(value: object) -> str:
    return "missing" if pd.isna(value) else f"'{value}'"  # type: ignore[call-overload]


def _may_be_missing(e: Answer, name: str) -> bool:
    assert e.density is not None
    features = e.density.encoding_.features
    return any(f.name == name and f.gap_code is not None for f in features)
