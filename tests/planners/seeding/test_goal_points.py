from __future__ import annotations

import numpy as np

from daace import (
    Constraints,
    Explainer,
    GaussianMixture,
    Goal,
    Landscape,
    LinearGaussianNetwork,
    PathOptimizer,
    Problem,
    Table,
)
from daace.data.synthetic import random_mixture
from daace.planners.seeding.goal_points import find_goal_points, pull_to_edge


def problem(**rules: object) -> Problem:
    rng = np.random.default_rng(1)
    density = GaussianMixture(*random_mixture(3, components=2, rng=rng))
    start = density.sample(1, rng=rng, label="c0")[0][0]
    goal = Goal("c1", min_posterior=0.8)
    return Problem(start, Landscape(density), goal, Constraints(**rules))  # type: ignore[arg-type]


def test_goal_points_are_inside_and_nearest_first() -> None:
    p = problem()
    points = find_goal_points(p).inside
    assert len(points) == 100
    assert p.region.contains(points).all()
    assert (np.diff(np.linalg.norm(points - p.x, axis=1)) >= 0).all()


def test_goal_points_obey_the_rules() -> None:
    p = problem(fixed=["x2"])
    found = find_goal_points(p)
    points = np.concatenate([found.inside, found.nearly])
    assert (points[:, 1] == p.x[1]).all()


def test_pulled_back_points_sit_on_the_edge() -> None:
    p = problem()
    points = find_goal_points(p).inside
    pulled = pull_to_edge(p, points, halvings=30)
    assert p.region.contains(pulled).all()
    before = p.x + (pulled - p.x) * (1 - 1e-6)
    assert (~p.region.contains(before)).mean() > 0.9
    assert (np.linalg.norm(pulled - p.x, axis=1) <= np.linalg.norm(points - p.x, axis=1)).all()


def test_lines_from_several_origins_are_pulled_back_as_each_alone() -> None:
    p = problem()
    points = find_goal_points(p).inside[:6]
    origin = p.x + np.random.default_rng(0).normal(size=points.shape)
    together = pull_to_edge(p, points, origin=origin)
    alone = [pull_to_edge(p, x[None], origin=o)[0] for x, o in zip(points, origin, strict=True)]
    np.testing.assert_allclose(together, np.stack(alone), rtol=1e-12)


def test_where_detours_are_rewarded_far_points_are_looked_at_too(
    network: LinearGaussianNetwork,
) -> None:
    start = network.sample(1, rng=np.random.default_rng(0), label="malignant")[0][0]
    relative, raw = (
        find_goal_points(
            Problem(start, Landscape(network, penalty=10.0, scale=scale), Goal("benign"))
        )
        for scale in ("relative", "nll")
    )
    assert Landscape(network, scale="nll").rewards_detours
    np.testing.assert_array_equal(raw.inside[: len(relative.inside)], relative.inside)
    assert len(relative.inside) < len(raw.inside) <= 2 * len(relative.inside)
    plan, patient = (
        PathOptimizer(vertices=0, starts=starts).solve(
            Problem(start, Landscape(network, penalty=10.0, scale="nll"), Goal("benign")),
            rng=np.random.default_rng(0),
        )
        for starts in (8, 64)
    )
    assert plan.cost <= patient.cost + 1e-3 * abs(patient.cost)


def test_a_goal_out_of_reach_is_no_error_where_detours_are_rewarded(iris: Table) -> None:
    density = LinearGaussianNetwork().fit(iris)
    rules = Constraints(only_down=["petal length", "petal width"])
    explainer = Explainer(density, scale="nll", constraints=rules)
    rows = iris.to_frame().groupby(iris.target).head(2)
    answers = explainer.explain_batch(rows, target="virginica")
    assert [str(e.status) for e in answers[:2]] == ["goal_unreachable"] * 2
    assert all(e.found for e in answers[4:])
