"""The encoding of a frame: kinds as given or inferred, derived columns, columns left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from daace.data.dependencies import find_derived, make_derived
from daace.data.derived import Derived
from daace.data.dtypes import dtype_name, plain_level
from daace.data.encoding import Encoding
from daace.data.inference import (
    Column,
    check_kinds,
    infer_feature,
    infer_kind,
    numbers_of,
)
from daace.data.kinds import Feature
from daace.data.names import perhaps_immutable
from daace.data.natural import natural_bounds
from daace.data.screening import screen

#: Kinds in `Table.kinds` of columns that are not features.
DERIVED, LEFT_OUT = "derived", "left out"


def infer_encoding(
    frame: pd.DataFrame,
    *,
    columns: Sequence[str],
    kinds: Mapping[str, str] | None,
    order: Mapping[str, Sequence[Any]] | None,
    units: Mapping[str, str],
    left_out: Mapping[str, str],
    derive: bool,
) -> Encoding:
    """Return the encoding of the columns of a frame.

    Args:
        frame: the rows.
        columns: names of all columns but the class, in the user's order.
        kinds: kinds set by the user, by column.
        order: levels from low to high set by the user, by column.
        units: unit by column, where known.
        left_out: columns that are not features, each with the reason.
        derive: whether to look for columns that are a function of another one.

    Raises:
        InvalidInput: a column cannot be read, or the kinds and orders do not fit.
    """
    kinds, order = kinds or {}, order or {}
    check_kinds(kinds, order, columns)
    read = [_read(name, frame[name], kinds, order) for name in columns if name not in left_out]
    reasons = dict(left_out)
    sources: dict[str, str] = {}
    if derive:
        sources, read = find_derived(read, keep=set(kinds))
    by_name = {column.name: column for column in read}
    features: dict[str, Feature] = {}
    derived: list[Derived] = []
    for column in sorted(read, key=lambda column: column.name in sources):  # sources first
        source = features.get(sources.get(column.name, ""))
        if source is not None:
            derived.append(make_derived(column, by_name[source.name], source))
            continue
        feature = infer_feature(column, unit=units.get(column.name, ""))
        if isinstance(feature, Feature):
            features[column.name] = feature
        else:
            reasons[column.name] = feature
    chosen = tuple(features[name] for name in columns if name in features)
    ranked = tuple(sorted(derived, key=lambda column: columns.index(column.name)))
    return Encoding(chosen, ranked, reasons, tuple(columns))


def number_encoding(
    frame: pd.DataFrame,
    *,
    columns: Sequence[str],
    units: Mapping[str, str],
    left_out: Mapping[str, str],
) -> Encoding:
    """Return the encoding of columns that are all numbers without atoms.

    Args:
        frame: finite numbers, without the columns that are left out.
        columns: names of all columns but the class, in the user's order.
        units: unit by column, where known.
        left_out: columns that are not features, each with the reason.
    """
    plain = Encoding.of_numbers(
        [str(name) for name in frame.columns], units=units, left_out=left_out, columns=columns
    )
    features = []
    for feature in plain.features:
        lower, upper = natural_bounds(feature.name, numbers_of(frame[feature.name]))
        flag = perhaps_immutable(feature.name)
        features.append(replace(feature, lower=lower, upper=upper, perhaps_immutable=flag))
    return replace(plain, features=tuple(features))


def describe(encoding: Encoding) -> pd.DataFrame:
    """Return a frame with one row for each column of the user, features and others.

    Args:
        encoding: encoding of a table.
    """
    rows: dict[str, dict[str, Any]] = {}
    for feature in encoding.features:
        words = list(feature.words) if feature.coded else []
        if feature.pooled:
            words[len(feature.levels)] += f" ({feature.pooled} levels)"
        rows[feature.name] = {
            "kind": feature.kind,
            "levels": words,
            "atoms": list(feature.words[1:]) if not feature.coded else [],
            "lower": feature.lower,
            "upper": feature.upper,
            "perhaps immutable": feature.perhaps_immutable,
        }
    for column in encoding.derived:
        rows[column.name] = {
            "kind": DERIVED,
            "derived from": column.source,
            "perhaps immutable": column.perhaps_immutable,
        }
    for name in encoding.left_out:
        flag = perhaps_immutable(name)
        rows[name] = {"kind": LEFT_OUT, "perhaps immutable": flag}
    names = encoding.columns or tuple(rows)
    blank: dict[str, Any] = {
        "feature": "", "kind": "", "levels": [], "atoms": [], "lower": None, "upper": None,
        "derived from": "", "perhaps immutable": False,
    }  # fmt: skip
    frame = pd.DataFrame(
        [{**blank, "feature": name, **rows[name]} for name in names if name in rows],
        columns=list(blank),
    )
    return frame.astype({"lower": "float64", "upper": "float64"})


def _read(
    name: str,
    cells: pd.Series,
    kinds: Mapping[str, Any],
    order: Mapping[str, Sequence[Any]],
) -> Column:
    """Return a column with the kind that the user set, or that of its values."""
    given: Any = "ordered" if name in order else kinds.get(name)
    series = screen(name, cells, category=given in ("ordered", "category"))
    none_gaps = pd.api.types.is_object_dtype(cells.dtype) and all(  # unlike NaN
        value is None for value in cells[cells.isna()]
    )
    return Column(
        name,
        series,
        given or infer_kind(series),
        dtype_name(cells.dtype),
        tuple(plain_level(level) for level in order.get(name, ())),
        none_gaps,
    )
