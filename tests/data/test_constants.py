from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from daace.data.constants import EMPTY, SAME, find_constants
from daace.data.table import Standardizer
from daace.exceptions import InvalidInput


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([3, 3, 3], SAME),
        ([0.1 + 0.2, 0.3, 0.3], SAME),  # rounding
        ([1e200] * 3, SAME),
        (["x", "x", "x"], SAME),
        ([True, True, True], SAME),
        ([np.inf] * 3, SAME),
        ([[1], [1], [1]], SAME),
        (pd.to_datetime(["2020-01-01"] * 3), SAME),
        (pd.array([2, 2, 2], dtype="Int64"), SAME),
        ([None, None, None], EMPTY),
        ([3, 3, np.nan], None),  # that a value is missing may mean something
        ([3, 3, 4], None),
        ([1e200, -1e200, 0], None),
        (["x", "x", "y"], None),
        ([1.0, 1 + 1e-9, 1], None),
    ],
)
def test_what_does_not_vary(values, reason):
    found = find_constants(pd.DataFrame({"a": values, "b": [1, 2, 3]}))
    assert found == ({} if reason is None else {"a": reason})


@pytest.mark.parametrize("noise", [0, 1e-17, 1e-14, 1e-12, 1e-10])
def test_left_out_is_what_a_standardizer_refuses(noise):
    values = 5 + noise * np.arange(50.0)
    try:
        Standardizer.fit(values[:, None], features=["a"])
        refused = False
    except InvalidInput:
        refused = True
    assert bool(find_constants(pd.DataFrame({"a": values}))) == refused
