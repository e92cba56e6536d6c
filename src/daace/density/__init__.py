"""Densities p(x, y): the interface, four of them, and their model files."""

from daace.density.base import ConditionalDensity
from daace.density.bayes import log_posterior, log_sum_exp
from daace.density.draws import DrawStatistics, Pool, draw_classes
from daace.density.kde import KernelDensity
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.density.mixture import GaussianMixture
from daace.density.model_file import read_model, write_model
from daace.density.privacy import FEWEST_ROWS
from daace.density.realnvp import RealNVP
from daace.density.registry import DENSITIES, density_class, learned_kinds, new_density
from daace.density.transaction import all_or_nothing
from daace.density.tuning import Tuning, read_settings, tune_realnvp, write_settings

__all__ = [
    "DENSITIES",
    "FEWEST_ROWS",
    "ConditionalDensity",
    "DrawStatistics",
    "GaussianMixture",
    "KernelDensity",
    "LinearGaussianNetwork",
    "Pool",
    "RealNVP",
    "Tuning",
    "all_or_nothing",
    "density_class",
    "draw_classes",
    "learned_kinds",
    "log_posterior",
    "log_sum_exp",
    "new_density",
    "read_model",
    "read_settings",
    "tune_realnvp",
    "write_model",
    "write_settings",
]
