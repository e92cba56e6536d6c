from __future__ import annotations

import numpy as np
from scipy.special import expit

from daace.explain.judging.calibration import FLATTEST, fit_calibration


def test_slopes_stay_positive_where_a_model_is_wrong():
    odds = np.linspace(-3, 3, 200)
    slope, _ = fit_calibration(odds, odds < 0)
    assert np.isclose(slope, FLATTEST)


def test_a_few_rows_change_little():
    assert fit_calibration(np.empty(0), np.empty(0, dtype=bool)) == (1.0, 0.0)
    slope, offset = fit_calibration(np.array([2.0]), np.array([True]))
    assert abs(np.log(slope)) < 0.2
    assert abs(offset) < 0.2


def test_held_out_shares_are_met():
    rng = np.random.default_rng(0)
    odds = rng.normal(scale=2.0, size=20_000)
    hits = rng.random(20_000) < expit(0.4 * odds - 0.5)
    slope, offset = fit_calibration(odds, hits)
    for low, high in ((-4, -1), (-1, 1), (1, 4)):
        chosen = (odds > low) & (odds < high)
        said = expit(slope * odds[chosen] + offset).mean()
        assert abs(said - hits[chosen].mean()) < 0.02
