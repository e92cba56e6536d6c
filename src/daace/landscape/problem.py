"""One question: from here, over this terrain, to that goal, by these rules."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from daace._typing import FloatArray
from daace.data.table import LARGEST
from daace.exceptions import InvalidInput
from daace.landscape.constraints import Constraints
from daace.landscape.cost import Landscape
from daace.landscape.feasible import FeasibleSet
from daace.landscape.goal import Goal, GoalRegion, Posterior


@dataclass(frozen=True, eq=False)
class Problem:
    """Start, landscape, goal and constraints: all that a planner may see.

    Args:
        start: model-space numbers without names (an array or list of n); or a Series, dict or
            one-row frame, with names and in user units.
        landscape: the terrain.
        goal: where to end.
        constraints: what may change.
        box: model-space bounds `(lower, upper)` of all waypoints; those of the density's draws
            when left out.
        posterior: who judges the class; the density when left out.

    Attributes:
        x: the start in model space.
        feasible: the compiled constraints.
        region: the compiled goal.
    """

    start: object
    landscape: Landscape
    goal: Goal
    constraints: Constraints = field(default_factory=Constraints)
    box: tuple[FloatArray, FloatArray] | None = None
    posterior: Posterior | None = None
    x: FloatArray = field(init=False)
    feasible: FeasibleSet = field(init=False)
    region: GoalRegion = field(init=False)

    def __post_init__(self) -> None:
        expected = {"landscape": Landscape, "goal": Goal, "constraints": Constraints}
        for name, kind in expected.items():
            if not isinstance(getattr(self, name), kind):
                raise InvalidInput(
                    f"'{name}' must be a daace.{kind.__name__}. "
                    f"Got {type(getattr(self, name)).__name__}."
                )
        density = self.landscape.density
        if isinstance(self.start, np.ndarray | list | tuple):
            try:
                x = np.array(self.start, dtype=np.float64).reshape(-1)
            except (TypeError, ValueError):
                raise InvalidInput(
                    "'start' must be numbers in model space, or a row by feature names."
                ) from None
            if len(x) != len(density.features_):
                raise InvalidInput(
                    f"'start' must have {len(density.features_)} values. Got {len(x)}."
                )
            if not np.isfinite(x).all():
                raise InvalidInput("'start' must be finite. Got NaN or infinity.")
            if np.abs(x).max(initial=0.0) > LARGEST:
                raise InvalidInput(f"'start' must be below {LARGEST:g} in size.")
        else:
            rows = density.to_model(self.start)
            if len(rows) != 1:
                raise InvalidInput(f"'start' must be one row. Got {len(rows)}.")
            x = rows[0]
        x.flags.writeable = False
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "feasible", self.constraints.compile(density, x, self.box))
        object.__setattr__(self, "region", self.goal.region(density, self.posterior))

    def path_cost(
        self,
        waypoints: FloatArray,
        *,
        rule: Literal["gauss", "midpoint"] = "gauss",
        pieces: int = 19,
    ) -> float:
        """Return the cost of a path, the weights of the constraints included in its length."""
        weights = self.feasible.weights if self.feasible.weighted else None
        return self.landscape.path_cost(waypoints, rule=rule, pieces=pieces, weights=weights)

    def within(self, feasible: FeasibleSet) -> Problem:
        """Return the same question by other rules."""
        other = copy(self)
        object.__setattr__(other, "feasible", feasible)
        return other

    def met_by(self, x: FloatArray) -> bool:
        """Whether a model-space point meets the goal, judged alone."""
        return bool(self.region.contains(np.asarray(x).reshape(1, -1))[0])
