from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from daace._typing import FloatArray
from daace.data.synthetic import draw_table, random_mixture
from daace.data.table import Table
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.eqi.data import Counties, read_counties
from daace.eqi.models.densities import forbidden_arcs, forced_arcs
from daace.exceptions import InvalidInput, NotFitted


def _frame(rng: np.random.Generator, rows: int = 200) -> pd.DataFrame:
    """x2 = 2 x1 + noise, x3 = x1 - x2 + noise that depends on the class."""
    y = np.arange(rows) % 2
    x1 = rng.normal(size=rows) + y
    x2 = 2 * x1 + rng.normal(size=rows)
    x3 = x1 - x2 + rng.normal(scale=np.where(y, 0.5, 1.5))
    return pd.DataFrame({"x1": x1, "x2": x2, "x3": x3, "class": np.array(["n", "y"])[y]})


@pytest.fixture
def table(rng: np.random.Generator) -> Table:
    return Table.from_frame(_frame(rng), target="class")


ARCS = [("class", "x1"), ("x1", "x2"), ("class", "x3"), ("x1", "x3"), ("x2", "x3")]


def _moments(network: LinearGaussianNetwork, k: int) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of a class, by ancestral recursion over the equations."""
    n = len(network.features_)
    lift = np.linalg.inv(np.eye(n) - network.coefficients_[k])
    mean = lift @ network.intercepts_[k]
    return mean, lift @ np.diag(network.variances_[k]) @ lift.T


def test_the_joint_is_the_gaussian_of_the_equations(table: Table) -> None:
    network = LinearGaussianNetwork().fit_arcs(table, ARCS)
    X = np.random.default_rng(1).normal(size=(30, 3), scale=3)
    X[15:] *= 50
    for k in range(2):
        mean, covariance = _moments(network, k)
        delta = X - mean
        squares = np.einsum("ri,ri->r", delta, np.linalg.solve(covariance, delta.T).T)
        expected = -0.5 * squares - 0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1]
        expected += network.log_prior_[k]
        assert network.log_joint(X)[:, k] == pytest.approx(expected, rel=1e-9)


def test_the_joint_is_the_product_of_its_families(table: Table) -> None:
    network = LinearGaussianNetwork().fit_arcs(table, ARCS)
    X = 50 * np.random.default_rng(2).normal(size=(20, 3))
    exact = X.astype(np.longdouble)
    for k in range(2):
        means = exact @ network.coefficients_[k].T + network.intercepts_[k]
        logs = -0.5 * (
            (exact - means) ** 2 / network.variances_[k]
            + np.log(2 * np.longdouble(np.pi) * network.variances_[k])
        )
        expected = np.asarray(logs.sum(axis=1) + network.log_prior_[k], np.float64)
        assert network.log_joint(X)[:, k] == pytest.approx(expected, rel=1e-12)


def test_parameters_are_least_squares(table: Table) -> None:
    network = LinearGaussianNetwork().fit_arcs(table, ARCS)
    X = network.to_model(table.to_frame())
    for k, label in enumerate(network.classes_):
        group = X[table.y == label]
        design = np.column_stack([np.ones(len(group)), group[:, :2]])
        beta, rss, *_ = np.linalg.lstsq(design, group[:, 2], rcond=None)
        assert network.intercepts_[k, 2] == pytest.approx(beta[0], abs=1e-9)
        assert network.coefficients_[k, 2, :2] == pytest.approx(beta[1:], rel=1e-9)
        assert network.variances_[k, 2] == pytest.approx(rss[0] / (len(group) - 3), rel=1e-9)
    # Without the class as a parent, all rows share one line.
    assert network.coefficients_[0, 1].tolist() == network.coefficients_[1, 1].tolist()
    assert network.variances_[0, 1] == network.variances_[1, 1]
    assert np.exp(network.log_prior_) == pytest.approx([0.5, 0.5])


def test_arcs_and_coefficients_can_be_read(table: Table) -> None:
    network = LinearGaussianNetwork().fit_arcs(table, ARCS)
    assert sorted(network.arcs_) == sorted(ARCS)
    frame = network.coefficients_frame()
    assert list(frame.columns) == ["parent", "child", "class", "profile", "coefficient"]
    row = frame[(frame.parent == "x2") & (frame.child == "x3") & (frame["class"] == "y")]
    assert row.coefficient.item() == network.coefficients_[1, 2, 1] < 0


def test_the_search_finds_what_made_the_rows(rng: np.random.Generator) -> None:
    network = LinearGaussianNetwork().fit(Table.from_frame(_frame(rng, 2000), target="class"))
    assert {("class", "x1"), ("class", "x3")} <= set(network.arcs_)
    undirected = {frozenset(arc) for arc in network.arcs_ if "class" not in arc}
    assert undirected == {frozenset(p) for p in (("x1", "x2"), ("x1", "x3"), ("x2", "x3"))}


def test_shuffled_rows_of_a_real_table_give_the_same_network(
    cancer: Table, network: LinearGaussianNetwork
) -> None:
    for seed in range(3):
        other = LinearGaussianNetwork().fit(cancer.shuffle(rng=np.random.default_rng(seed)))
        assert other.arcs_ == network.arcs_
        X = network.to_model(cancer.to_frame())
        assert other.log_joint(X) == pytest.approx(network.log_joint(X), rel=1e-8, abs=1e-8)


def test_forced_forbidden_and_max_parents(iris: Table) -> None:
    forced = [("petal width", "sepal width"), ("class", "sepal width")]
    forbidden = [
        ("class", "petal length"),
        ("petal width", "petal length"),
        ("petal width", "class"),  # can be said, though the class never has parents
    ]
    for start in ("naive", "empty"):
        network = LinearGaussianNetwork(
            start=start,
            max_parents=2,
            forced=forced,
            forbidden=forbidden,
        ).fit(iris)
        arcs = set(network.arcs_)
        assert arcs >= set(forced)
        assert not arcs & set(forbidden)
        for feature in iris.features:
            assert sum(child == feature for _, child in arcs) <= 2


def test_no_parents_at_all(iris: Table) -> None:
    network = LinearGaussianNetwork(max_parents=0).fit(iris)
    assert network.arcs_ == []
    proba = network.predict_proba(network.to_model(iris.to_frame()))
    assert proba == pytest.approx(np.full((150, 3), 1 / 3))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"start": "full"}, "'start' must be one of 'naive', 'empty'. Got 'full'."),
        ({"max_parents": -1}, "'max_parents' must be an integer of at least 0. Got -1."),
        ({"profiles": 0}, "'profiles' must be an integer of at least 1, or 'auto'. Got 0."),
        ({"profiles": "many"}, "'profiles' must be an integer of at least 1, or 'auto'."),
        ({"max_parents": 1.5}, "'max_parents' must be an integer of at least 0. Got 1.5."),
        ({"forced": [("x1", "x9")]}, "'forced' must name columns of the table. Got 'x9'."),
        ({"forbidden": [("y", "x1")]}, "'forbidden' must name columns of the table. Got 'y'."),
        ({"forced": [("x1", "class")]}, "'forced' must not point to the class."),
        ({"forced": [("x1", "x2"), ("x2", "x1")]}, "'forced' must not make a cycle."),
        ({"forced": [("x1", "x1")]}, "'forced' must not make a cycle."),
        ({"forced": ["ab"]}, "'forced' must be pairs (parent, child). Got 'ab'."),
        ({"forbidden": [("a", "b", "c")]}, "'forbidden' must be pairs (parent, child)."),
        (
            {"forced": [("x1", "x2")], "forbidden": [("x1", "x2")]},
            "'forced' and 'forbidden' must not name the same arc.",
        ),
        (
            {"forced": [("class", "x1")], "forbidden": [("class", "x1")]},
            "'forced' and 'forbidden' must not name the same arc.",
        ),
        (
            {"forced": [("x1", "x3"), ("x2", "x3"), ("class", "x3")], "max_parents": 2},
            "'forced' must keep to max_parents=2. Got 3 for 'x3'.",
        ),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], message: str, table: Table) -> None:
    with pytest.raises(InvalidInput) as caught:
        LinearGaussianNetwork(**settings).fit(table)
    assert message in str(caught.value)


def test_a_cycle_in_given_arcs_is_an_error(table: Table) -> None:
    with pytest.raises(InvalidInput, match="'arcs' must not make a cycle"):
        LinearGaussianNetwork().fit_arcs(table, [("x1", "x2"), ("x2", "x1")])


def test_before_fit_it_says_so() -> None:
    with pytest.raises(NotFitted, match="This LinearGaussianNetwork is not fitted: call fit"):
        LinearGaussianNetwork().log_prob(np.zeros((1, 2)))
    with pytest.raises(NotFitted):
        _ = LinearGaussianNetwork().arcs_


def test_only_a_table_can_be_fitted() -> None:
    with pytest.raises(InvalidInput, match=r"'table' must be a daace\.Table\. Got DataFrame:"):
        LinearGaussianNetwork().fit(pd.DataFrame())  # type: ignore[arg-type]


# Columns that say the same, classes with few rows -------------------------------------------------


def test_collinear_columns_are_named_and_do_no_harm(rng: np.random.Generator) -> None:
    frame = _frame(rng).assign(copy=lambda f: 3 * f.x1 + 1, total=lambda f: f.x2 + f.x3)
    with pytest.warns(
        UserWarning, match="Nearly no variance is left in '.*'.*consider dropping"
    ) as w:
        network = LinearGaussianNetwork().fit(Table.from_frame(frame, target="class"))
    message = str(w[0].message)
    assert "'copy'" in message or "'x1'" in message
    assert any(f"'{name}'" in message for name in ("total", "x2", "x3"))
    assert w[0].filename == __file__
    X, _ = network.sample(100, rng=rng)
    assert np.isfinite(network.log_prob(X)).all()
    assert network.variances_.min() >= 1e-6


def test_forced_parents_may_be_collinear(rng: np.random.Generator) -> None:
    frame = _frame(rng).assign(copy=lambda f: f.x1)
    arcs = [("x1", "x2"), ("copy", "x2"), ("class", "x2")]
    with pytest.warns(UserWarning, match="Nearly no variance"):
        network = LinearGaussianNetwork(forced=arcs).fit(Table.from_frame(frame, target="class"))
    assert set(arcs) <= set(network.arcs_)
    alone = LinearGaussianNetwork().fit_arcs(
        Table.from_frame(frame[["x1", "x2", "class"]], target="class"), [arcs[0], arcs[2]]
    )
    # 'copy' adds nothing: the line through x1 and its copy is the line through x1.
    slope = network.coefficients_[:, 1, [0, 3]].sum(axis=1)
    assert slope == pytest.approx(alone.coefficients_[:, 1, 0], abs=1e-3)
    assert network.variances_[:, 1] == pytest.approx(alone.variances_[:, 1], rel=0.02)


def test_a_column_constant_within_a_class_is_named(rng: np.random.Generator) -> None:
    frame = _frame(rng).assign(flat=lambda f: np.where(f["class"] == "n", 5.0, f.x1))
    with pytest.warns(UserWarning, match="'flat'"):
        network = LinearGaussianNetwork().fit(
            Table.from_frame(frame, target="class", kinds="number")
        )
    assert np.isfinite(network.log_prob(network.to_model(frame))).all()


@pytest.mark.parametrize("few", [10, 11, 12])
def test_a_class_with_fewer_rows_than_features(few: int) -> None:
    parameters = random_mixture(16, components=1, rng=np.random.default_rng(3))
    table = draw_table(parameters, 300, rng=np.random.default_rng(4))
    first = np.flatnonzero(table.y == "c0")[:few]
    rest = np.flatnonzero(table.y == "c1")
    table = table.take(np.r_[first, rest])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Nearly no variance")
        network = LinearGaussianNetwork().fit(table)
    under_class = {child for parent, child in network.arcs_ if parent == "class"}
    for child in under_class:
        parents = sum(arc[1] == child for arc in network.arcs_) - 1
        assert parents + 4 <= few
    X, _ = network.sample(200, rng=np.random.default_rng(5))
    assert np.isfinite(network.log_joint(X)).all()


def test_the_start_leaves_out_a_class_that_is_too_small_for_the_forced_parents() -> None:
    rng = np.random.default_rng(0)
    table = draw_table(random_mixture(8, components=1, rng=rng), 300, rng=rng)
    few = table.take(np.r_[np.flatnonzero(table.y == "c0")[:10], np.flatnonzero(table.y == "c1")])
    *parents, child = table.features
    network = LinearGaussianNetwork(forced=[(parent, child) for parent in parents]).fit(few)
    assert ("class", child) not in network.arcs_
    assert ("class", parents[0]) in network.arcs_


def test_one_feature(rng: np.random.Generator) -> None:
    table = Table.from_frame(_frame(rng)[["x1", "class"]], target="class")
    network = LinearGaussianNetwork().fit(table)
    assert network.arcs_ == [("class", "x1")]
    assert np.isfinite(network.log_prob(np.array([[0.0], [50.0]]))).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variances": np.zeros((2, 3))}, "a variance is not positive"),
        ({"variances": np.ones((2, 2))}, "'variances' has shape"),
        ({"arcs": np.ones((3, 3))}, "the arcs have a cycle"),
        ({"arcs": np.zeros((3, 3))}, "a coefficient stands where there is no arc"),
    ],
)
def test_arrays_that_do_not_fit(change: dict[str, FloatArray], message: str, table: Table) -> None:
    arrays, settings = LinearGaussianNetwork().fit_arcs(table, ARCS).to_arrays()
    with pytest.raises(ValueError, match=message):
        LinearGaussianNetwork.from_arrays({**arrays, **change}, settings)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"owner": np.array([0.0, 1, 0, 1])}, "not in the order of the classes"),
        ({"owner": np.array([0.0, 0, 0, 0])}, "not in the order of the classes"),
        ({"owner": np.array([0.0, 1])}, "'owner' has shape"),
        ({"owner": None}, "its profiles belong to no class"),
        ({"log_weights": np.log([0.1, 0.1, 0.1, 0.1])}, "shares of its profiles do not sum"),
        ({"log_weights": None}, "'log_weights' has shape"),
    ],
)
def test_profiles_that_do_not_fit(
    change: dict[str, FloatArray | None], message: str, table: Table
) -> None:
    arrays, settings = LinearGaussianNetwork(profiles=2).fit(table).to_arrays()
    damaged = {name: array for name, array in {**arrays, **change}.items() if array is not None}
    with pytest.raises(ValueError, match=message):
        LinearGaussianNetwork.from_arrays(damaged, settings)


# PyBNesian as oracle ------------------------------------------------------------------------------


def _oracle(network: LinearGaussianNetwork, table: Table) -> tuple[float, float]:
    """Return log-likelihood and BIC that PyBNesian gives the same graph on the same rows."""
    pa = pytest.importorskip("pyarrow")
    pb = pytest.importorskip("pybnesian")
    names = [table.target, *table.features]
    codes = np.searchsorted(table.classes, table.y).astype(np.int8)
    labels = pa.DictionaryArray.from_arrays(
        pa.array(codes), pa.array([str(label) for label in table.classes])
    )
    X = network.to_model(table.to_frame())
    columns = [pa.array(np.ascontiguousarray(column)) for column in X.T]
    batch = pa.RecordBatch.from_arrays([labels, *columns], names=names)
    peer = pb.CLGNetwork(
        nodes=names, arcs=network.arcs_, node_types=[(table.target, pb.DiscreteFactorType())]
    )
    peer.fit(batch)
    return float(peer.logl(batch).sum()), float(pb.BIC(batch).score(peer))


def _log_likelihood(network: LinearGaussianNetwork, table: Table) -> float:
    joint = network.log_joint(network.to_model(table.to_frame()))
    return float(joint[np.arange(len(table)), np.searchsorted(table.classes, table.y)].sum())


@pytest.mark.parametrize("max_parents", [1, 3, None])
@pytest.mark.parametrize("seed", range(3))
def test_likelihood_and_bic_are_those_of_pybnesian(seed: int, max_parents: int | None) -> None:
    rng = np.random.default_rng(seed)
    parameters = random_mixture(7, classes=2 + seed, components=1, rng=rng)
    table = draw_table(parameters, 500, rng=rng)
    network = LinearGaussianNetwork(max_parents=max_parents).fit(table)
    log_likelihood, bic = _oracle(network, table)
    assert _log_likelihood(network, table) == pytest.approx(log_likelihood, rel=1e-8)
    assert network.bic(table) == pytest.approx(bic, rel=1e-8)


def test_likelihood_and_bic_on_breast_cancer(cancer: Table, network: LinearGaussianNetwork) -> None:
    log_likelihood, bic = _oracle(network, cancer)
    assert _log_likelihood(network, cancer) == pytest.approx(log_likelihood, rel=1e-8)
    assert network.bic(cancer) == pytest.approx(bic, rel=1e-8)


# The EQI table ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def eqi(data_folder: Path) -> Counties:
    """The counties with 5 indices and 126 variables."""
    if not (data_folder / "eqi").is_dir():
        pytest.skip("needs the folder eqi in DAACE_DATA")
    return read_counties(data_folder / "eqi")


def test_eqi_reaches_the_measured_log_likelihood(eqi: Counties) -> None:
    domain_of = eqi.domain_of
    forced, forbidden = forced_arcs(), forbidden_arcs(domain_of)
    network = LinearGaussianNetwork(
        start="empty", max_parents=3, forced=forced, forbidden=forbidden
    ).fit(eqi.table)
    arcs = set(network.arcs_)
    assert set(forced) <= arcs
    assert not arcs & set(forbidden)
    assert _log_likelihood(network, eqi.table) / len(eqi.table) == pytest.approx(-136.06, abs=0.5)
    parents = pd.Series([child for _, child in arcs]).value_counts()
    assert parents.max() <= 3
