"""How many rows a class must have so that no row can be read out of a model's parameters."""

from __future__ import annotations

import numpy as np

# Rows that every class must have in a model without rows: fewer could be read out of its
# parameters. Two rows are the mean and the standard deviation of their class, to the last digits.
from daace.data.inference import FEWEST_ROWS as FEWEST_ROWS
from daace.data.table import Table
from daace.exceptions import InvalidInput


def check_class_sizes(table: Table, fewest: int) -> None:
    """Raise `InvalidInput` for a class with too few rows.

    Args:
        table: rows with their class.
        fewest: the `fewest_rows` of a density.
    """
    counts = [int((table.y == label).sum()) for label in table.classes.tolist()]
    if min(counts) >= fewest:
        return
    got = f"{min(counts)} of '{table.classes.item(int(np.argmin(counts)))}'"
    if fewest < FEWEST_ROWS:
        raise InvalidInput(
            argument="Every class",
            expected=f"have at least {fewest} rows",
            got=got,
            remedy="drop this class or merge it with another",
        )
    raise InvalidInput(
        argument="Every class",
        expected=f"have at least {fewest} rows: fewer could be read out of the model",
        got=got,
        remedy=(
            "drop this class, merge it with another, or use a KernelDensity ('kde'), which keeps "
            "its rows"
        ),
    )
