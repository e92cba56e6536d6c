"""County outlines from TopoJSON: arcs shared by neighbours, put together to rings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from daace._json import load_json
from daace._typing import FloatArray
from daace.exceptions import InvalidInput

#: FIPS codes of the EQI that the map has under another one.
RENAMED = {2270: 2158, 46113: 46102, 51515: 51019}

FILE = "counties-albers-10m.json"


def find_outlines(path: str | os.PathLike[str] | None) -> Path | None:
    """Return the map file: the given one, or that in `$DAACE_DATA/map`; None if there is neither.

    Raises:
        InvalidInput: the given file does not exist.
    """
    if path is not None:
        if not Path(path).is_file():
            raise InvalidInput(
                f"'--map' must be a TopoJSON file with county outlines, such as {FILE} of npm's "
                f"us-atlas. There is no '{path}'."
            )
        return Path(path)
    base = os.environ.get("DAACE_DATA")
    place = Path(base) / "map" / FILE if base else None
    return place if place is not None and place.is_file() else None


def read_outlines(path: str | os.PathLike[str]) -> dict[int, list[FloatArray]]:
    """Return the rings of each county by FIPS code, in the map's coordinates (y grows downwards).

    A code of the EQI that the map calls otherwise has the rings of the other one.

    Raises:
        InvalidInput: the file is not TopoJSON with an object 'counties'.
    """
    try:
        topology = load_json(Path(path).read_text(encoding="utf-8"))
        arcs = [_decode(arc, topology["transform"]) for arc in topology["arcs"]]
        shapes = topology["objects"]["counties"]["geometries"]
        rings = {int(shape["id"]): _rings(shape, arcs) for shape in shapes}
    except (ValueError, KeyError, TypeError, IndexError):
        raise InvalidInput(
            f"'{path}' must be TopoJSON with an object 'counties', such as {FILE} of us-atlas."
        ) from None
    for old, new in RENAMED.items():
        if old not in rings and new in rings:
            rings[old] = rings[new]
    return rings


def _decode(arc: list[list[float]], transform: dict[str, Any]) -> FloatArray:
    """Return the points of an arc: steps from point to point, in whole units of a grid."""
    steps = np.cumsum(np.array(arc, dtype=np.float64), axis=0)
    points: FloatArray = steps * transform["scale"] + transform["translate"]
    return points


def _rings(shape: dict[str, Any], arcs: list[FloatArray]) -> list[FloatArray]:
    """Return the outer rings and holes of a shape; an arc ~i is arc i backwards."""
    polygons = shape["arcs"] if shape["type"] == "MultiPolygon" else [shape["arcs"]]
    return [
        np.concatenate([arcs[i] if i >= 0 else arcs[~i][::-1] for i in ring])
        for polygon in polygons
        for ring in polygon
    ]
