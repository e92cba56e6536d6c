from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daace._json import dump_json, load_json


@given(st.lists(st.floats(), max_size=5))
def test_numbers_come_back_bit_by_bit(values):
    back = [float(value) for value in load_json(dump_json(values))]
    assert np.array_equal(np.array(back), np.array(values), equal_nan=True)


def test_numpy_and_containers_become_plain():
    value = {"a": np.float64(0.1), "b": np.array([1, 2]), "c": (True, None), "d": np.str_("x")}
    assert load_json(dump_json(value)) == {"a": 0.1, "b": [1, 2], "c": [True, None], "d": "x"}


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "{", "[" * 100_000])
def test_what_is_not_json_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011  (the reasons differ)
        load_json(text)
