from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from daace import Constraints, Explanation, LinearGaussianNetwork, Table, load_table
from daace.exceptions import InvalidInput
from daace.explain.explainer import Explainer
from daace.explain.judging.classifier import ClassifierPosterior


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
        Explainer(
            mixture, changes="all", round=False, classifier=LogisticRegression().fit(frame, labels)
        )


def test_what_is_no_classifier_is_refused(mixture):
    with pytest.raises(
        InvalidInput, match=r"must be fitted. LogisticRegression has no 'classes_' yet"
    ):
        Explainer(mixture, changes="all", round=False, classifier=LogisticRegression())


def test_a_classifier_of_another_width_is_refused(mixture):
    model = LogisticRegression().fit([[0.0], [1.0]], ["ill", "well"])
    with pytest.raises(InvalidInput, match=r"must have the density's 2 columns. Got 1."):
        Explainer(mixture, changes="all", round=False, classifier=model)


def test_slopes_are_those_of_the_classifier(mixture, rows):
    frame, y = rows
    model = LogisticRegression().fit(frame, y)
    judge = ClassifierPosterior(model, mixture)
    assert judge.smooth
    X = frame.to_numpy()[:5]
    share = model.predict_proba(frame[:5])[:, 1]
    expected = (1 - share)[:, None] * model.coef_  # of log p(well | x), by hand
    logs, slopes = judge.log_posterior_and_gradient(X, 1)
    np.testing.assert_allclose(slopes, expected, rtol=1e-5)
    np.testing.assert_allclose(logs, judge.log_posterior(X), rtol=1e-12)


def test_trees_have_no_slopes(mixture, rows):
    frame, y = rows
    for model in (
        DecisionTreeClassifier(random_state=0),
        GradientBoostingClassifier(random_state=0),
    ):
        assert not ClassifierPosterior(model.fit(frame, y), mixture).smooth


def test_the_end_moves_along_the_edge_of_a_smooth_classifier(mixture, rows):
    """The same posterior, once as the density's own and once as a classifier's."""
    explainer = Explainer(mixture, changes="all", round=False)

    class Same:
        classes_ = mixture.classes_

        def predict_proba(self, X):
            return mixture.predict_proba(np.asarray(X))

    for start in ([0.0, 0.0], [0.5, -0.5]):
        own = explainer.explain(start, target="well", min_posterior=0.9)
        judged = Explainer(mixture, changes="all", round=False, classifier=Same()).explain(
            start, target="well", min_posterior=0.9
        )
        assert judged.cost == pytest.approx(own.cost, rel=1e-3)


# Other kinds of classifiers -------------------------------------------------------------------


def second_class(rows):
    """A function of the user's columns: the probability of the second class, 'well'."""
    return 1 / (1 + np.exp(-2 * (rows["x1"] - 2)))


def slope_of_second_class(rows):
    share = second_class(rows).to_numpy()
    return np.column_stack([2 * share * (1 - share), np.zeros(len(rows))])


def test_a_function_of_the_columns_judges(mixture, straight):
    e = Explainer(mixture, planner=straight, classifier=second_class).explain([0.0, 0.0])
    assert (e.current, e.target, e.provenance.classifier) == ("ill", "well", "second_class")
    assert e.posterior == pytest.approx(float(second_class(e.path).iloc[-1]))


def test_a_bound_method_stands_in_the_order_of_the_density(mixture, rows, straight):
    """A model that was fitted on numbers instead of names."""
    frame, y = rows
    model = LogisticRegression().fit(frame[["x2", "x1"]], (y == "well").astype(int))
    with pytest.raises(InvalidInput, match=r"Got '0', '1': if .* pass classifier=model.predict_p"):
        Explainer(mixture, changes="all", round=False, classifier=model)
    judge = ClassifierPosterior(model.predict_proba, mixture)
    expected = model.predict_proba(frame[["x2", "x1"]])
    assert np.exp(judge.log_posterior(frame.to_numpy())) == pytest.approx(expected)


def test_a_gradient_is_used_in_user_units(rows):
    """Chained through the standardisation, columns and classes in the classifier's order."""
    frame, y = rows
    table = Table.from_frame(frame.assign(x1=1000 * frame["x1"], group=y), target="group")
    density = LinearGaussianNetwork().fit(table)
    model = LogisticRegression().fit(frame[["x2", "x1"]] * [1, 1000], y)
    assert model.classes_.tolist() == ["ill", "well"]

    def grad(X):
        share = model.predict_proba(X)[:, [1]]
        assert list(X.columns) == ["x2", "x1"]
        return share * (1 - share) * model.coef_

    X = density.to_model(table.to_frame())[:20]
    with_grad = ClassifierPosterior(model, density, grad)
    without = ClassifierPosterior(model, density)
    assert (with_grad.rows_per_gradient, without.rows_per_gradient) == (1, 5)
    for index in (0, 1):
        mine = with_grad.log_posterior_and_gradient(X, index)[1]
        np.testing.assert_allclose(
            mine, without.log_posterior_and_gradient(X, index)[1], rtol=1e-4, atol=1e-8
        )


def test_with_a_gradient_fewer_rows_are_asked_about_for_the_same_path(mixture):
    plain = Explainer(
        mixture, changes="all", round=False, classifier=second_class, min_posterior=0.8
    )
    helped = replace(plain, classifier_grad=slope_of_second_class)
    a, b = (explainer.explain([0.0, 0.0], target="well") for explainer in (plain, helped))
    assert b.cost == pytest.approx(a.cost, rel=1e-4)
    assert b.provenance.classifier_rows < a.provenance.classifier_rows


def test_a_wrong_gradient_is_refused(mixture):
    with pytest.raises(InvalidInput, match=r"must be the gradient .* off by \d+%: leave it out"):
        Explainer(
            mixture,
            classifier=second_class,
            classifier_grad=lambda rows: 2 * slope_of_second_class(rows),
        )
    with pytest.raises(InvalidInput, match=r"of shape \(32, 2, 2\) or \(32, 2\). Got \(32,\)"):
        Explainer(
            mixture,
            classifier=second_class,
            classifier_grad=lambda rows: slope_of_second_class(rows)[:, 0],
        )
    with pytest.raises(InvalidInput, match="must come with a 'classifier'"):
        Explainer(mixture, classifier_grad=slope_of_second_class)


@pytest.mark.parametrize("package", ["xgboost", "lightgbm"])
def test_boosted_trees_of_other_packages_judge(package):
    package = pytest.importorskip(package)
    kind = package.XGBClassifier if hasattr(package, "XGBClassifier") else package.LGBMClassifier
    table = load_table("breast_cancer")
    numbers = (table.y == "malignant").astype(int)
    frame = table.to_frame()[list(table.features)]
    model = kind(n_estimators=10, verbosity=0 if "XGB" in kind.__name__ else -1)
    model.fit(frame, numbers)
    explainer = Explainer(
        LinearGaussianNetwork().fit(table), classifier=lambda rows: model.predict_proba(rows)
    )
    row = frame[numbers == 1].iloc[0]
    e = explainer.explain(row, target="benign", min_posterior=0.6)
    assert e.found
    assert model.predict_proba(e.counterfactual.to_frame().T)[0, 0] >= 0.6


@pytest.mark.parametrize("wrapped", [False, True])
def test_lightgbm_writes_names_with_spaces_otherwise(wrapped):
    lightgbm = pytest.importorskip("lightgbm")
    table = load_table("breast_cancer")
    frame = table.to_frame()[list(table.features)]
    model = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1)
    model = CalibratedClassifierCV(model, cv=2) if wrapped else model
    model.fit(frame[frame.columns[::-1]], table.y)
    assert "mean_radius" in model.feature_names_in_  # what it makes of 'mean radius'
    explainer = Explainer(LinearGaussianNetwork().fit(table), classifier=model)
    e = explainer.explain(frame.iloc[0], target="benign", min_posterior=0.6)
    assert e.found
    end = e.path.iloc[[-1]][frame.columns[::-1]]
    assert model.predict_proba(end)[0, 0] == pytest.approx(e.posterior)


def test_names_that_another_package_had_to_mend_are_recognised():
    xgboost = pytest.importorskip("xgboost")  # refuses '[', ']' and '<' in names
    names = ["size [mm]", "share <5%", "age"]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=names)
    label = (frame["share <5%"] > 0).astype(int)
    density = LinearGaussianNetwork().fit(Table.from_frame(frame.assign(y=label), target="y"))
    model = xgboost.XGBClassifier(n_estimators=10).fit(
        frame.rename(columns=lambda name: re.sub(r"[\[\]<]", "_", name))[
            ["age", "share _5%", "size _mm_"]
        ],
        label,
    )
    judge = ClassifierPosterior(model, density)
    X = density.to_model(frame)
    assert (judge.log_posterior(X).argmax(axis=1) == label).mean() > 0.95


def test_names_that_become_the_same_are_told_apart_by_nobody():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 2)), columns=["a b", "a_b"])
    density = LinearGaussianNetwork().fit(
        Table.from_frame(frame.assign(y=frame["a b"] > 0), target="y")
    )
    model = LogisticRegression().fit(frame.set_axis(["a-b", "a_b"], axis=1), frame["a b"] > 0)
    with pytest.raises(InvalidInput, match=r"They differ in 'a b', 'a-b': fit both on the same"):
        ClassifierPosterior(model, density)


# What can go wrong ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda rows: np.full(len(rows), np.nan), "Got NaN for 128 of 128 rows: let it answer"),
        (lambda rows: np.ones((len(rows), 3)) / 3, r"shape \(128, 2\). Got \(128, 3\)"),
        (lambda rows: np.ones(3), r"shape \(128, 2\). Got \(3,\)"),
        (lambda rows: 5 * rows["x1"], "that add up to 1.* if these are scores, put a softmax"),
        (lambda rows: np.ones((len(rows), 2)), "that add up to 1"),
        (lambda rows: ["ill"] * len(rows), "must return numbers. Got list"),
        (lambda rows: rows["age"], r"It raised KeyError \('age'\): try it on a DataFrame of shape"),
        ("a name", "must have 'predict_proba', or be a torch module or a function .* Got str"),
        (LogisticRegression, "Got the class LogisticRegression|must be fitted"),
    ],
)
def test_what_is_no_probability_is_refused_before_any_search(mixture, answer, message):
    with pytest.raises(InvalidInput, match=message):
        Explainer(mixture, changes="all", round=False, classifier=answer)


def test_a_row_that_cannot_be_judged_is_named(mixture, straight):
    def only_below_ten(rows):
        if (rows["x1"] > 10).any():
            raise RuntimeError("out of range")
        return second_class(rows)

    explainer = Explainer(mixture, planner=straight, classifier=only_below_ten)
    with pytest.raises(InvalidInput, match=r"Row 1: .* RuntimeError \(out of range\)"):
        explainer.explain_batch([[0.0, 0.0], [11.0, 0.0]], target="well", strict=True)


class Flaky:
    """Fails in the given question, and in all after it; every question is counted."""

    def __init__(self, fails_from):
        self.questions, self.fails_from = 0, fails_from

    def __call__(self, rows):
        self.questions += 1
        if self.questions >= self.fails_from:
            raise ConnectionError("no route to host")
        return np.where(rows["x1"] > 2.5, 0.9, 0.1)


def test_a_classifier_that_fails_in_a_search_loses_no_answer(mixture):
    whole = Flaky(10**6)
    searching = {"changes": "all", "round": False, "classifier_budget": 10**6}  # nothing after it
    explainer = Explainer(mixture, classifier=whole, **searching)
    best = explainer.explain([0.0, 0.0], target="well")
    for fails_from in range(3, whole.questions, 2):
        explainer = Explainer(mixture, classifier=Flaky(fails_from), **searching)
        e = explainer.explain([0.0, 0.0], target="well")
        if e.found:
            assert e.counterfactual["x1"] > 2.5
            assert e.cost >= best.cost * (1 - 1e-9)
            assert "best path found so far. 'classifier' must judge" in e.notes[0]
        else:
            assert str(e.status) == "classifier_failed"
            assert e.current == "ill"
        assert "no route to host" in str(e)
        assert Explanation.from_json(e.to_json()).notes == e.notes
    explainer = Explainer(mixture, classifier=Flaky(whole.questions - 1), **searching)
    assert explainer.explain([0.0, 0.0], target="well").found


def test_rows_whose_way_cannot_be_judged_do_not_cost_the_others_theirs(mixture):
    def blind_above(rows):
        if ((rows["x1"] > 0.5) & (rows["x2"] > 5)).any():
            raise RuntimeError("out of range")
        return np.where(rows["x1"] > 2.5, 0.9, 0.1)

    explainer = Explainer(mixture, changes="all", round=False, classifier=blind_above)
    starts = [[0.0, 0.0], [0.0, 8.0], [0.5, 0.0]]
    many = explainer.explain_batch(starts, target="well")
    assert [str(e.status) for e in many][::2] == ["found", "found"]
    assert many[1].found or str(many[1].status) == "classifier_failed"
    assert "RuntimeError (out of range)" in many[1].notes[0]
    alone = explainer.explain(starts[0], target="well")
    assert alone.path.equals(many[0].path)  # as if the others had not been asked about


# Effort ---------------------------------------------------------------------------------------


class Counting:
    def __init__(self):
        self.calls = self.rows = 0

    def __call__(self, rows):
        self.calls, self.rows = self.calls + 1, self.rows + len(rows)
        return np.where(rows["x1"] > 2.5, 0.9, 0.1)


def test_questions_are_counted_and_draws_judged_once(mixture):
    model = Counting()
    explainer = Explainer(
        mixture, changes="all", round=False, classifier=model, classifier_budget=10**6
    )  # with a budget, nobody is asked how certain the end is
    model.calls = model.rows = 0
    first = explainer.explain([0.0, 0.0], target="well", penalty=2.0)
    of_start = 1
    assert first.provenance.classifier_calls == model.calls - of_start
    assert first.provenance.classifier_rows == model.rows - of_start
    assert model.rows > 4000
    model.rows = 0
    explainer.explain([0.0, 0.5], target="well", penalty=1.0)
    assert model.rows < 4000


def test_no_row_is_asked_about_twice_in_a_search(mixture):
    seen = []

    def model(rows):
        seen.extend(map(tuple, rows.to_numpy()))
        return np.where(rows["x1"] > 2.5, 0.9, 0.1)

    explainer = Explainer(
        mixture, changes="all", round=False, classifier=model, classifier_budget=10**6
    )
    seen.clear()
    explainer.explain([0.0, 0.0], target="well")
    assert len(seen) - len(set(seen)) <= 1  # the start, before and in the search


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("budget", [1, 50, 300, 2000])
def test_a_budget_is_kept_and_gives_the_best_found(mixture, budget, smooth):
    model = Counting()
    judge = (lambda rows: model(rows) * 0 + second_class(rows)) if smooth else model
    explainer = Explainer(
        mixture, changes="all", round=False, classifier=judge, classifier_budget=budget
    )
    model.rows = 0
    e = explainer.explain([0.0, 0.0], target="well")
    middle_waypoints, start = 3, 1
    assert model.rows <= 2 * budget + middle_waypoints + start
    assert e.status in ("found", "out_of_budget")
    if not e.found:
        assert "raise 'classifier_budget' to look further" in str(e)
        assert budget < 300
    else:
        assert judge(e.path).tolist()[-1] >= 0.5


def test_a_budget_does_not_make_answers_depend_on_earlier_ones(mixture):
    explainer = Explainer(
        mixture, changes="all", round=False, classifier=Counting(), classifier_budget=400
    )
    once = explainer.explain([0.5, 0.0], target="well")
    again = explainer.explain([0.5, 0.0], target="well")
    assert once.path.equals(again.path)


def test_time_is_over_also_while_a_classifier_thinks(mixture):
    explainer = Explainer(mixture, changes="all", round=False, classifier=Counting())
    e = explainer.explain([0.0, 0.0], target="well", time_limit=1e-9)
    assert str(e.status) == "timeout"
    assert "raise 'time_limit'" in str(e)


def test_settings_for_one_call_keep_the_judge(mixture):
    explainer = Explainer(mixture, changes="all", round=False, classifier=Counting())
    assert explainer._settings(penalty=3.0).judge is explainer._settings().judge


def test_alternatives_are_judged_by_the_classifier_too(mixture):
    explainer = Explainer(mixture, changes="all", round=False, classifier=Counting())
    e = explainer.explain([0.0, 0.0], target="well", alternatives=2)
    assert e.alternatives
    for other in e.alternatives:
        assert other.current == "ill"
        assert (other.along["posterior"] > 0.05).all()
        assert other.counterfactual["x1"] > 2.5


def test_the_rows_of_a_batch_share_their_questions(mixture, rows):
    frame, y = rows
    model = LogisticRegression().fit(frame, y)
    explainer = Explainer(mixture, changes="all", round=False, classifier=model)
    ill = frame[model.predict(frame) == "ill"].head(24)
    one = explainer.explain(ill.iloc[0]).provenance
    many = explainer.explain_batch(ill)
    assert all(e.found for e in many)
    assert many[0].provenance.classifier_calls <= 2 * one.classifier_calls
    ends = many.to_frame()[["x1", "x2"]]
    assert (model.predict(ends) == "well").all()


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(7)
    age = rng.integers(20, 70, 300)
    income = rng.normal(2000 + 10 * age, 300)
    label = np.where(age / 50 + income / 2500 + rng.normal(0, 0.3, 300) > 1.8, "yes", "no")
    return pd.DataFrame({"age": age, "income": income, "loan": label})


def even_age(rows):
    return np.where(rows["age"].astype(int) % 2 == 0, 0.9, 0.1)


@pytest.mark.parametrize("seed", range(4))
def test_whole_numbers_are_judged_as_they_are_returned(people, seed):
    density = LinearGaussianNetwork().fit(Table.from_frame(people, target="loan"))
    rules = Constraints(integer=["age"])
    explainer = Explainer(density, classifier=even_age, constraints=rules, plausibility=-2)
    odd = people[people["age"] % 2 == 1].iloc[seed * 5 : seed * 5 + 5]
    for e in explainer.explain_batch(odd, target="yes", seed=seed):
        assert e.found
        assert even_age(e.path.iloc[[-1]]) == pytest.approx(e.posterior)
        assert e.posterior >= 0.5
        assert e.path["age"].dtype == np.int64
        assert Explanation.from_json(e.to_json()).path.equals(e.path)


def test_an_encoder_of_whole_numbers_sees_whole_numbers(people):
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["age"]), remainder="passthrough"
    )
    X, y = people.drop(columns="loan"), people["loan"]
    model = make_pipeline(encoder, DecisionTreeClassifier(min_samples_leaf=5, random_state=0))
    model.fit(X, y)
    density = LinearGaussianNetwork().fit(Table.from_frame(people, target="loan"))
    explainer = Explainer(density, classifier=model, constraints=Constraints(integer=["age"]))
    refused = X[model.predict(X) == "no"].iloc[:10]
    answers = explainer.explain_batch(refused, target="yes")
    ends = pd.concat([e.path.iloc[[-1]] for e in answers])
    assert all(e.found for e in answers)
    assert (model.predict_proba(ends)[:, 1] >= 0.5).all()


def test_one_explainer_judges_by_whole_numbers_where_these_are_asked_for(people):
    density = LinearGaussianNetwork().fit(Table.from_frame(people, target="loan"))
    explainer = Explainer(density, classifier=even_age, plausibility=-2)
    odd = people[people["age"] % 2 == 1].iloc[0]
    free = explainer.explain(odd, target="yes")
    whole = explainer.explain(odd, target="yes", constraints=Constraints(integer=["age"]))
    assert even_age(free.path.iloc[[-1]]) == pytest.approx(0.9)
    assert whole.counterfactual["age"] % 2 == 0


def test_what_is_said_of_a_slope_is_said_of_the_whole_number(people):
    def whole_ages_only(rows):
        unknown = rows["age"] % 1 != 0
        return np.where(unknown, 0.9, 1 / (1 + np.exp(-(rows["income"] - 2500) / 200)))

    density = LinearGaussianNetwork().fit(Table.from_frame(people, target="loan"))
    judge = ClassifierPosterior(whole_ages_only, density, whole=["age"])
    X = density.to_model(people.iloc[:20])
    logs = judge.log_posterior_and_gradient(X, 1)[0]
    expected = whole_ages_only(people.iloc[:20])
    assert np.exp(logs[:, 1]) == pytest.approx(expected)


@pytest.mark.parametrize("job", [[], ["job"]])
def test_it_may_have_been_fitted_on_columns_computed_from_features(job: list[str]) -> None:
    rng = np.random.default_rng(0)
    age = rng.integers(20, 70, 300)
    frame = pd.DataFrame({"pay": rng.normal(size=300), "age": age, "group": age // 25})
    frame["job"] = rng.integers(0, 2, 300) > 0
    frame = frame[["pay", "age", "group", *job]]
    label = np.where(frame["pay"] + age / 50 > 1, "yes", "no")
    density = LinearGaussianNetwork().fit(Table.from_frame(frame.assign(y=label), target="y"))
    assert [column.name for column in density.encoding_.derived] == ["group"]
    row = frame[label == "no"].iloc[[0]]
    for columns in ([*job, "age", "pay", "group"], ["pay", "age", *job]):
        tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(frame[columns], label)
        e = Explainer(density, classifier=tree).explain(row, target="yes")
        assert e.found
        assert tree.predict(e.path.iloc[[-1]][columns])[0] == "yes"
    short = DecisionTreeClassifier(random_state=0).fit(frame[["pay", "group"]], label)
    with pytest.raises(InvalidInput, match="They differ in 'age'"):
        Explainer(density, classifier=short)
