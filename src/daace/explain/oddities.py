"""What is odd about an answer: values that no case can have, a class that the row denies."""

from __future__ import annotations

from collections.abc import Mapping
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
            "To be named as 'integer' if that cannot be."
        )
    return tuple(said)


def find_disagreement(density: ConditionalDensity, row: object, e: Explanation) -> tuple[str, ...]:
    """Return a sentence where the row itself gives another class than the model does.

    Args:
        density: knows the name of the class column.
        row: as the user gave it.
        e: the answer.
    """
    given = as_pandas(row)
    if isinstance(given, pd.DataFrame):
        given = given.iloc[0]
    if not isinstance(given, Mapping | pd.Series) or density.target_ not in given:
        return ()
    try:
        stated = density.classes_[density.class_index(given[density.target_])].item()
    except InvalidInput:  # missing, or a class that the model does not know
        return ()
    if stated == e.current:
        return ()
    return (f"The row is given as '{stated}'; the model takes it for '{e.current}'.",)
