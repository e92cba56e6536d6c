"""The rows to choose from: those of a file, or simulated ones drawn from the density."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from daace._typing import BoolArray
from daace.data.files import read_frame
from daace.data.numbers import parse_numbers
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput
from daace.explain.files.stream import model_columns
from daace.web.views import plain_cell

#: Number of simulated rows if there is no file, and the seed of their draws.
MADE_UP, SEED = 100, 7

#: Maximum number of rows on one page.
LARGEST_PAGE = 200


class People:
    """A table to choose a row from.

    Args:
        frame: rows in user units; may have more columns than the model.
        density: density of the features.
        made_up: whether these are draws of the density.
    """

    def __init__(
        self, frame: pd.DataFrame, density: ConditionalDensity, *, made_up: bool = False
    ) -> None:
        self._frame = frame.reset_index(drop=True)
        for feature in density.encoding_.features:
            column = self._frame[feature.name]
            if not (feature.coded or pd.api.types.is_numeric_dtype(column.dtype)):
                self._frame[feature.name] = parse_numbers(column)  # one word makes it text
        self._features = list(density.features_)
        self._target = density.target_
        self.made_up = made_up

    @classmethod
    def of_file(cls, path: str | Path, density: ConditionalDensity) -> Self:
        """Read a file.

        Raises:
            InvalidInput: it lacks a feature, or has no rows.
        """
        frame = read_frame(path)
        model_columns(Path(path), frame.columns, density)
        if not len(frame):
            raise InvalidInput(f"'{path}' must have rows. It has none.")
        return cls(frame, density)

    @classmethod
    def drawn(cls, density: ConditionalDensity) -> Self:
        """Return draws of a density, within the natural bounds of its features."""
        X, labels = density.sample(MADE_UP, rng=np.random.default_rng(SEED))
        frame = density.to_user(X)[list(density.features_)]
        for feature in density.encoding_.features:
            if not feature.coded:
                drawn = frame[feature.name].clip(feature.lower, feature.upper)
                frame[feature.name] = drawn.round() if feature.kind == "whole" else drawn
        return cls(frame.assign(**{density.target_: labels}), density, made_up=True)

    def __len__(self) -> int:
        return len(self._frame)

    def page(self, *, query: str = "", offset: int = 0, limit: int = 20) -> dict[str, Any]:
        """Return rows in which every word of a query occurs in some cell.

        Args:
            query: words, in upper or lower case.
            offset: number of matching rows to skip.
            limit: maximum number of rows to return.
        """
        found = np.flatnonzero(self._match(query))
        shown = found[offset : offset + min(limit, LARGEST_PAGE)]
        return {
            "rows": [self.row(int(number)) for number in shown],
            "found": len(found),
            "of": len(self),
            "made_up": self.made_up,
        }

    def row(self, number: int) -> dict[str, Any]:
        """Return one row: its number, the features, the other columns and the recorded class.

        Raises:
            InvalidInput: there is no such row.
        """
        if not 0 <= number < len(self):
            expected = f"be between 0 and {len(self) - 1}"
            raise InvalidInput(argument="number", expected=expected, got=str(number))
        cells = {str(name): _cell(self._frame[name].iloc[number]) for name in self._frame.columns}
        known = {*self._features, self._target}
        return {
            "number": number,
            "row": {name: cells[name] for name in self._features},
            "others": {name: cell for name, cell in cells.items() if name not in known},
            "class": cells.get(self._target),
        }

    def _match(self, query: str) -> BoolArray:
        found = np.ones(len(self), dtype=bool)
        for word in query.casefold().split():
            found &= np.array([word in text for text in self._texts], dtype=bool)
        return found

    @cached_property
    def _texts(self) -> list[str]:
        numbers = pd.RangeIndex(len(self)).astype(str)
        cells = [
            [f"#{number}", *(str(_cell(cell)) for cell in row)]
            for number, row in zip(
                numbers, self._frame.astype(object).itertuples(index=False), strict=True
            )
        ]
        return ["\n".join(row).casefold() for row in cells]


def _cell(value: Any) -> Any:
    """Return a cell in JSON's types."""
    if pd.isna(value):
        return None
    value = plain_cell(value)
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value if isinstance(value, int | float | str | bool) else str(value)
