"""What is odd about an answer: values that no case can have, a class that the row denies."""

from __future__ import annotations

import numpy as np

from daace._wording import quote
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput
from daace.landscape.problem import Problem
from daace.notes import Note

#: Part of a unit by which a number may miss a whole one: rounding, no more.
ROUNDING = 1e-9


def find_oddities(problem: Problem, path: np.ndarray) -> tuple[Note, ...]:
    """Return notes on features that leave what all rows of the table had in common.

    A density over the real numbers knows nothing of counts, shares or yes and no: it may end a
    path at -0.3 late payments. What to say to forbid it is named.

    Args:
        problem: what was asked.
        path: waypoints in user units, the first the start.
    """
    density, rules = problem.landscape.density, problem.constraints
    start, moves = path[0], path[1:]
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
    return tuple(notes)


def find_denial(density: ConditionalDensity, label: object, current: object) -> tuple[Note, ...]:
    """Return a note on a row that is recorded with another class than the model predicts.

    Args:
        density: knows the classes.
        label: the recorded class; None, or what is no class of the model, says nothing.
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
