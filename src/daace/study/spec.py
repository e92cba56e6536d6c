"""What a study is: tables, densities, algorithms and the questions they are asked."""

from __future__ import annotations

import hashlib
import inspect
import sys
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from daace._json import dump_json
from daace._wording import quote
from daace.data.synthetic import moons, rings
from daace.density.base import ConditionalDensity
from daace.density.registry import density_class
from daace.exceptions import InvalidInput
from daace.planners.base import Planner

#: The density that every path is judged by.
TRUTH = "truth"

#: Known mixtures by name; 'random' is drawn from the seed.
MIXTURES = {"moons": moons, "rings": rings, "random": None}

PLANNERS = {
    "PathOptimizer": "daace.planners.optimizer:PathOptimizer",
    "NSGA2": "daace.planners.nsga2:NSGA2",
    "Roadmap": "daace.planners.roadmap:Roadmap",
    "Face": "daace.planners.face:Face",
    "Wachter": "daace.planners.wachter:Wachter",
}

Settings = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, kw_only=True)
class TableSpec:
    """One table: a named one, perhaps reduced to two classes, or a known mixture."""

    name: str
    classes: tuple[str, ...] = ()
    mixture: str = ""
    features: int = 2


@dataclass(frozen=True, kw_only=True)
class DensitySpec:
    """How a density is learned; with `preset`, by the paper's settings for the table."""

    name: str
    kind: str
    preset: bool = False
    settings: Settings = ()

    def make(self, table: str) -> ConditionalDensity:
        """Return the density, not yet fitted."""
        maker: Any = density_class(self.kind)
        given = dict(self.settings)
        return maker.preset(table, **given) if self.preset else maker(**given)  # type: ignore[no-any-return]


@dataclass(frozen=True, kw_only=True)
class Subset:
    """The part of the problems that an algorithm is asked; None stands for all."""

    tables: tuple[str, ...] | None = None
    penalties: tuple[float, ...] | None = None
    plausibility: tuple[float, ...] | None = None
    certainty: tuple[float, ...] | None = None
    instances: int | None = None


@dataclass(frozen=True, kw_only=True)
class AlgorithmSpec:
    """A planner on a density.

    Attributes:
        planner: `module:Class`.
        density: name of the density that it plans on and checks the goal with.
        rows: which rows a planner that asks for `rows` gets: 'all', or those of the 'target'.
        settings: of the planner.
        only: on which problems; where it is given, the algorithm stands beside the comparison.
        family, vertices: of an algorithm that was made by `each_vertex`.
        folder: of the study, where Python looks for a planner besides.
    """

    name: str
    planner: str
    density: str
    rows: str = "all"
    settings: Settings = ()
    only: Subset | None = None
    family: str = ""
    vertices: int | None = None
    folder: str = ""

    def planner_class(self) -> type[Planner]:
        """Return the class of the planner.

        Raises:
            InvalidInput: there is no such class, or it is no planner.
        """
        module, _, name = self.planner.partition(":")
        if self.folder and self.folder not in sys.path:
            sys.path.append(self.folder)  # after all others: it hides nothing
        try:
            found: Any = getattr(import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise InvalidInput(
                f"'planner' must be one of {quote(PLANNERS)}, or 'module:Class' that Python can "
                f"import. Got '{self.planner}' ({error})."
            ) from None
        if not (isinstance(found, type) and issubclass(found, Planner)):
            raise InvalidInput(
                f"'planner' must be a class that stands on daace.Planner. '{self.planner}' is not."
            )
        return found


@dataclass(frozen=True, kw_only=True)
class StudySpec:
    """A study, as its TOML file says it.

    Attributes:
        plausibility: m of the thresholds alpha = mean + m sd of log p(x) under the truth.
        certainty: m of the thresholds beta = min(0.99, mean + m sd) of p(true class | x).
        rows: the truth is resampled to the table's own number of rows, kept within these two.
        margin: waypoints stay within the range of the resampled rows, widened by this.
        samples: draws on which the densities are compared with the truth.
    """

    name: str
    seed: int
    instances: int
    penalties: tuple[float, ...]
    plausibility: tuple[float, ...]
    certainty: tuple[float, ...]
    rows: tuple[int, int]
    scale: str
    margin: float
    samples: int
    tables: tuple[TableSpec, ...]
    truth: DensitySpec
    densities: tuple[DensitySpec, ...]
    algorithms: tuple[AlgorithmSpec, ...]

    def density(self, name: str) -> DensitySpec:
        """Return a density by its name; that of the truth is how it is learned."""
        return next(d for d in (self.truth, *self.densities) if d.name == name)

    def algorithm(self, name: str) -> AlgorithmSpec:
        """Return an algorithm by its name."""
        return next(a for a in self.algorithms if a.name == name)

    @property
    def compared(self) -> tuple[str, ...]:
        """The algorithms that answer every problem."""
        return tuple(a.name for a in self.algorithms if a.only is None)


def asks_for_rows(planner: Any) -> bool:
    """Whether the constructor of a planner has an argument 'rows'."""
    return "rows" in inspect.signature(planner).parameters


def digest(*parts: object) -> str:
    """Return a short hash of anything that JSON can hold.

    Example:
        >>> digest("a", 1) == digest("a", 1) != digest("a", 2)
        True
    """
    return hashlib.sha256(dump_json(parts).encode("utf-8")).hexdigest()[:20]
