"""Rows of mixed tables."""

import numpy as np
import pandas as pd
import pytest

from daace import LinearGaussianNetwork, Table
from daace.exceptions import InvalidInput
from daace.explain.explainer import Explainer


@pytest.fixture(scope="module")
def explainer():
    rng = np.random.default_rng(0)
    n = 500
    good = rng.uniform(size=n) < 0.5
    savings = np.where(rng.uniform(size=n) < 0.3, 0.0, rng.gamma(3, 2.0, size=n))
    frame = pd.DataFrame(
        {
            "savings": savings,
            "housing": np.where(rng.uniform(size=n) < 0.3 + 0.4 * good, "own", "rent"),
            "income": rng.normal(2 * good, 1.0),
            "granted": np.where(good, "yes", "no"),
        }
    )
    table = Table.from_frame(frame, target="granted")
    return Explainer(LinearGaussianNetwork().fit(table), plausibility=-1.0)


def test_an_answer_meets_the_goal_in_the_users_values(explainer):
    row = {"savings": 0.0, "housing": "rent", "income": -1.5}
    e = explainer.explain(row, target="yes")
    assert e.found
    assert set(e.path["housing"]) <= {"rent", "own"}
    assert (e.path["savings"] >= 0).all()
    assert "income" in e.changes()["feature"].tolist()
    last = explainer.density.to_model(e.path.iloc[[-1]])
    assert explainer.density.predict_proba(last)[0, 1] >= 0.5
    assert "income" in str(e)


def test_an_unknown_level_is_named(explainer):
    with pytest.raises(InvalidInput, match="igloo"):
        explainer.explain({"savings": 1.0, "housing": "igloo", "income": 0.0}, target="yes")
