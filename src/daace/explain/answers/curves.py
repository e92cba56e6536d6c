"""What happens along a path, as frames: the data behind the plots of an explanation."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from daace._checks import check_choice
from daace._typing import FloatArray
from daace.density.base import ConditionalDensity
from daace.density.bayes import log_sum_exp
from daace.explain.answers.answer import Answer
from daace.explain.answers.terrain import log_odds, terrain
from daace.landscape.path import gauss_rule, segment_vectors

#: Points on each segment of a curve.
POINTS = 40

#: Nodes on each segment of an integral along the path.
NODES = 128


def plot_data(e: Answer, kind: str, *, features: tuple[str, str] | None = None) -> pd.DataFrame:
    """Return what a plot is drawn from; see `Explanation.plot_data`."""
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
        points: on each segment.

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

    Those between waypoints are known with the density only.
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
        density: knows which columns are codes.
        path: waypoints in model space.
        t: positions on a segment, from 0 to 1.
    """
    points = path[:-1, None] + t[:, None] * segment_vectors(path)[:, None]
    codes = list(density.encoding_.code_sizes)
    points[..., codes] = path[1:, None, codes]
    rows: FloatArray = points.reshape(-1, path.shape[1])
    return rows


def contributions(e: Answer) -> pd.DataFrame:
    """Return what each change does for the log-odds of the target.

    The contribution of feature j is the integral of d log-odds / dx_j along the path; features that
    switch together share what their switch gains. So all contributions add up to the log-odds
    gained between start and counterfactual.

    Returns:
        feature, from, to, change_sd and contribution (nats), largest contribution first. Where
        the density is not known, or did not judge the class, contributions are missing and the
        order is that of the changes.
    """
    changes = e.changes()[["feature", "from", "to", "change_sd"]].assign(contribution=np.nan)
    judged_elsewhere = e.provenance.classifier is not None
    if e.density is None or judged_elsewhere or e.step_count == 0 or len(e.density.classes_) < 2:
        return changes
    path = e.density.to_model(e.states)
    rule, vectors = gauss_rule(NODES), segment_vectors(path)
    slopes = _log_odds_slopes(e, e.density, _between(e.density, path, rule.nodes))
    along = np.einsum("sqn,q->sn", slopes.reshape(len(vectors), len(rule), -1), rule.weights)
    names = list(e.states.columns)
    gained = (along * vectors).sum(axis=0) + _gained_by_switches(e, e.density, path)
    total = pd.Series(gained[: len(names)], index=names)
    changes["contribution"] = total[changes["feature"]].to_numpy()
    order = np.argsort(-changes["contribution"].abs().to_numpy(), kind="stable")
    return changes.iloc[order].reset_index(drop=True)


def _gained_by_switches(e: Answer, density: ConditionalDensity, path: FloatArray) -> FloatArray:
    """Return what the switches of each feature gain; an atom's code counts for its number."""
    gained = np.zeros(path.shape[1])
    codes = list(density.encoding_.code_sizes)
    owner = {column: j for j, column in density.encoding_.atom_columns.items()}
    for before, after in pairwise(path):
        there = before.copy()
        there[codes] = after[codes]
        switched = {
            owner.get(column, column) for column in codes if before[column] != after[column]
        }
        if switched:
            logs = density.log_posterior(np.stack([before, there]))[:, _index(e, density)]
            gained[list(switched)] += np.diff(log_odds(logs))[0] / len(switched)
    return gained


def target_log_odds(e: Answer) -> FloatArray:
    """Return the log-odds of the target at every waypoint, as the density sees it."""
    assert e.density is not None
    logs = e.density.log_posterior(e.density.to_model(e.states))[:, _index(e, e.density)]
    return log_odds(logs)


def _log_odds_slopes(e: Answer, density: ConditionalDensity, rows: FloatArray) -> FloatArray:
    """Return the gradient of log p(target, x) - log p(others, x)."""
    joint, pullback = density.log_joint_and_pullback(rows)
    index = _index(e, density)
    others = np.delete(joint, index, axis=1)
    shares = np.exp(others - log_sum_exp(others)[:, None])
    return pullback(np.insert(-shares, index, 1.0, axis=1))


def _posterior(e: Answer, density: ConditionalDensity, rows: FloatArray) -> FloatArray:
    judge: Any = density
    if e.provenance.judge != "density":
        judge = e.judge
    if judge is None:  # a judge that is not at hand: known at the waypoints only
        return np.full(len(rows), np.nan)
    known = [str(label) for label in judge.classes_.tolist()]
    shares: FloatArray = np.exp(judge.log_posterior(rows)[:, known.index(str(e.target))])
    return shares


def _index(e: Answer, density: ConditionalDensity) -> int:
    return density.class_index(e.target)
