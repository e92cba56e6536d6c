from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from daace.data.labels import is_measurement, read_classes
from daace.data.table import Table
from daace.exceptions import InvalidInput

ROWS = 600
RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "values",
    [
        RNG.normal(size=ROWS),
        np.arange(ROWS) % 22 / 8,  # 22 values, as a grade has
        RNG.normal(size=ROWS).astype(np.float32),
        pd.array(RNG.normal(size=ROWS), dtype="Float64"),
        pd.Series(list(RNG.normal(size=ROWS)), dtype=object),
        RNG.integers(25, 347, size=ROWS),  # progression of diabetes
        1000 * (np.arange(ROWS) % 30),  # prices
        np.arange(ROWS) % 80,  # ages
    ],
)
def test_a_measurement_is_no_class(values):
    with pytest.raises(InvalidInput) as caught:
        read_classes(pd.Series(values), target="y")
    assert "must be a class, not a measurement" in str(caught.value)
    assert "pandas.qcut(frame['y'], 3, labels=['low', 'middle', 'high'])" in str(caught.value)


@pytest.mark.parametrize(
    "values",
    [
        np.arange(ROWS) % 2,
        np.arange(ROWS) % 2 == 0,
        np.arange(ROWS) % 10 / 2 + 0.5,  # half stars
        np.arange(ROWS) % 26 + 1.0,  # letters
        [f"{k % 30}.5" for k in range(ROWS)],
        pd.Series(np.arange(ROWS) % 30 / 7, dtype="category"),
        pd.cut(pd.Series(RNG.normal(size=ROWS)), 25),
    ],
)
def test_these_are_classes(values):
    labels, classes = read_classes(pd.Series(values), target="y")
    assert set(labels.tolist()) == set(classes.tolist())
    assert not is_measurement(pd.Series(values))


@pytest.mark.parametrize("labels", [None, ["low", "middle", "high"]])
def test_the_remedy_works(labels):
    frame = pd.DataFrame({"a": RNG.normal(size=ROWS), "y": RNG.normal(size=ROWS)})
    frame["y"] = pd.qcut(frame["y"], 3, labels=labels)
    assert len(Table.from_frame(frame, target="y").classes) == 3


def test_text_that_no_rows_share_is_no_class():
    with pytest.raises(InvalidInput, match=r"must be a class, which rows share\. Got 100"):
        read_classes(pd.Series([f"n{k}" for k in range(100)]), target="name")
