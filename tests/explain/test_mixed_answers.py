"""Answers on a table with categories, orders, zeros and gaps: words, tables, JSON, pages."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from daace import (
    Constraints,
    Explainer,
    Explanation,
    LinearGaussianNetwork,
    load,
    load_table,
)
from daace.data.table import Table
from daace.explain.answers.contributions import contributions, target_log_odds


@pytest.fixture(scope="module")
def loans() -> Table:
    return load_table("loans").take(np.arange(900))


@pytest.fixture(scope="module")
def explainer(loans: Table) -> Explainer:
    return Explainer(LinearGaussianNetwork(profiles=2).fit(loans), min_posterior=0.8)


@pytest.fixture(scope="module")
def refused(loans: Table) -> pd.DataFrame:
    frame = loans.to_frame()
    frame = frame[(frame[loans.target] == "refused") & (frame["housing"] == "rent")]
    return frame.drop(columns=loans.target).head(6)


@pytest.fixture(scope="module")
def switched(explainer: Explainer, refused: pd.DataFrame) -> Explanation:
    """An answer that may change categories only."""
    numbers = [name for name in refused if pd.api.types.is_numeric_dtype(refused[name])]
    rules = Constraints(fixed=[name for name in numbers if name != "savings"])
    found = [
        e
        for e in explainer.explain_batch(
            refused, target="granted", constraints=rules, min_posterior=0.3, plausibility=-2
        )
        if e.found and e.changes()["change"].isna().any()
    ]
    assert found
    return found[0]


def test_switches_are_changes(switched: Explanation) -> None:
    changes = switched.changes().set_index("feature")
    levels = changes[changes["change"].isna()]
    assert (levels["from"] != levels["to"]).all()
    assert (levels["change_sd"] > 0).all()
    for name in levels.index:
        assert levels.loc[name, "to"] == switched.counterfactual[name]
        assert f"{levels.loc[name, 'to']}" in str(switched)
    assert "(switch)" in str(switched)


def test_json_keeps_levels_and_gaps(switched: Explanation) -> None:
    again = Explanation.from_json(switched.to_json())
    assert str(again) == str(switched)
    assert again.changes().equals(switched.changes())
    assert (
        again.path.astype(object)
        .where(again.path.notna(), None)
        .equals(switched.path.astype(object).where(switched.path.notna(), None))
    )


def test_the_page_shows_the_levels(switched: Explanation, tmp_path) -> None:
    switched.to_html(tmp_path / "why.html")
    text = (tmp_path / "why.html").read_text()
    changes = switched.changes()
    for level in changes.loc[changes["change"].isna(), "to"]:
        assert str(level) in text


def test_tables_have_levels(explainer: Explainer, refused: pd.DataFrame, loans: Table) -> None:
    many = explainer.explain_batch(refused, target="granted")
    table = many.to_frame(detail=True)
    assert set(table["housing"].dropna()) <= set(loans.to_frame()["housing"])
    assert (table["housing_start"] == "rent").all()
    numeric = table["amount_change"].dropna()
    assert (numeric != 0).all()
    long = many.changes()
    assert long.loc[long["change"].notna(), "from"].map(np.isreal).all()


def test_a_pipeline_judges_the_rows_that_are_returned(
    explainer: Explainer, refused: pd.DataFrame, loans: Table
) -> None:
    frame = loans.to_frame()
    X, y = frame.drop(columns=loans.target), frame[loans.target]
    words = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    forest = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), words), remainder=SimpleImputer()
        ),
        RandomForestClassifier(30, random_state=0),
    ).fit(X, y)
    judged = Explainer(explainer.density, classifier=forest)
    for row in range(3):
        e = judged.explain(refused.iloc[[row]], target="granted")
        assert e.found
        share = forest.predict_proba(e.path.iloc[[-1]])[0][list(forest.classes_).index("granted")]
        assert share == pytest.approx(e.posterior)
        assert share >= 0.5


def test_other_ways_to_look_at_it(
    explainer: Explainer, switched: Explanation, loans: Table
) -> None:
    assert explainer.network().arcs["parent"].isin(loans.features).all()
    assert explainer.check(loans).rows == len(loans)
    parts = contributions(switched)["contribution"].sum()
    gained = np.diff(target_log_odds(switched)[[0, -1]])[0]
    assert parts == pytest.approx(gained, rel=1e-9)
    for kind in ("steps", "landscape", "along", "waterfall"):
        assert switched.plot(kind) is not None


def test_nearest_rows_have_levels_and_gaps(explainer, switched: Explanation, loans: Table) -> None:
    near = switched.nearest_rows(loans)
    start = loans.to_frame().iloc[near["row"].iloc[0]]
    assert near["distance"].iloc[0] == 0
    assert start["housing"] == switched.path["housing"].iloc[0]
    other = loans.to_frame().assign(housing="nowhere")
    switch = 1 / switched.sd[switched.states.columns.get_loc("housing")]
    assert switched.nearest_rows(other)["distance"].iloc[0] == pytest.approx(switch)
    assert near["percentile"].between(0, 100).all()
    unknown = explainer.explain(loans.to_frame().query("credit_score.isna()").iloc[[0]])
    assert unknown.nearest_rows(loans)["distance"].iloc[0] == 0


def test_a_model_file_keeps_derived_columns_and_counts_beside_an_atom(tmp_path) -> None:
    rng = np.random.default_rng(0)
    n = 600
    education = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "education": np.array(["none", "school", "university"])[education],
            "education_num": np.array([2, 10, 14])[education],
            "absences": np.where(rng.random(n) < 0.4, 0, rng.poisson(12, n)),
            "income": rng.normal(education, 1.0),
            "y": np.where(rng.random(n) < 0.2 + 0.3 * education, "yes", "no"),
        }
    )
    table = Table.from_frame(frame, target="y")
    assert [derived.name for derived in table.encoding.derived] == ["education_num"]
    explainer = Explainer(LinearGaussianNetwork().fit(table))
    explainer.save(tmp_path / "model.daace")
    row = frame[frame["y"] == "no"].iloc[[0]].drop(columns="y")
    before, after = (
        one.explain(row, target="yes") for one in (explainer, load(tmp_path / "model.daace"))
    )
    assert before.found
    assert before.cost == after.cost
    assert before.path.equals(after.path)


def test_a_fixed_category_that_stands_in_the_way_is_named(explainer, refused) -> None:
    everything = [name for name in refused if name not in ("income", "amount")]
    rules = Constraints(fixed=everything, max_rise={"income": 1}, max_fall={"amount": 1})
    e = explainer.explain(refused.iloc[[0]], target="granted", constraints=rules, plausibility=-1)
    assert not e.found
    assert e.notes
    assert "fixed" in " ".join(e.notes)


def test_a_missing_number_may_be_in_the_way(explainer: Explainer, refused: pd.DataFrame) -> None:
    row = refused.iloc[[0]].assign(credit_score=np.nan)
    e = explainer.explain(row, target="granted", min_posterior=1 - 1e-9)
    assert e.status == "goal_unreachable"
    assert "let 'credit_score' become known with 'allowed'" in str(e)
    known = Constraints(allowed={"credit_score": ["elsewhere"]})
    e = explainer.explain(row, target="granted", min_posterior=1 - 1e-9, constraints=known)
    assert not e.found
    assert "become known" not in str(e)


def test_whole_numbers_on_two_edges_of_the_goal(loans: Table) -> None:
    """Dollars are too fine to matter, but on both edges nothing could make up for rounding them."""
    some = loans.take(np.arange(700))
    density = LinearGaussianNetwork(profiles=2).fit(some)
    explainer = Explainer(density, changes="all", round=False)
    frame = some.to_frame()
    row = frame[frame[some.target] == "refused"].iloc[[2]].drop(columns=some.target)
    whole = explainer.explain(row, target="granted")
    free = explainer.explain(row, target="granted", constraints=Constraints(natural=False))
    assert whole.found
    assert whole.cost <= 1.02 * free.cost
    assert (whole.path["amount"] % 1 == 0).all()


def test_levels_that_the_model_does_not_name_stay_as_they_are() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    job = rng.choice(["clerk", "nurse"], 80).astype(object)
    job[:4] = "falconer"
    frame = pd.DataFrame({"x": x, "job": job, "y": np.where(x > 0, "yes", "no")})
    seen: set[str] = set()

    def judge(rows: pd.DataFrame) -> np.ndarray:
        seen.update(rows["job"])
        own = 1 / (1 + np.exp(-3 * rows["x"].to_numpy()))
        chance = np.where(rows["job"] == "falconer", own, 0.2)  # of nobody else
        return np.column_stack([1 - chance, chance])

    density = LinearGaussianNetwork().fit(Table.from_frame(frame, target="y"))
    row = pd.DataFrame({"x": [-0.7], "job": ["falconer"]})
    judged = Explainer(density, classifier=judge, plausibility=-3)
    (e,) = judged.explain_batch(row, target="yes")
    assert e.found
    assert e.posterior >= 0.5
    assert set(e.path["job"]) == {"falconer"} == set(e.states["job"])
    assert e.changes()["feature"].tolist() == ["x"]
    assert judge(e.path.iloc[[-1]])[0, 1] >= 0.5
    assert e.certainty.nearby is not None
    assert e.certainty.nearby > 0.3
    assert judged.explain(row, target="yes").path.equals(e.path)
    assert Explanation.from_json(e.to_json()).path.equals(e.path)
    rules = Constraints(fixed=["job"])
    plain = Explainer(density).explain(row, target="yes", constraints=rules)
    assert set(plain.path["job"]) == {"falconer"}


def test_tables_of_categories_alone() -> None:
    rng = np.random.default_rng(0)
    good = rng.random(200) < 0.5
    frame = pd.DataFrame(
        {"a": rng.choice(["u", "v", "w"], 200), "b": good ^ (rng.random(200) < 0.2)}
    )
    frame["y"] = np.where(good, "yes", "no")
    density = LinearGaussianNetwork().fit(Table.from_frame(frame, target="y"))
    row = frame[~frame["b"]].iloc[[0]]
    e = Explainer(density).explain(row, target="yes")
    assert e.found
    assert e.counterfactual["b"]


def test_the_row_that_is_returned_is_the_one_that_is_judged() -> None:
    """Ages may be fractions, and numbers of 32 bits are not rounded behind the judge's back."""

    def judge(rows: pd.DataFrame) -> np.ndarray:
        score = (rows["age"] - 40) / 3 + (rows["pay"] - 50) / 4
        return np.asarray(1 / (1 + np.exp(-score.to_numpy(dtype=np.float64))))

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, 200),
            "pay": rng.normal(50, 5, 200).astype(np.float32),
            "housing": rng.choice(["own", "rent"], 200),
        }
    )
    frame["class"] = np.where(judge(frame) > 0.5, "yes", "no")
    density = LinearGaussianNetwork().fit(Table.from_frame(frame, target="class"))
    rows = frame[frame["class"] == "no"].drop(columns="class").head(8)
    for classifier, rules in ((None, None), (judge, Constraints(natural=False))):
        explainer = Explainer(density, classifier=classifier, round=False, changes="all")
        answers = explainer.explain_batch(rows, target="yes", constraints=rules)
        assert sum(e.found for e in answers) >= 4
        for e in (e for e in answers if e.found):
            end = e.path.iloc[[-1]]
            known = judge(end) if classifier else density.predict_proba(density.to_model(end))
            said = known.reshape(1, -1)[:, -1]
            assert said[0] == pytest.approx(e.posterior, rel=1e-12)
            assert said[0] >= 0.5
