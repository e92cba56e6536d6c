"""Pipelines with a forest are asked without a frame, and answer as scikit-learn does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, RobustScaler, StandardScaler

from daace import Explainer, LinearGaussianNetwork, Table
from daace.explain.judging.classifier import ClassifierPosterior
from daace.explain.judging.pipelines import is_forest_pipeline

WORDS = ["housing", "purpose"]
NUMBERS = ["savings", "age", "kids"]


def make_frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 500
    kind = rng.integers(3, size=n)
    housing = np.array(["own", "rent", "free"])[(kind + (rng.uniform(size=n) < 0.2)) % 3]
    return pd.DataFrame(
        {
            "savings": np.where(rng.random(n) < 0.4, 0.0, np.round(rng.gamma(2, 3, size=n), 2)),
            "housing": pd.Series(housing, dtype=object).where(rng.random(n) > 0.1),
            "age": rng.integers(20, 70, size=n) + 3 * kind,
            "kids": rng.integers(4, size=n),
            "purpose": np.where(housing == "own", "repairs", "car"),
            "class": np.where(rng.random(n) < 0.2 + 0.3 * kind, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return make_frame()


@pytest.fixture(scope="module")
def density(frame) -> LinearGaussianNetwork:
    return LinearGaussianNetwork(profiles=2).fit(Table.from_frame(frame, target="class"))


FOREST = RandomForestClassifier(15, random_state=0)
LOOKED_UP = {
    "scaled": (
        make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), WORDS)),
        FOREST,
    ),
    "dense, another order, robust": (
        make_column_transformer(
            (OneHotEncoder(sparse_output=False, drop="first"), WORDS[::-1]),
            (RobustScaler(with_centering=False), NUMBERS[::-1]),
        ),
        ExtraTreesClassifier(9, random_state=1),
    ),
    "passed through": (
        make_column_transformer(
            (OrdinalEncoder(encoded_missing_value=-1), WORDS), remainder="passthrough"
        ),
        FOREST,
    ),
    "imputed": (
        make_column_transformer((SimpleImputer(), NUMBERS), (OneHotEncoder(), WORDS)),
        FOREST,
    ),
    "dropped": (
        make_column_transformer(
            (OneHotEncoder(), ["housing"]), ("drop", ["purpose"]), (StandardScaler(), NUMBERS)
        ),
        FOREST,
    ),
}


@pytest.mark.parametrize("parts", LOOKED_UP.values(), ids=LOOKED_UP.keys())
@pytest.mark.parametrize("whole", [(), ("age",)])
def test_probabilities_are_those_of_the_pipeline_bit_by_bit(frame, density, parts, whole):
    X = frame.drop(columns="class")
    model = make_pipeline(*parts).fit(X, frame["class"])
    judge = ClassifierPosterior(model, density, whole=whole)
    rows = judge.to_rows(density.sample(300, rng=np.random.default_rng(1))[0])
    assert judge._direct is not None
    assert judge._direct(rows) is not None
    seen = judge._table(rows)
    assert np.array_equal(judge._direct(rows), model.predict_proba(seen))
    assert np.array_equal(judge._direct(rows[:1]), model.predict_proba(seen[:1]))


def test_a_pipeline_that_is_fitted_again_answers_anew(frame, density):
    X = frame.drop(columns="class")
    model = make_pipeline(
        make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), WORDS)), FOREST
    ).fit(X, frame["class"])
    judge = ClassifierPosterior(model, density)
    rows = judge.to_rows(density.sample(50, rng=np.random.default_rng(1))[0])
    model.fit(X.assign(age=X["age"] * 7), frame["class"].to_numpy()[::-1])
    assert np.array_equal(judge._direct(rows), model.predict_proba(judge._table(rows)))


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(
            make_column_transformer(
                (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
                (OneHotEncoder(), WORDS),
            ),
            FOREST,
        ),
        make_pipeline(
            make_column_transformer(
                (OneHotEncoder(handle_unknown="ignore"), [*WORDS, "age"]), remainder="passthrough"
            ),
            FOREST,
        ),
    ],
)
def test_what_cannot_be_looked_up_is_asked_as_it_is(frame, density, model):
    model.fit(frame.drop(columns="class"), frame["class"])
    judge = ClassifierPosterior(model, density, whole=["age"])
    rows = judge.to_rows(density.sample(50, rng=np.random.default_rng(1))[0])
    assert judge._direct(rows) is None
    expected = model.predict_proba(judge._table(rows))
    assert np.array_equal(np.exp(judge.log_posterior_of_rows(rows)).round(12), expected.round(12))


@pytest.mark.parametrize("last", [FOREST, LogisticRegression()])
def test_rare_levels_are_asked_as_they_are(frame, last):
    rare = frame.copy()
    rare.loc[:4, "purpose"] = "holiday"
    rare.loc[5:7, "purpose"] = "boat"
    density = LinearGaussianNetwork().fit(Table.from_frame(rare, target="class"))
    pooled = density.encoding_.features[density.features_.index("purpose")]
    assert pooled.pooled == 2
    X = rare.drop(columns="class")
    model = make_pipeline(
        make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), WORDS)), last
    ).fit(X, rare["class"])
    explainer = Explainer(density, judge="density", classifier=model)
    for row in (0, 6, 20):
        wanted = "yes" if model.predict(X.iloc[[row]])[0] == "no" else "no"
        e = explainer.explain(X.iloc[[row]], target=wanted)
        assert e.found
        assert not any("so far" in note for note in e.notes)  # the classifier never failed
        chance = model.predict_proba(e.path)[:, model.classes_.tolist().index(wanted)]
        assert chance[-1] >= 0.5
        assert e.posterior == pytest.approx(chance[-1])


def test_other_models_are_no_forest_pipelines(frame):
    X, y = frame.drop(columns="class"), frame["class"]
    prepared = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), WORDS))
    assert not is_forest_pipeline(make_pipeline(prepared, FOREST))  # not fitted
    assert is_forest_pipeline(make_pipeline(prepared, FOREST).fit(X, y))
    assert not is_forest_pipeline(make_pipeline(prepared, LogisticRegression()).fit(X, y))
    assert not is_forest_pipeline(FOREST)
    assert not is_forest_pipeline(lambda rows: rows)


def test_rows_with_gaps_among_numbers_are_asked_as_they_are(frame):
    gaps = frame.assign(age=frame["age"].where(np.arange(len(frame)) % 5 > 0).astype(float))
    density = LinearGaussianNetwork(profiles=2).fit(Table.from_frame(gaps, target="class"))
    model = make_pipeline(
        make_column_transformer((SimpleImputer(), NUMBERS), (OneHotEncoder(), WORDS)), FOREST
    ).fit(gaps.drop(columns="class"), gaps["class"])
    judge = ClassifierPosterior(model, density)
    rows = judge.to_rows(density.sample(100, rng=np.random.default_rng(1))[0])
    seen = judge._table(rows)
    known = seen["age"].notna().to_numpy()
    assert 0 < known.sum() < len(rows)
    assert judge._direct(rows) is None
    assert np.array_equal(judge._direct(rows[known]), model.predict_proba(seen[known]))
