from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import daace
from daace import Constraints, Face, GaussianMixture, Goal, Landscape, Problem, Table
from daace.data.synthetic import moons
from daace.exceptions import InvalidInput
from daace.explain.answers.reasons import relaxed_thresholds


@pytest.fixture(scope="module")
def density() -> GaussianMixture:
    return GaussianMixture(*moons())


@pytest.fixture(scope="module")
def rows(density: GaussianMixture) -> np.ndarray:
    return density.sample(150, rng=np.random.default_rng(2))[0]


def problem_of(density: GaussianMixture, **rules: object) -> Problem:
    land = Landscape(density, penalty=3.0)
    start = np.array([-1.0, 0.1])
    return Problem(start, land, Goal("lower"), Constraints(**rules))  # type: ignore[arg-type]


def solve(planner: Face, problem: Problem) -> daace.Plan:
    return planner.solve(problem, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"graph": "gabriel"}, "'graph' must be one of"),
        ({"nodes": 0}, "'nodes' must be an integer of at least 1"),
        ({"epsilon": -1.0}, "'epsilon' must be"),
        ({"k": 1.5}, "'k' must be"),
        ({"cache": "no"}, "'cache' must be one of True, False"),
        ({"n_jobs": 0}, "'n_jobs' must be"),
        ({"seed": -1}, "'seed' must be"),
    ],
)
def test_settings_are_checked(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Face(np.zeros((5, 2)), **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [np.zeros(3), np.empty((0, 2)), [[np.nan, 1.0]], "rows"])
def test_rows_are_checked(wrong: object) -> None:
    with pytest.raises(InvalidInput, match="'rows' must be"):
        Face(wrong)  # type: ignore[arg-type]


def test_rows_must_fit_the_density(density: GaussianMixture) -> None:
    with pytest.raises(
        InvalidInput, match=r"'rows' must have the 2 features .* Got shape \(4, 3\)"
    ):
        solve(Face(np.zeros((4, 3))), problem_of(density))


def test_the_nodes_are_a_fixed_choice_of_rows(rows: np.ndarray) -> None:
    face = Face(rows, nodes=20)
    np.testing.assert_array_equal(face.points, Face(rows, nodes=20).points)
    assert (face.points != Face(rows, nodes=20, seed=1).points).any()
    assert {tuple(x) for x in face.points} <= {tuple(x) for x in rows}
    assert len(Face(rows, nodes=1000).points) == len(rows)
    with pytest.raises(ValueError, match="read-only"):
        face.rows[0, 0] = 1.0


def test_waypoints_are_rows_and_no_straight_way_is_cheaper(
    density: GaussianMixture, rows: np.ndarray
) -> None:
    problem = problem_of(density)
    face = Face(rows, nodes=60, pieces=64)
    plan = solve(face, problem)
    assert {tuple(x) for x in plan.waypoints[1:]} <= {tuple(x) for x in face.points}
    assert plan.vertices > 0
    inside = face.points[problem.region.contains(face.points)]
    straight = min(problem.path_cost(np.stack([problem.x, row])) for row in inside)
    assert plan.cost <= straight * (1 + 1e-6)


def test_the_graph_is_built_once_and_says_what_it_took(
    density: GaussianMixture, rows: np.ndarray
) -> None:
    face = Face(rows, nodes=60)
    graph = face.build(density)
    solve(face, problem_of(density))
    assert face.build(density) is graph
    assert graph.edges == 60 * 59 // 2
    assert graph.cache_nbytes == graph.edges * 16 * 8
    assert graph.seconds > 0
    assert Face(rows, nodes=60, cache=False).build(density).cache_nbytes == 0
    other = GaussianMixture(*moons(width=0.3))
    assert face.build(other) is not graph
    assert b"log_prob" not in pickle.dumps(face)


def test_with_and_without_the_cache_is_the_same(density: GaussianMixture, rows: np.ndarray) -> None:
    kept, asked = (
        solve(Face(rows, nodes=60, cache=cache), problem_of(density)) for cache in (True, False)
    )
    np.testing.assert_array_equal(kept.waypoints, asked.waypoints)


def test_a_fixed_feature_leaves_the_rows_that_share_its_value() -> None:
    means = [[0.0, 0.0], [4.0, 0.0]]
    density = GaussianMixture([1, 1], means, [np.eye(2), np.eye(2)], ["a", "b"])
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(2, 2, 200), rng.integers(-1, 2, 200)]).astype(float)
    problem = Problem(np.zeros(2), Landscape(density), Goal("b"), Constraints(fixed=["x2"]))
    plan = solve(Face(rows), problem)
    assert plan.found
    assert (plan.waypoints[:, 1] == 0).all()
    lonely = Face(rows + 0.5)
    plan = solve(lonely, problem)
    assert plan.status == "goal_unreachable"
    assert plan.notes[0].code == "no_node_allowed"
    assert plan.notes[0].startswith("None of the 200 nodes keeps the constraints: loosen")


def test_directions_make_the_edges_one_way(density: GaussianMixture, rows: np.ndarray) -> None:
    free = solve(Face(rows), problem_of(density))
    plan = solve(Face(rows), problem_of(density, only_up=["x1"], only_down=["x2"]))
    assert (np.diff(free.waypoints[:, 1]) > 0).any()
    assert plan.found
    assert (np.diff(plan.waypoints[:, 0]) >= 0).all()
    assert (np.diff(plan.waypoints[:, 1]) <= 0).all()
    assert plan.cost >= free.cost


@pytest.mark.parametrize(
    ("settings", "code", "remedy"),
    [
        ({"epsilon": 1e-3}, "start_not_joined", "The nearest node is "),
        ({"epsilon": 0.2}, "goal_not_connected", "raise 'epsilon'."),
        ({"graph": "knn", "k": 2}, "goal_not_connected", "raise 'k'."),
        ({"k": 2, "epsilon": 0.2}, "goal_not_connected", "raise 'epsilon' or 'k'."),
    ],
)
def test_a_graph_in_parts_gives_a_status_and_a_remedy(
    density: GaussianMixture,
    rows: np.ndarray,
    settings: dict[str, object],
    code: str,
    remedy: str,
) -> None:
    face, problem = Face(rows, **settings), problem_of(density)  # type: ignore[arg-type]
    plan = solve(face, problem)
    assert plan.status == "goal_unreachable"
    assert plan.notes == (face.remedy(problem),)
    assert plan.notes[0].code == code
    assert remedy in plan.notes[0]
    assert Face(rows).remedy(problem) is None


def test_a_start_out_of_range_gives_a_status_and_a_remedy(
    density: GaussianMixture, rows: np.ndarray
) -> None:
    face = Face(rows, epsilon=0.5)
    problem = Problem(np.array([-50.0, 0.0]), Landscape(density), Goal("lower"))
    assert solve(face, problem).status == "goal_unreachable"
    note = face.remedy(problem)
    assert note is not None
    assert note.code == "start_not_joined"
    assert solve(Face(rows, epsilon=note.fields["gap"] + 1), problem).found


def test_fewer_rows_than_k_are_all_neighbours(density: GaussianMixture, rows: np.ndarray) -> None:
    problem = problem_of(density)
    few = np.concatenate([rows[:3], rows[problem.region.contains(rows)][:2]])
    plan = solve(Face(few, graph="knn", k=20), problem)
    assert plan.found
    assert Face(few, graph="knn", k=20).build(density).edges == 10


def test_relaxed_to_what_was_reached_the_goal_is_found(
    density: GaussianMixture, rows: np.ndarray
) -> None:
    face = Face(rows, epsilon=0.2)
    land, x = Landscape(density), np.array([-1.0, 0.1])
    problem = Problem(x, land, Goal("lower", min_posterior=0.4))
    plan = solve(face, problem)
    relaxed = relaxed_thresholds(problem, plan)["min_posterior"]
    assert relaxed < 0.4
    assert solve(face, Problem(x, land, Goal("lower", min_posterior=relaxed))).found


def test_no_row_in_the_goal(density: GaussianMixture, rows: np.ndarray) -> None:
    problem = problem_of(density)
    outside = rows[~problem.region.contains(rows)]
    face = Face(outside, nodes=20)
    plan = solve(face, problem)
    assert plan.status == "goal_unreachable"
    assert plan.notes[0].code == "no_node_meets_goal"
    assert plan.notes[0].endswith("take more 'nodes', or lower its thresholds.")


def test_a_shift_is_reported(rows: np.ndarray) -> None:
    density = GaussianMixture(*moons(width=0.05))
    x, goal = np.array([-1.0, 0.1]), Goal("lower", plausibility=-5.0)
    face = Face(rows)
    assert face.query(Problem(x, Landscape(density, scale="nll"), goal)).shifted
    assert not face.query(Problem(x, Landscape(density), goal)).shifted
    (note,) = solve(face, Problem(x, Landscape(density, scale="nll"), goal)).notes
    assert note.code == "shifted_weights"
    assert "negative weights" in note
    assert solve(face, Problem(x, Landscape(density), goal)).notes == ()


def test_it_serves_an_explainer(iris: Table) -> None:
    explainer = daace.fit(iris)
    rows = explainer.density.to_model(iris.to_frame())
    frame = iris.to_frame().iloc[:3].drop(columns="class")
    many = explainer.explain_batch(frame, target="virginica", planner=Face(rows))
    assert all(e.found for e in many)
    assert "Face(graph='integral'" in many[0].provenance.planner
    unreached = explainer.explain(
        frame.iloc[[0]], target="virginica", planner=Face(rows, epsilon=1e-6)
    )
    assert not unreached.found
    assert math.isinf(unreached.cost)
