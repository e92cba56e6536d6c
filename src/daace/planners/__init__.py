"""Planners: from a problem to a plan.

`base` defines `Planner`, `Plan` and `Status`, and shows how to write your own planner. The default
`optimizer` searches paths (`path_search`) from seeds (`seeding/`) by gradient descent (`descent/`)
and keeps rules that descent cannot (`rules/`); `roadmap` and `face` plan over graphs (`graphs/`),
`nsga2` by a genetic algorithm, `wachter` by one straight step.
"""

from daace.planners.base import Plan, Planner, Status
from daace.planners.face import Face
from daace.planners.nsga2 import NSGA2
from daace.planners.optimizer import PathOptimizer
from daace.planners.roadmap import Roadmap
from daace.planners.wachter import Wachter

__all__ = [
    "NSGA2",
    "Face",
    "PathOptimizer",
    "Plan",
    "Planner",
    "Roadmap",
    "Status",
    "Wachter",
]
