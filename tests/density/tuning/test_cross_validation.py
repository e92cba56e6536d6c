"""Scores of folds of tables with codes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from daace import LinearGaussianNetwork, Table
from daace.density.tuning.cross_validation import mean_log_joint


def test_scores_are_in_the_units_of_the_whole_table() -> None:
    rng = np.random.default_rng(0)
    granted = rng.uniform(size=400) < 0.5
    savings = np.where(rng.uniform(size=400) < 0.3, 0.0, rng.gamma(3, 2 + granted))
    housing = np.where(rng.uniform(size=400) < 0.3 + 0.4 * granted, "own", "rent")
    frame = pd.DataFrame({"savings": savings, "housing": housing, "age": rng.normal(40, 9, 400)})
    frame["class"] = np.where(granted, "yes", "no")
    table = Table.from_frame(frame, target="class", kinds={"age": "number"})
    train, test = table.take(np.arange(300)), table.take(np.arange(300, 400))
    network = LinearGaussianNetwork().fit(train)
    score = mean_log_joint(network, test, table)
    X, y = network.to_model(test.to_frame()), np.searchsorted(network.classes_, test.y)
    plain = network.log_joint(X)[np.arange(100), y] + network.log_measure(X)
    for j, scale in ((0, table.X[:, 0].std()), (2, table.X[:, 2].std())):
        there = X[:, 3] == 0 if j == 0 else np.ones(100, dtype=bool)
        plain -= there * np.log(network.standardizer_.scale[j] / scale)  # to the other unit
    assert score == pytest.approx(plain.mean())
