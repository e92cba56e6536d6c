from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from daace import KernelDensity, Table, load_table
from daace.exceptions import InvalidInput
from daace.explain.explainer import Explainer
from daace.explain.fitting import fit
from daace.explain.trust.check import membership_auc, reliability


@pytest.fixture(scope="module")
def split(cancer) -> tuple[Table, Table]:
    return cancer.split(0.3, rng=np.random.default_rng(0))


@pytest.fixture(scope="module")
def learned(split) -> Explainer:
    return fit(split[0])


@pytest.mark.parametrize("name", ["breast_cancer", "iris", "wine_cultivars"])
def test_a_good_fit_is_quiet(name):
    train, held_out = load_table(name).split(0.3, rng=np.random.default_rng(0))
    check = fit(train).check(held_out)  # a warning would be an error here
    assert check.ok
    assert check.rows == len(held_out)
    assert check.accuracy > 0.9
    assert str(check).endswith("No warnings.")


def test_rows_of_another_kind_are_told(learned, split):
    rng = np.random.default_rng(1)
    mixed = np.column_stack([rng.permutation(column) for column in split[1].X.T])
    with (
        pytest.warns(UserWarning, match="less plausible than 99% of the density's samples"),
        pytest.warns(UserWarning, match="no better than the shares"),
    ):
        check = learned.check(replace(split[1], X=mixed))
    assert check.rare > 0.5
    assert check.z < -100
    assert not check.ok


def test_wrong_classes_are_told(learned, split):
    labels = np.random.default_rng(1).permutation(split[1].y)
    with pytest.warns(UserWarning, match="no better than the shares of the classes"):
        check = learned.check(replace(split[1], y=labels))
    assert check.brier > check.brier_baseline


def test_overconfidence_is_told():
    X = np.random.default_rng(0).normal(size=(400, 1))
    y = np.where(np.random.default_rng(1).random(400) < 0.7, X[:, 0] > 0, X[:, 0] <= 0)
    rows = Table(X, y.astype(str), ("x1",), np.array(["False", "True"]))
    from daace import GaussianMixture

    sure = GaussianMixture([1, 1], [[-2.0], [2.0]], [[[1.0]], [[1.0]]], ["False", "True"])
    with pytest.warns(UserWarning, match=r"off by \d+% on average"):
        check = Explainer(sure, classifier=None).check(rows)
    assert 0.15 < check.calibration_error < 0.5


def test_the_densitys_own_draws_are_expected(mixture, rng):
    X, y = mixture.sample(4000, rng=rng)
    check = Explainer(mixture).check(Table(X, y, mixture.features_, mixture.classes_))
    assert abs(check.z) < 4
    assert check.rare == pytest.approx(0.01, abs=0.006)
    assert check.calibration_error < 0.02
    frame = check.to_frame()
    assert frame.loc["brier", "value"] < frame.loc["brier", "compare"]


def test_reliability_by_hand():
    shares = np.array([[0.6, 0.4], [0.7, 0.3], [0.9, 0.1], [0.2, 0.8]])
    truth = np.array([[True, False], [False, True], [True, False], [False, True]])
    frame = reliability(shares, truth)
    assert frame["confidence"].tolist() == [0.6, 0.7, 0.8, 0.9]
    assert frame["accuracy"].tolist() == [1.0, 0.0, 1.0, 1.0]


def test_membership_is_the_area_under_the_curve(learned, split):
    from sklearn.metrics import roc_auc_score

    inside, outside = (learned.density.log_prob(learned.density.to_model(t.X)) for t in split)
    expected = roc_auc_score(
        np.repeat([1, 0], [len(inside), len(outside)]), np.append(inside, outside)
    )
    assert learned.membership(*split) == pytest.approx(expected)
    assert membership_auc(learned.density, split[0], split[0]) == 0.5


def test_a_network_forgets_its_rows_and_a_kde_does_not(learned, split):
    assert learned.membership(*split) == pytest.approx(0.5, abs=0.05)
    assert Explainer(KernelDensity().fit(split[0])).membership(*split) > 0.9


def test_nearest_rows(learned, split, malignant):
    e = learned.explain(malignant.loc[499], target="benign")
    near = e.nearest_rows(split[0])
    assert len(near) == len(e.path)
    data = split[0].X / e.sd
    for way, distance, row in zip(
        e.path.to_numpy() / e.sd, near["distance"], near["row"], strict=True
    ):
        away = np.linalg.norm(data - way, axis=1)
        assert (distance, row) == (pytest.approx(away.min()), away.argmin())
    assert near["percentile"].between(0, 100).all()
    copy = replace(e, path=e.path.assign(**split[0].to_frame().iloc[7].drop("class")))
    assert copy.nearest_rows(split[0].to_frame())["distance"].max() == 0
    with pytest.raises(InvalidInput, match=r"'rows' must be a daace.Table or a frame"):
        e.nearest_rows(split[0].X)
    with pytest.raises(InvalidInput, match=r"'rows' must be at least two. Got 1"):
        e.nearest_rows(split[0].take([0]))


def test_a_frame_is_as_good_as_a_table(learned, split):
    train, held_out = (table.to_frame().assign(town="Ulm") for table in split)
    assert str(learned.check(held_out)) == str(learned.check(split[1]))
    assert learned.membership(train, held_out) == learned.membership(*split)
    polars = pytest.importorskip("polars")
    columns = {name: held_out[name].to_numpy() for name in held_out.columns}
    assert str(learned.check(polars.DataFrame(columns))) == str(learned.check(split[1]))


def test_wrong_frames_are_refused(learned, split, malignant):
    frame = split[1].to_frame()
    with pytest.raises(
        InvalidInput,
        match=r"^'table' must have the class column of the model, 'class'. Got a frame without it: "
        r".* daace.Table.from_frame\(frame, target=...\)\.$",
    ):
        learned.check(frame.rename(columns={"class": "kind"}))
    with pytest.raises(
        InvalidInput, match=r"'table' must have every feature. Missing: 'mean area'"
    ):
        learned.check(frame.drop(columns="mean area"))
    with pytest.raises(InvalidInput, match="'table' must have rows"):
        learned.check(frame.head(0))
    with pytest.raises(InvalidInput, match=r"must have classes of the model: .* Got 'rose'"):
        learned.check(frame.replace({"class": {"benign": "rose"}}))
    e = learned.explain(malignant.loc[499], target="benign")
    with pytest.raises(InvalidInput, match=r"'rows' must be a daace.Table or a frame with every"):
        e.nearest_rows(frame.drop(columns="mean area"))
    with pytest.raises(InvalidInput, match=r"'rows' must not have missing values"):
        e.nearest_rows(frame.assign(**{"mean area": np.nan}))


def test_wrong_tables_are_refused(learned, split):
    with pytest.raises(
        InvalidInput, match=r"'table' must be a daace.Table or a frame. Got ndarray"
    ):
        learned.check(split[1].X)
    with pytest.raises(InvalidInput, match=r"'held_out' must be a daace.Table .* Got NoneType"):
        learned.membership(split[0], None)
    with pytest.raises(InvalidInput, match="'table' must have rows"):
        learned.check(split[1].take([]))
    with pytest.raises(InvalidInput, match=r"must have classes of the model: .* Got 'rose'"):
        learned.check(replace(split[1], y=np.full(len(split[1]), "rose")))
    with warnings.catch_warnings(), pytest.raises(InvalidInput, match="Missing"):
        learned.check(split[1].select(["mean area"]))


@pytest.mark.filterwarnings("ignore:Left out of the model")
def test_frames_with_categories_and_gaps_are_checked():
    table = load_table("loans").take(np.arange(500))
    frame = table.to_frame().assign(id=[f"a{k}" for k in range(500)])
    assert frame["credit_score"].isna().any()
    train, held_out = frame[:400], frame[400:]
    explainer = fit(train, target="decision", density="linear-gaussian", judge="density")
    check = explainer.check(held_out)
    assert check.rows == 100
    same = explainer.check(Table.from_frame(held_out, target="decision"))
    assert same.log_prob == pytest.approx(check.log_prob)
    assert 0.4 < explainer.membership(train, held_out) < 0.7
    e = explainer.explain(train[train["decision"] == "refused"].iloc[0], target="granted")
    assert len(e.stability(train, seeds=1, refits=1).to_frame()) == 2
