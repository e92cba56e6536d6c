"""Files of answers: CSV, parquet or JSON lines, written a block at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from daace._json import dump_json
from daace.data.files import TableFile, csv_text, import_parquet
from daace.density.base import ConditionalDensity
from daace.explain.answers.tables import Layout

FORMATS = (".csv", ".parquet", ".jsonl")

#: Significant digits in CSV of what describes an answer. Starts and ends are written exactly, as
#: the row that is written must be the row that was judged: ends rounded to six digits met their
#: goal in 18 of 45 answers, rounded to eight in 39.
DIGITS = 6

#: Columns of the outcome that are rounded to `DIGITS`.
ROUNDED = ("cost", "log_prob", "posterior", "change", "change_sd")


class AnswerWriter:
    """Turns outcomes into a file.

    In CSV, cost, log-density, posterior and changes have six significant digits; starts and ends
    are exact, because the row that is written must be the row that was judged. Parquet and JSON
    lines hold every number exactly.

    Args:
        file: open for writing.
        suffix: one of `FORMATS`.
        density: knows features and classes.
        others: names of the columns that are passed through.
        long: one row a change instead of one row an answer; JSON lines are whole explanations.
    """

    def __init__(
        self,
        file: BinaryIO,
        suffix: str,
        density: ConditionalDensity,
        *,
        others: Sequence[str] = (),
        long: bool = False,
    ) -> None:
        self._file, self._suffix, self._long = file, suffix, long
        self._layout = Layout(density.features_, others, classes=density.classes_.dtype.kind)
        self._sd = density.standardizer_.scale[: len(density.features_)]
        self._parquet: Any = None
        self._begun = False

    def write(
        self, first: int, outcomes: Sequence[Mapping[str, Any]], others: pd.DataFrame
    ) -> None:
        """Write the answers to some rows.

        Args:
            first: number of the first row.
            outcomes: one per row, from `to_outcome`; complete explanations for JSON lines.
            others: the columns that are passed through, of the same rows.
        """
        if self._suffix == ".jsonl":
            cells = others.astype(object).where(others.notna(), None).to_dict("records")
            lines = [
                dump_json({**outcome, "columns": passed} if passed else outcome, default=str)
                for outcome, passed in zip(outcomes, cells or [{}] * len(outcomes), strict=True)
            ]
            self._file.write("".join(f"{line}\n" for line in lines).encode())
            return
        index = pd.RangeIndex(first, first + len(outcomes))
        if self._long:
            frame = self._layout.long(outcomes, index, others, sd=self._sd)
        else:
            frame = self._layout.wide(outcomes, index, others, detail=True)
        frame.insert(others.shape[1], self._layout.name("row"), frame.index.to_numpy())
        if self._suffix == ".csv":
            text = csv_text(frame, header=not self._begun, digits=self._digits(others))
            self._file.write(text.encode())
        else:
            self._append_parquet(frame)
        self._begun = True

    def close(self) -> None:
        """End the file."""
        if self._parquet is not None:
            self._parquet.close()

    def _digits(self, others: pd.DataFrame) -> dict[str, int]:
        ours = [*ROUNDED, *(f"{name}_change" for name in self._layout.features)]
        names = [self._layout.name(name) for name in ours]
        return {name: DIGITS for name in names if name not in others.columns}

    def _append_parquet(self, frame: pd.DataFrame) -> None:
        parquet = import_parquet()
        import pyarrow

        text = [
            name
            for name, column in frame.items()
            if pd.api.types.infer_dtype(column, skipna=True) in ("string", "empty")
        ]
        frame = frame.astype(dict.fromkeys(text, "string"))
        if self._parquet is None:
            table = pyarrow.Table.from_pandas(frame, preserve_index=False)
            self._parquet = parquet.ParquetWriter(self._file, table.schema)
        else:
            table = pyarrow.Table.from_pandas(
                frame, schema=self._parquet.schema, preserve_index=False
            )
        self._parquet.write_table(table)


def passed_columns(
    table: TableFile, names: Sequence[str], size: int, *, verbatim: bool
) -> Generator[pd.DataFrame, None, None]:
    """Yield blocks of the columns that are passed through, unchanged.

    Args:
        table: the rows that are explained.
        names: names of the columns.
        size: rows of a block.
        verbatim: text as it is written; else with the type of each column, as far as nothing is
            lost by it: a column with '007' stays text.
    """
    columns = list(names)
    if verbatim:
        yield from table.blocks(size, columns=columns, verbatim=True)
        return
    padded: set[str] = set()
    for typed, raw in _both(table, columns, size):
        whole = [name for name in columns if pd.api.types.is_integer_dtype(typed[name].dtype)]
        padded.update(
            name
            for name in whole
            if not np.array_equal(typed[name].astype(str), raw[name].astype(str))
        )
    for typed, raw in _both(table, columns, size):
        yield typed.assign(**{name: raw[name] for name in padded})


def _both(
    table: TableFile, columns: list[str], size: int
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    typed = table.blocks(size, columns=columns)
    raw = table.blocks(size, columns=columns, verbatim=True)
    return zip(typed, raw, strict=True)
