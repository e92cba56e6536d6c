"""Search for the settings of a RealNVP, and their file."""

from daace.density.tuning.settings import read_settings, write_settings
from daace.density.tuning.tune import Tuning, tune_realnvp

__all__ = ["Tuning", "read_settings", "tune_realnvp", "write_settings"]
