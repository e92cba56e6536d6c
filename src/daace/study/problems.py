"""The problems of a study, one by one, each with a key that tells it from all others."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product

import numpy as np

from daace._wording import quote
from daace.data.catalog import load_table
from daace.data.preprocess import preprocess
from daace.data.synthetic import MixtureParameters, moons, random_mixture, rings
from daace.data.table import Table
from daace.exceptions import InvalidInput
from daace.study.spec import TRUTH, AlgorithmSpec, StudySpec, TableSpec, digest

#: Raised when the way from a problem to its record changes within one version of the package.
PROTOCOL = 1


@dataclass(frozen=True)
class Question:
    """One problem, asked to one algorithm.

    Attributes:
        key: hash of the problem, the settings, the density and the version of the code.
        plausibility, certainty: m of the two thresholds, in standard deviations.
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
        """Seed of the planner: its own for each question."""
        return int(self.key[:12], 16)


@dataclass(frozen=True)
class Keys:
    """The keys of one table of a study; each depends on those before it.

    Args:
        spec: the study.
        table: one of its tables.
        fingerprint: of the table's content.
    """

    spec: StudySpec
    table: TableSpec
    fingerprint: str

    @property
    def truth(self) -> str:
        """Key of the ground truth."""
        truth = self.spec.truth
        learned = () if self.table.mixture else (truth.kind, truth.settings)
        return digest(_code_version(), self.fingerprint, learned)

    @property
    def setting(self) -> str:
        """Key of the resampled rows and their thresholds."""
        return digest(self.truth, self.spec.rows, self.spec.seed)

    def density(self, name: str) -> str:
        """Key of a density."""
        if name == TRUTH:
            return self.truth
        density = self.spec.density(name)
        preset = self.table.name if density.preset else ""
        return digest(self.setting, density.kind, density.settings, preset)

    def algorithm(self, algorithm: AlgorithmSpec) -> str:
        """Key of a planner on a density, and of its graph."""
        return digest(
            algorithm.planner,
            _own_code(algorithm),
            algorithm.rows,
            algorithm.settings,
            self.density(algorithm.density),
        )

    def comparison(self) -> str:
        """Key of the comparison of all densities with the truth."""
        return digest(
            "densities",
            self.setting,
            self.spec.samples,
            [(d.name, self.density(d.name)) for d in self.spec.densities],
        )

    def questions(self) -> Iterator[Question]:
        """Yield every question of the table, algorithm by algorithm, penalty by penalty."""
        setting = self.setting
        for algorithm in self.spec.algorithms:
            made_of = self.algorithm(algorithm)
            for penalty, m, c, i in product(
                self.spec.penalties,
                self.spec.plausibility,
                self.spec.certainty,
                range(self.spec.instances),
            ):
                if _asked(algorithm, self.table.name, penalty, m, c, i):
                    key = digest(
                        setting,
                        (self.spec.scale, self.spec.margin),
                        (algorithm.name, made_of),
                        (penalty, m, c, i),
                    )
                    yield Question(key, self.table.name, algorithm.name, i, penalty, m, c)


def load_rows(table: TableSpec) -> Table:
    """Return a named table as the study uses it: two classes, preprocessed.

    Raises:
        InvalidInput: the table has other classes, or more than two.
    """
    rows = load_table(table.name)
    if table.classes:
        unknown = [name for name in table.classes if name not in map(str, rows.classes)]
        if unknown:
            raise InvalidInput(
                f"'classes' of '{table.name}' must be among {quote(rows.classes)}. "
                f"Got {quote(unknown)}."
            )
        chosen = np.isin(rows.y.astype(str), table.classes)
        frame = rows.to_frame()[chosen]
        rows = Table.from_frame(frame, target=rows.target, units=rows.units, name=rows.name)
    if len(rows.classes) != 2:
        raise InvalidInput(
            f"A table of a study must have two classes. '{table.name}' has {len(rows.classes)}: "
            f'write {{ name = "{table.name}", classes = ["{rows.classes[0]}", '
            f'"{rows.classes[1]}"] }}.'
        )
    return preprocess(rows)


def mixture_of(table: TableSpec, seed: int) -> MixtureParameters:
    """Return the parameters of a known mixture."""
    if table.mixture == "random":
        return random_mixture(table.features, rng=np.random.default_rng([seed, table.features]))
    return moons() if table.mixture == "moons" else rings()


def fingerprint(table: TableSpec, seed: int) -> str:
    """Return a hash of what a table holds: names and every number."""
    hashed = hashlib.sha256()
    if table.mixture:
        parameters = mixture_of(table, seed)
        arrays = [*parameters[:3]]
        names = [str(label) for label in parameters.labels]
    else:
        rows = load_rows(table)
        arrays = [rows.X]
        names = [*rows.features, rows.target, *map(str, rows.y)]
    for array in arrays:
        hashed.update(repr(array.shape).encode())
        hashed.update(np.ascontiguousarray(array, dtype=np.float64).tobytes())
    hashed.update("\0".join(names).encode())
    return hashed.hexdigest()[:20]


def describe_question(question: Question) -> dict[str, object]:
    """Return a question as the first entries of its record."""
    return {"kind": "problem", **asdict(question), "seed": question.seed}


def _asked(
    algorithm: AlgorithmSpec, table: str, penalty: float, m: float, c: float, instance: int
) -> bool:
    only = algorithm.only
    if only is None:
        return True
    wanted = (only.tables, only.penalties, only.plausibility, only.certainty)
    given = (table, penalty, m, c)
    fits = all(w is None or g in w for w, g in zip(wanted, given, strict=True))
    return fits and (only.instances is None or instance < only.instances)


def _code_version() -> str:
    from daace import __version__

    return f"{__version__}/{PROTOCOL}"


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
