from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from daace import (
    Constraints,
    GaussianMixture,
    Goal,
    Landscape,
    LinearGaussianNetwork,
    PathOptimizer,
    Problem,
    Table,
)
from daace.data.synthetic import moons, random_mixture
from daace.exceptions import InvalidInput


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"vertices": -1}, "'vertices' must be"),
        ({"vertices": ()}, "'vertices' must name at least one"),
        ({"starts": 0}, "'starts' must be an integer of at least 1. Got 0."),
        ({"vertex_tolerance": -0.1}, "'vertex_tolerance' must be a finite number of at least 0."),
        ({"time_limit": 0}, "'time_limit' must be a finite number above 0. Got 0."),
    ],
)
def test_settings_are_checked(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message.replace(".", r"\.")):
        PathOptimizer(**settings)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def wall() -> Problem:
    density = GaussianMixture(*moons(width=0.12))
    return Problem(np.array([-1.0, 0.05]), Landscape(density, penalty=5.0), Goal("lower"))


def test_more_vertices_never_cost_more(wall: Problem) -> None:
    costs = [
        PathOptimizer(vertices=v).solve(wall, rng=np.random.default_rng(0)).cost for v in (0, 1, 3)
    ]
    assert costs[0] * (1 + 1e-6) >= costs[1] >= costs[2] * (1 - 1e-6)


def test_it_goes_around_a_wall(wall: Problem) -> None:
    straight = PathOptimizer(vertices=0).solve(wall, rng=np.random.default_rng(0))
    around = PathOptimizer(vertices=3).solve(wall, rng=np.random.default_rng(0))
    assert around.cost < 0.5 * straight.cost


def test_the_fewest_vertices_within_the_tolerance_are_chosen(wall: Problem) -> None:
    rng = np.random.default_rng(0)
    eager = PathOptimizer(vertex_tolerance=0).solve(wall, rng=rng)
    lazy = PathOptimizer(vertex_tolerance=1e9).solve(wall, rng=rng)
    assert lazy.vertices == 0
    assert eager.vertices > 0
    assert eager.cost < lazy.cost


def test_penalty_zero_is_the_plain_distance_to_the_goal() -> None:
    """With one Gaussian per class the goal's nearest point is known by a fine grid search."""
    density = GaussianMixture([1, 1], [[0, 0], [4, 0]], [np.eye(2), np.eye(2)], ["a", "b"])
    goal = Goal("b", min_posterior=0.9)
    problem = Problem(np.zeros(2), Landscape(density, penalty=0), goal)
    plan = PathOptimizer().solve(problem, rng=np.random.default_rng(0))
    axis = np.linspace(-1, 5, 601)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    nearest = np.linalg.norm(grid[problem.region.contains(grid)], axis=1).min()
    assert plan.vertices == 0
    assert plan.cost <= nearest
    assert plan.cost == pytest.approx(nearest, rel=0.01)


def test_a_start_far_outside_reaches_the_goal(network: LinearGaussianNetwork) -> None:
    x = np.full(30, 8.0)
    problem = Problem(x, Landscape(network, penalty=15.0, scale="nll"), Goal("benign"))
    plan = PathOptimizer().solve(problem, rng=np.random.default_rng(0))
    assert plan.found
    assert np.isfinite(plan.cost)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_from_an_outlier_little_is_gained_by_planning_the_rest_anew(
    network: LinearGaussianNetwork, seed: int
) -> None:
    x = network.sample(1, rng=np.random.default_rng(seed), label="malignant")[0][0] + 4.0
    problem = Problem(x, Landscape(network, penalty=15.0), Goal("benign"))
    plan = PathOptimizer(vertices=2).solve(problem, rng=np.random.default_rng(0))
    rest = Problem(plan.waypoints[1], problem.landscape, problem.goal)
    alone = PathOptimizer(vertices=1).solve(rest, rng=np.random.default_rng(0))
    first = problem.path_cost(plan.waypoints[:2])
    assert plan.cost <= 1.05 * (first + alone.cost)


def test_unreachable_by_rules_says_how_close_it_came(cancer: Table) -> None:
    network = LinearGaussianNetwork().fit(cancer)
    x = network.to_model(cancer.to_frame())[0]
    rules = Constraints(fixed=list(network.features_[:29]))
    problem = Problem(x, Landscape(network), Goal("benign", min_posterior=0.9), rules)
    plan = PathOptimizer().solve(problem, rng=np.random.default_rng(0))
    assert plan.status == "goal_unreachable"
    assert plan.reachable is not None
    assert max(plan.reachable) < 0


def test_a_time_limit_returns_what_there_is() -> None:
    rng = np.random.default_rng(0)
    density = GaussianMixture(*random_mixture(5, components=3, rng=rng))
    start = density.sample(1, rng=rng, label="c0")[0][0]
    problem = Problem(start, Landscape(density, penalty=5.0), Goal("c1"))
    plan = PathOptimizer(time_limit=1e-9).solve(problem, rng=rng)
    assert plan.status in ("found", "timeout")
    assert plan.found == problem.met_by(plan.waypoints[-1])


def test_a_batch_finds_what_single_queries_find(network: LinearGaussianNetwork) -> None:
    landscape, goal = Landscape(network, penalty=2.0), Goal("benign")
    starts, _ = network.sample(6, rng=np.random.default_rng(0), label="malignant")
    problems = [Problem(x, landscape, goal) for x in starts]
    together = PathOptimizer().solve_many(problems, rngs=np.random.default_rng(0).spawn(6))
    for problem, plan in zip(problems, together, strict=True):
        alone = PathOptimizer().solve(problem, rng=np.random.default_rng(0))
        assert plan.cost == pytest.approx(alone.cost, rel=0.03)


def test_a_third_class_can_be_the_bridge() -> None:
    """Straight from a to c is empty ground; b leads around it, and one vertex is not enough."""
    means = [[-3.0, 0.0], [0.0, 3.0], [3.0, 0.0]]
    spread = [np.diag([0.2, 1.5]), np.diag([4.0, 0.15]), np.diag([0.2, 1.5])]
    density = GaussianMixture([1, 1, 1], means, spread, ["a", "b", "c"])
    problem = Problem(np.array([-3.0, 0.0]), Landscape(density, penalty=4.0), Goal("c"))
    tried = PathOptimizer().solve(problem, rng=np.random.default_rng(0))
    best = PathOptimizer(vertices=3).solve(problem, rng=np.random.default_rng(0))
    assert tried.cost <= 1.02 * best.cost


def test_nowhere_to_go_is_a_status() -> None:
    density = GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["a", "b"])
    for rules in (Constraints(fixed=["x1"]), Constraints(only_down=["x1"])):
        problem = Problem(np.zeros(1), Landscape(density), Goal("b"), rules)
        plan = PathOptimizer().solve(problem, rng=np.random.default_rng(0))
        assert plan.status == "goal_unreachable"


def test_a_feature_that_cannot_change_does_not_hide_the_way_around_a_wall(wall: Problem) -> None:
    """The same moons with a third feature, independent of them and fixed."""
    weights, means, covariances, labels = moons(width=0.12)
    means = np.column_stack([means, np.zeros(len(means))])
    deep = np.zeros((len(covariances), 3, 3))
    deep[:, :2, :2] = covariances
    deep[:, 2, 2] = 1.0
    density = GaussianMixture(weights, means, deep, labels)
    problem = Problem(
        np.append(wall.x, 0.0),
        Landscape(density, penalty=5.0),
        Goal("lower"),
        Constraints(fixed=["x3"]),
    )
    straight, around = (
        PathOptimizer(vertices=v).solve(problem, rng=np.random.default_rng(0)).cost for v in (0, 3)
    )
    assert around < 0.5 * straight


def oracle_cost(problem: Problem, path: np.ndarray) -> float:
    """Improve a path by SLSQP over increments, which have a sign where a feature has a direction.

    Returns the cost over that of the path.
    """
    count, n = len(path) - 1, len(problem.x)
    direction, lower, upper = (
        np.tile(array, count)
        for array in (
            problem.feasible.direction,
            problem.feasible.lower - problem.x,
            problem.feasible.upper - problem.x,
        )
    )
    sums = np.kron(np.tril(np.ones((count, count))), np.eye(n))
    sums = np.where(direction != 0, sums, np.eye(count * n))
    lower, upper = np.where(direction > 0, 0, lower), np.where(direction < 0, 0, upper)
    begin = np.linalg.solve(sums, (path[1:] - problem.x).ravel())

    def waypoints(u: np.ndarray) -> np.ndarray:
        free = problem.x + (sums @ u).reshape(count, n)
        return np.concatenate([problem.x[None], free])

    def cost(u: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = problem.landscape.path_cost_and_grad(waypoints(u))
        return value / before, sums.T @ gradient[1:].ravel() / before

    def slope(u: np.ndarray) -> np.ndarray:
        at_end = problem.region.slack_and_pullback(waypoints(u)[-1:])[1]()[0]
        return np.hstack([np.zeros((2, (count - 1) * n)), at_end]) @ sums

    before = problem.path_cost(path)
    result = minimize(
        cost,
        begin,
        jac=True,
        method="SLSQP",
        bounds=np.column_stack([lower, upper]),
        constraints=[
            {
                "type": "ineq",
                "fun": lambda u: problem.region.slack(waypoints(u)[-1:])[0],
                "jac": slope,
            }
        ],
        options={"maxiter": 200, "ftol": 1e-8},
    )
    return float(cost(result.x)[0])


@pytest.mark.parametrize("row", range(4))
def test_features_with_a_direction_cost_no_more_than_they_must(
    network: LinearGaussianNetwork, row: int
) -> None:
    rng = np.random.default_rng(row)
    start = network.sample(1, rng=rng, label="malignant")[0][0]
    names = rng.permutation(network.features_)
    rules = Constraints(only_up=names[:2], only_down=names[2:4])
    problem = Problem(start, Landscape(network), Goal("benign"), rules)
    plan = PathOptimizer(vertices=2, vertex_tolerance=0).solve(problem, rng=rng)
    assert plan.found
    assert problem.feasible.contains(plan.waypoints)
    assert oracle_cost(problem, plan.waypoints) > 0.99


def test_costs_beyond_all_numbers_give_a_path_without_a_warning() -> None:
    density = GaussianMixture([1, 1], [[0.0], [3.0]], [[[1.0]], [[1.0]]], ["a", "b"])
    problem = Problem(np.array([-400.0]), Landscape(density, penalty=100.0), Goal("b"))
    plan = PathOptimizer().solve(problem, rng=np.random.default_rng(0))
    assert plan.found
    assert plan.cost == np.inf
