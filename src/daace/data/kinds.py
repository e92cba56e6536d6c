"""The kind of a feature: number, whole, ordered or category, with its levels, atoms and bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from daace._json import read_number, read_text
from daace.data.dtypes import KNOWN, Level, cells

Kind = Literal["number", "whole", "ordered", "category"]
KINDS: tuple[Kind, ...] = get_args(Kind)

#: More levels than any table can need: a limit for files from untrusted sources.
MOST_LEVELS = 10_000

#: Names of the codes of pooled levels and of gaps.
OTHER, MISSING, ELSEWHERE = "other", "missing", "elsewhere"


@dataclass(frozen=True)
class Feature:
    """One modelled column of the user's table, and its coding.

    A `number` or `whole` is its value. An `ordered` feature or `category` is a code: 0, 1, ... for
    its levels, then one code for pooled levels, if there are any, and finally one for "missing", if
    rows have gaps. The gap of an ordered feature is a code apart from the ladder.
    A number with atoms also has a code: 0 elsewhere, then 1, 2, ... for the atoms.

    Attributes:
        name: name of the column.
        kind: "number", "whole", "ordered" or "category".
        levels: levels of an ordered feature (from low to high) or category, without pooled ones.
        pooled: number of rare levels behind the code "other"; their names are not kept.
        gaps: whether an ordered feature or category has a code for "missing".
        none_gaps: whether its gaps are None, in a column of objects; else they are NaN there.
        atoms: values of a number that many rows share, ascending; last NaN if rows have gaps.
        clear: distances below and above each atom that is a value within which hardly any row has
            another value; empty if unknown.
        fill: value in the model array where a number is missing: the median of the others.
        lower: natural lower bound of a number, None without one.
        upper: natural upper bound of a number, None without one.
        unit: unit of a number, empty if unknown.
        perhaps_immutable: whether its name suggests that it cannot be changed.
        dtype: name of the user's dtype; of the categories, if it is categorical.
        categories: all categories of a categorical dtype but the pooled ones; else None.
        categories_ordered: whether a categorical dtype is ordered.

    Example:
        >>> housing = Feature("housing", "category", levels=("own", "rent"), gaps=True)
        >>> housing.codes, housing.gap_code, housing.words
        (3, 2, ('own', 'rent', 'missing'))
        >>> Feature("savings", atoms=(0.0, math.nan)).words
        ('elsewhere', '0', 'missing')
    """

    name: str
    kind: Kind = "number"
    levels: tuple[Level, ...] = ()
    pooled: int = 0
    gaps: bool = False
    none_gaps: bool = False
    atoms: tuple[float, ...] = ()
    clear: tuple[tuple[float, float], ...] = ()
    fill: float = 0.0
    lower: float | None = None
    upper: float | None = None
    unit: str = ""
    perhaps_immutable: bool = False
    dtype: str = "float64"
    categories: tuple[Level, ...] | None = None
    categories_ordered: bool = False

    @property
    def coded(self) -> bool:
        """Whether the feature itself is a code: ordered or a category."""
        return self.kind in ("ordered", "category")

    @property
    def codes(self) -> int:
        """Number of codes: of the feature if it is coded, else of its atoms; 0 without atoms."""
        if self.coded:
            return len(self.levels) + bool(self.pooled) + self.gaps
        return 1 + len(self.atoms) if self.atoms else 0

    @property
    def pool_code(self) -> int | None:
        """The code of pooled levels, which is never a target of a switch; None without them."""
        return len(self.levels) if self.pooled else None

    @property
    def gap_code(self) -> int | None:
        """The code of "missing", for numbers among the atoms; None without gaps."""
        has_gaps = self.gaps if self.coded else any(atom != atom for atom in self.atoms)
        return self.codes - 1 if has_gaps else None

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The name of each code."""
        if not self.coded:
            named = [MISSING if atom != atom else f"{atom:.15g}" for atom in self.atoms]
            return (ELSEWHERE, *named) if named else ()
        return (
            *map(str, self.levels),
            *([OTHER] if self.pooled else []),
            *([MISSING] if self.gaps else []),
        )

    @cached_property
    def code_of(self) -> dict[Level, int]:
        """The code of each level."""
        return {level: code for code, level in enumerate(self.levels)}

    @cached_property
    def pool_level(self) -> Level:
        """The value of pooled levels if the row's own value is unknown; never one of the levels.

        "other" for text, or with underscores where that is a level; for numbers, one below the
        lowest.
        """
        known = {*self.levels, *(self.categories or ())}
        if isinstance(self.levels[0], str):
            name = OTHER
            while name in known:
                name += "_"
            return name
        return min(level for level in known if not isinstance(level, str)) - 1

    @cached_property
    def cells(self) -> Any:
        """The user's value of each code of a coded feature, as an array of the user's dtype."""
        pool = [self.pool_level] if self.pooled else []
        values = [*self.levels, *pool, *([None] if self.gaps else [])]
        categories = None
        if self.categories is not None:
            categories = ((*self.categories, *pool), self.categories_ordered)
        gap = None if self.none_gaps else np.nan
        return cells(values, self.dtype, categories=categories, gap=gap)

    def to_json(self) -> dict[str, Any]:
        """Return a record in JSON's types, without default values."""
        record: dict[str, Any] = {"name": self.name, "kind": self.kind, "dtype": self.dtype}
        for key in (
            "pooled",
            "gaps",
            "none_gaps",
            "fill",
            "lower",
            "upper",
            "unit",
            "perhaps_immutable",
        ):
            if getattr(self, key) != type(self).__dataclass_fields__[key].default:
                record[key] = getattr(self, key)
        if self.levels:
            record["levels"] = list(self.levels)
        if self.atoms:
            record["atoms"] = ["nan" if atom != atom else atom for atom in self.atoms]
        if self.clear:
            record["clear"] = [list(sides) for sides in self.clear]
        if self.categories is not None:
            record["categories"] = list(self.categories)
            record["categories_ordered"] = self.categories_ordered
        return record

    @classmethod
    def from_json(cls, record: object) -> Feature:
        """Return the feature that `to_json` wrote.

        Raises:
            ValueError: it is not such a record, or its parts contradict each other.
        """
        if not isinstance(record, dict) or not set(record) <= set(cls.__dataclass_fields__):
            raise ValueError("a feature has unknown fields")
        name, kind = read_text(record.get("name")), record.get("kind")
        if kind not in KINDS:
            raise ValueError(f"the kind of '{name}' is not one of {', '.join(KINDS)}")
        feature = cls(
            name=name,
            kind=kind,
            levels=read_levels(record.get("levels", [])),
            pooled=_read(record, "pooled", int, 0),
            gaps=_read(record, "gaps", bool, False),
            none_gaps=_read(record, "none_gaps", bool, False),
            atoms=tuple(_read_atom(atom) for atom in _read(record, "atoms", list, [])),
            clear=tuple(_read_sides(sides) for sides in _read(record, "clear", list, [])),
            fill=read_number(record.get("fill", 0.0)),
            lower=read_number(record["lower"]) if "lower" in record else None,
            upper=read_number(record["upper"]) if "upper" in record else None,
            unit=read_text(record.get("unit", "")),
            perhaps_immutable=_read(record, "perhaps_immutable", bool, False),
            dtype=read_dtype(record.get("dtype")),
            categories=read_levels(record["categories"]) if "categories" in record else None,
            categories_ordered=_read(record, "categories_ordered", bool, False),
        )
        feature._check()
        return feature

    def _check(self) -> None:
        """Raise `ValueError` if the parts of a feature from a file contradict each other."""
        if self.coded and (self.atoms or self.lower is not None or self.upper is not None):
            raise ValueError(f"'{self.name}' has codes, and atoms or bounds")
        if self.coded and not (self.levels and 2 <= self.codes):
            raise ValueError(f"'{self.name}' has fewer than two codes")
        if not self.coded and (self.levels or self.pooled or self.gaps or self.categories):
            raise ValueError(f"'{self.name}' is a number, and has levels")
        if self.pooled < 0 or (self.pooled and self.kind == "ordered"):
            raise ValueError(f"'{self.name}' cannot have {self.pooled} pooled levels")
        finite = [atom for atom in self.atoms if atom == atom]
        if list(self.atoms[: len(finite)]) != sorted(set(finite)) or len(self.atoms) > 4:
            raise ValueError(f"the atoms of '{self.name}' are not ascending")
        if len(self.clear) not in (0, len(finite)):
            raise ValueError(f"'{self.name}' has not as many clear sides as atoms")
        if self.lower is not None and self.upper is not None and not self.lower < self.upper:
            raise ValueError(f"the bounds of '{self.name}' are not ascending")
        if self.categories is not None and not set(self.levels) <= set(self.categories):
            raise ValueError(f"the levels of '{self.name}' are not among its categories")
        if self.coded:
            _check_cells(self.name, lambda: self.cells)


def read_levels(values: object) -> tuple[Level, ...]:
    """Return distinct levels of one type that were read from JSON.

    Raises:
        ValueError: they are something else.
    """
    if not isinstance(values, list) or len(values) > MOST_LEVELS:
        raise ValueError("levels are not a list, or too many")
    types = {type(value) for value in values}
    if not (types <= {int, float} or types in ({str}, {bool})) or len(set(values)) < len(values):
        raise ValueError("levels are not distinct texts, numbers or truth values")
    return tuple(values)


def read_dtype(name: object) -> str:
    """Return the name of a dtype that was read from JSON.

    Raises:
        ValueError: it is not one that a frame of a user can have.
    """
    if not (isinstance(name, str) and KNOWN.fullmatch(name)):
        raise ValueError(f"{str(name)[:20]!r} is not a known dtype")
    return name


def _check_cells(name: str, make: Any) -> None:
    try:
        make()
    except (TypeError, ValueError, OverflowError, ImportError):
        raise ValueError(f"the levels of '{name}' do not fit its dtype") from None


def _read(record: dict[str, Any], key: str, kind: type, default: Any) -> Any:
    value = record.get(key, default)
    if type(value) is not kind:
        raise ValueError(f"'{key}' of '{record.get('name')}' is not of type {kind.__name__}")
    return value


def _read_sides(value: object) -> tuple[float, float]:
    sides = value if isinstance(value, list) else []
    below, above = (read_number(side) for side in (sides if len(sides) == 2 else [-1.0, -1.0]))
    if not (below >= 0 and above >= 0):
        raise ValueError("the clear sides of an atom are not two distances")
    return below, above


def _read_atom(value: object) -> float:
    number = read_number(value, finite=False)
    if math.isinf(number):
        raise ValueError("an atom is infinite")
    return number if number == number else math.nan
