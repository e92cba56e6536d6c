"""FACE: the shortest path over a graph of data rows to one that meets the goal."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from daace._checks import check_choice, check_integer
from daace._typing import FloatArray
from daace.density.base import ConditionalDensity
from daace.density.draws import DrawStatistics
from daace.landscape.problem import Problem
from daace.notes import Note
from daace.planners.base import (
    Clock,
    Plan,
    Planner,
    already_there,
    arrive,
    give_up,
    refuse_max_changed,
)
from daace.planners.data_rows import check_features, check_rows
from daace.planners.graphs import (
    EdgeKind,
    EdgeRule,
    GoalRoutes,
    Graph,
    distances,
    find_goal_routes,
)


@dataclass(frozen=True, eq=False)
class Face(Planner):
    """Plan over a graph of data rows.

    FACE (Poyiadzi et al. 2020, "FACE: Feasible and Actionable Counterfactual Explanations",
    arXiv:1909.09369): the start is joined to the graph, and Dijkstra's algorithm finds the shortest
    path to the nearest row that meets the goal. Rows that break a constraint are not used, nor are
    steps against a direction, and lengths include the weights of the constraints. With a fixed
    feature only rows with exactly the start's value remain.

    Between rows with different codes an edge includes the price and length of the switch, as the
    cost of a path does. An edge is left out if a path from the start may not switch like that: a
    category switches once at most, an ordered feature moves in one direction. Earlier switches of a
    path show in the codes of its present row, so the shortest path is found exactly.

    The graph is built at the first query for each density and reused by all others; call `build` to
    build it earlier. A full graph has `nodes^2 / 2` edges.

    Args:
        rows: rows in model space, shape `(rows, n)`.
        graph: weight of an edge: 'integral' (cost of the segment), 'density' (at its midpoint),
            'epsilon' or 'knn' (without a density); `daace.planners.graphs.edges` has the formulas.
        nodes: number of rows, chosen at random, that are nodes; all rows if there are fewer.
        epsilon: only nodes closer than this are joined.
        k: only nodes of which one is among the k nearest of the other are joined; None joins all
            nodes, and for 'knn' the 20 nearest.
        rule: quadrature of 'integral': 'gauss', or 'midpoint' as in the paper's experiments.
        pieces: quadrature points on each edge.
        cache: keep log p along the edges, so that another penalty needs no new evaluation.
        n_jobs: processes that build the graph, -1 for all processors; the graph is the same for
            any number.
        seed: seed of the choice of nodes.

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
    graph: EdgeKind = "integral"
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
        self.edge_rule  # noqa: B018  # checks the settings of the edges

    @property
    def edge_rule(self) -> EdgeRule:
        """The rule that joins nodes, and weights edges."""
        return EdgeRule(
            kind=self.graph, epsilon=self.epsilon, k=self.k, rule=self.rule, pieces=self.pieces
        )

    @property
    def points(self) -> FloatArray:
        """The nodes, the same at every call."""
        if len(self.rows) <= self.nodes:
            return self.rows
        rng = np.random.default_rng(self.seed)
        return self.rows[np.sort(rng.choice(len(self.rows), self.nodes, replace=False))]

    def build(self, density: ConditionalDensity) -> Graph:
        """Return the graph over a density, with its memory and building time.

        It is built at the first call and cached; fitting the density again makes a new one.

        Raises:
            InvalidInput: the rows have other features than the density.
        """
        check_features(self.rows, density)
        cached = _graphs.setdefault(self, WeakKeyDictionary())
        if density.draws_ not in cached:
            cached[density.draws_] = Graph.build(
                self.points, density, self.edge_rule, cache=self.cache, n_jobs=self.n_jobs
            )
        return cached[density.draws_]

    def solve(self, problem: Problem, *, rng: np.random.Generator) -> Plan:
        refuse_max_changed(problem, "Face")
        clock = Clock()
        stay = already_there(problem, clock)
        if stay is not None:
            return stay
        routes = self.query(problem)
        clock.evaluations += max(1, routes.joined)
        if not routes.paths:
            remedy = self.remedy(problem)
            notes = () if remedy is None else (remedy,)
            return give_up(problem, clock, reachable=routes.reachable, notes=notes)
        notes = (Note.of("shifted_weights"),) if routes.shifted else ()
        return arrive(problem, routes.paths[0], clock, notes=notes)

    def query(self, problem: Problem) -> GoalRoutes:
        """Return the route that `solve` takes, and the other results of the query."""
        graph = self.build(problem.landscape.density)
        return find_goal_routes(graph, problem, n_jobs=self.n_jobs)

    def remedy(self, problem: Problem) -> Note | None:
        """Return a note on why no path was found, with a remedy; None if there is a path."""
        routes, points = self.query(problem), self.points
        inside, size = problem.feasible.allows(points), len(points)
        if routes.paths:
            return None
        if not inside.any():
            return Note.of("no_node_allowed", nodes=size)
        if routes.meeting == 0:
            more = "take more 'nodes', or " if size < len(self.rows) else ""
            remedy = f"{more}lower its thresholds"
            return Note.of("no_node_meets_goal", nodes=size, remedy=remedy)
        if routes.joined == 0:
            switches = problem.landscape.switches
            gap = float(distances(problem.x[None], points[inside], switches).min())
            return Note.of("start_not_joined", gap=gap)
        limited = {
            "'epsilon'": self.epsilon < np.inf,
            "'k'": (self.edge_rule.neighbours(size) or size) < size - 1,
        }
        limits = " or ".join(name for name, holds in limited.items() if holds)
        return Note.of(
            "goal_not_connected",
            reached=routes.reached,
            nodes=size,
            meeting=routes.meeting,
            remedy=f"raise {limits}" if limits else "loosen the constraints",
        )


_graphs: WeakKeyDictionary[Face, WeakKeyDictionary[DrawStatistics, Graph]] = WeakKeyDictionary()
