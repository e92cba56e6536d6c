from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest

from daace._checks import check_choice
from daace._typing import FloatArray, Labels, Pullback
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.draws import draw_classes
from daace.density.kde import KernelDensity
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.exceptions import InvalidInput


def test_choices_are_listed() -> None:
    check_choice("rule", "a", ("a", "b"))
    with pytest.raises(InvalidInput, match=r"'rule' must be one of 'a', 'b'\. Got 'c'\."):
        check_choice("rule", "c", ("a", "b"))


def test_a_class_may_be_named_by_its_text(iris: Table) -> None:
    frame = iris.to_frame()
    frame["class"] = np.searchsorted(iris.classes, iris.y)
    kde = KernelDensity(bandwidth=0.5).fit(Table.from_frame(frame, target="class"))
    assert [kde.class_index(label) for label in (0, "1", np.int64(2))] == [0, 1, 2]


def test_the_pool_is_made_once_and_not_copied(kde: KernelDensity) -> None:
    pool = kde.pool("upper")
    assert kde.pool("upper") is pool
    assert pool.X.shape == (4000, 2)
    assert np.array_equal(pool.log_joint, kde.log_joint(pool.X))
    assert "_pools" not in kde.__getstate__()


def test_a_new_fit_forgets_the_old_pool(iris: Table, moons_table: Table) -> None:
    density = LinearGaussianNetwork().fit(iris)
    density.pool("setosa")
    density.fit(moons_table)
    assert density.pool("lower").X.shape == (4000, 2)


# Rows of the user ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def network(iris: Table) -> LinearGaussianNetwork:
    return LinearGaussianNetwork().fit(iris)


def _row(**change: object) -> dict[str, object]:
    flower: dict[str, object] = {
        "sepal length": 5.1,
        "sepal width": 3.5,
        "petal length": 1.4,
        "petal width": 0.2,
    }
    return {**flower, **change}


def test_a_row_in_any_form(network: LinearGaussianNetwork) -> None:
    expected = network.to_model(pd.DataFrame([_row()]))
    forms = [
        _row(),
        pd.Series(_row()),
        pd.Series(_row(**{"class": "setosa"})),  # a row of the user's frame, as objects
        [5.1, 3.5, 1.4, 0.2],
        np.array([[5.1, 3.5, 1.4, 0.2]]),
        pd.DataFrame([_row()])[["petal width", "petal length", "sepal width", "sepal length"]],
        pd.DataFrame([_row()], index=["anna"], dtype="float32").astype("float64"),
    ]
    for form in forms:
        assert network.to_model(form) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"sepal length": 5.1}, "must have every feature. Missing: 'sepal width', 'petal length'"),
        (_row(colour=3), "must have the features of the model only. Unknown: 'colour': drop"),
        (
            _row(**{"petal width": np.nan}),
            "must not have missing values. Got some in 'petal width'",
        ),
        (_row(**{"petal width": None}), "'petal width'"),
        (_row(**{"petal width": np.inf}), "must be finite"),
        (_row(**{"petal width": "thin"}), "numeric features only. Got text in 'petal width'"),
        ([1.0, 2.0], "The row must have 4 values. Got shape (2,)."),
        (np.zeros((2, 2, 4)), "The row must have 4 values. Got shape (2, 2, 4)."),
        ("setosa", "must be a Series, a dict, a DataFrame or an array of numbers. Got str."),
        (None, "must have 4 values"),
        (
            pd.DataFrame([[1.0] * 5], columns=["a", "a", "b", "c", "d"]),
            "distinct column names. Got 'a' more than once",
        ),
    ],
)
def test_rows_that_cannot_be(network: LinearGaussianNetwork, row: object, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        network.to_model(row)
    assert message in str(caught.value)


def test_a_class_with_one_row(iris: Table) -> None:
    lonely = iris.take([0, *range(50, 150)])
    with pytest.raises(InvalidInput, match=r"at least 2 rows\. Got 1 of 'setosa': drop"):
        KernelDensity().fit(lonely)


# The recipe in the docstring ----------------------------------------------------------------------


class Uniformish(ConditionalDensity):
    """The least a density must write: a standard normal whatever the class."""

    def fit(self, table: Table) -> Self:
        self._learn_names(table)
        self._describe_draws()
        return self

    def log_joint_and_pullback(self, X: FloatArray) -> tuple[FloatArray, Pullback]:
        n, classes = X.shape[1], len(self.classes_)
        one = -0.5 * (X**2).sum(axis=1) - 0.5 * n * np.log(2 * np.pi) - np.log(classes)
        return np.tile(one[:, None], classes), lambda W: -W.sum(axis=1)[:, None] * X

    def sample(
        self, n: int, *, rng: np.random.Generator, label: object = None
    ) -> tuple[FloatArray, Labels]:
        index = None if label is None else self.class_index(label)
        prior = np.zeros(len(self.classes_))
        labels = self.classes_[draw_classes(prior, n, rng=rng, index=index)]
        return rng.normal(size=(n, len(self.features_))), labels

    def to_arrays(self) -> tuple[dict[str, FloatArray], dict[str, Any]]:
        return {}, {}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray], settings: Mapping[str, Any]) -> Self:
        return cls()


def test_a_density_of_your_own(iris: Table) -> None:
    density = Uniformish().fit(iris)
    X, y = density.sample(50, rng=np.random.default_rng(0))
    assert density.predict_proba(X) == pytest.approx(np.full((50, 3), 1 / 3))
    assert density.log_joint_vjp(X, np.eye(3)[[0] * 50]) == pytest.approx(-X)
    assert set(y) == set(iris.classes)
    assert density.draws_.mean == pytest.approx(-2 - 2 * np.log(2 * np.pi), abs=0.1)
    assert len(density.pool("setosa").X) == 4000


def test_a_density_shows_its_settings() -> None:
    assert repr(KernelDensity(bandwidth=0.5)) == (
        "KernelDensity(bandwidth=0.5, smoothing='cv', max_rows_per_class=10000)"
    )
    assert repr(LinearGaussianNetwork(max_parents=2)).startswith(
        "LinearGaussianNetwork(start='naive', max_parents=2"
    )


def test_a_name_that_does_not_exist_is_no_matter_of_fitting(network: LinearGaussianNetwork) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'clases_'"):
        network.clases_  # noqa: B018
