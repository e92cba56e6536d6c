"""One question: from here, over this terrain, to that goal, by these rules."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, Self

import numpy as np

from daace._typing import FloatArray
from daace.data.numbers import LARGEST
from daace.density.base import ConditionalDensity
from daace.density.draws import DrawStatistics
from daace.density.given_draws import describe_given
from daace.exceptions import InvalidInput
from daace.landscape.constraints import NO_RULES, Constraints
from daace.landscape.cost import Landscape
from daace.landscape.feasible import FeasibleSet
from daace.landscape.goal import Goal, GoalRegion, Posterior
from daace.landscape.rows import RowMap, UserRow
from daace.landscape.rules.draft import Discrete, Draft


@dataclass(frozen=True, eq=False)
class StartRules:
    """Constraints as compiled for one start.

    Attributes:
        density: the density, with the names and units of the features.
        start: the start as it was given.
        constraints: the constraints.
        draft: the constraints in model space, before the box is applied.
    """

    density: ConditionalDensity
    start: object
    constraints: Constraints
    draft: Draft

    @classmethod
    def of(cls, density: ConditionalDensity, start: object, constraints: Constraints) -> Self:
        """Read a start and compile the constraints for it.

        Raises:
            InvalidInput: the start is not one point or row, or the constraints exclude it.
        """
        standardizer = density.standardizer_
        if isinstance(start, np.ndarray | list | tuple):
            x = _check_point(start, density.encoding_.width)
            row = standardizer.inverse(x)
        else:
            rows = start.values[None] if isinstance(start, UserRow) else density.user_values(start)
            if len(rows) != 1:
                raise InvalidInput(argument="start", expected="be one row", got=str(len(rows)))
            x, row = standardizer.transform(rows)[0], rows[0]
        x.flags.writeable = False
        return cls(density, start, constraints, constraints.compile(density, x, row=row))

    def serve(self, density: ConditionalDensity, start: object, constraints: Constraints) -> bool:
        """Whether compiling these arguments would give the same rules."""
        known = (self.density, self.start, self.constraints)
        return all(a is b for a, b in zip(known, (density, start, constraints), strict=True))

    @cached_property
    def draws(self) -> DrawStatistics:
        """Statistics of log p over draws that share with the start what is fixed."""
        if not self.constraints.given:
            return self.density.draws_
        return _draws_given(self.density, self.constraints, self.draft.x)

    def share_draws(self, other: StartRules) -> None:
        """Reuse the draws of other rules where they are the same: they are slow to make."""
        if "draws" in other.__dict__ and self._compared_with == other._compared_with:
            self.__dict__["draws"] = other.draws

    @property
    def _compared_with(self) -> tuple[object, ...]:
        """What the draws depend on."""
        rules = self.constraints
        return id(self.density), bool(rules.given), frozenset(rules.fixed), self.draft.x.tobytes()


@dataclass(frozen=True, eq=False)
class Problem:
    """Start, landscape, goal and constraints: all that a planner may see.

    Everything else is derived from the arguments, so `dataclasses.replace` gives a consistent
    problem. It does not compile the constraints again if they, start and density are the same
    objects.

    Args:
        start: model-space numbers without names (an array or list of n); or a row in user units:
            a Series, dict or one-row frame with names, or a `UserRow`.
        landscape: the terrain; its ground is replaced by that of `statistics`.
        goal: where to end.
        constraints: rules of what may change.
        box: model-space bounds `(lower, upper)` of all waypoints; those of the density's draws
            when left out.
        posterior: judge of the class; the density when left out.
        draws: statistics of log p that terrain and plausibility refer to. When left out, those of
            the density's draws; with `Constraints(given=True)` and fixed features, those of draws
            that share these features with the start.
        without: rules to leave out because gradient descent cannot keep them: 'integer',
            'max_changed'. Planners solve such problems as an intermediate step.
        rules: the constraints as compiled for another problem with this start; compiled when left
            out.

    Attributes:
        statistics: statistics of log p that terrain and plausibility refer to.
        x: the start in model space.
        to_user: maps waypoints to rows in user units.
        feasible: the compiled constraints.
        region: the compiled goal.
    """

    start: object
    landscape: Landscape
    goal: Goal
    constraints: Constraints = NO_RULES
    box: tuple[FloatArray, FloatArray] | None = None
    posterior: Posterior | None = None
    draws: DrawStatistics | None = None
    without: Collection[Discrete] = ()
    rules: StartRules | None = field(default=None, repr=False)
    statistics: DrawStatistics = field(init=False, repr=False)
    x: FloatArray = field(init=False)
    to_user: RowMap = field(init=False)
    feasible: FeasibleSet = field(init=False)
    region: GoalRegion = field(init=False)

    def __post_init__(self) -> None:
        expected = {"landscape": Landscape, "goal": Goal, "constraints": Constraints}
        for name, kind in expected.items():
            if not isinstance(getattr(self, name), kind):
                raise InvalidInput(
                    argument=name,
                    expected=f"be a daace.{kind.__name__}",
                    got=type(getattr(self, name)).__name__,
                )
        density, rules = self.landscape.density, self.rules
        if rules is None or not rules.serve(density, self.start, self.constraints):
            known, rules = rules, StartRules.of(density, self.start, self.constraints)
            if known is not None:
                rules.share_draws(known)
        box = (density.draws_.lower, density.draws_.upper) if self.box is None else self.box
        compiled = rules.draft.finish(box, without=self.without)
        x = rules.draft.x
        object.__setattr__(self, "rules", rules)
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "to_user", compiled.to_user)
        object.__setattr__(self, "feasible", compiled.feasible)
        draws = rules.draws if self.draws is None else self.draws
        object.__setattr__(self, "statistics", draws)
        ground = None if draws is density.draws_ else draws  # None stands for the density's own
        if self.landscape.ground is not ground:
            object.__setattr__(self, "landscape", replace(self.landscape, ground=ground))
        object.__setattr__(self, "region", self.goal.region(density, self.posterior, draws))

    @property
    def threshold(self) -> float:
        """The smallest log p that the end may have."""
        return self.goal.threshold(self.statistics)

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

    def met_by(self, x: FloatArray) -> bool:
        """Whether a waypoint meets the goal, judged alone, as the row that the user gets.

        The row is rounded: to whole numbers where these are required, to machine precision
        elsewhere. The density must accept the waypoint itself as well.
        """
        point = np.asarray(x, dtype=np.float64).reshape(1, -1)
        row = self.to_user(point)
        there = self.to_user.standardizer.transform(row)
        if not self.region.holds(there, row):
            return False
        same = self.posterior is not None or np.array_equal(there, point)
        return same or bool(self.region.contains(point)[0])


def _draws_given(
    density: ConditionalDensity, constraints: Constraints, x: FloatArray
) -> DrawStatistics:
    """Return statistics of log p over draws that share what is fixed with the start.

    They are those of all draws if nothing is fixed or free, or the density cannot be conditioned.
    """
    names = set(constraints.fixed)
    fixed = np.array([j for j, name in enumerate(density.features_) if name in names], np.intp)
    if not 0 < len(fixed) < len(density.features_):
        return density.draws_
    draws = describe_given(density, fixed, x)
    return density.draws_ if draws is None else draws


def _check_point(start: object, n: int) -> FloatArray:
    """Return a start in model space as an array of its own."""
    try:
        x = np.array(start, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        raise InvalidInput(
            argument="start", expected="be numbers in model space, or a row by feature names"
        ) from None
    if len(x) != n:
        raise InvalidInput(argument="start", expected=f"have {n} values", got=str(len(x)))
    if not np.isfinite(x).all():
        raise InvalidInput(argument="start", expected="be finite", got="NaN or infinity")
    if np.abs(x).max(initial=0.0) > LARGEST:
        raise InvalidInput(argument="start", expected=f"be below {LARGEST:g} in size")
    return x
