"""Seeding: where a search begins.

`goal_points` finds points that meet the goal among draws of the density, and `climbing` climbs to
the goal if no draw meets it. `route_seeds` finds routes around barriers over a roadmap of draws.
`detour_seeds` finds paths through dense regions where crossing these pays. `path_seeds` makes the
first candidates of a search from all of them, and candidates with more vertices from those before.
"""

from daace.planners.seeding.code_seeds import CodeSeeds
from daace.planners.seeding.goal_points import can_be_met, find_goal_points
from daace.planners.seeding.path_seeds import PathSeeds, may_have_barriers
from daace.planners.seeding.route_seeds import find_route_seeds

__all__ = [
    "CodeSeeds",
    "PathSeeds",
    "can_be_met",
    "find_goal_points",
    "find_route_seeds",
    "may_have_barriers",
]
