"""Graphs: points joined by weighted edges, and shortest paths over them.

`edges` defines which points are joined and weights an edge by the cost of its segment; `graph`
builds an immutable `Graph` and answers queries by Dijkstra's algorithm; `edge_switches` prices
changes of codes on its edges. `goal_routes` reads routes to the goal of a problem from the answer,
and `roadmap_graph` builds and caches the graph on draws of a density. `Face` and `Roadmap` plan on
these graphs, and `seeding` takes its routes from them.
"""

from daace.planners.graphs.edges import EdgeKind, EdgeRule, distances, log_prob_along
from daace.planners.graphs.goal_routes import (
    GoalRoutes,
    choose_cheap_and_diverse,
    find_goal_routes,
)
from daace.planners.graphs.graph import Graph
from daace.planners.graphs.roadmap_graph import restrict_graph, roadmap_graph

__all__ = [
    "EdgeKind",
    "EdgeRule",
    "GoalRoutes",
    "Graph",
    "choose_cheap_and_diverse",
    "distances",
    "find_goal_routes",
    "log_prob_along",
    "restrict_graph",
    "roadmap_graph",
]
