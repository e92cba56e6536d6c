"""Tables of whole numbers: users get their dtypes back, and the classifier sees them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from daace import Constraints, Explainer, Explanation, LinearGaussianNetwork, Table

INTEGERS = ["int64", "Int64", "int32", "uint8", "UInt16", "int16[pyarrow]", "Float64"]


def make_frame(dtype: str) -> pd.DataFrame:
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    rich = rng.integers(2, size=400)
    numbers = pd.DataFrame(
        {
            "age": rng.integers(20, 90, 400) + 20 * rich,
            "years": rng.integers(0, 60, 400) + 10 * rich,
            "score": np.rint(rng.normal(50 + 15 * rich, 8, 400)),
        }
    )
    return numbers.astype(dtype).assign(group=np.where(rich, "yes", "no"))


def explainer(frame: pd.DataFrame, **settings: object) -> Explainer:
    density = LinearGaussianNetwork().fit(Table.from_frame(frame, target="group"))
    return Explainer(density, judge="density", **settings)  # type: ignore[arg-type]


def refused(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["group"] == "no"].drop(columns="group").iloc[[0]]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_whole_waypoints_have_the_dtypes_of_the_user(dtype: str) -> None:
    frame = make_frame(dtype)
    row = refused(frame)
    e = explainer(frame, constraints=Constraints(natural=True)).explain(row, target="yes")
    assert e.found
    assert e.path.dtypes.tolist() == row.dtypes.tolist()
    assert e.path.iloc[[0]].reset_index(drop=True).equals(row.reset_index(drop=True))
    again = Explanation.from_json(e.to_json())
    assert again.path.equals(e.path)
    assert again.path.dtypes.tolist() == e.path.dtypes.tolist()


def test_a_column_with_a_fraction_is_float64() -> None:
    frame = make_frame("int64")
    e = explainer(frame, round=False).explain(refused(frame), target="yes")
    assert e.found
    whole = (e.path == e.path.round()).all()
    assert not whole.all()
    assert e.path.dtypes.eq("int64").tolist() == whole.tolist()


def test_single_precision_stays_double_where_it_is_judged() -> None:
    frame = make_frame("float32")
    e = explainer(frame).explain(refused(frame), target="yes")
    assert e.path.dtypes.eq("float64").all()


@pytest.mark.parametrize("dtype", INTEGERS)
def test_what_is_returned_is_what_was_judged(dtype: str) -> None:
    frame, seen = make_frame(dtype), []

    def model(rows: pd.DataFrame) -> np.ndarray:
        seen.append(rows.dtypes.tolist())
        score = rows["score"].to_numpy(dtype=float) + 0.2 * rows["age"].to_numpy(dtype=float)
        return 1 / (1 + np.exp((75 - score) / 4))

    row = refused(frame)
    e = explainer(frame, classifier=model, constraints=Constraints(natural=True)).explain(
        row, target="yes"
    )
    assert e.found
    seen.clear()
    chance = model(e.path.iloc[[-1]])[0]
    assert chance >= 0.5
    assert e.posterior == pytest.approx(chance, abs=1e-8)
    assert seen[0] == row.dtypes.tolist()
