"""The public names, for type checkers, and for `__init__.py`, which loads them on demand."""

from daace.data.catalog import load_table
from daace.data.preprocess import preprocess
from daace.data.standardizer import Standardizer
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.kde import KernelDensity
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.density.mixture import GaussianMixture
from daace.density.realnvp import RealNVP
from daace.density.tuning.tune import tune_realnvp
from daace.exceptions import (
    DaaceError,
    InvalidInput,
    MissingDependency,
    MissingFile,
    ModelFileError,
    NotFitted,
    PrivacyError,
)
from daace.explain.answers.summary import Summary
from daace.explain.decision import DecisionReasons
from daace.explain.explainer import Explainer
from daace.explain.explanation import Explanation
from daace.explain.fitting import fit
from daace.explain.loading import load
from daace.explain.several.audit import Audit
from daace.explain.several.batch import Batch
from daace.explain.several.front import ExplanationFront
from daace.explain.several.tradeoff import Tradeoff
from daace.explain.trust.check import Check
from daace.explain.trust.network import Network
from daace.explain.trust.stability import Stability
from daace.landscape.constraints import Constraints
from daace.landscape.cost import Landscape
from daace.landscape.goal import Goal
from daace.landscape.problem import Problem
from daace.landscape.rules.link import Link
from daace.planners.base import Plan, Planner, Status
from daace.planners.face import Face
from daace.planners.nsga2 import NSGA2
from daace.planners.optimizer import PathOptimizer
from daace.planners.roadmap import Roadmap
from daace.planners.wachter import Wachter

__version__: str

__all__ = [
    "NSGA2",
    "Audit",
    "Batch",
    "Check",
    "ConditionalDensity",
    "Constraints",
    "DaaceError",
    "DecisionReasons",
    "Explainer",
    "Explanation",
    "ExplanationFront",
    "Face",
    "GaussianMixture",
    "Goal",
    "InvalidInput",
    "KernelDensity",
    "Landscape",
    "LinearGaussianNetwork",
    "Link",
    "MissingDependency",
    "MissingFile",
    "ModelFileError",
    "Network",
    "NotFitted",
    "PathOptimizer",
    "Plan",
    "Planner",
    "PrivacyError",
    "Problem",
    "RealNVP",
    "Roadmap",
    "Stability",
    "Standardizer",
    "Status",
    "Summary",
    "Table",
    "Tradeoff",
    "Wachter",
    "fit",
    "load",
    "load_table",
    "preprocess",
    "tune_realnvp",
]
