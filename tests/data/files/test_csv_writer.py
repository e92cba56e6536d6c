from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from daace.data.files import csv_text, escape_formula


@pytest.mark.parametrize(
    "cell",
    [
        "=1+1", "=HYPERLINK(\"http://x\")", "+1+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "\n=1",
        "\uff1d1", "-", "+44 20", "-inf", "+0x1", "--5", "=", "-5\n", "+\uff11",
    ],
)  # fmt: skip
def test_text_that_a_spreadsheet_would_run_is_escaped(cell: str) -> None:
    assert escape_formula(cell) == f"'{cell}"
    frame = pd.read_csv(io.StringIO(csv_text(pd.DataFrame({cell: [cell, "a"]}))), dtype=str)
    assert frame.columns.tolist() == [f"'{cell}"]
    assert frame.iloc[0, 0] == f"'{cell}"


@pytest.mark.parametrize(
    "cell",
    ["", "a=b", "-5", "+3", "-1.5e-7", "-.5", "5-", "a@b", " =1", -5, -5.5, None, True, "'=1"],
)
def test_everything_else_stays(cell: object) -> None:
    assert escape_formula(cell) is cell


def test_numbers_stay_numbers() -> None:
    frame = pd.DataFrame(
        {
            "n": [-1, 2],
            "x": [-0.1, np.nan],
            "cost": [1 / 3, np.inf],
            "flag": [True, False],
            "kind": pd.Categorical(["=a", "b"]),
            "whole": pd.array([-3, None], dtype="Int64"),
            "mixed": pd.Series([-1, "-1+1"], dtype=object),
        }
    )
    assert csv_text(frame, digits={"cost": 4}) == (
        "n,x,cost,flag,kind,whole,mixed\n-1,-0.1,0.3333,True,'=a,-3,-1\n2,,inf,False,b,,'-1+1\n"
    )
    assert csv_text(frame[["n"]], header=False) == "-1\n2\n"
    assert csv_text(frame.head(0)[["n", "kind"]]) == "n,kind\n"


def test_rounded_numbers_are_readable() -> None:
    values = [0.1 + 0.2, -44.0, 1e6, 1234567.8, 2 / 3e9, 1e300, -np.inf, np.nan]
    text = csv_text(pd.DataFrame({"x": values}), header=False, digits={"x": 6})
    assert text.splitlines() == [
        "0.3", "-44", "1000000", "1234568", "6.66667e-10", "1e+300", "-inf", '""',
    ]  # fmt: skip
