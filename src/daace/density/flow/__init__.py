"""The parts of a `RealNVP`: coupling layers, their training, and the paper's settings."""

from daace.density.flow.checkpoint import Checkpoint
from daace.density.flow.coupling import CouplingFlow
from daace.density.flow.presets import PRESETS, Preset, find_preset
from daace.density.flow.trainer import Trainer
from daace.density.flow.training import train

__all__ = [
    "PRESETS",
    "Checkpoint",
    "CouplingFlow",
    "Preset",
    "Trainer",
    "find_preset",
    "train",
]
