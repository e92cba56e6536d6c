"""FACE: the shortest way over a graph of data rows to one that meets the goal."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from daace._checks import check_choice, check_integer
from daace._typing import FloatArray
from daace.density.base import ConditionalDensity
from daace.density.draws import DrawStatistics
from daace.exceptions import InvalidInput
from daace.landscape.problem import Problem
from daace.planners.base import (
    Clock,
    Plan,
    Planner,
    already_there,
    arrive,
    give_up,
    refuse_discrete,
)
from daace.planners.edges import EdgeRule, Kind
from daace.planners.graph import Graph
from daace.planners.routes import Routes, find_routes

#: Said of a plan over edges some of which paid for being walked.
SHIFTED = (
    "Some edges have negative weights: all were raised by the same amount, so the way found is "
    "the shortest, not the cheapest."
)


@dataclass(frozen=True, eq=False)
class Face(Planner):
    """Plan over a graph of data rows (Poyiadzi et al. 2020, "FACE").

    The start is joined to the graph, and Dijkstra's algorithm finds the shortest way to the
    cheapest row that meets the goal. Rows outside the constraints are no waypoints, steps against
    a direction no edges, and the weights of the constraints count in the lengths. A fixed feature
    leaves only rows with exactly the start's value.

    The graph is built at the first query for each density and serves all others; `build` builds
    it before. A full graph holds `nodes^2 / 2` edges.

    Args:
        rows: model space, shape `(rows, n)`.
        graph: what an edge weighs: 'integral' (cost of the segment), 'density' (at its midpoint),
            'epsilon' or 'knn' (without a density); the formulas stand in `daace.planners.edges`.
        nodes: a random subset of this many rows are the nodes; all of them where there are fewer.
        epsilon: only nodes closer than this are joined.
        k: only nodes of which one is among the k nearest of the other are joined; when left out,
            all are, and of 'knn' the 20 nearest.
        rule: quadrature of 'integral': 'gauss', or 'midpoint' as in the paper's experiments.
        pieces: points of the quadrature on each edge.
        cache: keep the log-densities along the edges, so that another penalty needs no new ones.
        n_jobs: processes that build the graph; it is the same for any number.
        seed: of the choice of nodes.

    Example:
        >>> from daace import GaussianMixture, Goal, Landscape
        >>> density = GaussianMixture([1, 1], [[0.0], [3.0]], [[[1.0]], [[1.0]]], ["a", "b"])
        >>> problem = Problem(np.array([0.0]), Landscape(density), Goal(target="b"))
        >>> face = Face(np.array([[-1.0], [0.5], [1.4], [2.2], [3.1]]))
        >>> face.solve(problem, rng=np.random.default_rng(0)).waypoints.ravel().tolist()
        [0.0, 2.2]
    """

    rows: FloatArray
    _: KW_ONLY
    graph: Kind = "integral"
    nodes: int = 1000
    epsilon: float = np.inf
    k: int | None = None
    rule: Literal["gauss", "midpoint"] = "gauss"
    pieces: int = 16
    cache: bool = True
    n_jobs: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", check_rows(self.rows))
        check_integer("nodes", self.nodes, at_least=1)
        check_choice("cache", self.cache, (True, False))
        check_integer("seed", self.seed, at_least=0)
        if self.n_jobs != -1:
            check_integer("n_jobs", self.n_jobs, at_least=1)
        self.edge_rule  # noqa: B018  # says so if a setting is wrong

    @property
    def edge_rule(self) -> EdgeRule:
        """Which nodes are joined, and what an edge weighs."""
        return EdgeRule(
            kind=self.graph, epsilon=self.epsilon, k=self.k, rule=self.rule, pieces=self.pieces
        )

    @property
    def points(self) -> FloatArray:
        """The nodes: the same at every call."""
        if len(self.rows) <= self.nodes:
            return self.rows
        rng = np.random.default_rng(self.seed)
        return self.rows[np.sort(rng.choice(len(self.rows), self.nodes, replace=False))]

    def build(self, density: ConditionalDensity) -> Graph:
        """Return the graph over a density, which knows its memory and building time.

        Built at the first call; a new fit of the density makes a new one.

        Raises:
            InvalidInput: the rows have other features than the density.
        """
        n = len(density.features_)
        if self.rows.shape[1] != n:
            raise InvalidInput(
                f"'rows' must have the {n} features of the density. Got shape {self.rows.shape}."
            )
        mine = _graphs.setdefault(self, WeakKeyDictionary())
        if density.draws_ not in mine:
            mine[density.draws_] = Graph.build(
                self.points, density, self.edge_rule, cache=self.cache, n_jobs=self.n_jobs
            )
        return mine[density.draws_]

    def solve(self, problem: Problem, *, rng: np.random.Generator) -> Plan:
        refuse_discrete(problem, "Face")
        clock = Clock()
        stay = already_there(problem, clock)
        if stay is not None:
            return stay
        routes = self.query(problem)
        clock.evaluations += max(1, routes.joined)
        if not routes.paths:
            notes = (self.remedy(problem),)
            return give_up(problem, clock, reachable=routes.reachable, notes=notes)
        return arrive(problem, routes.paths[0], clock, notes=(SHIFTED,) if routes.shifted else ())

    def query(self, problem: Problem) -> Routes:
        """Return the way that `solve` takes, and what the search has to say besides."""
        graph = self.build(problem.landscape.density)
        return find_routes(graph, problem, n_jobs=self.n_jobs)

    def remedy(self, problem: Problem) -> str:
        """Say why no way to the goal was found, and what to change; nothing if there is one."""
        routes, points = self.query(problem), self.points
        feasible, size = problem.feasible, len(points)
        inside = feasible.allows(points)
        if routes.paths:
            return ""
        if not inside.any():
            return (
                f"None of the {size} nodes keeps the constraints: loosen them, or plan with "
                "PathOptimizer, which is not bound to rows."
            )
        if routes.meeting == 0:
            more = " take more 'nodes', or" if size < len(self.rows) else ""
            return f"None of the {size} nodes meets the goal:{more} lower its thresholds."
        if routes.joined == 0:
            gap = float(np.linalg.norm(points[inside] - problem.x, axis=1).min())
            return f"The nearest node is {gap:.3g} from the start: raise 'epsilon' above that."
        limited = {
            "'epsilon'": self.epsilon < np.inf,
            "'k'": (self.edge_rule.neighbours(size) or size) < size - 1,
        }
        limits = " or ".join(name for name, holds in limited.items() if holds)
        return (
            f"The start leads to {routes.reached} of {size} nodes, but to none of the "
            f"{routes.meeting} that meet the goal: "
            + (f"raise {limits}." if limits else "loosen the constraints.")
        )


def check_rows(rows: object) -> FloatArray:
    """Return a read-only copy of model-space rows.

    Raises:
        InvalidInput: they are not a table of finite numbers with at least one row.
    """
    try:
        checked = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"'rows' must be an array of numbers. Got {type(rows).__name__}: "
            "density.to_model(frame) makes one."
        ) from None
    if checked.ndim != 2 or not checked.size or not np.isfinite(checked).all():
        raise InvalidInput(
            "'rows' must be finite and of shape (rows, features), at least one row. "
            f"Got shape {checked.shape}{'' if np.isfinite(checked).all() else ' with gaps'}: "
            "density.to_model(frame) makes them."
        )
    checked.flags.writeable = False
    return checked


_graphs: WeakKeyDictionary[Face, WeakKeyDictionary[DrawStatistics, Graph]] = WeakKeyDictionary()
