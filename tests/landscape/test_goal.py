from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from daace._typing import FloatArray, Labels
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.kde import KernelDensity
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.density.mixture import GaussianMixture
from daace.exceptions import InvalidInput
from daace.landscape.goal import Goal


def test_plausibility_counts_deviations_of_the_draws(mixture: GaussianMixture) -> None:
    draws = mixture.draws_
    assert Goal(target="c0").region(mixture).min_log_prob == draws.mean - 0.5 * draws.sd
    strict = Goal(target="c0", plausibility=1.5).region(mixture)
    assert strict.min_log_prob == draws.mean + 1.5 * draws.sd


def test_a_threshold_itself_overrides_plausibility(mixture: GaussianMixture) -> None:
    goal = Goal(target="c0", plausibility=3.0, min_log_prob=-12.3)
    assert goal.region(mixture).min_log_prob == -12.3


def test_the_region_is_where_both_thresholds_hold(mixture: GaussianMixture) -> None:
    X, _ = mixture.sample(500, rng=np.random.default_rng(0))
    for k, label in enumerate(mixture.classes_):
        goal = Goal(target=label, plausibility=-0.3, min_posterior=0.8)
        alpha = mixture.draws_.mean - 0.3 * mixture.draws_.sd
        expected = (mixture.log_prob(X) >= alpha) & (mixture.predict_proba(X)[:, k] >= 0.8)
        region = goal.region(mixture)
        assert np.array_equal(region.contains(X), expected)
        assert 0 < expected.sum() < len(X)
        slack = region.slack(X)
        assert slack[:, 0] == pytest.approx(mixture.log_prob(X) - alpha, abs=1e-12)
        assert slack[:, 1] == pytest.approx(mixture.log_posterior(X)[:, k] - np.log(0.8), abs=1e-9)
        assert [goal.check(mixture, x) for x in X[:50]] == expected[:50].tolist()


def test_what_a_classifier_calls_impossible_has_a_finite_slack(mixture: GaussianMixture) -> None:
    class Never:
        classes_ = mixture.classes_

        def log_posterior(self, X: np.ndarray) -> np.ndarray:
            return np.full((len(X), len(self.classes_)), -np.inf)

    region = Goal(mixture.classes_[0], min_posterior=0.5).region(mixture, Never())
    slack = region.slack(np.zeros((2, 3)))
    assert np.isfinite(slack).all()
    assert (slack[:, 1] < -600).all()


@pytest.mark.parametrize("name", ["network", "kde", "mixture"])
def test_gradients_are_finite_differences(name: str, request: pytest.FixtureRequest) -> None:
    density: ConditionalDensity = request.getfixturevalue(name)
    X, _ = density.sample(10, rng=np.random.default_rng(1))
    region = Goal(target=density.classes_[0], min_posterior=0.6).region(density)
    slack, gradients = region.slack_and_pullback(X)
    assert slack == pytest.approx(region.slack(X), rel=1e-12, abs=1e-12)
    step = 1e-5
    for j, e in enumerate(np.eye(X.shape[1])):
        difference = (region.slack(X + step * e) - region.slack(X - step * e)) / (2 * step)
        size = 1 + np.abs(gradients()).max()
        assert gradients()[:, :, j] == pytest.approx(difference, abs=1e-5 * size)


def test_targets_may_be_named_by_their_text(iris: Table) -> None:
    frame = iris.to_frame()
    frame["class"] = np.searchsorted(iris.classes, iris.y)
    kde = KernelDensity(bandwidth=0.5).fit(Table.from_frame(frame, target="class"))
    for target in (2, "2", np.int64(2)):
        assert Goal(target=target).region(kde).index == 2


class Judge:
    """A classifier whose classes stand in another order, and which is sure of the first."""

    classes_: Labels = np.array(["malignant", "benign"])

    def log_posterior(self, X: FloatArray) -> FloatArray:
        return np.asarray(np.log(np.tile([0.9, 0.1], (len(X), 1))))


def test_another_judge_is_aligned_by_its_classes(network: LinearGaussianNetwork) -> None:
    x = network.pool("benign").X[np.argmax(network.pool("benign").log_joint[:, 0])]
    assert Goal(target="benign", min_posterior=0.5).check(network, x)
    assert not Goal(target="benign", min_posterior=0.5).check(network, x, Judge())
    assert Goal(target="malignant", min_posterior=0.5).check(network, x, Judge())
    region = Goal(target="malignant").region(network, Judge())
    assert region.index == 0
    assert not region.differentiable
    assert Goal(target="malignant").region(network).differentiable


def test_far_away_nothing_is_plausible(mixture: GaussianMixture) -> None:
    far = np.full(3, 1e3)
    for target in mixture.classes_:
        assert not Goal(target=target, min_posterior=0.0).check(mixture, far)


def test_posterior_zero_asks_for_nothing(mixture: GaussianMixture) -> None:
    X, _ = mixture.sample(100, rng=np.random.default_rng(2))
    for label in mixture.classes_:
        region = Goal(target=label, min_posterior=0.0, min_log_prob=-1e9).region(mixture)
        assert region.contains(X).all()


def test_posterior_zero_asks_for_nothing_far_away(mixture: GaussianMixture) -> None:
    X, _ = mixture.sample(100, rng=np.random.default_rng(2))
    region = Goal(target="c0", min_posterior=0.0, min_log_prob=-1e9).region(mixture)
    assert region.contains(200 * X).all()  # thousands of nats from the other class


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_posterior": 1.0}, "'min_posterior' must be at least 0 and below 1. Got 1.0."),
        ({"min_posterior": -0.1}, "'min_posterior' must be at least 0 and below 1. Got -0.1."),
        ({"min_posterior": np.nan}, "'min_posterior' must be a finite number. Got nan."),
        (
            {"plausibility": np.inf},
            "'plausibility' must be a finite number of at most 1e+06. Got inf.",
        ),
        (
            {"plausibility": 1e308},  # the search overflowed
            "'plausibility' must be a finite number of at most 1e+06. Got 1e+308.",
        ),
        (
            {"min_log_prob": np.nan},
            "'min_log_prob' must be a finite number of at most 1e+06. Got nan.",
        ),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Goal(target="c0", **settings)
    assert str(caught.value) == message


def test_an_unknown_target_is_named(mixture: GaussianMixture) -> None:
    with pytest.raises(InvalidInput, match=r"must be one of 'c0', 'c1'\. Got 'c7'\."):
        Goal(target="c7").region(mixture)


def test_a_judge_that_does_not_know_the_target_is_named(mixture: GaussianMixture) -> None:
    class Stranger:
        classes_: Labels = np.array(["yes", "no"])

        def log_posterior(self, X: FloatArray) -> FloatArray:
            return np.zeros((len(X), 2))

    target = mixture.classes_[0]
    with pytest.raises(InvalidInput, match=f"'posterior' must know the class '{target}'"):
        Goal(target).region(mixture, Stranger())
