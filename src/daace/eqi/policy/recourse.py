"""The answer for one county: an explanation, and its indices by EPA's formulas."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from daace._typing import FloatArray
from daace.eqi.data.counties import DOMAINS, INDICES, Counties
from daace.eqi.policy.request import Ask
from daace.explain.explanation import Explanation


@dataclass(frozen=True, eq=False)
class Recourse:
    """A plan for one county.

    Attributes:
        fips: the county.
        ask: the request.
        explanation: the answer, in the coordinates of the search: those of model space, or of a
            slice through it.
        waypoints: model-space states of all features, shape `(waypoints, n)`; the first is the
            county's present state, and the only one if nothing was found.
        states: the same in the units of the table.
        seconds: time of the search; an equal share if counties were planned together.
    """

    fips: int
    ask: Ask
    explanation: Explanation
    waypoints: FloatArray
    states: pd.DataFrame
    seconds: float

    @property
    def found(self) -> bool:
        """Whether the path ends in the goal."""
        return self.explanation.found

    @property
    def cost(self) -> float:
        """Cost of the path under the planner's own density."""
        return self.explanation.cost

    @property
    def target(self) -> int:
        """The category to reach."""
        return int(str(self.explanation.target))


@dataclass(frozen=True, eq=False)
class CountyPath:
    """A path in the terms of the index, one row per waypoint; published sense, high = bad.

    Attributes:
        variables: all of EPA's, transformed as EPA does.
        planned: the domain indices as planned.
        recomputed: the domain indices that the variables give, by EPA's formulas.
    """

    variables: pd.DataFrame
    planned: pd.DataFrame
    recomputed: pd.DataFrame

    @classmethod
    def of(cls, counties: Counties, recourse: Recourse) -> CountyPath:
        """Read the path of a recourse; variables without a feature stay as they are."""
        states = recourse.states
        held = counties.transformed.loc[recourse.fips, counties.dropped]
        still = pd.DataFrame(
            np.tile(held.to_numpy(), (len(states), 1)), columns=counties.dropped, index=states.index
        )
        variables = pd.concat([states[counties.kept], still], axis=1)
        variables = variables[list(counties.variables.index)]
        planned = states[list(INDICES)].set_axis(list(DOMAINS), axis=1)
        return cls(variables, planned, counties.formulas.indices(variables))

    @property
    def gap(self) -> float:
        """Largest difference between a planned index and the recomputed one."""
        apart = self.planned.to_numpy() - self.recomputed[list(DOMAINS)].to_numpy()
        return float(np.abs(apart).max())


def category_of(counties: Counties, indices: pd.DataFrame) -> list[int]:
    """Return the category that five indices give, by EPA's formula, for each row."""
    overall = counties.formulas.overall(indices)
    return [int(k) for k in counties.formulas.category(overall)]
