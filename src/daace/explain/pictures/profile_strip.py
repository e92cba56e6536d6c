"""A strip that shows which profile a path resembles most, from the start to the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from daace._formats import shorten
from daace.explain.pictures.canvas import INK, plain

#: Light colours, so that names can be read on them; repeated if there are more profiles.
TINTS = ("#BBD7EA", "#F5DCB4", "#D5E8CF", "#E3CFE4", "#F3EDB0", "#D9D9D9")

#: Characters of a name that fit on a strip from end to end.
ROOM = 90


def profile_stretches(data: pd.DataFrame) -> pd.DataFrame:
    """Return the stretches of a path with the same profile: profile, begin and end (lengths).

    A stretch ends halfway between the last point of one profile and the first of the next.

    Args:
        data: length and profile of points along the path, in order.

    Example:
        >>> points = pd.DataFrame({"length": [0.0, 1.0, 2.0], "profile": ["a 1", "a 1", "b 2"]})
        >>> profile_stretches(points).to_numpy().tolist()
        [['a 1', 0.0, 1.5], ['b 2', 1.5, 2.0]]
    """
    length, names = data["length"].to_numpy(), data["profile"].to_numpy()
    first = np.flatnonzero(names[1:] != names[:-1]) + 1
    borders = 0.5 * (length[first - 1] + length[first])
    return pd.DataFrame(
        {
            "profile": names[np.append(0, first)],
            "begin": np.append(length[0], borders),
            "end": np.append(borders, length[-1]),
        }
    )


def draw_strip(axes: Axes, stretches: pd.DataFrame) -> tuple[list[Any], list[str]]:
    """Draw the stretches of a path, each in the colour of its profile.

    Args:
        axes: below the curves, with the same x-axis.
        stretches: see `profile_stretches`.

    Returns:
        handles and labels for the legend, of profiles whose name does not fit on the strip.
    """
    names = list(dict.fromkeys(stretches["profile"]))
    tints = {name: TINTS[j % len(TINTS)] for j, name in enumerate(names)}
    whole = max(float(stretches["end"].iloc[-1] - stretches["begin"].iloc[0]), 1e-300)
    written = set()
    for name, begin, end in stretches.itertuples(index=False):
        axes.axvspan(begin, end, color=tints[name], linewidth=0)
        if len(name) <= ROOM * (end - begin) / whole:
            axes.text(
                0.5 * (begin + end), 0.46, plain(name), transform=axes.get_xaxis_transform(),
                ha="center", va="center", fontsize=8.5, color=INK,
            )  # fmt: skip
            written.add(name)
    axes.set_yticks([0.5], ["most similar\ngroup"])
    axes.yaxis.set_tick_params(length=0)
    axes.set_ylim(0, 1)
    axes.spines[["top", "right", "left"]].set_visible(False)
    rest = [name for name in names if name not in written]
    labels = [plain(shorten(name, 30)) for name in rest]
    return [Patch(color=tints[name]) for name in rest], labels
