"""The trials of a study, each a problem for one algorithm, and the keys of all that is made."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product

from daace.study.spec import TRUTH, AlgorithmSpec, StudySpec, TableSpec, digest

#: The way from a problem to its record, by the version of the package that it began with. It
#: changes when earlier records no longer count; a new version alone leaves runs resumable.
PROTOCOL = "0.1.0/1"


@dataclass(frozen=True)
class Trial:
    """One problem, given to one algorithm.

    Attributes:
        key: hash of the problem, the settings, the density and the protocol.
        table: name of the table.
        algorithm: name of the algorithm.
        instance: number of the start.
        penalty: exponent of the local cost.
        plausibility: m of the threshold of log p(x), in standard deviations.
        certainty: m of the threshold of p(target | x), in standard deviations.
    """

    key: str
    table: str
    algorithm: str
    instance: int
    penalty: float
    plausibility: float
    certainty: float

    @property
    def seed(self) -> int:
        """Seed of the planner, different for each trial."""
        return int(self.key[:12], 16)

    def describe(self) -> dict[str, object]:
        """Return the first entries of the record."""
        return {"kind": "problem", **asdict(self), "seed": self.seed}


@dataclass(frozen=True)
class TableKeys:
    """The keys of all that is made for one table; each depends on those of its inputs.

    Attributes:
        spec: the study.
        table: one of its tables.
        fingerprint: fingerprint of the table's content.
    """

    spec: StudySpec
    table: TableSpec
    fingerprint: str

    @property
    def truth(self) -> str:
        """Key of the truth."""
        truth = self.spec.truth
        learned = () if self.table.mixture else (truth.kind, truth.settings)
        return digest(PROTOCOL, self.fingerprint, learned)

    @property
    def sample(self) -> str:
        """Key of the resampled rows and what is computed from them."""
        return digest(self.truth, self.spec.rows, self.spec.seed)

    def density(self, name: str) -> str:
        """Return the key of a density.

        Args:
            name: name of the density.
        """
        if name == TRUTH:
            return self.truth
        density = self.spec.density(name)
        preset = self.table.name if density.preset else ""
        return digest(self.sample, density.kind, density.settings, preset)

    def algorithm(self, algorithm: AlgorithmSpec) -> str:
        """Return the key of a planner on a density.

        Args:
            algorithm: an algorithm of the study.
        """
        return digest(
            algorithm.planner,
            _own_code(algorithm),
            algorithm.rows,
            algorithm.settings,
            self.density(algorithm.density),
            *([self.tuning(algorithm)] if algorithm.tune else []),
        )

    def tuning(self, algorithm: AlgorithmSpec) -> str:
        """Return the key of the settings that are chosen for an algorithm; any vertices share it.

        Args:
            algorithm: an algorithm of the study, with `tune`.
        """
        others = [pair for pair in algorithm.settings if pair[0] != "vertices"]
        spec = self.spec
        grid = (spec.penalties, spec.plausibility, spec.certainty, spec.scale, spec.margin)
        return digest("tuning", others, self.density(algorithm.density), algorithm.tune, grid)

    def graph(self, algorithm: AlgorithmSpec, target: str = "") -> str:
        """Return the key of the graph of an algorithm.

        Args:
            algorithm: an algorithm of the study.
            target: class whose rows are the nodes; empty if all rows are.
        """
        return digest(self.algorithm(algorithm), target)

    @property
    def _target(self) -> tuple[str, ...]:
        """What the choice of the target adds to a key: nothing by default, as it came later."""
        return () if self.spec.target == "other" else (self.spec.target,)

    def comparison(self) -> str:
        """Return the key of the comparison of all densities with the truth."""
        return digest(
            "densities",
            self.sample,
            self.spec.samples,
            [(d.name, self.density(d.name)) for d in self.spec.densities],
        )

    def trials(self) -> Iterator[Trial]:
        """Yield every trial of the table, algorithm by algorithm, penalty by penalty."""
        sample = self.sample
        for algorithm in self.spec.algorithms:
            planner = self.algorithm(algorithm)
            for penalty, m, c, i in product(
                self.spec.penalties,
                self.spec.plausibility,
                self.spec.certainty,
                range(self.spec.instances),
            ):
                key = digest(
                    sample,
                    (self.spec.scale, self.spec.margin, *self._target),
                    (algorithm.name, planner),
                    (penalty, m, c, i),
                )
                trial = Trial(key, self.table.name, algorithm.name, i, penalty, m, c)
                if _is_given(algorithm, trial):
                    yield trial


def _is_given(algorithm: AlgorithmSpec, trial: Trial) -> bool:
    only = algorithm.only
    if only is None:
        return True
    wanted = (only.tables, only.penalties, only.plausibility, only.certainty)
    given = (trial.table, trial.penalty, trial.plausibility, trial.certainty)
    fits = all(w is None or g in w for w, g in zip(wanted, given, strict=True))
    return fits and (only.instances is None or trial.instance < only.instances)


def _own_code(algorithm: AlgorithmSpec) -> str:
    """Return a hash of the file of a user's planner, which has no version."""
    planner = algorithm.planner_class()
    if planner.__module__.startswith("daace."):
        return ""
    try:
        source = inspect.getsource(sys.modules[planner.__module__])
    except (OSError, TypeError):  # typed into an interpreter
        source = planner.__qualname__
    return hashlib.sha256(source.encode("utf-8")).hexdigest()[:20]
