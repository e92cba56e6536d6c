"""The density as terrain: costs, goals, constraints."""

from daace.landscape.constraints import Constraints
from daace.landscape.cost import Landscape
from daace.landscape.feasible import FeasibleSet
from daace.landscape.goal import Goal
from daace.landscape.problem import Problem
from daace.landscape.rows import RowMap
from daace.landscape.rules.link import Link

__all__ = ["Constraints", "FeasibleSet", "Goal", "Landscape", "Link", "Problem", "RowMap"]
