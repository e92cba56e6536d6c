"""One reader for tables in files: CSV, TSV and parquet, whole or in blocks."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from daace._files import check_exists
from daace.data.table import check_unique
from daace.exceptions import InvalidInput, MissingDependency

#: What stands for a gap in a column of numbers, and in a column of text: a class may be called NA.
GAPS = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
TEXT_GAPS = ("", "NaN", "nan")

#: Cells that are looked at together to find out what a column holds.
SCANNED = 2_000_000

COMPRESSED = (".gz", ".bz2", ".xz", ".zip")

#: What readers raise for files that are damaged, or no tables.
UNREADABLE = (
    ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, csv.Error,
)  # fmt: skip


class TableFile(ABC):
    """A table in a file: its column names, all of its rows, or blocks of them.

    What a column holds is decided by all of its values, so that the blocks, put together, are the
    whole table.

    Attributes:
        path: of the file.
        columns: names, in the order of the file.
    """

    path: Path
    columns: tuple[str, ...]

    @abstractmethod
    def read(self) -> pd.DataFrame:
        """Return the whole table."""

    @abstractmethod
    def blocks(
        self, size: int, *, columns: Sequence[str] | None = None, verbatim: bool = False
    ) -> Generator[pd.DataFrame, None, None]:
        """Yield the rows, so many at a time; none at all if there are none.

        Args:
            size: rows of each block but the last, which may be shorter.
            columns: which, and in which order; all when left out.
            verbatim: the cells of a text file as they are written, as text.
        """


def open_table(path: str | Path) -> TableFile:
    """Return the table of a CSV, TSV or parquet file; text may be compressed (gz, bz2, xz, zip).

    Missing numbers are what pandas takes for missing, missing text is empty, NaN or nan.

    Raises:
        MissingFile: there is no such file.
        InvalidInput: the file is empty or of another kind, its header is unclear, or a
            row has more or fewer fields than the header has names. Damage further down is raised
            by `read` and `blocks`.
        MissingDependency: parquet without pyarrow.
    """
    path = Path(path)
    check_exists(path)
    if not path.is_file():
        raise InvalidInput(f"'{path}' must be a file. It is a folder.")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    last = suffixes[-1] if suffixes else ""
    kind = suffixes[-2] if last in COMPRESSED and len(suffixes) > 1 else last
    if last == ".parquet":
        return _Parquet(path)
    if last not in (".csv", ".tsv", *COMPRESSED):
        raise InvalidInput(f"'{path}' must end in .csv, .tsv or .parquet. Got '{path.suffix}'.")
    return _Text(path, "\t" if kind == ".tsv" else ",")


def read_frame(path: str | Path) -> pd.DataFrame:
    """Return the whole table of a file; raises as `open_table`, or if the file is damaged."""
    return open_table(path).read()


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


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Say of a damaged file which it is."""
    try:
        yield
    except InvalidInput:
        raise
    except UNREADABLE as error:
        raise InvalidInput(f"'{path}' could not be read as a table: {error}") from None


# Text ---------------------------------------------------------------------------------------------


class _Text(TableFile):
    """Fields that are separated by commas or tabs; compressed or not."""

    def __init__(self, path: Path, separator: str) -> None:
        self.path = path
        self._separator = separator
        with _reading(path):
            self.columns, self._rows = _scan_fields(path, separator)

    def read(self) -> pd.DataFrame:
        kinds = self._kinds
        with _reading(self.path), _open(self.path) as file:
            frame: pd.DataFrame = self._parse(file, kinds)
            self._check_count(len(frame))
            return frame

    def blocks(
        self, size: int, *, columns: Sequence[str] | None = None, verbatim: bool = False
    ) -> Generator[pd.DataFrame, None, None]:
        names = list(self.columns if columns is None else columns)
        kinds = dict.fromkeys(names, "verbatim") if verbatim else self._kinds
        count = 0
        with closing(self._frames(kinds, size=size, columns=names)) as frames:
            for frame in frames:
                count += len(frame)
                yield frame[names]
        with _reading(self.path):
            self._check_count(count)

    @cached_property
    def _kinds(self) -> dict[str, str]:
        """What each column holds, as a dtype that all of its values fit."""
        seen: dict[str, set[str]] = {name: set() for name in self.columns}
        for frame in self._frames({}, size=max(1, SCANNED // len(self.columns))):
            for name in self.columns:
                seen[name].add(_kind_of(frame[name]))
        kinds = {name: _common_kind(found) for name, found in seen.items()}
        blank = [name for name, kind in kinds.items() if kind == "blank"]
        return {**kinds, **self._kinds_of_blank(blank)} if blank else kinds

    def _kinds_of_blank(self, blank: list[str]) -> dict[str, str]:
        """Tell columns without any value from those in which all rows have the class 'NA'."""
        named: set[str] = set()
        for frame in self._frames(dict.fromkeys(blank, "str"), size=SCANNED, columns=blank):
            named.update(name for name in blank if frame[name].notna().any())
        return {name: "str" if name in named else "float64" for name in blank}

    def _frames(
        self, kinds: dict[str, str], *, size: int, columns: Sequence[str] | None = None
    ) -> Generator[pd.DataFrame, None, None]:
        if not self._rows:
            return
        with (
            _reading(self.path),
            _open(self.path) as file,
            self._parse(file, kinds, size=size, columns=columns) as reader,
        ):
            yield from reader

    def _parse(
        self,
        file: BinaryIO,
        kinds: dict[str, str],
        *,
        size: int | None = None,
        columns: Sequence[str] | None = None,
    ) -> Any:
        """Return pandas' view of the file: a frame, or a reader of frames of so many rows."""
        gaps = {"str": TEXT_GAPS, "verbatim": ()}
        return pd.read_csv(
            file,
            sep=self._separator,
            header=0,
            names=list(self.columns),
            index_col=False,  # every row has as many fields as the header
            usecols=None if columns is None else list(columns),
            dtype={name: "str" if kind == "verbatim" else kind for name, kind in kinds.items()},
            keep_default_na=False,
            na_values={name: list(gaps.get(kinds.get(name, ""), GAPS)) for name in self.columns},
            chunksize=size,
            encoding="utf-8-sig",
            low_memory=False,
        )

    def _check_count(self, count: int) -> None:
        if count != self._rows:
            raise ValueError(f"{self._rows} rows were counted and {count} read")


def _scan_fields(path: Path, separator: str) -> tuple[tuple[str, ...], int]:
    """Return the names in the header and the number of rows, all of which have as many fields.

    pandas would take the first field of longer rows for an index, and fill up shorter ones.

    Raises:
        InvalidInput: they have not, or names stand twice.
    """
    with _open(path) as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as text:
        records = csv.reader(text, delimiter=separator)
        header = next((fields for fields in records if not _is_blank(fields)), None)
        if header is None:
            raise ValueError("No columns to parse from file")
        names = _header_names(path, header)
        count, longer, wrong = 0, 0, ""
        for fields in records:
            if len(fields) != len(names):
                if _is_blank(fields):
                    continue
                longer += len(fields) == len(names) + 1
                wrong = wrong or (
                    f"row {count}, counted from 0, has {len(fields)} fields (it ends in line "
                    f"{records.line_num}), the header has {len(names)}"
                )
            elif len(names) == 1 and _is_blank(fields):
                continue
            count += 1
    if longer and longer == count:
        raise InvalidInput(
            f"'{path}' must have a name for every column. Its header has {len(names)} names, its "
            "rows have more fields: name the first column too if it holds row names (R: "
            "write.csv, or write.table with col.names = NA), or remove separators at line ends."
        )
    if wrong:
        raise ValueError(wrong)
    return names, count


def _header_names(path: Path, header: list[str]) -> tuple[str, ...]:
    """Return the names of all columns; those without one are numbered as pandas does it."""
    other = next((mark for mark in (";", "\t") if len(header) == 1 and mark in header[0]), None)
    if other is not None:
        raise InvalidInput(
            f"'{path}' must be separated by commas, or by tabs and called .tsv. "
            f"Its header has {'semicolons' if other == ';' else 'tabs'}."
        )
    names = tuple(name or f"Unnamed: {number}" for number, name in enumerate(header))
    check_unique(names, what=f"'{path}'")
    return names


def _is_blank(fields: list[str]) -> bool:
    """Tell whether a line is empty, which pandas skips."""
    return not fields or (len(fields) == 1 and fields[0] != "" and not fields[0].strip(" \t"))


def _kind_of(column: pd.Series) -> str:
    """Name what the cells of one column of a block hold."""
    kind = column.dtype
    if pd.api.types.is_bool_dtype(kind):
        return "bool"
    if pd.api.types.is_float_dtype(kind):
        return "blank" if column.isna().all() else "float"
    if pd.api.types.is_unsigned_integer_dtype(kind):
        return "large"
    if pd.api.types.is_integer_dtype(kind):
        return "negative" if (column < 0).any() else "integer"
    some = column.dropna()
    if len(some) and some.map(lambda value: isinstance(value, bool)).all():
        return "bool with gaps"
    return "text"


def _common_kind(found: set[str]) -> str:
    """Return the dtype of a column from what its blocks hold; 'blank' if they hold nothing."""
    if found <= {"blank"}:
        return "blank"
    if found <= {"integer", "negative"}:
        return "int64"
    if found <= {"integer", "large"}:
        return "uint64"
    if found == {"bool"}:
        return "bool"
    if found <= {"bool", "bool with gaps", "blank"}:
        return "boolean"
    if found <= {"integer", "negative", "float", "blank"}:
        return "float64"
    return "str"


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    """Open a file for reading, whatever it is compressed by."""
    suffix = path.suffix.lower()
    if suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            members = [info for info in archive.infolist() if not info.is_dir()]
            if len(members) != 1:
                raise ValueError(f"the archive must hold one file, it holds {len(members)}")
            with archive.open(members[0]) as file:
                yield file
        return
    opener: Any = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}.get(suffix, open)
    with opener(path, "rb") as file:
        yield file


# Parquet ------------------------------------------------------------------------------------------


class _Parquet(TableFile):
    """Columns with a type of their own; an index that has a name is a column like any other."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._parquet = import_parquet()
        with _reading(path), self._parquet.ParquetFile(path) as file:
            names = [str(name) for name in file.schema_arrow.names]
        check_unique(names, what=f"'{path}'")
        self.columns = tuple(name for name in names if not name.startswith("__index_level_"))

    def read(self) -> pd.DataFrame:
        frames = list(self.blocks(SCANNED))
        if frames:
            return pd.concat(frames)
        with _reading(self.path), self._parquet.ParquetFile(self.path) as file:
            return self._to_pandas(file.schema_arrow.empty_table(), list(self.columns))

    def blocks(
        self, size: int, *, columns: Sequence[str] | None = None, verbatim: bool = False
    ) -> Generator[pd.DataFrame, None, None]:
        names = list(self.columns if columns is None else columns)
        waiting: list[pd.DataFrame] = []
        first = 0
        # A file ends its batches where its row groups end: they are put together again.
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

        with _reading(self.path), self._parquet.ParquetFile(self.path) as file:
            for batch in file.iter_batches(batch_size=size, columns=names):
                if len(batch):
                    yield self._to_pandas(pyarrow.Table.from_batches([batch]), names)

    def _to_pandas(self, table: Any, names: list[str]) -> pd.DataFrame:
        import pyarrow

        table = table.select(names)
        for number, field in enumerate(table.schema):
            if pyarrow.types.is_dictionary(field.type):  # each batch has a dictionary of its own
                plain = table.column(number).cast(field.type.value_type)
                table = table.set_column(number, field.name, plain)
        frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
        return frame.astype({name: kind for name, kind in self._gappy.items() if name in names})

    @cached_property
    def _gappy(self) -> dict[str, str]:
        """Integers and booleans with gaps somewhere in the file: the type of those with a gap."""
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
