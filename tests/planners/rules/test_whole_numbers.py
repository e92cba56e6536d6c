from __future__ import annotations

import numpy as np
import pytest

from daace import (
    Constraints,
    Goal,
    Landscape,
    LinearGaussianNetwork,
    Link,
    PathOptimizer,
    Plan,
    Problem,
)


def solve(problem: Problem, **settings: object) -> Plan:
    planner = PathOptimizer(**settings)  # type: ignore[arg-type]
    return planner.solve(problem, rng=np.random.default_rng(0))


@pytest.mark.parametrize("row", [(2, 12, -1.0), (5, 9, 0.0), (3, 10, 0.5)])
def test_whole_numbers_are_the_best_of_all(
    counted: LinearGaussianNetwork, row: tuple[float, ...]
) -> None:
    start = dict(zip(counted.features_, row, strict=True))
    rules = Constraints(integer=["visits", "misses"])
    problem = Problem(start, Landscape(counted), Goal(1), rules)
    plan = solve(problem, vertices=0)
    assert plan.found
    assert problem.feasible.contains(plan.waypoints)
    assert problem.met_by(plan.waypoints[-1])
    costs = []
    for visits in range(16):
        for misses in range(16):
            end = counted.to_model({"visits": visits, "misses": misses, "score": row[2]})[0]
            lower, upper = problem.feasible.lower.copy(), problem.feasible.upper.copy()
            lower[:2] = upper[:2] = end[:2]
            best = best_end(problem, end, lower, upper)
            if best is not None:
                costs.append(problem.path_cost(np.stack([problem.x, best])))
    assert plan.cost <= 1.02 * min(costs)


def best_end(
    problem: Problem, end: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray | None:
    """Return the cheapest end among many values of the third feature."""
    ends = np.tile(end, (200, 1))
    ends[:, 2] = np.linspace(lower[2], upper[2], 200)
    ends = np.concatenate([end[None], ends])
    ends = ends[problem.region.contains(ends)]
    if len(ends) == 0:
        return None
    return min(ends, key=lambda e: problem.path_cost(np.stack([problem.x, e])))


@pytest.mark.parametrize("row", [(2, 12, -1.0), (5, 9, 0.0), (3, 10, 0.5)])
def test_whole_numbers_tied_to_another_by_an_equation(
    counted: LinearGaussianNetwork, row: tuple[float, ...]
) -> None:
    """Whoever comes once more scores a third higher: at the waypoints on the way as well."""
    start = dict(zip(counted.features_, row, strict=True))
    link = Link({"score": 3, "visits": -1}, equals=3 * row[2] - row[0])
    rules = Constraints(integer=["visits", "misses"], links=[link])
    problem = Problem(start, Landscape(counted, penalty=5.0), Goal(1), rules)
    free = Problem(start, Landscape(counted, penalty=5.0), Goal(1), Constraints(links=[link]))
    plan, smooth = (solve(p, vertices=2, vertex_tolerance=0) for p in (problem, free))
    assert plan.found
    assert len(plan.waypoints) == 4
    assert problem.feasible.contains(plan.waypoints)
    assert smooth.cost <= plan.cost <= 2 * smooth.cost
