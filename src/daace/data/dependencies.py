"""Finds columns that are a function of one other column, and guards against accidents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import log
from typing import Any

import numpy as np
import pandas as pd
import scipy

from daace._typing import IntArray
from daace.data.derived import Derived
from daace.data.dtypes import Level, holds_gaps, plain_level
from daace.data.inference import FEW_VALUES, MOST_KEPT, Column, is_whole_number_column
from daace.data.kinds import Feature
from daace.data.names import perhaps_immutable, words_of
from daace.data.natural import FEWEST_ROWS

#: In smaller tables a function of another column is easily an accident.
FEWEST_ROWS_IN_ALL = 100

#: Log-probability below which a function of another column is not an accident.
NO_ACCIDENT = -30.0

#: Rows on which a pair of columns is tried first.
FIRST = 256

#: Words in names of columns whose numbers are codes, without an order.
CODES = {"code", "id", "key", "index", "idx", "no", "nr", "number"}


@dataclass(frozen=True, eq=False)
class Factor:
    """A column as places in the list of its distinct values, ascending if they are numbers.

    Attributes:
        column: the column.
        places: place of each row, shape `(rows,)`.
        values: the distinct values; None is missing, and last.
        counts: rows of each value.
    """

    column: Column
    places: IntArray
    values: tuple[Level | None, ...]
    counts: IntArray

    @property
    def is_text(self) -> bool:
        """Whether its values are words."""
        return isinstance(self.values[0], str)

    @property
    def coded(self) -> bool:
        """Whether it will be a code."""
        return self.column.kind in ("ordered", "category")

    @classmethod
    def of(cls, column: Column) -> Factor:
        """Return the distinct values of a column."""
        places, found = pd.factorize(column.series, sort=True)
        values: list[Level | None] = [plain_level(value) for value in found]
        if is_whole_number_column(column.series):
            values = [int(value) for value in found]
        gaps = places < 0
        if gaps.any():
            places = np.where(gaps, len(values), places)
            values.append(None)
        return cls(column, places, tuple(values), np.bincount(places, minlength=len(values)))


def find_derived(
    columns: Sequence[Column], *, keep: Collection[str]
) -> tuple[dict[str, str], list[Column]]:
    """Return the source of each derived column, and all columns, some with an order now.

    A column that determines another one is its source; of several, the one with the fewest
    values. Where two determine each other, text is kept, which people read, and a number is
    derived from it; text with three levels or more is then ordered by that number, unless its
    order is alphabetical or its name is that of a code. Otherwise the first is kept.
    A number is a source only of columns that are step functions of it.

    Args:
        columns: all columns but the class, with their kinds.
        keep: columns whose kind the user set, which are never derived.
    """
    if not columns or len(columns[0].series) < FEWEST_ROWS_IN_ALL:
        return {}, list(columns)
    factors = [Factor.of(column) for column in columns]
    sources = {d: [s for s in factors if s is not d and determines(s, d)] for d in factors}
    derived: dict[str, str] = {}
    by_name = {column.name: column for column in columns}
    for d, found in sources.items():
        equal = [s for s in found if d in sources[s]]
        better = [s for s in found if s not in equal or _is_kept(s, d, factors, keep)]
        if better and d.column.name not in keep:
            best = min(better, key=lambda s: len(s.values))
            derived[d.column.name] = best.column.name
    derived = {name: _root(name, derived) for name in derived}
    for d, found in sources.items():
        for s in found:
            if derived.get(d.column.name) == s.column.name and d in sources[s]:
                by_name[s.column.name] = _ordered_by(by_name[s.column.name], s, d, keep)
    return derived, [by_name[column.name] for column in columns]


def determines(source: Factor, other: Factor) -> bool:
    """Whether one column is a function of another, and not by accident.

    If both were independent, a permutation of n rows with n_v rows of each value v would be
    constant in each of g groups with probability at most `v^g prod(n_v!) / n!`; in each of k
    intervals of g ordered groups, at most `v^k g^(k-1) prod(n_v!) / n!`.

    Args:
        source: a column.
        other: another column.
    """
    if not 2 <= len(other.values) <= min(len(source.values), MOST_KEPT):
        return False
    table = np.zeros(len(source.values), dtype=np.intp)
    for end in (FIRST, None):  # most pairs fail on a few rows
        places, others = source.places[:end], other.places[:end]
        table[places] = others
        if not (table[places] == others).all():
            return False
    choices = float(len(source.values))
    cuts = 0
    if not source.coded:
        steps = _steps(source, table)
        rows = np.add.reduceat(source.counts, steps)
        if len(steps) >= FEW_VALUES or rows.min() < FEWEST_ROWS:
            return False
        choices, cuts = float(len(steps)), len(steps) - 1
    elif len(source.values) > MOST_KEPT or _tells_of_few(source, other, table):
        return False
    chance = scipy.special.gammaln(other.counts + 1).sum() - scipy.special.gammaln(
        other.counts.sum() + 1
    )
    chance += choices * log(len(other.values)) + cuts * log(len(source.values))
    return bool(chance < NO_ACCIDENT)


def _tells_of_few(source: Factor, other: Factor, table: IntArray) -> bool:
    """Whether the value of a level would reveal a few rows: a ladder pools no levels."""
    rare = source.column.kind == "ordered" and int(source.counts.min()) < FEWEST_ROWS
    return rare and not equal_steps(source, other, table)


def equal_steps(source: Factor, other: Factor, table: IntArray) -> dict[Level, Level]:
    """Return the number of every level of a ladder, if these are equal steps apart.

    The frequent levels then determine the numbers of all others, even of levels without rows.

    Args:
        source: a ladder.
        other: a column that is a function of it.
        table: place of the other column's value for each place of the source.

    Returns:
        The number by level; empty if steps are not equal, or fewer than three levels are frequent.
    """
    declared: Any = source.column.series.dtype
    ladder: Sequence[Level | None] = source.values
    if source.column.order:
        ladder = source.column.order
    elif isinstance(declared, pd.CategoricalDtype):
        ladder = [plain_level(level) for level in declared.categories]
    values = [other.values[place] for place in table]
    frequent = [p for p, n in enumerate(source.counts) if n >= FEWEST_ROWS]
    if other.is_text or None in (*ladder, *source.values, *values) or len(frequent) < 3:
        return {}
    rung = {level: k for k, level in enumerate(ladder)}
    known = {rung[level]: value for level, value in zip(source.values, values, strict=True)}
    first, last = (rung[source.values[p]] for p in (min(frequent), max(frequent)))
    step = Fraction(known[last]) - Fraction(known[first])
    step /= last - first
    line = [Fraction(known[first]) + step * (k - first) for k in range(len(ladder))]
    if any(line[k] != value for k, value in known.items()):
        return {}
    whole = all(value.denominator == 1 for value in line)
    return {
        level: int(value) if whole else float(value)
        for level, value in zip(ladder, line, strict=True)
        if level is not None
    }


def make_derived(column: Column, source: Column, feature: Feature) -> Derived:
    """Return a derived column.

    Where levels of its source are pooled, it has the value that they share with a level that is
    not. If their values differ, or no other level has it, the value is missing if the column can
    have gaps, since names of rare levels are not kept.

    Args:
        column: the derived column.
        source: the column that it is a function of.
        feature: the source as a feature.
    """
    d, s = Factor.of(column), Factor.of(source)
    table = np.zeros(len(s.values), dtype=np.intp)
    table[s.places] = d.places
    cuts: tuple[float, ...] = ()
    rare: set[Level | None] = set()
    declared: Any = column.series.dtype
    categorical = isinstance(declared, pd.CategoricalDtype)
    nullable = categorical or holds_gaps(column.dtype)
    if feature.coded:
        values, rare = _by_code(d, s, table, feature, nullable=nullable)
    else:
        steps = _steps(s, table)
        known = np.array([value for value in s.values if value is not None], dtype=np.float64)
        values = [d.values[table[step]] for step in steps]
        inner = [step for step in steps[1:] if step < len(known)]
        cuts = tuple(_cut(known[i - 1], known[i], whole=feature.kind == "whole") for i in inner)
    known_categories = map(plain_level, declared.categories) if categorical else ()
    return Derived(
        name=column.name,
        source=source.name,
        values=tuple(values),
        cuts=cuts,
        perhaps_immutable=perhaps_immutable(column.name),
        dtype=column.dtype,
        categories=tuple(c for c in known_categories if c not in rare) if categorical else None,
        categories_ordered=bool(categorical and declared.ordered),
    )


def _by_code(
    d: Factor, s: Factor, table: IntArray, feature: Feature, *, nullable: bool
) -> tuple[list[Level | None], set[Level | None]]:
    """Return the value for each code of the source, and values that only pooled levels have."""
    line = equal_steps(s, d, table) if feature.kind == "ordered" else {}
    values: list[Level | None] = [line.get(level) for level in feature.levels]
    values += [None] * (feature.codes - len(values))
    pooled, kept = set(), set()
    for place, level in enumerate(s.values):
        value = d.values[table[place]]
        code = feature.gap_code if level is None else feature.code_of.get(level)
        if code is None:
            pooled.add(value)
        else:
            values[code] = value
            kept.add(value)
    if feature.pool_code is not None:
        shared = pooled & kept
        if len(pooled) == len(shared) == 1:
            values[feature.pool_code] = shared.pop()
        elif not nullable:
            values[feature.pool_code] = values[0]
    return values, pooled - kept


def _steps(source: Factor, table: IntArray) -> IntArray:
    """Return the starts of runs of equal values along a number; its gap is a run of its own."""
    begins = np.flatnonzero(np.diff(table)) + 1
    gap = [len(source.values) - 1] if source.values[-1] is None else []
    return np.unique([0, *begins, *gap])


def _cut(low: float, high: float, *, whole: bool) -> float:
    """Return the roundest number c with `low < c <= high`: likely, and not a value of a row."""
    if whole:
        return float(np.floor((low + high) / 2) + 0.5)
    digits = -int(np.floor(np.log10(high - low))) - 1
    for places in range(digits, digits + 4):
        step = 10.0**-places
        cut = round(float(np.floor(high / step) * step), max(places, 0))
        if low < cut <= high:
            return cut
    return float(high)


def _is_kept(s: Factor, d: Factor, factors: Iterable[Factor], keep: Collection[str]) -> bool:
    """Whether the first of two columns that determine each other is kept."""

    def rank(factor: Factor) -> tuple[bool, bool, int]:
        place = next(i for i, other in enumerate(factors) if other is factor)
        return factor.column.name not in keep, not factor.is_text, place

    return rank(s) < rank(d)


def _root(name: str, derived: dict[str, str]) -> str:
    """Return the column at the beginning of a chain of derived columns."""
    source = derived[name]
    while source in derived:
        source = derived[source]
    return source


def _ordered_by(column: Column, s: Factor, d: Factor, keep: Collection[str]) -> Column:
    """Return a category of text ordered by a number; each determines the other."""
    if column.kind != "category" or column.name in keep or column.order or not s.is_text:
        return column
    numeric = d.column.kind != "category" and not d.is_text
    if not numeric or len(s.values) < 3 or None in (s.values[-1], d.values[-1]):
        return column
    if s.counts.min() < FEWEST_ROWS:  # a category pools rare levels, a ladder cannot
        return column
    table = np.zeros(len(s.values), dtype=np.intp)
    table[s.places] = d.places
    order = tuple(s.values[i] for i in np.argsort(table))
    if order == s.values or CODES & set(words_of(d.column.name)):
        return column
    return replace(column, kind="ordered", order=order)
