"""A feasible set and a map of rows in the making: what rules write into."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from daace._typing import FloatArray
from daace.data.encoding import Encoding
from daace.data.standardizer import Standardizer
from daace.exceptions import InvalidInput
from daace.landscape.feasible import ROUNDING, Changes, FeasibleSet, Grid
from daace.landscape.linear_constraints import Slabs
from daace.landscape.rows import RowMap
from daace.landscape.rules.code_draft import CodeDraft

#: Keywords of the rules that descent cannot keep.
Discrete = Literal["integer", "max_changed"]


@dataclass(frozen=True, eq=False)
class CompiledRules:
    """Rules as planners and answers need them.

    Attributes:
        feasible: the feasible set of waypoints, in model space.
        to_user: the map from waypoints to rows in user units.
    """

    feasible: FeasibleSet
    to_user: RowMap


class Draft:
    """The rules of one problem, written down one by one, in any order.

    The start is never excluded: bounds are moved to it where they would.

    Args:
        features: names of the features, in the model's order.
        standardizer: the density's standardizer.
        x: the start in model space.
        row: the start in user units.
        rules: all rules that will be written, for messages that depend on other rules.
        encoding: the encoding of the columns; plain numbers when left out.

    Attributes:
        position: index of each feature.
        mean: mean of each feature, in user units.
        scale: standard deviation of each feature, in user units.
        weights: weight of each feature in the length of a path.
        steps: largest change of each feature between waypoints, in user units.
        whole: which features must be whole numbers.
        most: how many features may change; None for no limit.
    """

    def __init__(
        self,
        features: Sequence[str],
        standardizer: Standardizer,
        x: FloatArray,
        row: FloatArray,
        rules: Sequence[object] = (),
        encoding: Encoding | None = None,
    ) -> None:
        n = len(x)
        self.position = {name: j for j, name in enumerate(features)}
        self.mean, self.scale = standardizer.mean, standardizer.scale
        self.x, self.row, self.rules = x, row, rules
        self.weights = np.ones(n)
        self.steps = np.full(n, np.inf)
        self.whole = np.zeros(n, dtype=bool)
        self.most: int | None = None
        self._standardizer = standardizer
        self._lower, self._upper = np.full(n, -np.inf), np.full(n, np.inf)
        self._lower_row, self._upper_row = np.full(n, -np.inf), np.full(n, np.inf)
        self._direction = np.zeros(n, dtype=np.intp)
        self._fixed = np.zeros(n, dtype=bool)
        self._slabs: list[Slabs] = []
        self.encoding = encoding
        coded = encoding is not None and bool(encoding.code_sizes)
        self.codes = CodeDraft(encoding) if encoding is not None and coded else None

    def bound_below(self, j: int, *, model: float, user: float) -> None:
        """Keep feature j above a value, in model space and in user units."""
        self._lower[j] = max(self._lower[j], model)
        self._lower_row[j] = max(self._lower_row[j], user)

    def bound_above(self, j: int, *, model: float, user: float) -> None:
        """Keep feature j below a value, in model space and in user units."""
        self._upper[j] = min(self._upper[j], model)
        self._upper_row[j] = min(self._upper_row[j], user)

    def only_rise(self, j: int) -> None:
        """Let feature j only rise, from waypoint to waypoint."""
        self._direction[j] = 1
        self.bound_below(j, model=self.x[j], user=self.row[j])

    def only_fall(self, j: int) -> None:
        """Let feature j only fall, from waypoint to waypoint."""
        self._direction[j] = -1
        self.bound_above(j, model=self.x[j], user=self.row[j])

    def fix(self, j: int) -> None:
        """Keep feature j at the start."""
        self._fixed[j] = True
        self.bound_below(j, model=self.x[j], user=self.row[j])
        self.bound_above(j, model=self.x[j], user=self.row[j])

    def be_natural(self) -> None:
        """Keep the properties of all rows: natural bounds, whole numbers, and no new gaps."""
        if self.encoding is None:
            return
        for j, feature in enumerate(self.encoding.features):
            if feature.lower is not None:
                model = (feature.lower - self.mean[j]) / self.scale[j]
                self.bound_below(j, model=model, user=feature.lower)
            if feature.upper is not None:
                model = (feature.upper - self.mean[j]) / self.scale[j]
                self.bound_above(j, model=model, user=feature.upper)
            value = self.row[j]
            if feature.kind == "whole" and abs(value - np.rint(value)) <= ROUNDING * abs(value):
                self.whole[j] = True
        if self.codes is not None:
            self.codes.forbid_gaps()

    def bound_sum(self, weights: FloatArray, low: float, high: float) -> bool:
        """Keep `low <= weights @ row <= high` in user units; return whether the start does."""
        size = float(np.linalg.norm(weights * self.scale))
        below, above = ((bound - weights @ self.mean) / size for bound in (low, high))
        row = (weights * self.scale / size)[None]
        slab = Slabs(row, np.array([below]), np.array([above]))
        self._slabs.append(slab)
        return bool(slab.hold(self.x))

    @property
    def _atoms(self) -> Mapping[int, int]:
        return {} if self.codes is None else self.codes.encoding.atom_columns

    def finish(
        self, box: tuple[FloatArray, FloatArray], *, without: Collection[Discrete] = ()
    ) -> CompiledRules:
        """Return what has been written, within a box. The draft stays as it is.

        Args:
            box: model-space bounds `(lower, upper)` of all waypoints.
            without: rules to leave out.

        Raises:
            InvalidInput: the box has another shape, or is empty.
        """
        lower, upper = self._within(box)
        grid = Grid.of(np.flatnonzero(self.whole), self.mean, self.scale)
        lower, upper = grid.narrow(lower, upper)
        lower, upper = np.minimum(lower, self.x), np.maximum(upper, self.x)  # up to rounding
        steps = np.where(self.whole, np.floor(self.steps), self.steps)
        grid = Grid.none() if "integer" in without else grid
        most = None if "max_changed" in without else self.most
        feasible = FeasibleSet(
            lower,
            upper,
            np.where(self._fixed, 0, self._direction),
            self.weights,
            slabs=Slabs.joined(self._slabs, len(self.x)),
            steps=steps / self.scale,
            grid=grid,
            changes=None if most is None else Changes(self.x, most, self._atoms),
            codes=None
            if self.codes is None
            else self.codes.finish(self.x, lower, upper, self._direction, self.scale, self.mean),
        )
        lower_row = np.where(self.whole, np.ceil(self._lower_row), self._lower_row)
        upper_row = np.where(self.whole, np.floor(self._upper_row), self._upper_row)
        to_user = RowMap(
            self._standardizer,
            self.x,
            self.row,
            np.minimum(lower_row, self.row),
            np.maximum(upper_row, self.row),
            grid.features,
            {} if self.codes is None else self.codes.atom_places(),
        )
        return CompiledRules(feasible, to_user)

    def _within(self, box: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Return the bounds that box and rules set, moved to the start where they exclude it."""
        low, high = (np.asarray(side, dtype=np.float64) for side in box)
        if low.shape != self.x.shape or high.shape != self.x.shape:
            raise InvalidInput(argument="box", expected=f"be two arrays of {len(self.x)} numbers")
        if not (low <= high).all():
            raise InvalidInput(
                argument="box", expected="have its lower bounds below its upper bounds"
            )
        lower = np.minimum(np.maximum(low, self._lower), self.x)
        upper = np.maximum(np.minimum(high, self._upper), self.x)
        for j, column in self._atoms.items():
            if lower[j] == upper[j]:
                lower[column] = upper[column] = self.x[column]
        return lower, upper
