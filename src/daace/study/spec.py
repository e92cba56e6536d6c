"""What a study is: tables, densities, algorithms, and the grid of problems they are given."""

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
from daace.density.registry import density_class, new_density
from daace.exceptions import InvalidInput
from daace.planners.base import Planner

#: Name of the density that every path is evaluated under.
TRUTH = "truth"

#: Mixtures with a known density, by name; 'random' is drawn from the seed.
MIXTURES = {"moons": moons, "rings": rings, "random": None}

#: Planners by the names that files use. A path is part of the keys of the records, and so of the
#: seeds: if it changes, old records are not found again and new ones have other numbers.
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
    """One table: a named one, perhaps reduced to two classes, or a known mixture.

    Attributes:
        name: name of the table, or what a mixture is called in the records.
        classes: the two that are kept; all when empty.
        mixture: one of `MIXTURES`; empty for a named table.
        features: number of features of a random mixture.
    """

    name: str
    classes: tuple[str, ...] = ()
    mixture: str = ""
    features: int = 2


@dataclass(frozen=True, kw_only=True)
class DensitySpec:
    """How a density is learned.

    Attributes:
        name: by which algorithms refer to it.
        kind: such as 'kde', see `daace.density.registry`.
        preset: start from the settings that the density has for the table.
        settings: settings of its constructor.
    """

    name: str
    kind: str
    preset: bool = False
    settings: Settings = ()

    def make(self, table: str) -> ConditionalDensity:
        """Return the density, not yet fitted.

        Args:
            table: name of the table, for its preset.
        """
        given = dict(self.settings)
        maker: Any = density_class(self.kind)
        return maker.preset(table, **given) if self.preset else new_density(self.kind, given)


@dataclass(frozen=True, kw_only=True)
class Subset:
    """The part of the problems that an algorithm is given; None stands for all.

    Attributes:
        tables: by name.
        penalties: some of the study's.
        plausibility: some of the study's.
        certainty: some of the study's.
        instances: how many, the first ones.
    """

    tables: tuple[str, ...] | None = None
    penalties: tuple[float, ...] | None = None
    plausibility: tuple[float, ...] | None = None
    certainty: tuple[float, ...] | None = None
    instances: int | None = None


@dataclass(frozen=True, kw_only=True)
class AlgorithmSpec:
    """A planner on a density.

    Attributes:
        name: name of the algorithm.
        planner: `module:Class`.
        density: name of the density on which it plans and checks the goal.
        rows: which rows a planner with an argument `rows` gets: 'all', or those of the 'target'.
        settings: settings of the planner.
        only: the problems that it is given; an algorithm with a subset is not compared with the
            others.
        tune: on how many problems of each table eta and selection of NSGA-II are chosen before,
            over the paper's grid; 0 for none.
        beside: it is given every problem and shown beside the others, but takes no part in their
            ranks, standardisation and tests.
        family: name of the algorithm in the file, if `each_vertex` made several of it.
        vertices: number of vertices, if `each_vertex` made the algorithm.
        folder: the folder of the study, where Python also looks for the planner.
    """

    name: str
    planner: str
    density: str
    rows: str = "all"
    settings: Settings = ()
    only: Subset | None = None
    tune: int = 0
    beside: bool = False
    family: str = ""
    vertices: int | None = None
    folder: str = ""

    def planner_class(self) -> type[Planner]:
        """Return the class of the planner.

        Raises:
            InvalidInput: there is no such class, or it is not a planner.
        """
        module, _, name = self.planner.partition(":")
        if self.folder and self.folder not in sys.path:
            sys.path.append(self.folder)  # after all others: it hides nothing
        try:
            found: Any = getattr(import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise InvalidInput(
                argument="planner",
                expected=f"be one of {quote(PLANNERS)}, or 'module:Class' that Python can import",
                got=f"'{self.planner}' ({error})",
            ) from None
        if not (isinstance(found, type) and issubclass(found, Planner)):
            raise InvalidInput(
                argument="planner",
                expected="be a subclass of daace.Planner",
                got=f"'{self.planner}'",
            )
        return found


@dataclass(frozen=True, kw_only=True)
class StudySpec:
    """A study, as its TOML file describes it.

    Attributes:
        name: name of the study.
        seed: seed of all random numbers.
        instances: starts per table.
        penalties: exponents of the local cost.
        plausibility: m of the thresholds alpha = mean + m sd of log p(x) under the truth.
        certainty: m of the thresholds beta = min(0.99, mean + m sd) of p(true class | x).
        rows: the truth is resampled to the table's own number of rows, clipped to these two.
        target: 'other' than the class that was drawn with the start, or other than the one that is
            'predicted' for it by the truth.
        scale: scale of the cost that is minimised, 'nll' or 'relative'.
        margin: waypoints stay within the range of the resampled rows, widened by this.
        samples: draws on which the densities are compared with the truth.
        tables: which tables.
        truth: how the truth of a named table is learned.
        densities: learned from the resampled rows.
        algorithms: what is compared, and what is shown beside.
    """

    name: str
    seed: int
    instances: int
    penalties: tuple[float, ...]
    plausibility: tuple[float, ...]
    certainty: tuple[float, ...]
    rows: tuple[int, int]
    target: str
    scale: str
    margin: float
    samples: int
    tables: tuple[TableSpec, ...]
    truth: DensitySpec
    densities: tuple[DensitySpec, ...]
    algorithms: tuple[AlgorithmSpec, ...]

    def density(self, name: str) -> DensitySpec:
        """Return a density by its name, the truth included.

        Args:
            name: name of the density.
        """
        return next(d for d in (self.truth, *self.densities) if d.name == name)

    def algorithm(self, name: str) -> AlgorithmSpec:
        """Return an algorithm by its name.

        Args:
            name: name of the algorithm.
        """
        return next(a for a in self.algorithms if a.name == name)

    @property
    def compared(self) -> tuple[str, ...]:
        """The algorithms that are given every problem and compared with each other."""
        return tuple(a.name for a in self.algorithms if a.only is None and not a.beside)

    @property
    def beside(self) -> tuple[str, ...]:
        """The algorithms that are given every problem and shown beside those."""
        return tuple(a.name for a in self.algorithms if a.beside)


def takes_rows(planner: Any) -> bool:
    """Whether the constructor of a planner has an argument 'rows'.

    Args:
        planner: its class.
    """
    return "rows" in inspect.signature(planner).parameters


def digest(*parts: object) -> str:
    """Return a short hash.

    Args:
        parts: anything that JSON can hold.

    Example:
        >>> digest("a", 1) == digest("a", 1) != digest("a", 2)
        True
    """
    return hashlib.sha256(dump_json(parts).encode("utf-8")).hexdigest()[:20]
