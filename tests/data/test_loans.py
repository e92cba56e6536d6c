from __future__ import annotations

import numpy as np
import pandas as pd

from daace.data.catalog import load_table
from daace.data.loans import draw_loans, log_odds_granted


def test_the_simulated_loans_have_every_kind_of_column() -> None:
    table = load_table("loans")
    assert repr(table) == (
        "Table(name='loans (simulated)', rows=3000, features=11, classes=['granted', 'refused'])"
    )
    features = {feature.name: feature for feature in table.encoding.features}
    assert {feature.kind for feature in features.values()} == {
        "number", "whole", "ordered", "category",
    }  # fmt: skip
    assert features["savings"].atoms == (0.0,)
    assert features["credit_score"].words == ("elsewhere", "missing")
    assert features["education"].levels == ("basic", "secondary", "vocational", "university")
    assert (table.encoding.derived, table.left_out) == ((), {})
    assert np.array_equal(load_table("loans").X, table.X)
    frame = draw_loans(rng=np.random.default_rng(0))
    pd.testing.assert_frame_equal(table.to_frame(), frame)


def test_decisions_follow_the_known_rule() -> None:
    frame = draw_loans(40_000, rng=np.random.default_rng(1))
    chance = 1 / (1 + np.exp(-log_odds_granted(frame)))
    granted = (frame["decision"] == "granted").to_numpy()
    for low in np.arange(0, 1, 0.1):
        group = (chance >= low) & (chance < low + 0.1)
        error = np.sqrt(0.25 / group.sum())
        assert abs(granted[group].mean() - chance[group].mean()) < 4 * error
    assert 0.5 < granted.mean() < 0.75


def test_the_columns_are_related_as_one_would_expect() -> None:
    frame = draw_loans(rng=np.random.default_rng(2))
    known = frame.dropna()
    assert known["income"].corr(known["credit_score"]) > 0.4
    assert known["late_payments"].corr(known["credit_score"]) < -0.5
    assert (frame["employed_years"] <= frame["age"] - 16).all()
    ages = frame.groupby("housing")["age"].mean()
    assert ages["family"] < ages["rent"] < ages["own"]
    assert 0.2 < (frame["savings"] == 0).mean() < 0.5
    assert 0.05 < frame["credit_score"].isna().mean() < 0.25
