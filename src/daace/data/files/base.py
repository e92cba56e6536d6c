"""The interface of table files, whatever their format."""

from __future__ import annotations

import csv
import lzma
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from daace.exceptions import InvalidInput

#: Cells that are held in memory at once to infer the type of a column.
SCANNED = 2_000_000

#: Exceptions of readers for files that are damaged or not tables.
UNREADABLE = (
    ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, csv.Error,
)  # fmt: skip


class TableFile(ABC):
    """A table in a file: its column names, all of its rows, or blocks of them.

    The type of a column is inferred from all of its values, so that the blocks together are the
    whole table.

    Attributes:
        path: the file.
        columns: column names, in the order of the file.
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
        """Yield the rows in blocks; an empty table has none.

        Args:
            size: rows of each block but the last, which may be shorter.
            columns: names of the columns to read, in this order; all when left out.
            verbatim: return the cells of a text file as text, exactly as they are written.
        """


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Name the file in errors about damaged content."""
    try:
        yield
    except InvalidInput:
        raise
    except UNREADABLE as error:
        raise InvalidInput(f"'{path}' could not be read as a table: {error}") from None
