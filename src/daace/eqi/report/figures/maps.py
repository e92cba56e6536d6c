"""County maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.collections import PathCollection
from matplotlib.patches import Patch
from matplotlib.path import Path

from daace._typing import FloatArray
from daace.eqi.report.colours import EMPTY
from daace.explain.pictures.canvas import Plot


def county_map(
    outlines: Mapping[int, list[FloatArray]],
    values: Mapping[int, object],
    colours: Mapping[object, str],
    *,
    labels: Mapping[object, str],
    title: str,
    empty: str,
) -> Plot:
    """Draw every county in the colour of its value.

    Args:
        outlines: rings by FIPS code.
        values: value by FIPS code; counties without one stay grey.
        colours: colours of the values.
        labels: labels of the values, in the legend.
        title: title of the map.
        empty: what grey means; nothing in the legend if there is no grey county.
    """
    figure = Plot(figsize=(9.6, 6.4), layout="constrained")
    axes = figure.add_subplot()
    codes = list(outlines)
    shades = [colours[values[c]] if c in values else EMPTY for c in codes]
    paths = [_path(outlines[c]) for c in codes]
    counties = PathCollection(paths, facecolors=shades, edgecolors="white", linewidths=0.15)
    counties.set_rasterized(True)
    axes.add_collection(counties)
    points = np.concatenate([ring for rings in outlines.values() for ring in rings])
    (left, low), (right, high) = points.min(axis=0), points.max(axis=0)
    axes.set(xlim=(left - 5, right + 5), ylim=(high + 5, low - 5), aspect="equal")
    axes.axis("off")
    figure.suptitle(title, fontsize=12)
    shown = [value for value in colours if value in set(values.values())]
    handles = [Patch(color=colours[value], label=labels[value]) for value in shown]
    if EMPTY in shades:
        handles.append(Patch(color=EMPTY, label=empty))
    figure.legend(
        handles=handles, loc="outside lower center", ncols=min(4, len(handles)), frameon=False,
        fontsize=9,
    )  # fmt: skip
    return figure


def _path(rings: Sequence[FloatArray]) -> Path:
    """Return a county as one path, so that holes and islands have one colour."""
    vertices = np.concatenate(rings)
    codes = np.full(len(vertices), Path.LINETO, dtype=np.uint8)
    starts = np.cumsum([0, *(len(ring) for ring in rings[:-1])])
    codes[starts] = Path.MOVETO
    return Path(vertices, codes)
