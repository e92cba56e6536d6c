"""Descent: many paths at once are moved downhill to a goal by sequential quadratic programming.

`objective` (cost, goal slacks, gradients), `tangent` (active constraints), `quasi_newton`
(curvature) and `subproblem` make up one iteration of `sqp`; `linearized` wraps it for goals that a
classifier decides, and `path_descent` sets it up for a problem. For a `batch` of problems,
`refinement` moves candidate paths to rest and `finishing` moves their ends into the goal, with the
help of `goal_edge`, `tails` and, where there is no gradient, `last_step`.
"""

from daace.planners.descent.batch import Candidates, ProblemBatch, group_alike
from daace.planners.descent.finishing import Finishing
from daace.planners.descent.goal_edge import keep_directions, restore_end
from daace.planners.descent.objective import LinearOdds
from daace.planners.descent.path_descent import PathDescent, roughness_unit
from daace.planners.descent.refinement import Refinement

__all__ = [
    "Candidates",
    "Finishing",
    "LinearOdds",
    "PathDescent",
    "ProblemBatch",
    "Refinement",
    "group_alike",
    "keep_directions",
    "restore_end",
    "roughness_unit",
]
