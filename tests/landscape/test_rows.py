from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daace.data.standardizer import Standardizer
from daace.landscape.constraints import Constraints
from daace.landscape.rows import RowMap, frame_of_rows
from daace.landscape.rules import Draft

FEATURES = ("age", "debt", "income")
STANDARDIZER = Standardizer(np.array([41.3, -2.0, 1234.5]), np.array([12.7, 3.0, 321.0]))
START = np.array([41.0, 0.1, 999.9])


def row_map(**rules: object) -> RowMap:
    x = STANDARDIZER.transform(START)
    draft = Draft(FEATURES, STANDARDIZER, x, START)
    for rule in Constraints(**rules).rules:  # type: ignore[arg-type]
        rule.compile(draft)
    return draft.finish((x - 9, x + 9)).to_user


def test_what_stays_is_the_users_own_value() -> None:
    to_user = row_map()
    point = to_user.x + np.array([0.0, 1.0, 0.0])
    assert to_user(point[None])[0, [0, 2]].tolist() == START[[0, 2]].tolist()
    assert to_user(point[None])[0, 1] == pytest.approx(3.1)


@given(
    st.lists(st.floats(-4, 4), min_size=2, max_size=2).map(sorted),
    st.sampled_from([0.0, 1e-16, 1e-15, -1e-15]),
)
def test_it_never_falls_where_the_waypoint_rises(pair: list[float], near: float) -> None:
    to_user = row_map(integer=["age"], upper={"debt": 1.0}, max_rise={"income": 33.3})
    points = to_user.x + np.array([[pair[0]], [0.0], [near], [pair[1]]])
    points = np.sort(points, axis=0)
    assert (np.diff(to_user(points), axis=0) >= 0).all()


def test_bounds_and_whole_numbers_hold_exactly() -> None:
    to_user = row_map(
        integer=["age"], lower={"age": 38.5}, upper={"debt": 0.3}, max_fall={"income": 0.1}
    )
    rows = to_user(np.array([[-3.0, 5.0, -5.0], [0.0421, -1.0, 0.0]]))
    assert rows[:, 0].tolist() == [39.0, 42.0]
    assert rows[0, 1:].tolist() == [0.3, START[2] - 0.1]


def test_directions_and_fixed_features() -> None:
    to_user = row_map(fixed=["age"], only_up=["debt"], only_down=["income"])
    rows = to_user(np.array([[9.0, -9.0, 9.0]]))
    assert rows[0].tolist() == START.tolist()


def test_whole_columns_are_integers() -> None:
    frame = frame_of_rows(np.array([[1.0, 0.5], [2.0, 1.5]]), ("a", "b"), whole=[0])
    assert frame.dtypes.astype(str).to_dict() == {"a": "int64", "b": "float64"}
    assert frame_of_rows(np.array([[1.5, 0.5]]), ("a", "b"), whole=[0])["a"].tolist() == [1.5]
