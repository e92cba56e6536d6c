"""Tables that commands read."""

from __future__ import annotations

import csv
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

    target: Annotated[str, typer.Option(help="Column that holds the class.")]
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; repeatable.")] = None
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Column to model although it looks like an id; repeatable."),
    ] = None
    kind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=KIND",
            help="What a column is, if not what its values suggest: number, whole, ordered or "
            "category; repeatable.",
        ),
    ] = None
    order: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LEVELS",
            help="Levels from low to high, such as size=small,medium,large; repeatable.",
        ),
    ] = None


def read_table(data: Path, columns: Columns) -> Table:
    """Read a table to learn from, and say which columns are not features.

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
    order = _by_column("--order", columns.order, frame)
    table = Table.from_frame(
        frame,
        target=target,
        name=data.stem,
        keep=columns.keep or (),
        kinds=_by_column("--kind", columns.kind, frame),
        order={name: _levels(text, frame[name]) for name, text in order.items()},
    )
    if set(table.left_out) & set(likely_ids(frame)):
        note("To model what looks like an id, pass --keep NAME.")
    return table


def _by_column(option: str, given: Sequence[str] | None, frame: pd.DataFrame) -> dict[str, str]:
    """Return what follows the name of each column in values such as size=small,large."""
    values: dict[str, str] = {}
    for text in given or ():
        names = [str(name) for name in frame.columns if text.startswith(f"{name}=")]
        if not names:
            raise InvalidInput(
                argument=option,
                expected=f"begin with a column and '=': {quote(frame.columns)}",
                got=f"'{text}'",
            )
        name = max(names, key=len)
        values[name] = text.removeprefix(f"{name}=")
    return values


def _levels(text: str, column: pd.Series) -> list[Any]:
    """Return levels that are separated by commas, as numbers if the column has numbers."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    from daace.data.numbers import NUMBER

    levels = [level.strip() for level in next(csv.reader([text]), [])]
    if not is_numeric_dtype(column) or is_bool_dtype(column):
        return levels
    if not all(NUMBER.fullmatch(level) for level in levels):
        raise InvalidInput(
            argument="--order", expected=f"list numbers for '{column.name}'", got=f"'{text}'"
        )
    numbers = [float(level) for level in levels]
    return [int(number) if number.is_integer() else number for number in numbers]


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
