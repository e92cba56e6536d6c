"""A draft of the rules on codes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from daace._typing import BoolArray, FloatArray, IntArray
from daace._wording import quote
from daace.data.encoding import Encoding
from daace.data.kinds import Feature
from daace.exceptions import InvalidInput
from daace.landscape.code_rules import AtomRule, CodeRules

#: Distance from an atom, in standard deviations, beyond which a value is off the atom.
BESIDE = 0.01


class CodeDraft:
    """The rules on the codes of one problem, written one by one.

    Pooled levels are never a target. A missing number stays missing, and no number becomes
    missing, unless `allow` permits it.

    Args:
        encoding: the density's encoding, with codes.

    Attributes:
        encoding: the density's encoding.
    """

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding
        self._named: set[int] = set()
        self._outside: dict[int, BoolArray] = {}
        self._may = {
            column: np.ones((size, size), dtype=bool)
            for column, size in encoding.code_sizes.items()
        }
        for j, feature in enumerate(encoding.features):
            if feature.pool_code is not None:
                self._may[j][:, feature.pool_code] = False
            if feature.gap_code is not None and is_number(feature):
                may = self._may[self.column(j)]
                may[feature.gap_code] = may[:, feature.gap_code] = False

    def column(self, j: int) -> int:
        """Return the column of a feature's codes."""
        return j if self.encoding.features[j].coded else self.encoding.atom_columns[j]

    def allow(self, j: int, levels: Sequence[object], argument: str) -> None:
        """Let feature j switch to some levels only; atoms may be named as well.

        Raises:
            InvalidInput: there is no such level.
        """
        feature = self.encoding.features[j]
        may = self._may[self.column(j)]
        named = [code_of(feature, level, argument) for level in levels]
        may[:] = False
        may[:, named] = True
        self._named.add(j)

    def forbid(self, j: int, pairs: Sequence[tuple[object, object]], argument: str) -> None:
        """Let feature j never go from one level to another.

        Raises:
            InvalidInput: there is no such level.
        """
        feature = self.encoding.features[j]
        for before, after in pairs:
            codes = code_of(feature, before, argument), code_of(feature, after, argument)
            self._may[self.column(j)][codes] = False

    def bound(self, j: int, level: float | str, *, side: int, argument: str) -> None:
        """Keep ordered feature j at a level or above it (side 1), or below it (side -1).

        Raises:
            InvalidInput: there is no such level, or the start is beyond it.
        """
        feature = self.encoding.features[j]
        codes = np.arange(len(feature.levels))
        if isinstance(level, str) or isinstance(feature.levels[0], str):
            beyond = side * (codes - code_of(feature, level, argument)) < 0
        else:
            beyond = side * (np.array(feature.levels, dtype=np.float64) - level) < 0
        outside = self._outside.setdefault(j, np.zeros(feature.codes, dtype=bool))
        outside[: len(codes)] |= beyond

    def holds(self, j: int, code: float) -> bool:
        """Whether the bounds of ordered feature j allow a code."""
        return j not in self._outside or not self._outside[j][int(code)]

    def forbid_gaps(self) -> None:
        """Let no feature become missing, unless `allow` permits it."""
        for j, feature in enumerate(self.encoding.features):
            if feature.coded and feature.gap_code is not None and j not in self._named:
                self._may[j][:, feature.gap_code] = False

    @cached_property
    def columns(self) -> IntArray:
        """Columns that hold codes."""
        return np.array(list(self.encoding.code_sizes), dtype=np.intp)

    def atom_places(self) -> dict[int, tuple[int, FloatArray]]:
        """Return code column and values in user units of each number with atoms."""
        return {
            j: (column, self._places(self.encoding.features[j]))
            for j, column in self.encoding.atom_columns.items()
        }

    @staticmethod
    def _places(feature: Feature) -> FloatArray:
        known = [feature.fill if atom != atom else atom for atom in feature.atoms]
        return np.array([np.nan, *known])

    def finish(
        self,
        x: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        direction: IntArray,
        scale: FloatArray,
        mean: FloatArray,
    ) -> CodeRules:
        """Return the rules that have been written.

        Args:
            x: the start in model space.
            lower: lower bounds in model space, natural ones included.
            upper: upper bounds, of the same shape.
            direction: 1 where a feature may only rise, -1 only fall, 0 free.
            scale: standard deviation of each column, in user units.
            mean: mean of each column, in user units.
        """
        features, may = self.encoding.features, {c: t.copy() for c, t in self._may.items()}
        atoms = []
        for j, (column, places) in self.atom_places().items():
            model = (places - mean[j]) / scale[j]
            least = 1.0 / scale[j] if features[j].kind == "whole" else BESIDE
            known = [atom for atom in features[j].atoms if atom == atom]
            spots = (np.array(known) - mean[j]) / scale[j]
            clear = np.array(features[j].clear or [(0.0, 0.0)] * len(known)).reshape(-1, 2)
            if features[j].kind == "whole":
                clear = np.ceil(clear)
            below, above = np.maximum(clear.T / scale[j], least)
            missing = features[j].gap_code
            atoms.append(
                AtomRule(j, column, model, spots, lower[j], upper[j], below, above, missing)
            )
            outside = (model < lower[j]) | (model > upper[j])
            may[column][:, np.nan_to_num(outside).astype(bool)] = False
        for j, feature in enumerate(features):
            if feature.kind == "ordered" and direction[j] and feature.gap_code is not None:
                may[j][feature.gap_code] = may[j][:, feature.gap_code] = False
        for j, outside in self._outside.items():
            may[j][:, outside] = False
        for table in may.values():
            np.fill_diagonal(table, True)
        owners = {column: j for j, column in self.encoding.atom_columns.items()}
        levels = [
            len(features[c].levels) if c not in owners and features[c].kind == "ordered" else 0
            for c in self.encoding.code_sizes
        ]
        tables = tuple(may[column] for column in self.encoding.code_sizes)
        return CodeRules(x, self.columns, tables, np.array(levels), tuple(atoms))


def is_number(feature: Feature) -> bool:
    """Whether the values of a feature are numbers, as those of an ordered one may be."""
    return not feature.coded or (
        feature.kind == "ordered" and not isinstance(feature.levels[0], str)
    )


def code_of(feature: Feature, level: object, argument: str) -> int:
    """Return the code of a level, given as a value or as text.

    Raises:
        InvalidInput: the feature has no such level.
    """
    if str(level) in feature.words:
        return feature.words.index(str(level))
    raise InvalidInput(
        argument=argument,
        expected=f"name levels of '{feature.name}': {quote(feature.words, 20)}",
        got=f"'{level}'",
    )
