"""How sure an end is: rows close to it, and changes that the judge does not need."""

from __future__ import annotations

import numpy as np
import pytest

from daace import Explainer, Explanation, GaussianMixture, InvalidInput
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
        nearby = Ends(correlated, judge, 1, start, end).measure(0.5).nearby
        from scipy.stats import norm

        assert nearby == pytest.approx(norm.cdf(distance / DEVIATION), abs=0.15)


def test_features_that_the_judge_does_not_need_move_along(correlated):
    explainer = Explainer(correlated, classifier=first_feature, changes="all")
    e = explainer.explain([0.0, 0.0], target="yes")
    assert set(e.changes()["feature"]) == {"x1", "x2"}
    assert e.certainty.follow == ("x2",)
    assert "Of these, 'x2' usually changes along with the others" in str(e)
    assert "usually changes along" in e.to_html()
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


def test_a_damaged_certainty_is_refused(correlated):
    text = Explainer(correlated).explain([0.0, 0.0], target="yes").to_json()
    with pytest.raises(InvalidInput, match="certainty"):
        Explanation.from_json(text.replace('"follow": []', '"follow": ["weight"]'))
