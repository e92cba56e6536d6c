"""CSV that is safe to open in a spreadsheet: formulas are escaped, numbers stay numbers."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from itertools import chain

import pandas as pd

from daace.data.numbers import NUMBER

#: First characters of cells that Excel, LibreOffice or Google Sheets run as formulas; some of them
#: read the full-width forms like the plain ones.
FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


def escape_formula(value: object) -> object:
    """Put a single quote before text that begins like a formula; return all else unchanged.

    OWASP recommends this against CSV injection
    (https://owasp.org/www-community/attacks/CSV_Injection): a cell `=HYPERLINK(...)` of the input
    table must not run where the answers are opened. Text that is a number is not a formula.

    Args:
        value: a cell.

    Example:
        >>> escape_formula("=1+1"), escape_formula("-5.2"), escape_formula(-5.2)
        ("'=1+1", '-5.2', -5.2)
    """
    if not isinstance(value, str) or not value.startswith(FORMULA) or NUMBER.fullmatch(value):
        return value
    return f"'{value}"


def csv_text(
    frame: pd.DataFrame, *, header: bool = True, digits: Mapping[str, int] | None = None
) -> str:
    r"""Return a frame as CSV without its index, safe to open in a spreadsheet.

    Args:
        frame: the rows.
        header: write the column names first.
        digits: significant digits of numbers, by column; other columns are written exactly. Whole
            numbers are written whole, whatever their size.

    Example:
        >>> frame = pd.DataFrame({"who": ["@me", None], "cost": [1 / 3, -1.0]})
        >>> csv_text(frame, digits={"cost": 3})
        "who,cost\n'@me,0.333\n,-1\n"
    """
    columns = [_written(frame.iloc[:, j], digits or {}) for j in range(frame.shape[1])]
    names = [str(escape_formula(str(name))) for name in frame.columns]
    cells = pd.concat(columns, axis=1, keys=range(len(columns))) if columns else frame
    text = [column for column in columns if not pd.api.types.is_numeric_dtype(column.dtype)]
    # Python's writer does not quote carriage returns, which readers take as the end of a row.
    bare = any("\r" in str(cell) for cell in chain(names, *text))
    return cells.to_csv(
        index=False,
        header=names if header else False,
        lineterminator="\n",
        quoting=csv.QUOTE_NONNUMERIC if bare else csv.QUOTE_MINIMAL,
    )


def _plain_number(value: float) -> str:
    """Return a number with all its digits; whole numbers without decimals: 44, not 44.0."""
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)


def _rounded_number(value: float, digits: int) -> str:
    """Return a number with some significant digits, and no fewer than are before its point.

    Example:
        >>> [_rounded_number(value, 6) for value in (0.1 + 0.2, 1234567.8, 2e6, 1e-9 / 3)]
        ['0.3', '1234568', '2000000', '3.33333e-10']
    """
    large = 10**digits <= abs(value) < 2**53
    return _plain_number(round(value)) if large else f"{value:.{digits}g}"


def _written(column: pd.Series, digits: Mapping[str, int]) -> pd.Series:
    kind = column.dtype
    if pd.api.types.is_float_dtype(kind) and str(column.name) in digits:
        most = digits[str(column.name)]
        return column.map(lambda v: _rounded_number(v, most), na_action="ignore").astype(object)
    if pd.api.types.is_float_dtype(kind):
        return column.map(_plain_number, na_action="ignore").astype(object)
    if pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_datetime64_any_dtype(kind):
        return column
    return column.astype(object).map(escape_formula)
