"""What may change on the way, in the user's words; compiled into a set in model space."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from daace._checks import check_integer
from daace._typing import FloatArray
from daace._wording import did_you_mean, quote
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput
from daace.landscape.feasible import Changes, FeasibleSet, Grid
from daace.landscape.links import Link, Slabs

#: Rules that map features to numbers, and what those must be.
MAPPINGS: dict[str, tuple[str, Callable[[float], bool]]] = {
    "lower": ("numbers", lambda number: number < np.inf),
    "upper": ("numbers", lambda number: number > -np.inf),
    "weights": ("positive numbers", lambda number: 0 < number < np.inf),
    "max_rise": ("numbers from 0 on", lambda number: number >= 0),
    "max_fall": ("numbers from 0 on", lambda number: number >= 0),
    "max_step": ("positive numbers", lambda number: number > 0),
}


@dataclass(frozen=True)
class Constraints:
    """Rules for every waypoint, by feature name and in the user's units.

    Args:
        fixed: features that keep their value.
        lower, upper: bounds by feature.
        max_rise, max_fall: bounds of the change from the start, by feature.
        only_up, only_down: features that may only rise, or only fall, from waypoint to waypoint.
        weights: how hard a change is: a feature of weight 2 counts twice in the length.
        max_step: largest change from one waypoint to the next, by feature; long segments get
            more waypoints, on the same line and at the same cost.
        integer: features that are whole numbers.
        links: weighted sums of features that keep a value or a bound.
        max_changed: how many features may change at all.

    Example:
        >>> Constraints(fixed=["age"], only_up=["education"], upper={"debt": 20_000}).fixed
        ('age',)
    """

    fixed: Collection[str] = ()
    lower: Mapping[str, float] = field(default_factory=dict)
    upper: Mapping[str, float] = field(default_factory=dict)
    only_up: Collection[str] = ()
    only_down: Collection[str] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    max_rise: Mapping[str, float] = field(default_factory=dict)
    max_fall: Mapping[str, float] = field(default_factory=dict)
    max_step: Mapping[str, float] = field(default_factory=dict)
    integer: Collection[str] = ()
    links: Collection[Link] = ()
    max_changed: int | None = None

    def __post_init__(self) -> None:
        for name in ("fixed", "only_up", "only_down", "integer"):
            value = getattr(self, name)
            if isinstance(value, str) or not isinstance(value, Iterable):
                raise InvalidInput(f"'{name}' must be a list of features. Got {value!r}.")
            object.__setattr__(self, name, tuple(str(feature) for feature in value))
        for name in MAPPINGS:
            object.__setattr__(self, name, _numbers(name, getattr(self, name)))
        if isinstance(self.links, Link | str) or not isinstance(self.links, Iterable):
            raise InvalidInput(f"'links' must be a list of daace.Link. Got {self.links!r}.")
        links = [Link(**link) if isinstance(link, Mapping) else link for link in self.links]
        if not all(isinstance(link, Link) for link in links):
            raise InvalidInput(f"'links' must be a list of daace.Link. Got {links!r}.")
        object.__setattr__(self, "links", tuple(links))
        if self.max_changed is not None:
            check_integer("max_changed", self.max_changed, at_least=1)
        both = sorted(set(self.only_up) & set(self.only_down))
        if both:
            raise InvalidInput(
                f"'only_up' and 'only_down' must differ. Got {quote(both)} in both: use 'fixed'."
            )
        crossed = [f for f in self.lower if self.lower[f] > self.upper.get(f, np.inf)]
        if crossed:
            raise InvalidInput(
                f"'lower' must not exceed 'upper'. Got {self.lower[crossed[0]]} > "
                f"{self.upper[crossed[0]]} for '{crossed[0]}'."
            )
        small = [f for f in self.integer if self.max_step.get(f, 1.0) < 1]
        if small:
            raise InvalidInput(
                f"'max_step' must be at least 1 where numbers are whole. "
                f"Got {self.max_step[small[0]]:g} for '{small[0]}'."
            )

    def check_features(self, names: Sequence[str]) -> None:
        """Refuse rules on what is not among the names.

        Raises:
            InvalidInput: a rule names another feature; a name that looks like it is proposed.
        """
        unknown = sorted(self.features() - set(names))
        if unknown:
            raise InvalidInput(
                f"'constraints' must name features of the model. Got {quote(unknown)}."
                f"{did_you_mean(unknown[0], names)}"
            )

    def features(self) -> set[str]:
        """Return every feature that a rule names."""
        named = (getattr(self, name) for name in ("fixed", "only_up", "only_down", "integer"))
        mapped = (getattr(self, name) for name in MAPPINGS)
        linked = (link.terms for link in self.links)
        return {feature for names in (*named, *mapped, *linked) for feature in names}

    def compile(
        self,
        density: ConditionalDensity,
        start: FloatArray,
        box: tuple[FloatArray, FloatArray] | None = None,
    ) -> FeasibleSet:
        """Return the model-space set that waypoints must stay in.

        Args:
            density: knows names and units.
            start: model-space start, always inside.
            box: model-space bounds of all waypoints; those of the density's draws when left out.

        Raises:
            InvalidInput: a rule names an unknown feature or excludes the start.
        """
        names = density.features_
        self.check_features(names)
        position = {name: j for j, name in enumerate(names)}
        scale, mean = density.standardizer_.scale, density.standardizer_.mean
        low, high = box if box is not None else (density.draws_.lower, density.draws_.upper)
        if np.shape(low) != start.shape or np.shape(high) != start.shape:
            raise InvalidInput(f"'box' must be two arrays of {len(start)} numbers.")
        if not np.all(np.asarray(low) <= np.asarray(high)):
            raise InvalidInput("'box' must have its lower bounds below its upper bounds.")
        lower = np.minimum(np.asarray(low, dtype=np.float64), start)
        upper = np.maximum(np.asarray(high, dtype=np.float64), start)
        direction = np.zeros(len(names), dtype=np.intp)
        weights = np.ones(len(names))
        for sense, bounds in (("lower", self.lower), ("upper", self.upper)):
            for feature, bound in bounds.items():
                j = position[feature]
                value = (bound - mean[j]) / scale[j]
                slack = start[j] - value if sense == "lower" else value - start[j]
                if slack < -1e-9 * max(1.0, abs(value)):
                    here = start[j] * scale[j] + mean[j]
                    raise InvalidInput(
                        f"'{sense}' must allow the start. Got {sense}={bound:g} for '{feature}', "
                        f"which is {here:g} now: move the bound or leave it out."
                    )
                if sense == "lower":
                    lower[j] = min(max(lower[j], value), start[j])
                else:
                    upper[j] = max(min(upper[j], value), start[j])
        for feature, rise in self.max_rise.items():
            j = position[feature]
            upper[j] = min(upper[j], start[j] + rise / scale[j])
        for feature, fall in self.max_fall.items():
            j = position[feature]
            lower[j] = max(lower[j], start[j] - fall / scale[j])
        for feature in self.only_up:
            direction[position[feature]] = 1
            lower[position[feature]] = start[position[feature]]
        for feature in self.only_down:
            direction[position[feature]] = -1
            upper[position[feature]] = start[position[feature]]
        for feature in self.fixed:
            j = position[feature]
            lower[j] = upper[j] = start[j]
            direction[j] = 0
        for feature, weight in self.weights.items():
            weights[position[feature]] = weight
        steps = np.full(len(names), np.inf)
        for feature, step in self.max_step.items():
            whole = np.floor(step) if feature in self.integer else step
            steps[position[feature]] = whole / scale[position[feature]]
        grid = self._compile_grid(position, start, scale, mean)
        lower, upper = grid.narrow(lower, upper)
        return FeasibleSet(
            lower,
            upper,
            direction,
            weights,
            slabs=self._compile_links(position, start, scale, mean),
            steps=steps,
            grid=grid,
            changes=None if self.max_changed is None else Changes(start, self.max_changed),
        )

    def _compile_grid(
        self, position: dict[str, int], start: FloatArray, scale: FloatArray, mean: FloatArray
    ) -> Grid:
        j = np.array(sorted(position[feature] for feature in set(self.integer)), dtype=np.intp)
        grid = Grid(j, -mean[j] / scale[j], 1 / scale[j])
        if len(j) and not grid.holds(start):
            counts = grid.counts(start)
            worst = int(np.argmax(np.abs(counts - np.rint(counts))))
            name = {index: feature for feature, index in position.items()}[int(j[worst])]
            raise InvalidInput(
                f"'integer' must allow the start. Got '{name}', which is {counts[worst]:g} now: "
                "round it, or leave it out."
            )
        return grid

    def _compile_links(
        self, position: dict[str, int], start: FloatArray, scale: FloatArray, mean: FloatArray
    ) -> Slabs:
        slabs = []
        for link in self.links:
            row = np.zeros(len(start))
            for feature, weight in link.terms.items():
                row[position[feature]] += weight
            size = float(np.linalg.norm(row * scale))
            low, high = ((bound - row @ mean) / size for bound in link.bounds)
            slab = Slabs((row * scale / size)[None], np.array([low]), np.array([high]))
            if not slab.hold(start):
                raise InvalidInput(
                    f"'links' must allow the start. Got {link}, where the sum is "
                    f"{row @ (start * scale + mean):g} now: move the bound or leave it out."
                )
            slabs.append(slab)
        return Slabs.joined(slabs, len(start))


def _numbers(name: str, value: object) -> dict[str, float]:
    """Return a rule that maps features to numbers, checked."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"'{name}' must map features to numbers. Got {type(value).__name__}.")
    try:
        numbers = {str(feature): float(number) for feature, number in value.items()}
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"'{name}' must map features to numbers. Got {dict(value)!r}.") from None
    kind, good = MAPPINGS[name]
    wrong = [feature for feature, number in numbers.items() if not good(number)]
    if wrong:
        raise InvalidInput(f"'{name}' must be {kind}. Got {numbers[wrong[0]]} for '{wrong[0]}'.")
    return numbers
