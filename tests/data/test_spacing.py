"""The spacing of values, in any unit."""

import numpy as np
import pytest

from daace.data.natural import natural_bounds
from daace.data.spacing import find_spacing


@pytest.mark.parametrize(
    ("values", "spacing"),
    [
        ([0.0, 1.0], 1.0),
        ([10.0, 40.0, 60.0], 10.0),
        ([0.0, 2.0, 5.0], 1.0),
        ([-3.0, 0.0, 6.0], 3.0),
        ([7.0, 7.0], 0.0),
        ([], 0.0),
        (np.linspace(0, 1, 2**23), 0.0),
    ],
)
def test_all_gaps_are_multiples_of_the_spacing(values, spacing):
    assert find_spacing(np.array(values)) == spacing


def test_a_continuum_has_no_spacing():
    rng = np.random.default_rng(0)
    for rows in (10, 100, 1000):
        assert find_spacing(rng.normal(size=rows)) == 0.0


@pytest.mark.parametrize("unit", [1e-3, 1e3, 7.3, 1 / 3])
def test_the_spacing_follows_the_unit(unit):
    values = np.rint(np.random.default_rng(0).normal(50_000, 40_000, 2000))
    assert find_spacing(values) == 1.0
    assert find_spacing(values * unit) == pytest.approx(unit, rel=1e-9)
    assert find_spacing(values * 2.0**-7) == 2.0**-7


def test_an_end_at_which_many_rows_stand_is_a_bound_in_any_unit():
    hours = np.rint(np.random.default_rng(0).normal(60, 25, 900)).clip(3, 99)
    assert natural_bounds("hours", hours) == (3, 99)
    lower, upper = natural_bounds("hours", hours / 24)
    assert (lower, upper) == (3 / 24, 99 / 24)
