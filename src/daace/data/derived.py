"""Columns that are a function of one other column: not modelled, but computed for every row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from daace._json import read_number, read_text
from daace._typing import FloatArray, IntArray
from daace.data.dtypes import Level, cells
from daace.data.kinds import MOST_LEVELS, Feature, read_dtype, read_levels


@dataclass(frozen=True)
class Derived:
    """A column that is a function of one feature, such as education_num of education.

    Attributes:
        name: name of the column.
        source: name of the feature that it is a function of.
        values: for a coded source, the value for each of its codes. For a number, the value between
            each two cuts, and last the one for "missing" if the source has gaps. None is missing.
        cuts: ascending; a number x has `values[i]` for `cuts[i - 1] <= x < cuts[i]`.
        perhaps_immutable: whether its name suggests that it cannot be changed.
        dtype: name of the user's dtype; of the categories, if it is categorical.
        categories: the categories of a categorical dtype; else None.
        categories_ordered: whether a categorical dtype is ordered.

    Example:
        >>> group = Derived("age group", "age", ("young", "old"), cuts=(40.0,), dtype="object")
        >>> group.of(Feature("age"), np.array([39.0, 40.0]), np.zeros(2, dtype=int)).tolist()
        ['young', 'old']
    """

    name: str
    source: str
    values: tuple[Level | None, ...]
    cuts: tuple[float, ...] = ()
    perhaps_immutable: bool = False
    dtype: str = "float64"
    categories: tuple[Level, ...] | None = None
    categories_ordered: bool = False

    @cached_property
    def cells(self) -> Any:
        """The values as an array of the user's dtype."""
        known = None
        if self.categories is not None:
            known = (self.categories, self.categories_ordered)
        return cells(self.values, self.dtype, categories=known)

    def of(self, source: Feature, column: FloatArray, codes: IntArray) -> Any:
        """Return the column for some rows, in the user's dtype.

        Args:
            source: the source feature.
            column: values of the source, shape `(rows,)`.
            codes: codes of the source, or those of its atoms, shape `(rows,)`.
        """
        if source.coded:
            return self.cells.take(codes)
        place = np.searchsorted(np.array(self.cuts), column, side="right")
        if source.gap_code is not None:
            place = np.where(codes == source.gap_code, len(self.values) - 1, place)
        return self.cells.take(place)

    def to_json(self) -> dict[str, Any]:
        """Return a record in JSON's types."""
        record: dict[str, Any] = {
            "name": self.name,
            "source": self.source,
            "values": list(self.values),
            "dtype": self.dtype,
        }
        if self.cuts:
            record["cuts"] = list(self.cuts)
        if self.perhaps_immutable:
            record["perhaps_immutable"] = True
        if self.categories is not None:
            record["categories"] = list(self.categories)
            record["categories_ordered"] = self.categories_ordered
        return record

    @classmethod
    def from_json(cls, record: object, sources: dict[str, Feature]) -> Derived:
        """Return the derived column that `to_json` wrote.

        Args:
            record: the record that was read.
            sources: the features of the table by name.

        Raises:
            ValueError: it is not such a record, or does not fit its source.
        """
        if not isinstance(record, dict) or not set(record) <= set(cls.__dataclass_fields__):
            raise ValueError("a derived column has unknown fields")
        name, source = read_text(record.get("name")), sources.get(str(record.get("source")))
        if source is None:
            raise ValueError(f"the source of '{name}' is not a feature")
        values, cuts = record.get("values"), record.get("cuts", [])
        flags = [record.get(key, False) for key in ("perhaps_immutable", "categories_ordered")]
        if not (isinstance(values, list) and isinstance(cuts, list)) or len(values) > MOST_LEVELS:
            raise ValueError(f"the values of '{name}' are not a list, or too many")
        if not all(type(flag) is bool for flag in flags):
            raise ValueError(f"a flag of '{name}' is not true or false")
        known = [value for value in values if value is not None]
        if not all(isinstance(value, str | bool | int | float) for value in known):
            raise ValueError(f"the values of '{name}' are not texts, numbers or truth values")
        read_levels(list(dict.fromkeys(known)))
        derived = cls(
            name=name,
            source=source.name,
            values=tuple(values),
            cuts=tuple(read_number(cut) for cut in cuts),
            perhaps_immutable=flags[0],
            dtype=read_dtype(record.get("dtype")),
            categories=read_levels(record["categories"]) if "categories" in record else None,
            categories_ordered=flags[1],
        )
        derived._check(source)
        return derived

    def _check(self, source: Feature) -> None:
        """Raise `ValueError` if a derived column from a file does not fit its source."""
        needed = source.codes
        if not source.coded:
            needed = len(self.cuts) + 1 + (source.gap_code is not None)
        if len(self.values) != needed or (source.coded and self.cuts):
            raise ValueError(f"'{self.name}' does not have a value for each of its source's")
        if list(self.cuts) != sorted(set(self.cuts)):
            raise ValueError(f"the cuts of '{self.name}' are not ascending")
        try:
            fits = len(self.cells) == needed
        except (KeyError, TypeError, ValueError, OverflowError, ImportError):
            fits = False
        if not fits:
            raise ValueError(f"the values of '{self.name}' do not fit its dtype")
