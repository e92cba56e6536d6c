"""What is odd about an answer: values that no case can have, a class that the row denies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from daace.data.table import as_pandas, quote
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput
from daace.landscape.problem import Problem

if TYPE_CHECKING:
    from daace.explain.explanation import Explanation

#: Part of a unit by which a number may miss a whole one: rounding, no more.
ROUNDING = 1e-9

#: Beginning of the note that a model did badly on rows that were held out when it was fitted.
WEAK = "The model is weak on "

#: In the note on a row whose class the model denies.
DENIED = "the model takes it for "


def find_oddities(problem: Problem, path: np.ndarray) -> tuple[str, ...]:
    """Return sentences on features that leave what all rows of the table had in common.

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
    said = []
    if below:
        said.append(
            f"Below 0, where no row of the table was: {quote(below)}. A 'lower' of 0 forbids it."
        )
    if between:
        said.append(
            f"Between whole numbers, where no row of the table was: {quote(between)}. "
            "If that cannot be, name them as 'integer'."
        )
    return tuple(said)


def note_denied(
    density: ConditionalDensity, rows: object, answers: Sequence[Explanation]
) -> tuple[Explanation, ...]:
    """Add a sentence to answers for rows that give another class than the model takes them for.

    Not to those without a way: what they say is why, and what to do.

    Args:
        density: knows the name of the class column.
        rows: as the user gave them, a frame or one row.
        answers: one for each row.
    """
    given = as_pandas(rows)
    if isinstance(given, Mapping | pd.Series):
        given = pd.DataFrame([dict(given)])
    if not isinstance(given, pd.DataFrame) or density.target_ not in given.columns:
        return tuple(answers)
    return tuple(
        replace(e, notes=(*e.notes, *_find_denial(density, label, e))) if e.found else e
        for label, e in zip(given[density.target_], answers, strict=True)
    )


def _find_denial(density: ConditionalDensity, label: object, e: Explanation) -> tuple[str, ...]:
    try:
        stated = density.classes_.item(density.class_index(label))
    except InvalidInput:  # missing, or a class that the model does not know
        return ()
    if stated == e.current:
        return ()
    return (f"The row is given as '{stated}'; {DENIED}'{e.current}'.",)
