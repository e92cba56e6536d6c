"""The kind of each column of a frame, with its levels, atoms and natural bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from daace._typing import BoolArray, FloatArray
from daace._warnings import warn_user
from daace._wording import quote
from daace.data.dtypes import Level, plain_level
from daace.data.kinds import KINDS, Feature, Kind
from daace.data.names import perhaps_immutable
from daace.data.natural import FEWEST_ROWS, clear_sides, find_atoms, is_whole, natural_bounds
from daace.exceptions import InvalidInput

#: Numbers with fewer distinct values are ordered levels.
FEW_VALUES = 20

#: Levels of a category that are kept; rarer ones are pooled.
MOST_KEPT = 100

RARE = f"Fewer than two of its levels have {FEWEST_ROWS} rows."
NEARLY_EMPTY = f"It has fewer than {FEWEST_ROWS} values."
NEARLY_CONSTANT = f"Fewer than {FEWEST_ROWS} rows have other values than nearly all."


@dataclass(frozen=True)
class Column:
    """A column of the user with its kind.

    Attributes:
        name: name of the column.
        series: its cells.
        kind: kind of the feature.
        dtype: name of the user's dtype.
        order: the levels of an ordered one from low to high, if they were given.
        none_gaps: whether it holds objects, and its gaps are None.
    """

    name: str
    series: pd.Series
    kind: Kind
    dtype: str
    order: tuple[Level, ...] = ()
    none_gaps: bool = False


def check_kinds(kinds: Any, order: Any, names: Sequence[str]) -> None:
    """Raise `InvalidInput` for unknown kinds, and for kinds and orders of missing columns.

    Args:
        kinds: kind by column.
        order: levels from low to high by column.
        names: names of the columns.
    """
    for argument, given in (("kinds", kinds), ("order", order)):
        if given is not None and not isinstance(given, Mapping):
            allowed = " or 'number' for all" if argument == "kinds" else ""
            raise InvalidInput(
                argument=argument, expected=f"be a dict by column{allowed}", got=repr(given)[:40]
            )
        unknown = [name for name in given or {} if name not in names]
        if unknown:
            raise InvalidInput(
                argument=argument, expected="name columns of the frame", got=quote(unknown)
            )
    for name, kind in (kinds or {}).items():
        if kind not in KINDS:
            raise InvalidInput(
                argument=f"The kind of '{name}'",
                expected=f"be one of {quote(KINDS)}",
                got=repr(kind),
            )
        if name in (order or {}) and kind != "ordered":
            raise InvalidInput(
                argument=f"The kind of '{name}'",
                expected="be 'ordered', since its order is given",
                got=repr(kind),
            )


def infer_kind(series: pd.Series) -> Kind:
    """Return the kind of a column: by its dtype, and numbers by their values.

    Floats count as integers if there are 20 of them or more, and all are whole: gaps turn
    integers into floats. Decimals that repeat 20 times on average are ordered, such as ratings by
    half stars. Levels are part of a model, and a level with few rows would reveal them: so numbers
    are ordered only if every level has 10 rows. If all but a few rows have one of two values, they
    are a category, which pools the others.

    Args:
        series: text, truth values, categories or numbers, perhaps with gaps.

    Example:
        >>> infer_kind(pd.Series([True, False])), infer_kind(pd.Series(range(30)))
        ('category', 'whole')
    """
    if isinstance(series.dtype, pd.CategoricalDtype):
        return "ordered" if series.dtype.ordered else "category"
    if not _is_number(series):
        return "category"
    values = numbers_of(series)
    values = values[~np.isnan(values)]
    counts = np.sort(np.unique(values, return_counts=True)[1])
    if len(counts) and counts[-1] >= FEWEST_ROWS and 0 < counts[:-2].sum() < FEWEST_ROWS:
        return "category"
    ladder = len(counts) < FEW_VALUES and counts.min(initial=FEWEST_ROWS) >= FEWEST_ROWS
    enough = not pd.api.types.is_float_dtype(series.dtype) or len(values) >= FEW_VALUES
    if is_whole(values) and enough:
        return "ordered" if ladder else "whole"
    repeated = ladder and len(values) >= FEW_VALUES * len(counts)
    return "ordered" if repeated else "number"


def infer_feature(column: Column, *, unit: str = "") -> Feature | str:
    """Return a column as a feature, or why it cannot be one.

    Args:
        column: the column with its kind.
        unit: unit of a number.

    Raises:
        InvalidInput: the user's kind or order does not fit the values.
    """
    series = column.series
    declared = series.dtype if isinstance(series.dtype, pd.CategoricalDtype) else None
    shared: dict[str, Any] = {
        "name": column.name,
        "kind": column.kind,
        "unit": unit,
        "perhaps_immutable": perhaps_immutable(column.name),
        "dtype": column.dtype,
    }
    if column.kind in ("number", "whole"):
        return _number_feature(column, shared)
    counts = _levels(column)
    gaps = bool(series.isna().any())
    shared["none_gaps"] = gaps and column.none_gaps
    levels = list(counts)
    pooled: list[Level] = []
    if column.kind == "category":
        levels, pooled = _pool(column.name, counts)
        if len(levels) + gaps < 2 or not levels:
            return RARE
    if declared is not None:
        known = [plain_level(level) for level in declared.categories]
        shared["categories"] = tuple(level for level in known if level not in set(pooled))
        shared["categories_ordered"] = bool(declared.ordered)
    return Feature(levels=tuple(levels), pooled=len(pooled), gaps=gaps, **shared)


def numbers_of(series: pd.Series) -> FloatArray:
    """Return a column of numbers as float64, NaN for gaps."""
    return np.array(series.to_numpy(dtype=np.float64, na_value=np.nan))


def _number_feature(column: Column, shared: dict[str, Any]) -> Feature | str:
    series = column.series
    if not _is_number(series) and not pd.api.types.is_bool_dtype(series.dtype):
        raise _wrong_kind(column, "hold numbers")
    values = numbers_of(series)
    gaps: BoolArray = np.isnan(values)
    known = values[~gaps]
    if gaps.any() and len(known) < FEWEST_ROWS:
        return NEARLY_EMPTY
    if column.kind == "whole" and not is_whole(known):
        raise _wrong_kind(column, "hold whole numbers")
    # A 'number' may end between two integers: then it comes back as a float.
    exact = column.kind == "whole" or pd.api.types.is_float_dtype(series.dtype)
    lower, upper = natural_bounds(column.name, known)
    atoms = find_atoms(known)
    if _few_beside(known, atoms):
        return NEARLY_CONSTANT
    middle = _middle(known, whole=column.kind == "whole") if gaps.any() else 0.0
    return Feature(
        **{**shared, "dtype": shared["dtype"] if exact else "float64"},
        atoms=(*atoms, *([math.nan] if gaps.any() else [])),
        clear=tuple(clear_sides(known, atom) for atom in atoms),
        fill=middle,
        lower=lower,
        upper=upper,
    )


def _few_beside(values: FloatArray, atoms: tuple[float, ...]) -> bool:
    """Whether some, but too few, rows differ from the atoms and the most frequent other value.

    Their mean and standard deviation would reveal them.
    """
    others, counts = np.unique(values[~np.isin(values, atoms)], return_counts=True)
    if not len(others):
        return False
    most = int(counts.max())
    rest = int(counts.sum())
    if most >= FEWEST_ROWS:
        rest -= most
    return 0 < rest < FEWEST_ROWS and (bool(atoms) or most >= FEWEST_ROWS)


def _middle(values: FloatArray, *, whole: bool) -> float:
    """Return the median, or the mean of the middle half where the median may be one row's value."""
    median = float(np.median(values))
    if (values == median).sum() >= FEWEST_ROWS:
        return median
    kept = min(len(values), max(FEWEST_ROWS, len(values) - 2 * (len(values) // 4)))
    begin = (len(values) - kept) // 2
    mean = float(np.sort(values)[begin : begin + kept].mean())
    return float(np.rint(mean)) if whole else mean


def _levels(column: Column) -> dict[Level, int]:
    """Return the number of rows of each level: in the order given, declared, or sorted.

    Levels of an ordered column that the user gives or declares may be named: all are kept, even
    those with few rows or none, since dropping the latter would reveal the former.
    """
    series = column.series
    counts = {
        plain_level(value): int(n)
        for value, n in series.value_counts(sort=False).items()
        if n  # categories may have no rows
    }
    if is_whole_number_column(series):
        counts = {int(level): n for level, n in counts.items()}
    if column.order:
        unknown = [level for level in counts if level not in set(column.order)]
        if unknown:
            raise InvalidInput(
                argument=f"The order of '{column.name}'",
                expected="name every level",
                got=f"none for {quote(unknown)}",
            )
        return {level: counts.get(level, 0) for level in column.order}
    if isinstance(series.dtype, pd.CategoricalDtype):
        declared = [plain_level(level) for level in series.dtype.categories]
        if column.kind == "ordered" and series.dtype.ordered:
            return {level: counts.get(level, 0) for level in declared}
        counts = {level: counts[level] for level in declared if level in counts}
        if column.kind == "ordered":
            _check_ladder(column, counts)
        return counts
    if column.kind == "ordered" and any(isinstance(level, str) for level in counts):
        raise InvalidInput(
            argument=f"The order of '{column.name}'",
            expected="be given, since text has none",
            remedy=f"pass order={{'{column.name}': [...]}} with the levels from low to high",
            in_shell=f"pass --order '{column.name}=LOW,...,HIGH'",
        )
    if column.kind == "ordered":
        _check_ladder(column, counts)
    return {level: counts[level] for level in sorted(counts)}


def _check_ladder(column: Column, counts: Mapping[Level, int]) -> None:
    """Raise `InvalidInput` for an ordered column with rare levels that the user did not name."""
    fewest = min(counts.values(), default=FEWEST_ROWS)
    if fewest < FEWEST_ROWS:
        raise InvalidInput(
            argument=f"'{column.name}' of kind 'ordered'",
            expected=f"have at least {FEWEST_ROWS} rows at every level, which the model will name",
            got=f"{fewest} at one of them",
            remedy=(
                f"pass order={{'{column.name}': [...]}} if its levels are no secret, or choose "
                "another kind"
            ),
            in_shell=(
                f"pass --order '{column.name}=LOW,...,HIGH' if its levels are no secret, or "
                f"another --kind '{column.name}=KIND'"
            ),
        )


def is_whole_number_column(series: pd.Series) -> bool:
    """Whether a column that is not categorical has whole numbers, perhaps as floats with gaps."""
    if not _is_number(series):
        return False
    values = numbers_of(series)
    return is_whole(values[~np.isnan(values)])


def _pool(name: str, counts: dict[Level, int]) -> tuple[list[Level], list[Level]]:
    """Return the levels of a category that are kept, and those that are pooled."""
    often = [level for level, n in counts.items() if n >= FEWEST_ROWS]
    if all(isinstance(level, bool) for level in counts):  # False and True reveal no row
        return (list(counts), []) if len(often) == len(counts) else ([], list(counts))
    if len(often) > MOST_KEPT:
        warn_user(
            f"'{name}' has {len(counts)} levels: the {MOST_KEPT} most frequent are kept, the "
            "others are pooled."
        )
        frequent = set(sorted(often, key=lambda level: -counts[level])[:MOST_KEPT])
        often = [level for level in often if level in frequent]
    kept = set(often)
    return often, [level for level in counts if level not in kept]


def _is_number(series: pd.Series) -> bool:
    """Whether a column holds numbers by its dtype; truth values do not count."""
    kind: Any = series.dtype
    return pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)


def _wrong_kind(column: Column, expected: str) -> InvalidInput:
    return InvalidInput(
        argument=f"'{column.name}' of kind '{column.kind}'",
        expected=expected,
        got=f"dtype {column.series.dtype}",
        remedy="choose another kind, or convert the column",
    )
