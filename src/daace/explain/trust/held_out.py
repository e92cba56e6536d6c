"""How a density does on rows that were held out, as measured when it was fitted."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pandas as pd

from daace._typing import FloatArray
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.draws import HeldOut
from daace.density.privacy import FEWEST_ROWS
from daace.density.registry import name_of
from daace.exceptions import InvalidInput
from daace.explain.trust.check import BINS, Check, find_warnings, summarize

#: Fields of a `Check` that are plain numbers.
NUMBERS = tuple(field.name for field in fields(Check) if field.type == "float")

#: Those that are shares.
SHARES = ("rare", "accuracy", "calibration_error")


def judge_held_out(density: ConditionalDensity, table: Table) -> HeldOut | None:
    """Evaluate a density that was just fitted, or one fitted in the same way, on held-out rows.

    Args:
        density: the density, fitted on the table.
        table: the whole table.

    Returns:
        Log-densities and classes of the held-out rows; None if there are too few rows.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # given when the density was fitted
            return density.held_out(table)
    except InvalidInput:  # without the rows that are held out a class, or a column, is too poor
        return None


def summarize_fit(held_out: HeldOut, density: ConditionalDensity) -> Check:
    """Return how well a density fits held-out rows.

    Of the percentiles of single rows, only quantiles are kept, at 0, 0.01, ..., 1.

    Args:
        held_out: log-densities and classes of these rows.
        density: the density.
    """
    return _without_single_rows(summarize(held_out, name_of(density)))


def _without_single_rows(check: Check) -> Check:
    """Return the check with nothing that rests on fewer rows than a model file may reveal.

    Quantiles are those of groups of `FEWEST_ROWS` rows, and each bin has at least as many.
    """
    groups = max(1, check.rows // FEWEST_ROWS)
    middles = (np.arange(groups) + 0.5) / groups
    percentiles = np.interp(
        np.linspace(0, 1, 101), middles, np.quantile(check.percentiles, middles)
    )
    bins: list[FloatArray] = []
    for one in check.reliability.to_numpy(dtype=np.float64):
        if bins and bins[-1][0] < FEWEST_ROWS:
            one = _merged(bins.pop(), one)
        bins.append(one)
    if len(bins) > 1 and bins[-1][0] < FEWEST_ROWS:
        bins.append(_merged(bins.pop(), bins.pop()))
    frame = pd.DataFrame(np.array(bins), columns=check.reliability.columns)
    counts, confidence, accuracy = np.array(bins).T
    return replace(
        check,
        percentiles=percentiles,
        reliability=frame.astype({"rows": np.int64}),
        calibration_error=float(counts @ np.abs(accuracy - confidence) / counts.sum()),
    )


def _merged(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return two bins as one: rows, and means over them."""
    rows = one[0] + other[0]
    merged: FloatArray = (one[0] * one + other[0] * other) / rows
    merged[0] = rows
    return merged


# In a model file ----------------------------------------------------------------------------------


def to_record(check: Check | None) -> dict[str, Any] | None:
    """Return the record of a check for a model file."""
    if check is None:
        return None
    return {
        "rows": check.rows,
        **{name: getattr(check, name) for name in NUMBERS},
        "percentiles": check.percentiles,
        "reliability": check.reliability.to_numpy(),
    }


def from_record(record: Mapping[str, Any] | None, kind: str) -> Check | None:
    """Return the check that `to_record` wrote, of a density of this kind.

    Raises:
        KeyError, TypeError, ValueError: it is not such a record.
    """
    if record is None:
        return None
    rows = record["rows"]
    numbers = {name: float(record[name]) for name in NUMBERS}
    percentiles = np.array(record["percentiles"], dtype=np.float64)
    bins = np.array(record["reliability"], dtype=np.float64)
    if not (
        type(rows) is int
        and 0 < rows < 2**53
        and all(map(math.isfinite, numbers.values()))
        and all(0 <= numbers[name] <= 1 for name in SHARES)
        and percentiles.shape == (101,)
        and bool(((percentiles >= 0) & (percentiles <= 100)).all())
        and bins.ndim == 2
        and bins.shape[1] == 3
        and 0 < len(bins) <= BINS
        and bool((bins[:, 0] >= 1).all() and ((bins[:, 1:] >= 0) & (bins[:, 1:] <= 1)).all())
    ):
        raise ValueError("'held_out' is no check of rows")
    sentences = find_warnings(
        kind, *(numbers[n] for n in ("rare", "brier", "brier_baseline", "calibration_error"))
    )
    frame = pd.DataFrame(bins, columns=["rows", "confidence", "accuracy"])
    return Check(
        rows=rows,
        **numbers,
        percentiles=percentiles,
        reliability=frame.astype({"rows": np.int64}),
        warnings=sentences,
    )
