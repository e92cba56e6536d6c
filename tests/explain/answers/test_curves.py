from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from daace import Explanation
from daace.exceptions import InvalidInput
from daace.explain.answers.contributions import target_log_odds
from daace.explain.answers.curves import values_along
from daace.explain.explainer import Explainer


def test_contributions_add_up_to_the_log_odds(explanation):
    data = explanation.plot_data("waterfall")
    odds = target_log_odds(explanation)
    assert data["contribution"].sum() == pytest.approx(odds[-1] - odds[0], rel=1e-9)
    assert (np.diff(data["contribution"].abs()) <= 0).all()
    assert set(data["feature"]) == set(explanation.changes()["feature"])


def test_a_feature_that_says_nothing_contributes_nothing():
    from daace import GaussianMixture

    density = GaussianMixture(
        [1, 1], [[0.0, 0.0], [4.0, 0.0]], [np.eye(2), np.eye(2)], ["ill", "well"]
    )
    e = Explainer(density).explain([0.0, 3.0], target="well", plausibility=0.5)
    data = e.plot_data("waterfall").set_index("feature")["contribution"]
    assert data["x2"] == pytest.approx(0.0, abs=1e-9)
    assert data["x1"] == pytest.approx(4 * (e.path["x1"].iloc[-1]), rel=1e-6)  # slope 4, linear


def test_three_classes_add_up_too(iris):
    e = Explainer(iris).explain(iris.to_user([[0.0] * 4]), target="setosa")
    odds = target_log_odds(e)
    total = e.plot_data("waterfall")["contribution"].sum()
    assert total == pytest.approx(odds[-1] - odds[0], rel=1e-9)


def test_the_profile_passes_through_the_waypoints(explanation, explainer):
    data = explanation.plot_data("along")
    corners = data[data["waypoint"] % 1 == 0]
    for name in ("log_prob", "plausibility", "posterior"):
        assert corners[name].to_numpy() == pytest.approx(explanation.along[name].to_numpy())
    assert (np.diff(data["length"]) > 0).all()
    middle = data.iloc[20]
    path = explainer.density.to_model(explanation.path)
    point = path[0] + middle["waypoint"] * (path[1] - path[0])
    assert middle["log_prob"] == pytest.approx(explainer.density.log_prob(point[None])[0])


def test_without_density_only_the_waypoints_are_known(explanation):
    back = Explanation.from_json(explanation.to_json())
    assert len(values_along(back)) == len(back.path)
    data = back.plot_data("waterfall")
    assert data["contribution"].isna().all()
    assert data["feature"].tolist() == back.changes()["feature"].tolist()


def test_a_classifier_judges_between_the_waypoints(mixture, straight, rng):
    X, y = mixture.sample(200, rng=rng)
    judge = LogisticRegression().fit(X, y)
    e = Explainer(mixture, planner=straight, classifier=judge).explain([0.0, 0.0], target="well")
    data = values_along(e)
    points = np.column_stack([np.interp(data["waypoint"], range(3), e.path[n]) for n in e.path])
    expected = judge.predict_proba(points)[:, list(judge.classes_).index("well")]
    assert data["posterior"].to_numpy() == pytest.approx(expected)
    assert e.plot_data("waterfall")["contribution"].isna().all()
    lost = Explanation.from_json(e.to_json(), density=mixture)
    assert values_along(lost)["posterior"].notna().sum() == 3


def test_features_and_landscape_as_frames(simple):
    e = simple.explain([0.0, 0.0])
    ways = e.plot_data("steps")
    assert len(ways) == 2 * 3
    last = ways[ways["waypoint"] == 2].set_index("feature")["change_sd"]
    assert last["x1"] == pytest.approx(e.changes().set_index("feature")["change_sd"]["x1"])
    ground = e.plot_data("landscape", features=("x2", "x1"))
    assert list(ground.columns) == ["x2", "x1", "plausibility", "goal"]
    with pytest.raises(InvalidInput, match="'kind' must be one of 'steps', 'landscape'"):
        e.plot_data("pie")
