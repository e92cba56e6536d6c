from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from daace.exceptions import InvalidInput
from daace.explain.classifier import ClassifierPosterior
from daace.explain.explainer import Explainer


@pytest.fixture
def rows(mixture):
    X, y = mixture.sample(400, rng=np.random.default_rng(0))
    return pd.DataFrame(X, columns=["x1", "x2"]), y


def test_it_is_the_classifier_in_user_columns(mixture, rows):
    frame, y = rows
    model = LogisticRegression().fit(frame[["x2", "x1"]], y)
    judge = ClassifierPosterior(model, mixture)
    expected = model.predict_proba(frame[["x2", "x1"]])
    assert np.exp(judge.log_posterior(frame.to_numpy())) == pytest.approx(expected)


def test_classes_are_aligned_with_those_of_the_density(mixture):
    class Fixed:
        classes_ = np.array(["well", "ill"])

        def predict_proba(self, X):
            return np.tile([1.0, 0.0], (len(X), 1))

    judge = ClassifierPosterior(Fixed(), mixture)
    assert judge.classes_.tolist() == ["ill", "well"]
    assert judge.log_posterior(np.zeros((1, 2))).tolist() == [[-np.inf, 0.0]]


def test_the_goal_is_judged_by_the_classifier(mixture, rows, straight):
    frame, y = rows
    model = LogisticRegression().fit(frame, y)
    explainer = Explainer(mixture, planner=straight, classifier=model, min_posterior=0.9)
    e = explainer.explain([0.0, 0.0])
    assert e.target == "well"
    end = pd.DataFrame([e.counterfactual.to_numpy()], columns=["x1", "x2"])
    assert e.posterior == pytest.approx(model.predict_proba(end)[0, 1])
    assert e.posterior >= 0.9
    assert e.provenance.classifier == "LogisticRegression"
    assert "LogisticRegression" in e.to_html()


@pytest.mark.parametrize(
    ("columns", "labels", "message"),
    [
        (["x1", "age"], ["ill", "well"], "must have the density's columns. They differ in 'age'"),
        (["x1", "x2"], ["ill", "dead"], "must know the classes 'ill', 'well'. Got 'dead', 'ill'"),
    ],
)
def test_another_classifier_is_refused(mixture, columns, labels, message):
    frame = pd.DataFrame([[0.0, 0.0], [1.0, 1.0]], columns=columns)
    with pytest.raises(InvalidInput, match=message):
        Explainer(mixture, classifier=LogisticRegression().fit(frame, labels))


def test_what_is_no_classifier_is_refused(mixture):
    with pytest.raises(InvalidInput, match="must be fitted and have 'predict_proba'"):
        Explainer(mixture, classifier=LogisticRegression())


def test_a_classifier_of_another_width_is_refused(mixture):
    model = LogisticRegression().fit([[0.0], [1.0]], ["ill", "well"])
    with pytest.raises(InvalidInput, match=r"must have the density's 2 columns. Got 1."):
        Explainer(mixture, classifier=model)


def test_slopes_are_those_of_the_classifier(mixture, rows):
    frame, y = rows
    model = LogisticRegression().fit(frame, y)
    judge = ClassifierPosterior(model, mixture)
    assert judge.smooth
    X = frame.to_numpy()[:5]
    share = model.predict_proba(frame[:5])[:, 1]
    expected = (1 - share)[:, None] * model.coef_  # of log p(well | x), by hand
    np.testing.assert_allclose(judge.gradient(X, 1), expected, rtol=1e-5)


def test_trees_have_no_slopes(mixture, rows):
    frame, y = rows
    for model in (
        DecisionTreeClassifier(random_state=0),
        GradientBoostingClassifier(random_state=0),
    ):
        assert not ClassifierPosterior(model.fit(frame, y), mixture).smooth


def test_the_end_moves_along_the_edge_of_a_smooth_classifier(mixture, rows):
    """The same posterior, once as the density's own and once as a classifier's."""
    explainer = Explainer(mixture)

    class Same:
        classes_ = mixture.classes_

        def predict_proba(self, X):
            return mixture.predict_proba(np.asarray(X))

    for start in ([0.0, 0.0], [0.5, -0.5]):
        own = explainer.explain(start, target="well", min_posterior=0.9)
        judged = Explainer(mixture, classifier=Same()).explain(
            start, target="well", min_posterior=0.9
        )
        assert judged.cost == pytest.approx(own.cost, rel=1e-3)
