from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from daace import KernelDensity, Table, load
from daace.exceptions import InvalidInput, MissingDependency
from daace.explain.fitting import fit


def test_fit_learns_a_density_by_name(cancer):
    few = cancer.select(cancer.features[:3])
    assert fit(few).density.kind == "linear-gaussian"
    assert fit(few, density="kde").density.kind == "kde"


def test_fit_fits_a_density_that_is_not_fitted(cancer):
    few = cancer.select(cancer.features[:2])
    density = KernelDensity(bandwidth=0.4)
    assert fit(few, density=density).density is density
    assert density.features_ == few.features


def test_fit_takes_a_fitted_density_as_it_is(mixture, cancer):
    table = Table.from_frame(
        pd.DataFrame({"x2": [0.0, 1.0], "x1": [0.0, 1.0], "class": ["ill", "well"]}), target="class"
    )
    assert fit(table, density=mixture).density is mixture
    with pytest.raises(InvalidInput, match="the features of the table"):
        fit(cancer, density=mixture)


@pytest.mark.parametrize("density", ["forest", 3])
def test_fit_refuses_an_unknown_density(cancer, density):
    with pytest.raises(
        InvalidInput, match="'density' must be one of 'profiles', 'linear-gaussian', 'kde'"
    ):
        fit(cancer, density=density)


def test_fit_says_what_realnvp_needs(cancer, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    with pytest.raises(
        MissingDependency, match=r"RealNVP needs torch: pip install 'daace\[flow\]'"
    ):
        fit(cancer, density="realnvp")


# Rows and classes, whichever way ------------------------------------------------------------------


def test_all_doors_lead_to_the_same_model(cancer):
    few = cancer.select(cancer.features[:3])
    frame = few.to_frame()
    X, y = frame[list(few.features)], frame["class"]
    expected = fit(few).explain(X.iloc[0], target="benign").path.to_numpy()
    for explainer in (
        fit(frame, target="class"),
        fit(X, y),
        fit(X, y.tolist()),
        fit(X.to_numpy(), y),
    ):
        row = X.to_numpy()[0]
        assert (explainer.explain(row, target="benign").path.to_numpy() == expected).all()


def test_the_density_goes_with_any_of_them(cancer):
    few = cancer.select(cancer.features[:2])
    frame = few.to_frame()
    kde = KernelDensity(bandwidth=0.4)
    assert fit(few, "kde").density.kind == "kde"
    assert fit(few, kde).density is kde
    assert fit(frame, target="class", density="kde").density.kind == "kde"
    assert fit(few.X, few.y, density="kde").density.kind == "kde"
    assert fit(frame, KernelDensity(bandwidth=0.4), target="class").density.kind == "kde"


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        (["frame", "class"], {}, "Got 'class': if it is the column .*, pass target='class'"),
        (["frame", "kde"], {}, r"^The classes must be given: fit\(frame, target='class'\)"),
        (["array", KernelDensity()], {}, r"The classes must be given: .* Got a ndarray alone"),
        (["array"], {"target": "class"}, "'target' must go with a frame"),
        (["table", "kde"], {"density": "kde"}, "'density' must be given once"),
        (
            ["table", "forest"],
            {},
            "'density' must be one of 'profiles', 'linear-gaussian', 'kde', 'realnvp'",
        ),
        (["table", ["a", "b"]], {}, "A daace.Table has its classes"),
        (["table"], {"target": "class"}, "A daace.Table has its classes"),
    ],
)
def test_what_is_not_clear_is_one_sentence(cancer, arguments, keywords, message):
    given = {"frame": cancer.to_frame(), "array": cancer.X, "table": cancer}
    first, *others = arguments
    with pytest.raises(InvalidInput, match=message):
        fit(given[first], *others, **keywords)


def test_a_measurement_is_refused_with_a_remedy(cancer):
    frame = cancer.to_frame()
    with pytest.raises(InvalidInput, match=r"pandas\.qcut\(frame\['mean radius'\], 3"):
        fit(frame.drop(columns="class"), target="mean radius")
    with pytest.raises(InvalidInput, match="must be a class, not a measurement"):
        fit(cancer.X[:, 1:], cancer.X[:, 0])


# Columns that are left out ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def with_constants():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"country": "US", "a": rng.normal(size=80), "unit": 7, "b": 1.0})
    frame["b"] = frame["a"] + rng.normal(size=80)
    frame["class"] = np.where(frame["b"] > 0, "yes", "no")
    with pytest.warns(UserWarning, match="Left out of the model: 'country', 'unit'"):
        explainer = fit(frame, target="class")
    return frame, explainer


def test_constant_columns_are_not_part_of_the_model(with_constants, tmp_path):
    frame, explainer = with_constants
    explainer.save(tmp_path / "model.daace")
    row = frame[frame["class"] == "no"].iloc[0]
    few = row[["a", "b"]]
    for used in (explainer, load(tmp_path / "model.daace")):
        assert used.density.features_ == ("a", "b")
        assert list(used.density.left_out_) == ["country", "unit"]
        assert used.density.columns_ == ("country", "a", "unit", "b")
        with_them, without = used.explain(row), used.explain(few)
        assert list(with_them.path.columns) == ["a", "b"]
        assert with_them.found
        assert with_them.path.equals(without.path)
        assert used.explain(dict(row)).path.equals(without.path)
        assert used.explain_batch(frame.head(3))[0].current
        assert used.explain({**row, "other": 1}).path.equals(without.path)


def test_an_array_may_have_the_constant_columns_too():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(90, 3.0), rng.normal(size=90), rng.normal(size=90)])
    with pytest.warns(UserWarning, match="Left out of the model: 'x1'"):
        explainer = fit(X, X[:, 2] > 0)
    row = X[X[:, 2] < 0][0]
    assert explainer.explain(row).path.equals(explainer.explain(row[1:]).path)
    with pytest.raises(InvalidInput, match=r"The row must have 2 values. Got shape \(4,\)"):
        explainer.explain(np.zeros(4))


def test_rows_to_check_by_may_be_constant(with_constants):
    frame, explainer = with_constants
    rows = frame.head(4).assign(a=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of four rows, there are some
        warnings.filterwarnings("error", message="Left out")
        assert explainer.check(rows).rows == 4


@pytest.mark.filterwarnings("ignore:Left out")
def test_a_table_that_leaves_out_what_the_model_needs_is_refused(with_constants):
    frame, explainer = with_constants
    table = Table.from_frame(frame.head(4).assign(a=0.5), target="class")
    with pytest.raises(InvalidInput, match=r"It leaves out 'a': pass the frame, or make"):
        explainer.check(table)


def test_a_classifier_with_the_constant_columns_is_told(with_constants):
    from sklearn.tree import DecisionTreeClassifier

    from daace import Explainer

    frame, explainer = with_constants
    names = ["a", "unit", "b"]
    tree = DecisionTreeClassifier(random_state=0).fit(frame[names], frame["class"])
    with pytest.raises(InvalidInput, match="They differ in 'unit'"):
        Explainer(explainer.density, classifier=tree)
    tree = DecisionTreeClassifier(random_state=0).fit(frame[names].to_numpy(), frame["class"])
    with pytest.raises(InvalidInput, match="leaves out 'country', 'unit', fit it without"):
        Explainer(explainer.density, classifier=tree)


def test_warnings_point_at_the_line_that_calls_fit():
    rng = np.random.default_rng(0)
    a = rng.normal(size=60)
    frame = pd.DataFrame({"a": a, "copy": 2 * a, "country": "Peru"})
    calls = [
        lambda: fit(frame.assign(y=a > 0), target="y"),
        lambda: fit(frame, pd.Series(a > 0, name="y")),
        lambda: Table.from_frame(frame.assign(y=a > 0), target="y"),
    ]
    for call in calls:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            call()
        assert "Left out of the model: 'country'" in str(said[0].message)
        assert {warning.filename for warning in said} == {__file__}
