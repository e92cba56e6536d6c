"""Notes on an answer: impossible values, a recorded class that differs, a model that is weak."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from daace._typing import FloatArray
from daace._wording import did_you_mean, quote
from daace.data.encoding import Encoding
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput
from daace.explain.trust.check import POORLY_CALIBRATED, TOO_MANY_RARE, Check
from daace.landscape.constraints import Constraints
from daace.landscape.goal import Goal
from daace.landscape.problem import Problem
from daace.notes import Note

#: Part of a unit by which a number may miss a whole one: rounding, no more.
ROUNDING = 1e-9


def find_oddities(problem: Problem, path: np.ndarray) -> tuple[Note, ...]:
    """Return notes on features that violate what all rows of the table have in common.

    A density over the real numbers does not know counts, shares or yes and no: it may end a path
    at -0.3 late payments. Nor does it know what people can change. The notes name the rules that
    forbid such ends.

    Args:
        problem: the problem.
        path: waypoints in user units, the first the start.
    """
    density, rules = problem.landscape.density, problem.constraints
    path = path[:, : len(density.features_)]
    start, moves = path[0], path[1:]
    changing = ~np.isclose(moves, start, rtol=ROUNDING, atol=0.0, equal_nan=True).all(axis=0)
    lasting = [
        feature.name
        for feature, changes in zip(density.encoding_.features, changing, strict=True)
        if changes and feature.perhaps_immutable
    ]
    negative = (moves < 0).any(axis=0) & (start >= 0)
    broken = (np.abs(moves - moves.round()) > ROUNDING).any(axis=0) & (start == start.round())
    below = [
        name
        for name, odd in zip(density.features_, negative, strict=True)
        if odd and name in density.nonnegative_
    ]
    between = [
        name
        for name, odd in zip(density.features_, broken, strict=True)
        if odd and name in density.whole_ and name not in rules.integer
    ]
    notes = []
    if below:
        notes.append(Note.of("below_zero", features=below, listed=quote(below)))
    if between:
        notes.append(Note.of("between_whole_numbers", features=between, listed=quote(between)))
    if lasting:
        notes.append(Note.of("nobody_can_change", features=lasting, listed=quote(lasting)))
    return tuple(notes)


def find_doubts(judges: pd.DataFrame, goal: Goal, *, found: bool) -> tuple[Note, ...]:
    """Return a note if a classifier decides and other models disagree.

    Args:
        judges: opinion of each judge on the end.
        goal: the goal.
        found: whether there is an end.
    """
    if not found or len(judges) < 3 or judges["decides"].sum() != 1:
        return ()  # no second opinion worth noting, or all decide
    others = judges[~judges["decides"]]
    doubting = others[others["end"] < 0.5]
    if doubting.empty:
        return ()
    return (
        Note.of(
            "others_doubt",
            doubting=len(doubting),
            models=len(others),
            target=str(goal.target),
            judges=doubting["judge"].tolist(),
        ),
    )


def find_denial(density: ConditionalDensity, label: object, current: object) -> tuple[Note, ...]:
    """Return a note on a row that is recorded with another class than the model predicts.

    Args:
        density: the density, with the classes.
        label: the recorded class; None, or a label that is not a class of the model, gives no note.
        current: the predicted class.
    """
    if label is None:
        return ()
    try:
        recorded = density.classes_.item(density.class_index(label))
    except InvalidInput:
        return ()
    if recorded == current:
        return ()
    return (Note.of("class_denied", recorded=recorded, current=current),)


def find_rare_levels(
    encoding: Encoding, row: FloatArray, cells: pd.DataFrame | None
) -> tuple[Note, ...]:
    """Return a note on each level of a row that the model does not name.

    Misspelt levels cannot be distinguished from those that too few rows had.

    Args:
        encoding: encoding with the levels.
        row: row in user units.
        cells: cells of the row as the user has them; None if the model names them all.
    """
    if cells is None:
        return ()
    notes = []
    for j, feature in enumerate(encoding.features):
        if feature.pooled and row[j] == feature.pool_code:
            level = str(cells[feature.name].iloc[0])
            hint = did_you_mean(level, [str(known) for known in feature.levels])
            notes.append(Note.of("rare_level", level=level, feature=feature.name, hint=hint))
    return tuple(notes)


def find_ungiven(rules: Constraints, problem: Problem) -> tuple[Note, ...]:
    """Return a note if features are fixed and the density cannot take them as given.

    Args:
        rules: rules of the query.
        problem: problem of the row.
    """
    asked = rules.given is not False and rules.fixed
    ignored = problem.statistics is problem.landscape.density.draws_
    free = set(problem.landscape.density.features_) - set(rules.fixed)
    return (Note.of("not_given"),) if asked and ignored and free else ()


def find_weakness(check: Check | None, *, classified: bool) -> tuple[Note, ...]:
    """Return a note on the weaknesses of a model, if there are any.

    Unlike the warnings of a check, whose number of rows the caller chooses, it allows for chance: a
    finding must be beyond its bound by a standard error, and by the expected error of a calibrated
    model in groups of this size.

    Args:
        check: check on rows that were held out; without one there is no note.
        classified: whether a classifier judges the class, not the density.

    Example:
        >>> from daace import fit, load_table
        >>> find_weakness(fit(load_table("iris")).held_out, classified=False)
        ()
    """
    if check is None:
        return ()
    found = []
    if check.rare - math.sqrt(check.rare * (1 - check.rare) / check.rows) > TOO_MANY_RARE:
        found.append(f"{100 * check.rare:.0f}% of them are less plausible than 99% of its samples")
    if not classified and check.brier - check.brier_error > check.brier_baseline:
        found.append("its class probabilities are worse than the shares of the classes alone")
    elif not classified and check.calibration_error - _chance(check) > POORLY_CALIBRATED:
        found.append(
            f"its class probabilities are off by {100 * check.calibration_error:.0f}% on average"
        )
    if not found:
        return ()
    return (Note.of("weak_density", rows=check.rows, findings="; ".join(found)),)


def _chance(check: Check) -> float:
    """Return the calibration error that a calibrated model is expected to have, by chance.

    The mean of |accuracy - confidence| of m rows is about sqrt(2 / pi) of its standard deviation,
    sqrt(p (1 - p) / m).
    """
    rows, p = (check.reliability[name].to_numpy() for name in ("rows", "confidence"))
    gaps = np.sqrt(2 / np.pi * p * (1 - p) / rows)
    return float((rows * gaps).sum() / rows.sum())
