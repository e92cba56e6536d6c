"""Curves along a path, as frames: the data behind the plots of an explanation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from daace._checks import check_choice
from daace._typing import FloatArray
from daace.density.base import ConditionalDensity
from daace.explain.answers.answer import Answer
from daace.explain.answers.contributions import contributions
from daace.explain.answers.terrain import terrain
from daace.landscape.path import segment_vectors

#: Points on each segment of a curve.
POINTS = 40


def plot_data(e: Answer, kind: str, *, features: tuple[str, str] | None = None) -> pd.DataFrame:
    """Return the data of a plot; see `Explanation.plot_data`."""
    check_choice("kind", kind, ("steps", "landscape", "waterfall", "along", "profile"))
    if kind == "steps":
        return feature_values(e)
    if kind == "waterfall":
        return contributions(e)
    if kind in ("along", "profile"):
        return values_along(e)
    ground = terrain(e, features=features)
    mesh = np.meshgrid(*ground.axes)
    columns = {name: part.ravel() for name, part in zip(ground.features, mesh, strict=True)}
    return pd.DataFrame(
        {**columns, "plausibility": ground.plausibility.ravel(), "goal": ground.goal.ravel()}
    )


def feature_values(e: Answer) -> pd.DataFrame:
    """Return feature, waypoint, value and change_sd (from the start), a row for each pair."""
    values = e.states.to_numpy()
    waypoints, names = len(values), list(e.states.columns)
    return pd.DataFrame(
        {
            "feature": np.repeat(names, waypoints),
            "waypoint": np.tile(np.arange(waypoints), len(names)),
            "value": values.T.ravel(),
            "change_sd": e.moves().T.ravel(),
        }
    )


def values_along(e: Answer, *, points: int = POINTS) -> pd.DataFrame:
    """Return log-density, plausibility, posterior and profile along the path.

    Args:
        e: an explanation. Without its density, only the waypoints are known.
        points: number of points on each segment.

    Returns:
        waypoint (whole numbers are waypoints), length from the start (standard deviations),
        log_prob, plausibility, posterior, and the most probable profile (empty text if the
        density has none).
    """
    corners = np.arange(len(e.states), dtype=np.float64)
    steps = [e.moves_between(k, k + 1) for k in range(e.step_count)]
    lengths = np.concatenate([[0.0], np.linalg.norm(steps, axis=1).cumsum() if steps else []])
    columns = ["log_prob", "plausibility", "posterior", "profile"]
    at_waypoints = e.along[columns].reset_index(drop=True)
    frame = pd.concat(
        [pd.DataFrame({"waypoint": corners, "length": lengths}), at_waypoints], axis=1
    )
    if e.density is None or e.step_count == 0:
        return frame
    path, (mean, sd) = e.density.to_model(e.states), e.plausible_scale()
    t = np.arange(1, points) / points
    rows = _between(e.density, path, t)
    position = (corners[:-1, None] + t).ravel()
    log_prob = e.density.log_prob(rows)
    more = pd.DataFrame(
        {
            "waypoint": position,
            "length": np.interp(position, corners, lengths),
            "log_prob": log_prob,
            "plausibility": (log_prob - mean) / sd,
            "posterior": _posterior(e, e.density, rows),
            "profile": e.density.find_profiles(rows)[0],
        }
    )
    return pd.concat([frame, more]).sort_values("waypoint", ignore_index=True)


def profiles_along(e: Answer) -> dict[str, str]:
    """Return the descriptions of the profiles along the path by name, in order of occurrence.

    Those between waypoints are known only with the density.
    """
    if e.density is None or not e.profiles:
        return dict(e.profiles)
    path = e.density.to_model(e.states)
    t = np.arange(POINTS) / POINTS
    rows = _between(e.density, path, t)
    return e.density.find_profiles(np.concatenate([rows, path[-1:]]))[1]


def _between(density: ConditionalDensity, path: FloatArray, t: FloatArray) -> FloatArray:
    """Return points on each segment, with the codes of its last waypoint, one after the other.

    Args:
        density: density of the columns, some of which may be codes.
        path: waypoints in model space.
        t: positions on a segment, from 0 to 1.
    """
    points = path[:-1, None] + t[:, None] * segment_vectors(path)[:, None]
    codes = list(density.encoding_.code_sizes)
    points[..., codes] = path[1:, None, codes]
    rows: FloatArray = points.reshape(-1, path.shape[1])
    return rows


def _posterior(e: Answer, density: ConditionalDensity, rows: FloatArray) -> FloatArray:
    judge: Any = density
    if e.provenance.judge != "density":
        judge = e.judge
    if judge is None:  # not available: known at the waypoints only
        return np.full(len(rows), np.nan)
    known = [str(label) for label in judge.classes_.tolist()]
    shares: FloatArray = np.exp(judge.log_posterior(rows)[:, known.index(str(e.target))])
    return shares
