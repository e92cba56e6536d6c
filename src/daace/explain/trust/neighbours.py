"""How close a path comes to single rows: does it copy somebody?"""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy

from daace.data.frames import numeric_matrix
from daace.exceptions import InvalidInput
from daace.explain.answers.answer import Answer
from daace.explain.trust.check import as_frame


def nearest_rows(e: Answer, rows: object) -> pd.DataFrame:
    """Return how far each waypoint is from the closest of some rows.

    Args:
        e: an explanation.
        rows: training rows, as a `Table` or a frame in user units.

    Returns:
        for each waypoint the distance (standard deviations), the position of the closest row, and
        the percentile of that distance among those of the rows to their own closest row: near 0
        the waypoint copies somebody, near 100 nobody is like it.

    Raises:
        InvalidInput: there are fewer than two rows, or they have other columns.
    """
    if e.status == "invalid_row":
        raise InvalidInput("The explanation must be of a valid row. This one is invalid.")
    frame = as_frame(rows, name="rows")
    numbers = np.flatnonzero(e.measured)
    names = [str(name) for name, number in zip(e.states.columns, e.measured, strict=True) if number]
    if not set(names) <= set(map(str, frame.columns)):
        raise InvalidInput(
            "'rows' must be a daace.Table or a frame with every feature.", argument="rows"
        )
    known = frame.set_axis([str(name) for name in frame.columns], axis=1)[names]
    data = numeric_matrix(known, what="'rows'") / e.sd[numbers]
    if len(data) < 2:
        raise InvalidInput(argument="rows", expected="be at least two", got=str(len(data)))
    tree = scipy.spatial.cKDTree(data)
    distance, position = tree.query(e.states[names].to_numpy(dtype=np.float64) / e.sd[numbers])
    among = np.sort(tree.query(data, k=2)[0][:, 1])
    return pd.DataFrame(
        {
            "distance": distance,
            "row": known.index[position],
            "percentile": 100 * np.searchsorted(among, distance, side="right") / len(among),
        }
    ).rename_axis("waypoint")
