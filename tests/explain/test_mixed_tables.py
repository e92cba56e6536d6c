"""Rows of mixed tables."""

import numpy as np
import pandas as pd
import pytest

from daace import Constraints, Goal, Landscape, LinearGaussianNetwork, Link, Problem, Table
from daace.exceptions import InvalidInput
from daace.explain.explainer import Explainer
from daace.explain.loading import load


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


def test_links_of_numbers_leave_codes_alone(explainer):
    density = explainer.density
    row = {"savings": 0.0, "housing": "rent", "income": -1.5}
    x = density.to_model(row)[0]
    rules = Constraints(links=[Link({"savings": 1, "income": 1}, at_most=1.3)])
    problem = Problem(x, Landscape(density), Goal("yes"), rules)
    draws = density.pool("yes").X
    assert not problem.feasible.allows(draws).all()
    moved = problem.feasible.nearest(draws)
    codes = list(density.encoding_.code_sizes)
    assert np.array_equal(moved[:, codes], draws[:, codes])
    e = explainer.explain(row, target="yes", constraints=rules)
    assert e.found
    assert e.path["savings"].iloc[-1] + e.path["income"].iloc[-1] <= 1.3 + 1e-9


def test_a_table_without_numbers(tmp_path):
    rng = np.random.default_rng(1)
    job, wing = rng.choice(list("abc"), 400), rng.choice(list("pq"), 400)
    frame = pd.DataFrame({"job": job, "wing": wing, "class": rng.choice(["n", "y"], 400)})
    frame.loc[(job == "a") & (wing == "p"), "class"] = "y"
    density = LinearGaussianNetwork(profiles=2).fit(Table.from_frame(frame, target="class"))
    assert density.sample(5, rng=rng)[0].shape == (5, 2)
    start, end = density.to_model(frame.iloc[:2, :2])
    joint, pullback = density.log_joint_along(np.array([[start, end]]), np.array([0.0, 1.0]))
    assert joint[0, 0] == pytest.approx(density.log_joint(np.array([end, end])))
    assert pullback(np.ones_like(joint)).tolist() == [[[0, 0], [0, 0]]]
    Explainer(density).save(tmp_path / "m")
    assert np.array_equal(load(tmp_path / "m").density.log_joint([end]), density.log_joint([end]))
