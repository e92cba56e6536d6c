from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import daace
from daace import (
    Constraints,
    GaussianMixture,
    Goal,
    Landscape,
    LinearGaussianNetwork,
    Plan,
    Problem,
    Table,
    Wachter,
)
from daace.data.synthetic import random_mixture
from daace.exceptions import InvalidInput
from daace.planners.wachter import median_deviation


@pytest.fixture(scope="module")
def rows(mixture: GaussianMixture) -> np.ndarray:
    return mixture.sample(200, rng=np.random.default_rng(2))[0]


@pytest.fixture(scope="module")
def start(mixture: GaussianMixture) -> np.ndarray:
    return mixture.sample(1, rng=np.random.default_rng(3), label="c0")[0][0]


def solve(planner: Wachter, problem: Problem) -> Plan:
    return planner.solve(problem, rng=np.random.default_rng(0))


def test_settings_are_checked() -> None:
    with pytest.raises(InvalidInput, match="'search' must be one of 'data', 'gradient'"):
        Wachter(np.zeros((2, 2)), search="random")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="'rows' must be"):
        Wachter(np.zeros(2))


def test_rows_must_fit_the_density(mixture: GaussianMixture, start: np.ndarray) -> None:
    problem = Problem(start, Landscape(mixture), Goal("c1"))
    with pytest.raises(InvalidInput, match="'rows' must have the 3 features of the density"):
        solve(Wachter(np.zeros((4, 2))), problem)


def test_the_row_is_the_nearest_that_meets_everything(
    mixture: GaussianMixture, rows: np.ndarray, start: np.ndarray
) -> None:
    j = int(np.argmax(mixture.sample(100, rng=np.random.default_rng(0), label="c1")[0].std(0)))
    rules = Constraints(lower={"x1": start[0] - 1.0}, weights={f"x{j + 1}": 5.0})
    problem = Problem(start, Landscape(mixture), Goal("c1", min_posterior=0.8), rules)
    plan = solve(Wachter(rows), problem)
    deviation = [np.median(abs(rows[:, k] - np.median(rows[:, k]))) for k in range(3)]
    best, nearest = np.inf, None
    for row in rows:
        far = sum(abs(row - start) * problem.feasible.weights / deviation)
        allowed = problem.feasible.contains(np.stack([start, row])) and problem.met_by(row)
        if allowed and far < best:
            best, nearest = far, row
    assert nearest is not None
    np.testing.assert_array_equal(plan.waypoints, np.stack([start, nearest]))


def test_the_gradient_comes_nearer_than_the_rows(cancer: Table) -> None:
    network = LinearGaussianNetwork().fit(cancer)
    rows = network.to_model(cancer.to_frame())
    problem = Problem(rows[0], Landscape(network), Goal("benign"))
    scale = 1 / median_deviation(rows)
    far = {
        search: np.abs(solve(Wachter(rows, search=search), problem).waypoints[-1] - rows[0]) @ scale
        for search in ("data", "gradient")
    }
    assert far["gradient"] < 0.7 * far["data"]


def test_without_plausibility_one_feature_does(cancer: Table) -> None:
    """The absolute values make sparse counterfactuals: the original's selling point."""
    network = LinearGaussianNetwork().fit(cancer)
    rows = network.to_model(cancer.to_frame())
    problem = Problem(rows[0], Landscape(network), Goal("benign", min_log_prob=-1e6))
    plan = solve(Wachter(rows, search="gradient"), problem)
    assert plan.found
    assert (plan.waypoints[-1] != rows[0]).sum() < 15


@pytest.mark.parametrize("search", ["data", "gradient"])
def test_constraints_hold(search: str) -> None:
    rng = np.random.default_rng(0)
    density = GaussianMixture(*random_mixture(4, components=1, spread=1.0, rng=rng))
    rows, _ = density.sample(500, rng=rng)
    x, _ = density.sample(1, rng=rng, label="c0")
    goal = Goal("c1", plausibility=-2.0)
    planner = Wachter(rows, search=search)  # type: ignore[arg-type]
    free = solve(planner, Problem(x[0], Landscape(density), goal)).waypoints[-1] - x[0]
    rising = density.features_[int(np.argmax(free))]
    falling = density.features_[int(np.argmin(free))]
    rules = Constraints(only_down=[rising], only_up=[falling])
    problem = Problem(x[0], Landscape(density), goal, rules)
    plan = solve(planner, problem)
    assert problem.feasible.contains(plan.waypoints)
    assert plan.found == problem.met_by(plan.waypoints[-1])
    held = Problem(x[0], Landscape(density), goal, Constraints(fixed=[rising]))
    end = solve(planner, held).waypoints[-1]
    assert end[int(np.argmax(free))] == x[0][int(np.argmax(free))]


def test_from_another_basin_the_nearest_row_leads(
    mixture: GaussianMixture, rows: np.ndarray
) -> None:
    starts, _ = mixture.sample(12, rng=np.random.default_rng(5), label="c0")
    for x in starts:
        problem = Problem(x, Landscape(mixture), Goal("c1"))
        assert solve(Wachter(rows, search="gradient"), problem).found


@pytest.mark.parametrize("smooth", [True, False])
def test_a_classifier_may_judge(iris: Table, smooth: bool) -> None:
    network = LinearGaussianNetwork().fit(iris)
    frame = iris.to_frame()
    made = LogisticRegression(max_iter=1000) if smooth else DecisionTreeClassifier(random_state=0)
    classifier = made.fit(frame[list(iris.features)], iris.y)
    explainer = daace.Explainer(network, classifier=classifier)
    rows, one = network.to_model(frame), frame.iloc[[0]].drop(columns="class")
    assert explainer.explain(one, target="virginica", planner=Wachter(rows)).found
    descent = Wachter(rows, search="gradient")
    if smooth:
        assert explainer.explain(one, target="virginica", planner=descent).found
        return
    with pytest.raises(InvalidInput, match="'search' must be 'data' where a classifier without"):
        explainer.explain(one, target="virginica", planner=descent)


def test_a_goal_without_a_class_is_plausible_ground(
    mixture: GaussianMixture, rows: np.ndarray, start: np.ndarray
) -> None:
    problem = Problem(start + 9.0, Landscape(mixture), Goal("c1", min_posterior=0.0))
    assert solve(Wachter(rows, search="gradient"), problem).found


def test_unreachable_says_how_close_it_came(
    mixture: GaussianMixture, rows: np.ndarray, start: np.ndarray
) -> None:
    problem = Problem(start, Landscape(mixture), Goal("c1", plausibility=50.0))
    for search in ("data", "gradient"):
        plan = solve(Wachter(rows, search=search), problem)
        assert plan.status == "goal_unreachable"
        assert plan.reachable is not None
        assert plan.reachable[0] < 0


def test_deviations_of_features_that_hardly_vary() -> None:
    rows = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [2.0, 0.0, 1.0], [9.0, 4.0, 1.0]])
    np.testing.assert_allclose(median_deviation(rows), [1.0, 1.0, 1.0])
    assert median_deviation(rows[:, 1:2] * 2)[0] == 2.0  # the mean: the median says nothing
