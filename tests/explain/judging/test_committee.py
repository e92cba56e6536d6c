"""Several judges at once: what they say, what descent makes of it, what a file keeps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import daace
from daace import Explainer, InvalidInput, load_table
from daace.explain.judging.committee import Committee, _default
from daace.landscape.goal import Goal


@pytest.fixture(scope="module")
def iris_explainer() -> Explainer:
    return daace.fit(load_table("iris"), density="linear-gaussian")


@pytest.fixture(scope="module")
def loans() -> Explainer:
    table = load_table("loans")
    return daace.fit(table.take(np.arange(600)), density="linear-gaussian")


@pytest.fixture(scope="module", params=["iris_explainer", "loans"])
def explainer(request) -> Explainer:
    return request.getfixturevalue(request.param)


def test_the_smallest_probability_counts(explainer):
    committee = explainer.committee
    X = explainer.density.sample(40, rng=np.random.default_rng(0))[0]
    for k in range(len(committee.classes_)):
        each = committee.probabilities(X, k)
        assert each.shape == (40, len(committee.names))
        least = np.exp(committee.log_posterior(X))[:, k]
        np.testing.assert_allclose(least, each.min(axis=1), rtol=1e-12)
    if len(committee.classes_) == 2:
        both = committee.probabilities(X, 0) + committee.probabilities(X, 1)
        np.testing.assert_allclose(both, 1.0, rtol=1e-12)


def test_gradients_of_all_judges_are_difference_quotients(explainer):
    density, committee = explainer.density, explainer.committee
    X = density.sample(25, rng=np.random.default_rng(1))[0]
    region = Goal(density.classes_.item(1), min_posterior=0.7).region(density, committee)
    assert region.differentiable
    slack, pullback = region.slack_and_pullback(X)
    gradients = pullback()
    assert slack.shape == (25, 1 + len(committee.names))
    pair, pair_gradients = region.pair_and_gradients(X)
    for j in density.encoding_.number_columns:
        step = np.zeros(X.shape[1])
        step[j] = 1e-6
        ahead, behind = (region.slack_and_pullback(X + s)[0] for s in (step, -step))
        quotient = (ahead - behind) / 2e-6
        np.testing.assert_allclose(gradients[:, :, j], quotient, rtol=2e-4, atol=2e-5)
        ahead, behind = (region.pair_and_gradients(X + s)[0] for s in (step, -step))
        quotient = (ahead - behind) / 2e-6
        np.testing.assert_allclose(pair_gradients[:, :, j], quotient, rtol=2e-4, atol=2e-5)
    exact = region.slack(X)
    np.testing.assert_allclose(pair[:, 0], exact[:, 0], rtol=1e-12)
    assert (pair[:, 1] <= exact[:, 1] + 1e-9).all()
    assert (pair[:, 1] >= exact[:, 1] - 0.2).all()
    # The slacks that descent sees are positive exactly where those of the goal are.
    assert ((slack >= 0).all(axis=1) == (exact >= 0).all(axis=1)).all()


def test_every_judge_accepts_the_end(explainer):
    table = load_table("iris" if len(explainer.density.classes_) == 3 else "loans")
    target = explainer.density.classes_.item(1)
    frame = table.to_frame()[table.y != target].iloc[:8]
    found = 0
    for _, row in frame.iterrows():
        e = explainer.explain(row, target=target)
        asked = e.provenance.min_posterior
        assert asked == explainer.committee.defaults[1]
        assert e.provenance.judge == "committee"
        assert e.judges["judge"].tolist() == list(explainer.committee.names)
        assert e.judges["decides"].all()
        if e.found:
            found += 1
            assert e.judges["end"].min() >= asked
            assert e.posterior == pytest.approx(e.judges["end"].min(), rel=1e-9)
            again = explainer.density.to_model(e.path.iloc[[-1]])
            assert explainer.committee.probabilities(again, 1).min() >= asked
    assert found >= 7


def test_it_does_not_depend_on_the_order_of_the_rows(iris_explainer):
    table = load_table("iris")
    order = np.random.default_rng(5).permutation(len(table))
    other = daace.fit(table.take(order), density="linear-gaussian").committee
    for name, array in iris_explainer.committee.to_arrays().items():
        np.testing.assert_allclose(other.to_arrays()[name], array, rtol=1e-6, atol=1e-8)


def test_a_model_file_keeps_it(explainer, tmp_path):
    explainer.save(tmp_path / "model.daace")
    again = daace.load(tmp_path / "model.daace")
    arrays, other = explainer.committee.to_arrays(), again.committee.to_arrays()
    assert set(arrays) == set(other)
    for name, array in arrays.items():
        np.testing.assert_array_equal(other[name], array)
    assert again.committee.names == explainer.committee.names


@pytest.mark.parametrize("name", ["slope", "defaults", "inputs.scale", "0.linear.weights"])
def test_damaged_arrays_are_refused(iris_explainer, name):
    density, arrays = iris_explainer.density, iris_explainer.committee.to_arrays()
    with pytest.raises(ValueError, match="committee"):
        Committee.from_arrays(density, arrays | {name: -2 * np.ones_like(arrays[name])[:1]})
    with pytest.raises((ValueError, KeyError)):
        Committee.from_arrays(density, {n: a for n, a in arrays.items() if n != name})


def test_the_judge_can_be_chosen(iris_explainer):
    table, density, row = load_table("iris"), iris_explainer.density, load_table("iris").X[0]
    alone = Explainer(density, committee=iris_explainer.committee, judge="density")
    e = alone.explain(row, target="virginica")
    assert e.provenance.judge == "density"
    assert e.provenance.min_posterior == 0.5
    assert e.judges[e.judges["decides"]]["judge"].tolist() == ["density"]
    assert daace.fit(table, density="linear-gaussian", judge="density").committee is None
    with pytest.raises(InvalidInput, match="'judge' must be 'density', as no committee"):
        Explainer(density, judge="committee")
    with pytest.raises(InvalidInput, match="'judge' must be one of"):
        Explainer(density, judge="parliament")
    with pytest.raises(InvalidInput, match="'committee' must be that of the density"):
        Explainer(daace.LinearGaussianNetwork().fit(table), committee=iris_explainer.committee)


def test_a_classifier_decides_and_the_others_are_heard(iris_explainer):
    density = iris_explainer.density
    explainer = Explainer(
        density,
        committee=iris_explainer.committee,
        classifier=lambda rows: np.tile([0.05, 0.05, 0.9], (len(rows), 1)),
    )
    e = explainer.explain(load_table("iris").X[60], target="virginica")
    assert e.provenance.judge == "classifier"
    assert e.judges["decides"].tolist() == [True] + [False] * len(iris_explainer.committee.names)
    assert "others_doubt" in [note.code for note in e.notes]


def test_judges_survive_json(loans):
    table = load_table("loans")
    row = table.to_frame()[table.y == "refused"].iloc[0]
    e = loans.explain(row, target="granted")
    again = daace.Explanation.from_json(e.to_json())
    assert again.judges.equals(e.judges)
    assert again.provenance == e.provenance


def test_the_default_is_the_median_of_what_rows_reach_that_all_judges_accept():
    least = np.r_[np.full(5, 0.3), np.full(6, 0.6), np.full(5, 0.64)]
    assert _default(least) == 0.6
    assert _default(np.full(20, 0.9)) == 0.75
    assert _default(least[:10]) == 0.6  # too few are accepted to tell


def test_a_rare_class_gets_a_lower_default():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = np.where(X[:, 0] + rng.normal(scale=1.5, size=2000) > 2.6, "rare", "common")
    committee = daace.fit(X, y, density="linear-gaussian").committee
    common, rare = committee.defaults
    assert common == 0.75
    assert 0.5 <= rare < 0.75


def test_a_density_that_hardly_recognises_a_class_has_no_vote_on_it(tmp_path):
    """Two bumps are one to a Gaussian: its calibrated probability of them never reaches a half."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(2000, 2))
    y = np.where(np.abs(np.abs(X[:, 0]) - 1.5) < 0.4, "bumps", "else")
    explainer = daace.fit(X, y, density="linear-gaussian")
    committee = explainer.committee
    assert committee.votes.tolist() == [False, True]
    each = committee.probabilities(X, 0)
    assert each[:, 0].max() < 0.5
    least = np.exp(committee.log_posterior(X))[:, 0]
    np.testing.assert_allclose(least, each[:, 1:].min(axis=1), rtol=1e-12)
    explainer.save(tmp_path / "m")
    again = daace.load(tmp_path / "m").committee
    assert np.array_equal(again.votes, committee.votes)
    assert np.array_equal(again.log_posterior(X), committee.log_posterior(X))


def test_paths_need_not_convince_a_density_without_a_vote(loans):
    committee = replace(loans.committee, votes=np.zeros(2, dtype=bool))
    explainer = replace(loans, committee=committee)
    table, target = load_table("loans"), loans.density.classes_.item(1)
    asked = 0
    for _, row in table.to_frame()[table.y != target].iloc[:4].iterrows():
        e = explainer.explain(row, target=target)
        assert e.found
        assert e.judges["decides"].tolist() == [False] + [True] * len(committee.members)
        deciding = e.judges[e.judges["decides"]]["end"]
        assert e.posterior == pytest.approx(deciding.min(), rel=1e-9)
        asked += deciding.min() >= e.provenance.min_posterior
    assert asked == 4
    region = Goal(target, min_posterior=0.7).region(loans.density, committee)
    X = loans.density.sample(25, rng=np.random.default_rng(1))[0]
    slack, pullback = region.slack_and_pullback(X)
    gradients = pullback()
    exact = region.slack(X)
    assert ((slack >= 0).all(axis=1) == (exact >= 0).all(axis=1)).all()
    for j in loans.density.encoding_.number_columns:
        step = np.zeros(X.shape[1])
        step[j] = 1e-6
        ahead, behind = (region.slack_and_pullback(X + s)[0] for s in (step, -step))
        np.testing.assert_allclose(gradients[:, :, j], (ahead - behind) / 2e-6, 2e-4, 2e-5)


def test_every_judge_votes_in_a_file_of_an_earlier_version(iris_explainer):
    density, arrays = iris_explainer.density, iris_explainer.committee.to_arrays()
    del arrays["votes"]
    assert Committee.from_arrays(density, arrays).votes.all()
    for votes in (np.full(3, 0.5), np.ones(2)):
        with pytest.raises(ValueError, match="committee"):
            Committee.from_arrays(density, arrays | {"votes": votes})


def spoil(arrays: dict[str, np.ndarray], what: str) -> None:
    """Make arrays of a committee that would take gigabytes, or are none."""
    network, splines = "3.network.", "1.splines."
    width, scores = arrays["0.linear.weights"].shape
    numbers = len(arrays[f"{splines}knots"])
    if what == "units":
        arrays[f"{network}hidden"] = np.zeros((width, 10_000))
        arrays[f"{network}shift"] = np.zeros(10_000)
        arrays[f"{network}weights"] = np.zeros((10_000, scores))
    elif what == "knots":
        arrays[f"{splines}knots"] = np.tile(np.arange(10_000.0), (numbers, 1))
        arrays[f"{splines}pieces"] = np.zeros((numbers, 10_001, 4, scores))
    elif what == "members":
        for number in range(6, 3000):
            arrays[f"{number}.linear.weights"] = arrays["0.linear.weights"]
            arrays[f"{number}.linear.bias"] = arrays["0.linear.bias"]
        for name in ("slope", "offset"):
            arrays[name] = np.ones((3001, arrays[name].shape[1]))
    elif what == "marks":
        for name in ("marked", "codes"):
            few = arrays[f"inputs.{name}"]
            arrays[f"inputs.{name}"] = np.concatenate([few, np.full(10_000, few[0])])
        for name in [n for n in arrays if n.endswith(("linear.weights", "hidden", "s.weights"))]:
            more = np.zeros((10_000, arrays[name].shape[1]))
            arrays[name] = np.concatenate([arrays[name], more])
    elif what == "a number left out":
        for name in [n for n in arrays if n.startswith("4.")]:
            arrays[f"6.{name.removeprefix('4.')}"] = arrays.pop(name)
    else:
        column = arrays["inputs.marked"][0]
        arrays["inputs.joined"] = np.tile([[column, 0.0, 0.0]], (10_000, 1))


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("units", "has 10,000 hidden units, and 100 is the limit"),
        ("knots", "has 10,000 knots, and 100 is the limit"),
        ("members", "has more than 20 members"),
        ("a number left out", "are not numbered one by one"),
        ("marks", "the inputs of its committee do not fit its features"),
        ("joined levels", "the inputs of its committee do not fit its features"),
    ],
)
def test_a_committee_of_other_arrays_is_refused(loans, what, message):
    arrays = loans.committee.to_arrays()
    spoil(arrays, what)
    with pytest.raises(ValueError, match=message):
        Committee.from_arrays(loans.density, arrays)
