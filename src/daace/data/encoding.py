"""The encoding of the user's columns as the array of numbers and codes that models use."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from daace._json import read_text, read_texts
from daace._typing import FloatArray, IntArray
from daace._wording import quote
from daace.data.derived import Derived
from daace.data.dtypes import exact_dtype, numbers
from daace.data.kinds import Feature
from daace.data.reading import read_codes, read_values
from daace.exceptions import InvalidInput


@dataclass(frozen=True)
class Encoding:
    """How the columns of a table become one float64 array, and how rows come back from it.

    Column j of the array belongs to feature j: its value if it is a number or whole, its code if
    it is ordered or a category. Behind them stands one column of codes for each number with
    atoms, in the order of the features: 0 elsewhere, then 1, 2, ... for the atoms. At an atom the
    value column has the atom's value, or the median of the feature if the value is missing.

    Attributes:
        features: the modelled features, in the order of the array's columns.
        derived: columns that are computed from one feature.
        left_out: columns that are not part of the model, each with the reason.
        columns: names of features, derived and left-out columns in the order of the user's frame;
            empty if that is the order of the features.

    Example:
        >>> housing = Feature("housing", "category", levels=("own", "rent"), dtype="str")
        >>> encoding = Encoding((Feature("savings", atoms=(0.0,)), housing))
        >>> rows = pd.DataFrame({"savings": [0.0, 12.5], "housing": ["rent", "own"]})
        >>> encoding.encode(rows).tolist()
        [[0.0, 1.0, 1.0], [12.5, 0.0, 0.0]]
        >>> encoding.decode(encoding.encode(rows)).equals(rows)
        True
    """

    features: tuple[Feature, ...]
    derived: tuple[Derived, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = ()

    @classmethod
    def of_numbers(
        cls,
        names: Sequence[str],
        *,
        units: Mapping[str, str] | None = None,
        left_out: Mapping[str, str] | None = None,
        columns: Sequence[str] = (),
    ) -> Encoding:
        """Return the encoding of numbers without atoms, whose array equals the frame.

        Args:
            names: names of the features.
            units: unit by feature name, where known.
            left_out: columns that are not part of the model, each with the reason.
            columns: names of all columns in the order of the user's frame.
        """
        known = units or {}
        features = tuple(Feature(name, unit=known.get(name, "")) for name in names)
        return cls(features, (), dict(left_out or {}), tuple(columns))

    # The array --------------------------------------------------------------------------------

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(feature.name for feature in self.features)

    @property
    def width(self) -> int:
        """Number of columns of the array."""
        return len(self.features) + len(self.atom_columns)

    @cached_property
    def plain(self) -> bool:
        """Whether the array is the frame: float64 numbers without atoms, and nothing derived."""
        return not (self.derived or self.code_sizes) and all(
            feature.kind == "number" and feature.dtype == "float64" for feature in self.features
        )

    @cached_property
    def unnamed(self) -> dict[str, int]:
        """Columns with values that are not kept, and the feature whose pool hides them."""
        pools = {f.name: j for j, f in enumerate(self.features) if f.pooled}
        derived = {c.name: pools[c.source] for c in self.derived if c.source in pools}
        return pools | derived

    @cached_property
    def atom_columns(self) -> dict[int, int]:
        """The column of the atoms' code for each feature that has atoms, by feature index."""
        having = [j for j, feature in enumerate(self.features) if feature.atoms]
        return {j: len(self.features) + place for place, j in enumerate(having)}

    @cached_property
    def number_columns(self) -> tuple[int, ...]:
        """Columns that hold values: numbers and whole numbers."""
        return tuple(j for j, feature in enumerate(self.features) if not feature.coded)

    @cached_property
    def code_sizes(self) -> dict[int, int]:
        """Number of codes of each column that holds codes, by column, ascending."""
        coded = {j: feature.codes for j, feature in enumerate(self.features) if feature.coded}
        return coded | {at: self.features[j].codes for j, at in self.atom_columns.items()}

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        """A name for each column of the array, for messages."""
        return (*self.names, *(f"{self.names[j]} (atom)" for j in self.atom_columns))

    def word(self, column: int, code: int) -> tuple[str, str]:
        """Return the name of the feature that a column of codes belongs to, and the code's word.

        Args:
            column: column of the array.
            code: 0, 1, ...
        """
        owner = {at: j for j, at in self.atom_columns.items()}.get(column, column)
        return self.names[owner], self.features[owner].words[code]

    # Rows -------------------------------------------------------------------------------------

    def encode(self, frame: pd.DataFrame) -> FloatArray:
        """Return rows in user form as the array.

        Derived, left-out and unknown columns are ignored. An unknown level counts as a pooled one
        if the feature has such levels, whose names are not kept.

        Args:
            frame: rows with every feature, in any order.

        Returns:
            Shape `(rows, width)`.

        Raises:
            InvalidInput: a feature is missing; or a cell has an unknown level, a gap where no
                row of the table had one, text or infinity instead of a number, or a fraction
                instead of a whole number.
        """
        missing = [name for name in self.names if name not in frame.columns]
        if missing:
            raise InvalidInput(
                argument="The row", expected=f"have every feature. Missing: {quote(missing)}"
            )
        X = np.zeros((len(frame), self.width), order="F")  # written and read by column
        for j, feature in enumerate(self.features):
            column = frame[feature.name]
            if feature.coded:
                X[:, j] = read_codes(column, feature)
                continue
            X[:, j] = read_values(column, feature)
            if feature.atoms:
                codes = X[:, self.atom_columns[j]]
                for code, atom in enumerate(feature.atoms, start=1):
                    codes[np.isnan(X[:, j]) if atom != atom else X[:, j] == atom] = code
                np.copyto(X[:, j], feature.fill, where=np.isnan(X[:, j]))
        return X

    def decode(
        self,
        X: FloatArray,
        *,
        like: pd.DataFrame | None = None,
        whole: Collection[str] | None = None,
    ) -> pd.DataFrame:
        """Return rows of the array in the user's columns and dtypes, derived columns included.

        Atoms are exact, and gaps are restored.

        Args:
            X: shape `(rows, width)`.
            whole: features whose numbers are rounded; all others are exact, as float64 where the
                user's dtype would round them. When left out, features of kind 'whole' are rounded,
                and every column has the user's dtype.
            like: rows from which the array's rows come, as many or one for all of them. Values of
                pooled levels are taken from here.

        Returns:
            A frame with a new index. Without `like` pooled levels are 'other'.
        """
        if self.plain:
            return pd.DataFrame(X.copy(), columns=list(self.names))
        parts: dict[str, Any] = {}
        codes = self._codes(X)
        for j, feature in enumerate(self.features):
            if feature.coded:
                parts[feature.name] = feature.cells.take(codes[j])
            else:
                rounded = feature.kind == "whole" if whole is None else feature.name in whole
                values = _at_atoms(X[:, j], feature, codes.get(j), rounded=rounded)
                dtype = feature.dtype if whole is None else exact_dtype(feature.dtype, values)
                parts[feature.name] = numbers(values, dtype, whole=feature.kind == "whole")
        for derived in self.derived:
            j = self.names.index(derived.source)
            none: IntArray = np.zeros(len(X), dtype=np.intp)
            parts[derived.name] = derived.of(self.features[j], X[:, j], codes.get(j, none))
        if like is not None:
            for name, source in self.unnamed.items():
                if name in like.columns:
                    pooled = codes[source] == self.features[source].pool_code
                    parts[name] = _restore(parts[name], pooled, like[name])
        order = [name for name in self.columns if name in parts] or list(parts)
        index = pd.RangeIndex(len(X))
        held = {name: _as_held(parts[name], index) for name in order}
        return pd.DataFrame(held, index=index)

    def select(self, names: Sequence[str]) -> tuple[Encoding, list[int]]:
        """Return the encoding of some features, and the columns of the array that it needs.

        Derived columns stay if their source does.

        Args:
            names: names of the features, in their new order.
        """
        places = [self.names.index(name) for name in names]
        extra = [self.atom_columns[j] for j in places if j in self.atom_columns]
        derived = tuple(column for column in self.derived if column.source in names)
        chosen = Encoding(tuple(self.features[j] for j in places), derived, self.left_out)
        return chosen, [*places, *extra]

    def _codes(self, X: FloatArray) -> dict[int, IntArray]:
        """Return the codes of each coded feature, and of the atoms of each number with some."""
        at = {j: j for j, feature in enumerate(self.features) if feature.coded} | self.atom_columns
        return {j: np.rint(X[:, column]).astype(np.intp) for j, column in at.items()}

    # Files ------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Return a record in JSON's types, without the names of pooled levels."""
        return {
            "features": [feature.to_json() for feature in self.features],
            "derived": [derived.to_json() for derived in self.derived],
            "left_out": dict(self.left_out),
            "columns": list(self.columns),
        }

    @classmethod
    def from_json(cls, record: object) -> Encoding:
        """Return the encoding that `to_json` wrote, strictly checked.

        Args:
            record: the record that was read, perhaps from an untrusted source.

        Raises:
            ValueError: it is not such a record, or its parts contradict each other.
        """
        if not isinstance(record, dict) or set(record) != set(cls.__dataclass_fields__):
            raise ValueError("an encoding must have features, derived, left_out and columns")
        listed, derived, left_out = (record[key] for key in ("features", "derived", "left_out"))
        if not (isinstance(listed, list) and listed and isinstance(derived, list)):
            raise ValueError("an encoding has no list of features, or of derived columns")
        if not isinstance(left_out, dict):
            raise ValueError("'left_out' is not a mapping")
        features = tuple(Feature.from_json(entry) for entry in listed)
        sources = {feature.name: feature for feature in features}
        computed = tuple(Derived.from_json(entry, sources) for entry in derived)
        reasons = {read_text(name): read_text(why) for name, why in left_out.items()}
        columns = read_texts(record["columns"])
        known = [*(f.name for f in features), *(column.name for column in computed), *reasons]
        if len(set(known)) < len(known):
            raise ValueError("a column has two roles")
        if columns and (len(set(columns)) < len(columns) or not set(columns) <= set(known)):
            raise ValueError("'columns' are not distinct, or not all known")
        if columns and not set(known) - set(reasons) <= set(columns):
            raise ValueError("'columns' do not have every feature")
        return cls(features, computed, reasons, tuple(columns))


def _as_held(values: Any, index: pd.Index) -> Any:
    """Return values so that a frame keeps their dtype: it would turn objects into text."""
    if pd.api.types.is_object_dtype(values.dtype):
        return pd.Series(values, index=index, dtype=object)
    return values


def _restore(values: Any, pooled: Any, like: pd.Series) -> Any:
    """Return values with those of other rows where levels are pooled."""
    if not pooled.any():
        return _with_dtype(values, like)
    raw = like if len(like) == len(values) else like.iloc[[0] * len(values)]
    restored = pd.Series(values).astype(object)
    restored[pooled] = raw.to_numpy(dtype=object)[pooled]
    if isinstance(like.dtype, pd.CategoricalDtype):
        return restored.astype(like.dtype).array
    if isinstance(values, pd.Categorical):
        extra = [value for value in restored[pooled].unique() if value not in values.categories]
        kind = pd.CategoricalDtype([*values.categories, *extra], values.ordered)
        return restored.astype(kind).array
    return restored.astype(getattr(values, "dtype", object)).array


def _with_dtype(values: Any, like: pd.Series) -> Any:
    """Return categories with all categories that the other rows declare."""
    if isinstance(values, pd.Categorical) and isinstance(like.dtype, pd.CategoricalDtype):
        known = set(like.cat.categories)
        if all(value in known for value in values.dropna().unique()):
            return values.astype(like.dtype)
    return values


def _at_atoms(
    column: FloatArray, feature: Feature, codes: IntArray | None, *, rounded: bool
) -> FloatArray:
    """Return the numbers of a feature, with the exact value of an atom where the code is one."""
    values = np.rint(column) if rounded else column.copy()
    if codes is not None:
        for code, atom in enumerate(feature.atoms, start=1):
            values[codes == code] = atom
    return values
