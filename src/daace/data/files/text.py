"""Text files: CSV and TSV, compressed or not."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import zipfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from daace.data.files.base import SCANNED, TableFile, reading
from daace.data.frames import check_unique
from daace.exceptions import InvalidInput

#: Cells that count as missing in a column of numbers or truth values, and in a column of text,
#: where NA and ? may be names of levels.
GAPS = (
    "", "?", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
TEXT_GAPS = ("", "NaN", "nan")


class TextFile(TableFile):
    """A file of fields separated by commas or tabs, compressed or not.

    Args:
        path: the file.
        separator: the character between two fields.
    """

    def __init__(self, path: Path, separator: str) -> None:
        self.path = path
        self._separator = separator
        with reading(path):
            self.columns, self._rows = _scan_fields(path, separator)

    def read(self) -> pd.DataFrame:
        kinds = self._kinds
        with reading(self.path), _open(self.path) as file:
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
        with reading(self.path):
            self._check_count(count)

    @cached_property
    def _kinds(self) -> dict[str, str]:
        """The dtype of each column that fits all of its values."""
        seen: dict[str, set[str]] = {name: set() for name in self.columns}
        for frame in self._frames({}, size=max(1, SCANNED // len(self.columns))):
            for name in self.columns:
                seen[name].add(_kind_of(frame[name]))
        kinds = {name: _common_kind(found) for name, found in seen.items()}
        blank = [name for name, kind in kinds.items() if kind == "blank"]
        return {**kinds, **self._kinds_of_blank(blank)} if blank else kinds

    def _kinds_of_blank(self, blank: list[str]) -> dict[str, str]:
        """Distinguish columns without values from those in which every row has the class 'NA'."""
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
            reading(self.path),
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
        """Return a frame, or with `size` a reader that yields frames of that many rows."""
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
    """Return the names in the header and the number of rows.

    Every row must have as many fields as the header: pandas would take the first field of longer
    rows as an index and pad shorter ones.

    Raises:
        InvalidInput: all rows are longer than the header, or a name occurs twice.
        ValueError: some rows are shorter or longer than the header.
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
    """Return the names of all columns; those without one are numbered, as in pandas."""
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
    """Whether a line is empty; pandas skips those."""
    return not fields or (len(fields) == 1 and fields[0] != "" and not fields[0].strip(" \t"))


def _kind_of(column: pd.Series) -> str:
    """Return what kind of values one column of a block holds."""
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
    """Return the dtype that fits the kinds found in all blocks; 'blank' if there is no value."""
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
    """Open a file for reading, decompressed."""
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
