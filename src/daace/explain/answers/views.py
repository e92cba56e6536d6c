"""What each judge thinks of the start and the end of a path."""

from __future__ import annotations

import numpy as np
import pandas as pd

from daace._typing import FloatArray
from daace.explain.asking.settings import Settings

#: Columns of the frame.
VIEWS = ("judge", "decides", "start", "end")


def make_views(
    names: list[str], decides: list[bool], start: FloatArray, end: FloatArray
) -> pd.DataFrame:
    """Return one row for each judge: its name, whether it decides, its probabilities."""
    return pd.DataFrame(dict(zip(VIEWS, (names, decides, start, end), strict=True)))


#: Where nothing is known of the judges: an invalid row, or a record of an earlier version.
NO_VIEWS = make_views([], [], np.empty(0), np.empty(0)).astype({"judge": "str", "decides": "bool"})


def find_views(
    settings: Settings, ends: FloatArray, shares: FloatArray, index: int
) -> pd.DataFrame:
    """Return the probability of the target that each judge gives at the start and at the end.

    Those who decide come first, then those who were not asked.

    Args:
        settings: of the query.
        ends: start and end in user units, shape `(2, features)`.
        shares: probability of the target there, as whoever decides sees it.
        index: of the target.
    """
    density, names, views = settings.density, list[str](), list[FloatArray]()
    if settings.classifier is not None:
        names, views = [settings.classifier], [shares]
    rows = [density.standardizer_.transform(row[None]) for row in ends]  # alone, as it was judged
    if settings.committee is not None:
        names += settings.committee.names
        each = np.concatenate([settings.committee.probabilities(row, index) for row in rows])
        views += list(each.T)
    else:
        names.append("density")
        views.append(np.exp([density.log_posterior(row)[0, index] for row in rows]))
    start, end = np.array(views).T
    decides = [settings.decides == "committee"] * len(names)
    if settings.decides == "classifier":
        decides[0] = True
    elif settings.decides == "density":
        decides[names.index("density")] = True
    return make_views(names, decides, start, end)
