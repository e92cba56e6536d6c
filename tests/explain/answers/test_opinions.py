"""How sure an end is: rows close to it, and changes that the judge does not need."""

from __future__ import annotations

import numpy as np
import pytest

from daace import Explainer, Explanation, GaussianMixture, Goal, InvalidInput
from daace.explain.answers.opinions import DEVIATION, Ends


@pytest.fixture
def correlated():
    """Two classes that differ in both of two features that move together."""
    cov = [[1.0, 0.9], [0.9, 1.0]]
    return GaussianMixture([1, 1], [[0.0, 0.0], [4.0, 4.0]], [cov, cov], ["no", "yes"])


def first_feature(rows):
    return 1 / (1 + np.exp(-4 * (rows["x1"] - 2)))


def test_the_share_nearby_is_that_of_a_normal_deviation(correlated):
    start = np.zeros(2)
    for distance in (0.0, 0.1, 0.3):
        end = np.array([2 + distance, 0.0])
        judge = Explainer(correlated, classifier=first_feature)._classifier_judge
        region = Goal("yes", min_posterior=0.5).region(correlated, judge)
        nearby = Ends(region, judge, start, end).measure(0.5).nearby
        from scipy.stats import norm

        assert nearby == pytest.approx(norm.cdf(distance / DEVIATION), abs=0.15)


def test_features_that_the_judge_does_not_need_move_along(correlated):
    explainer = Explainer(correlated, classifier=first_feature, changes="all")
    e = explainer.explain([0.0, 0.0], target="yes")
    assert set(e.changes()["feature"]) == {"x1", "x2"}
    assert e.certainty.follow == ("x2",)
    sentence = "Of these, 'x2' is not needed for 'yes', but usually changes with others."
    assert sentence in str(e)
    assert "usually changes with" in e.to_html()
    assert Explanation.from_json(e.to_json()).certainty == e.certainty


def test_the_density_says_nothing_about_what_moves_along(correlated):
    e = Explainer(correlated).explain([0.0, 0.0], target="yes")
    assert e.certainty.follow == ()
    assert 0 < e.certainty.nearby < 1


def test_a_classifier_with_a_budget_is_not_asked_again(correlated):
    explainer = Explainer(correlated, classifier=first_feature, classifier_budget=10_000)
    e = explainer.explain([0.0, 0.0], target="yes")
    assert e.found
    assert e.certainty.nearby is None


@pytest.mark.parametrize(
    ("asked", "limit", "sentence"),
    [
        ({"min_posterior": 0.9, "plausibility": -9}, "posterior", "would not be enough for"),
        ({"min_posterior": 0.5, "plausibility": 0.5}, "plausibility", "that is less typical than"),
        ({"min_posterior": 0.5, "plausibility": -9}, None, ""),
    ],
)
def test_what_less_would_miss(correlated, asked, limit, sentence):
    plain = Explainer(correlated, changes="all", round=False)
    e = plain.explain([0.0, 0.0], target="yes", **asked)
    if limit is None:  # an end with room to spare: that of a stricter question
        strict = plain.explain([0.0, 0.0], target="yes", min_posterior=0.99)
        region = Goal("yes", **asked).region(correlated)
        assert Ends(region, None, *strict.plan.waypoints[[0, -1]]).measure(0.5).limit is None
        return
    assert e.certainty.limit == limit
    assert sentence in str(e)
    end = e.path.iloc[-1] - 0.1 * (e.path.iloc[-1] - e.path.iloc[0])
    density = correlated.to_model(end.to_numpy()[None])
    enough = np.exp(correlated.log_posterior(density)[0, 1]) >= asked["min_posterior"]
    assert enough == (limit == "plausibility")
    assert Explanation.from_json(e.to_json()).certainty == e.certainty


def test_a_damaged_certainty_is_refused(correlated):
    text = Explainer(correlated).explain([0.0, 0.0], target="yes").to_json()
    with pytest.raises(InvalidInput, match="certainty"):
        Explanation.from_json(text.replace('"follow": []', '"follow": ["weight"]'))
