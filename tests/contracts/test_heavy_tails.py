"""The laws hold for heavy tails too, and do not hold for what is wrong about them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pytest
from scipy.special import gammaln

from daace._typing import FloatArray, Labels, Pullback
from daace.data.table import Table
from daace.density import ConditionalDensity, all_or_nothing, draw_classes
from daace.testing import check_density, check_refits
from daace.testing.density_laws import draws_of_one_class, integrates_to_one, samples_follow


class StudentNaiveBayes(ConditionalDensity):
    """p(x, y) = p(y) prod_i t_nu((x_i - m_yi) / s_yi) / s_yi, with ways to get it wrong."""

    def __init__(self, freedom: float = 5.0, mass: float = 1.0, shift: float = 0.0) -> None:
        self.freedom, self.mass, self.shift = freedom, mass, shift

    @all_or_nothing
    def fit(self, table: Table) -> Self:
        X, y = self._learn_names(table)
        groups = [X[y == k] for k in range(len(self.classes_))]
        self.log_prior_ = np.log([len(group) / len(X) for group in groups])
        self.centers_ = np.array([np.median(group, axis=0) for group in groups])
        self.scales_ = np.array([np.ptp(group, axis=0) / 6 for group in groups])
        self._describe_draws()
        return self

    def log_joint_and_pullback(self, X: FloatArray) -> tuple[FloatArray, Pullback]:
        z = (self._check_rows(X)[:, None] - self.centers_) / self.scales_
        nu = self.freedom
        constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi)
        logs = constant - (nu + 1) / 2 * np.log1p(z**2 / nu) - np.log(self.scales_)

        def pullback(W: FloatArray) -> FloatArray:
            slopes = -(nu + 1) * z / (nu + z**2) / self.scales_
            return np.asarray((W[:, :, None] * slopes).sum(axis=1))

        return self.log_prior_ + logs.sum(axis=2) + np.log(self.mass), pullback

    def sample(
        self, n: int, *, rng: np.random.Generator, label: object = None
    ) -> tuple[FloatArray, Labels]:
        index = None if label is None else self.class_index(label)
        chosen = draw_classes(self.log_prior_, n, rng=rng, index=index)
        noise = rng.standard_t(self.freedom, size=(n, len(self.features_)))
        noise += 0.0 if label is None else self.shift
        return self.centers_[chosen] + self.scales_[chosen] * noise, self.classes_[chosen]


def fitted(table: Table, **settings: Any) -> StudentNaiveBayes:
    return StudentNaiveBayes(**settings).fit(table.select(["petal length", "petal width"]))


@pytest.mark.parametrize("freedom", [1.0, 1.5, 2.0, 5.0])
@pytest.mark.parametrize("features", [1, 2, 4])
def test_heavy_tails_obey_the_laws(iris: Table, freedom: float, features: int) -> None:
    table = iris.select(list(iris.features[:features]))
    density = StudentNaiveBayes(freedom).fit(table)
    check_density(density)
    check_refits(density, table)


@pytest.mark.parametrize("mass", [0.999, 1.001])
def test_a_mass_that_is_not_one_is_found(iris: Table, mass: float) -> None:
    with pytest.raises(AssertionError, match=r"p\(x\) must integrate to 1"):
        integrates_to_one(fitted(iris, mass=mass), np.random.default_rng(0))


def test_draws_of_another_tail_are_found(iris: Table) -> None:
    density = fitted(iris, freedom=5.0)
    samples_follow(density, np.random.default_rng(0))
    other = fitted(iris, freedom=2.0)
    density.sample = other.sample  # type: ignore[method-assign]
    with pytest.raises(AssertionError, match="Samples must follow the density"):
        samples_follow(density, np.random.default_rng(0))


def test_draws_of_a_class_that_lie_elsewhere_are_found(iris: Table) -> None:
    with pytest.raises(AssertionError, match="must be distributed like that class"):
        draws_of_one_class(fitted(iris, freedom=1.0, shift=0.3), np.random.default_rng(0))
