"""Tables that commands read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from daace._wording import did_you_mean, quote
from daace.cli.terminal import note
from daace.exceptions import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from daace.data.table import Table
    from daace.density.base import ConditionalDensity


@dataclass
class Columns:
    """Which columns of a table are features, and which is the class."""

    target: Annotated[str, typer.Option(metavar="COLUMN", help="Column that holds the class.")]
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out; repeatable.")
    ] = None
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Column to model although it looks like an id; repeatable."
        ),
    ] = None
    kind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=KIND",
            help="Kind of a column, instead of the one that its values suggest: number, whole, "
            "ordered or category, such as income=number; repeatable.",
        ),
    ] = None
    order: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=LEVEL,...",
            help="Levels of a column from low to high, such as size=small,medium,large; "
            "repeatable.",
        ),
    ] = None


def read_table(data: Path, columns: Columns) -> Table:
    """Read a table to learn from, and report the columns that are left out.

    Args:
        data: CSV, TSV or parquet.
        columns: which of its columns to learn.
    """
    from daace.data.files import read_frame
    from daace.data.left_out import likely_ids
    from daace.data.table import Table

    frame, target = read_frame(data), columns.target
    for option, names in (("--drop", columns.drop), ("--keep", columns.keep)):
        unknown = [name for name in names or [] if name not in frame.columns]
        if unknown:
            raise InvalidInput(
                argument=option, expected=f"name columns of '{data}'", got=quote(unknown)
            )
    frame = frame.drop(columns=list(columns.drop or []))
    if target not in frame.columns:
        raise InvalidInput(
            f"'--target' must be a column of '{data}': {quote(frame.columns)}. Got '{target}'."
            f"{did_you_mean(target, frame.columns)}"
        )
    nameless = [name for name in frame.columns if str(name).startswith("Unnamed: ")]
    if nameless:
        raise InvalidInput(
            f"'{data}' must have a name for every column. {quote(nameless)} has none and may hold "
            f'row numbers: pass --drop "{nameless[0]}", or save the table without its index.'
        )
    table = Table.from_frame(
        frame,
        target=target,
        name=data.stem,
        keep=columns.keep or (),
        kinds=_pairs("--kind", columns.kind, like="income=number"),
        order=_orders(columns.order, frame),
    )
    if set(table.left_out) & set(likely_ids(frame)):
        note("To model what looks like an id, pass --keep NAME.")
    return table


def _pairs(option: str, given: Sequence[str] | None, *, like: str) -> dict[str, str]:
    """Return what was given for each column."""
    found = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise InvalidInput(argument=option, expected=f"be like {like}", got=f"'{text}'")
        found[name] = value
    return found


def _orders(given: Sequence[str] | None, frame: pd.DataFrame) -> dict[str, list[Any]]:
    """Return the levels of columns, as numbers where a column holds numbers."""
    from pandas.api.types import is_numeric_dtype

    from daace.data.numbers import parse_number

    found: dict[str, list[Any]] = {}
    for name, text in _pairs("--order", given, like="size=small,large").items():
        levels: list[Any] = [level.strip() for level in text.split(",")]
        if name in frame.columns and is_numeric_dtype(frame.dtypes[name]):
            levels = [parse_number(level) for level in levels]
        found[name] = levels
    return found


def read_known(data: Path, target: str, density: ConditionalDensity) -> Table:
    """Read the columns of a model, the class included; others are ignored."""
    from daace.data.files import read_frame
    from daace.explain.trust.check import known_table

    frame = read_frame(data)
    missing = [name for name in (*density.features_, target) if name not in frame.columns]
    if missing:
        raise InvalidInput(
            f"'{data}' must have every feature of the model, and the class. "
            f"Missing: {quote(missing)}."
        )
    return known_table(density, frame, target=target, name=data.stem)
