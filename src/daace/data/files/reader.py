"""One reader for tables in files: CSV, TSV and parquet, whole or in blocks."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from daace._files import check_exists
from daace.data.files.base import TableFile
from daace.data.files.parquet import ParquetFile
from daace.data.files.text import TextFile
from daace.exceptions import InvalidInput

COMPRESSED = (".gz", ".bz2", ".xz", ".zip")


def open_table(path: str | Path) -> TableFile:
    """Open a CSV, TSV or parquet file; text may be compressed (gz, bz2, xz, zip).

    Missing numbers and truth values are written as for pandas, or as a question mark; missing text
    is empty, NaN or nan: NA and ? may be names of levels.

    Args:
        path: the file; its name ends in .csv, .tsv or .parquet, before any .gz and the like.

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
        return ParquetFile(path)
    if last not in (".csv", ".tsv", *COMPRESSED):
        raise InvalidInput(f"'{path}' must end in .csv, .tsv or .parquet. Got '{path.suffix}'.")
    return TextFile(path, "\t" if kind == ".tsv" else ",")


def read_frame(path: str | Path) -> pd.DataFrame:
    """Return the whole table in a file.

    Args:
        path: the file, as for `open_table`.

    Raises:
        MissingFile: there is no such file.
        InvalidInput: the file is damaged, or no table.
        MissingDependency: parquet without pyarrow.
    """
    return open_table(path).read()
