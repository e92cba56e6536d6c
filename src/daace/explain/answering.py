"""From a plan to an explanation: the path in the user's units, with notes and statistics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from daace._typing import FloatArray, IntArray
from daace.density.base import ConditionalDensity
from daace.explain.answers.answer import ALONG
from daace.explain.answers.opinions import find_certainty, find_views, judge_path
from daace.explain.answers.provenance import Provenance
from daace.explain.answers.reasons import relaxed_thresholds
from daace.explain.answers.remarks import (
    find_denial,
    find_doubts,
    find_oddities,
    find_rare_levels,
    find_ungiven,
)
from daace.explain.asking.query import Query
from daace.explain.asking.solving import Solved
from daace.explain.explanation import Explanation
from daace.landscape.rows import frame_of_codes, frame_of_numbers, frame_of_rows
from daace.landscape.switches import Switches
from daace.notes import Note
from daace.planners.base import Planner, Status
from daace.planners.readable import merge_steps


def explain_solved(
    query: Query, solved: Solved, *, row: int = 0, planner: Planner | None = None
) -> Explanation:
    """Return a plan in the user's units, with provenance and notes.

    Imperceptible steps are merged.

    Args:
        query: the query.
        solved: the problem of a row, and its plan.
        row: its position.
        planner: planner of the plan; that of the query when left out.
    """
    settings, problem = query.settings, solved.problem
    density, plan = settings.density, merge_steps(problem, solved.plan)
    path = problem.to_user(plan.waypoints)
    log_prob, shares = judge_path(problem, plan, path)
    draws, index = problem.statistics, problem.region.index
    along = [
        log_prob,
        (log_prob - draws.mean) / draws.sd,
        np.array([draws.percentile(value) for value in log_prob]),
        shares[:, index],
    ]
    current = density.classes_.item(int(np.argmax(shares[0])))
    denied = find_denial(density, query.labels[row], current) if plan.found else ()
    whole = problem.to_user.whole
    frame = frame_of_features(path, density, whole=whole, like=query.like(row))
    names, profiles = density.find_profiles(density.standardizer_.transform(path))
    numbers = frame_of_rows(np.column_stack(along), ALONG)
    judges = find_views(settings, path[[0, -1]], shares[[0, -1], index], index)
    return Explanation(
        status=plan.status,
        current=current,
        target=density.classes_.item(index),
        path=frame.rename_axis("waypoint"),
        along=numbers.assign(profile=names).rename_axis("waypoint"),
        judges=judges,
        cost=plan.cost,
        relax={} if plan.found else relaxed_thresholds(problem, plan),
        sd=feature_scales(density),
        units=dict(density.units_),
        provenance=Provenance.of(settings, problem.goal, plan, draws=draws, planner=planner),
        notes=(
            *plan.notes,
            *find_oddities(problem, path),
            *find_rare_levels(density.encoding_, query.values[row], query.like(row)),
            *find_ungiven(settings.rules, problem),
            *settings.weakness,
            *denied,
            *find_doubts(judges, problem.goal, found=plan.found),
        ),
        certainty=find_certainty(settings, problem, path, query.judge(row)),
        profiles=profiles,
        plan=plan,
        derived=tuple(column.name for column in density.encoding_.derived),
    )


def feature_scales(density: ConditionalDensity) -> FloatArray:
    """Return the unit of change of each feature: one standard deviation, in user units.

    For a category it is the inverse length of its switches; for an ordered feature with numbers as
    levels, one standard deviation of its codes, in these numbers.
    """
    scales = density.standardizer_.scale[: len(density.features_)].copy()
    switches = Switches.of(density)
    if switches is None:
        return scales
    for column, lengths in zip(switches.columns.tolist(), switches.lengths, strict=True):
        if column < len(scales):
            levels = density.encoding_.features[column].levels
            gap = 1.0
            if all(isinstance(level, int | float) and level == level for level in levels):
                gap = (max(levels) - min(levels)) / max(len(levels) - 1, 1)
            scales[column] = float(gap) / float(lengths[0, 1])
    return scales


def frame_of_features(
    rows: FloatArray,
    density: ConditionalDensity,
    *,
    whole: Sequence[int] | IntArray = (),
    like: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return rows in user units as a frame of the features; with codes, in the user's dtypes.

    Columns that are computed from features stand where the user's frame had them.

    Args:
        rows: shape `(rows, columns)`.
        density: density with names, codes and derived columns.
        whole: positions of features that are whole numbers.
        like: a row with the user's own values for levels that the density does not name.
    """
    encoding, features = density.encoding_, list(density.features_)
    if not (encoding.code_sizes or encoding.derived):
        return frame_of_numbers(rows, encoding, whole=whole)
    if np.isnan(rows).any():  # a row that cannot be read
        return pd.DataFrame(np.nan, index=range(len(rows)), columns=features)
    frame = frame_of_codes(rows, encoding, like=like)
    derived = [column.name for column in encoding.derived]
    same = list(frame.columns.drop(derived)) == features
    return frame if same else frame[[*features, *derived]]


def explain_invalid(query: Query, row: int, reason: str) -> Explanation:
    """Return the answer to a row that cannot be explained: no search, and the reason as a note.

    Args:
        query: the query.
        row: its position.
        reason: a sentence.
    """
    settings, target = query.settings, query.targets[row]
    density = settings.density
    label = None if target is None else density.classes_.item(density.class_index(target))
    unknown = np.full((1, len(ALONG)), np.nan)
    return Explanation(
        status=Status.INVALID_ROW,
        current=None,
        target=label,
        path=frame_of_features(query.values[[row]], density).rename_axis("waypoint"),
        along=frame_of_rows(unknown, ALONG).assign(profile="").rename_axis("waypoint"),
        cost=np.inf,
        relax={},
        sd=feature_scales(density),
        units=dict(density.units_),
        provenance=Provenance.of(settings, settings.goal(label)),
        notes=(Note.of("invalid_row", reason=reason),),
    )
