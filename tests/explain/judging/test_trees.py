"""Forests are asked without detours, and answer as scikit-learn does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import daace
from daace.explain.judging.classifier import ClassifierPosterior
from daace.explain.judging.trees import Forest, is_forest

MODELS = [
    RandomForestClassifier(20, random_state=0),
    RandomForestClassifier(7, max_depth=3, class_weight="balanced", random_state=1),
    ExtraTreesClassifier(9, random_state=0),
    DecisionTreeClassifier(min_samples_leaf=7, random_state=0),
]


@pytest.fixture(scope="module")
def rows() -> tuple[pd.DataFrame, np.ndarray]:
    table = daace.load_table("iris")
    return table.to_frame().drop(columns=table.target), table.y


@pytest.mark.parametrize("model", MODELS)
def test_probabilities_are_those_of_scikit_learn_bit_by_bit(model, rows, rng):
    frame, y = rows
    model.fit(frame, y)
    assert is_forest(model)
    drawn = frame.to_numpy() + rng.normal(size=frame.shape)
    named = pd.DataFrame(drawn, columns=frame.columns)
    assert np.array_equal(Forest(model)(drawn), model.predict_proba(named))
    assert np.array_equal(Forest(model)(drawn[:1]), model.predict_proba(named[:1]))


def test_a_forest_that_is_fitted_again_answers_anew(rows):
    frame, y = rows
    model = RandomForestClassifier(5, random_state=0).fit(frame, y)
    forest = Forest(model)
    model.fit(frame, y[::-1])
    assert np.array_equal(forest(frame.to_numpy()), model.predict_proba(frame))


def test_what_scikit_learn_refuses_is_refused(rows):
    frame, y = rows
    forest = Forest(RandomForestClassifier(3, random_state=0).fit(frame, y))
    with pytest.raises(ValueError, match="contains infinity"):
        forest(np.full((1, 4), np.inf))


def test_a_subclass_is_asked_as_it_is(rows):
    class Careful(RandomForestClassifier):
        def predict_proba(self, X):
            return 0.5 * super().predict_proba(X) + 0.5 / 3

    frame, y = rows
    model = Careful(3, random_state=0).fit(frame, y)
    assert not is_forest(model)
    density = daace.LinearGaussianNetwork().fit(daace.load_table("iris"))
    logs = ClassifierPosterior(model, density).log_posterior_of_rows(frame.to_numpy())
    assert np.array_equal(np.exp(logs).round(12), model.predict_proba(frame).round(12))
