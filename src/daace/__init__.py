"""Actionable counterfactual explanations: what would have to change, and how to get there."""

from daace.data.catalog import load_table
from daace.data.preprocess import preprocess
from daace.data.table import Standardizer, Table
from daace.density.base import ConditionalDensity
from daace.density.kde import KernelDensity
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.density.mixture import GaussianMixture
from daace.landscape.constraints import Constraints
from daace.landscape.cost import Landscape
from daace.landscape.goal import Goal
from daace.landscape.problem import Problem
from daace.planners.base import Plan, Planner, Status
from daace.planners.optimizer import PathOptimizer

__version__ = "0.1.0"
