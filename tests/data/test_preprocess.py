from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from daace.data.catalog import OPENML, load_table
from daace.data.preprocess import fullest_bins_share, preprocess
from daace.data.table import Table
from daace.exceptions import InvalidInput

#: The paper's table of kept features.
KEPT = {
    "credit": 4,
    "california": 6,
    "wine": 11,
    "electricity": 6,
    "covertype": 10,
    "pol": 18,
    "house_16H": 15,
    "kdd_ipums_la_97-small": 8,
    "MagicTelescope": 10,
    "bank-marketing": 7,
    "phoneme": 5,
    "MiniBooNE": 9,
    "Higgs": 24,
    "eye_movements": 18,
    "jannis": 54,
}


@pytest.mark.parametrize("name", OPENML)
def test_keeps_what_the_paper_keeps(name: str, data_folder: Path) -> None:
    if not (data_folder / "benchmark" / f"{name}.parquet").exists():
        pytest.skip(f"needs benchmark/{name}.parquet in DAACE_DATA")
    assert len(preprocess(load_table(name)).features) == KEPT[name]


def test_share_of_the_fullest_bins(rng: np.random.Generator) -> None:
    assert fullest_bins_share(np.arange(100, dtype=np.float64)) == pytest.approx(0.03)
    assert fullest_bins_share(np.array([0.0] * 97 + [1.0, 2.0, 3.0])) == pytest.approx(0.99)
    assert fullest_bins_share(np.ones(5)) == 1.0
    # So narrow a range that numpy.histogram has no room for its edges.
    assert 0 < fullest_bins_share(1e12 + 1e-4 * np.arange(4)) <= 1
    values = rng.normal(size=1000)
    counts, _ = np.histogram(values, bins=100)
    assert fullest_bins_share(values) == pytest.approx(np.sort(counts)[-3:].sum() / 1000)


def _table(rng: np.random.Generator) -> Table:
    rows = 1000
    frame = pd.DataFrame(
        {
            "smooth": rng.normal(size=rows),
            "few values": rng.integers(0, 19, rows),
            "enough values": np.arange(rows) % 20,
            "nearly constant": np.where(np.arange(rows) < 960, 0, rng.normal(size=rows)),
            "class": np.arange(rows) % 2,
        }
    )
    return Table.from_frame(frame, target="class", units={"smooth": "m"})


def test_drops_the_nearly_discrete_and_the_nearly_constant(rng: np.random.Generator) -> None:
    kept = preprocess(_table(rng))
    assert kept.features == ("smooth", "enough values")
    assert dict(kept.units) == {"smooth": "m"}


def test_the_limits_can_be_moved(rng: np.random.Generator) -> None:
    table = _table(rng)
    assert preprocess(table, min_distinct=2, max_share=1.01).features == table.features
    assert preprocess(table, min_distinct=21).features == ("smooth",)


def test_nothing_left_is_an_error(rng: np.random.Generator) -> None:
    with pytest.raises(InvalidInput, match="use other columns, or lower 'min_distinct'"):
        preprocess(_table(rng).select(["few values"]))
