"""Parquet files, read with pyarrow."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from daace.data.files.base import SCANNED, TableFile, reading
from daace.data.frames import check_unique
from daace.exceptions import MissingDependency


def import_parquet() -> Any:
    """Return pyarrow's module for parquet.

    Raises:
        MissingDependency: pyarrow is not installed.
    """
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingDependency("Parquet needs pyarrow: pip install 'daace[parquet]'.") from None
    return pyarrow.parquet


class ParquetFile(TableFile):
    """A parquet file; an index that has a name is a column like any other.

    Args:
        path: the file.

    Raises:
        MissingDependency: pyarrow is not installed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._parquet = import_parquet()
        with reading(path), self._parquet.ParquetFile(path) as file:
            names = [str(name) for name in file.schema_arrow.names]
        check_unique(names, what=f"'{path}'")
        self.columns = tuple(name for name in names if not name.startswith("__index_level_"))

    def read(self) -> pd.DataFrame:
        frames = list(self.blocks(SCANNED))
        if frames:
            return pd.concat(frames)
        with reading(self.path), self._parquet.ParquetFile(self.path) as file:
            return self._to_pandas(file.schema_arrow.empty_table(), list(self.columns))

    def blocks(
        self, size: int, *, columns: Sequence[str] | None = None, verbatim: bool = False
    ) -> Generator[pd.DataFrame, None, None]:
        names = list(self.columns if columns is None else columns)
        waiting: list[pd.DataFrame] = []
        first = 0
        # Batches end where row groups end: they are joined again.
        for frame in self._batches(size, names):
            waiting.append(frame)
            while sum(map(len, waiting)) >= size:
                joined = pd.concat(waiting, ignore_index=True)
                block = joined.iloc[:size]
                yield block.set_axis(pd.RangeIndex(first, first + size))
                waiting, first = [joined.iloc[size:]], first + size
        rest = pd.concat(waiting, ignore_index=True) if waiting else pd.DataFrame()
        if len(rest):
            yield rest.set_axis(pd.RangeIndex(first, first + len(rest)))

    def _batches(self, size: int, names: list[str]) -> Iterator[pd.DataFrame]:
        import pyarrow

        with reading(self.path), self._parquet.ParquetFile(self.path) as file:
            for batch in file.iter_batches(batch_size=size, columns=names):
                if len(batch):
                    yield self._to_pandas(pyarrow.Table.from_batches([batch]), names)

    def _to_pandas(self, table: Any, names: list[str]) -> pd.DataFrame:
        import pyarrow

        table = table.select(names)
        for number, field in enumerate(table.schema):
            if pyarrow.types.is_dictionary(field.type):  # each batch has its own dictionary
                plain = table.column(number).cast(field.type.value_type)
                table = table.set_column(number, field.name, plain)
        frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
        ordered = {name: kind for name, kind in self._ordered.items() if name in names}
        frame = frame.astype(ordered) if ordered else frame
        return frame.astype({name: kind for name, kind in self._gappy.items() if name in names})

    @cached_property
    def _ordered(self) -> dict[str, pd.CategoricalDtype]:
        """The dtype of ordered categories whose levels are the same in the whole file."""
        import pyarrow

        with self._parquet.ParquetFile(self.path) as file:
            names = [
                field.name
                for field in file.schema_arrow
                if pyarrow.types.is_dictionary(field.type) and field.type.ordered
            ]
            found: dict[str, list[tuple[Any, ...]]] = {name: [] for name in names}
            for batch in file.iter_batches(columns=names) if names else ():
                for name in names:
                    found[name].append(tuple(batch.column(name).dictionary.to_pylist()))
        return {
            name: pd.CategoricalDtype(list(levels[0]), ordered=True)
            for name, levels in found.items()
            if len(set(levels)) == 1
        }

    @cached_property
    def _gappy(self) -> dict[str, str]:
        """The dtype of integer and boolean columns with missing values anywhere in the file."""
        import pyarrow

        with self._parquet.ParquetFile(self.path) as file:
            kinds = {
                field.name: "boolean" if pyarrow.types.is_boolean(field.type) else "float64"
                for field in file.schema_arrow
                if pyarrow.types.is_integer(field.type) or pyarrow.types.is_boolean(field.type)
            }
            found: set[str] = set()
            for batch in file.iter_batches(columns=list(kinds)) if kinds else ():
                found.update(name for name in kinds if batch.column(name).null_count)
        return {name: kind for name, kind in kinds.items() if name in found}
