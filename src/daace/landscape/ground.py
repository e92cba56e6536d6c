"""The parts of terrain: dense ground, and the costs of segments and switches over it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from daace._typing import FloatArray


class Ground(Protocol):
    """What counts as dense ground: numbers, or arrays with one number for each path."""

    @property
    def level(self) -> Any:
        """Smallest log p of flat ground."""
        ...

    @property
    def spread(self) -> Any:
        """Standard deviation of log p."""
        ...


class PathGround(NamedTuple):
    """The ground of each of many paths.

    Attributes:
        level: shape `(paths,)`.
        spread: shape `(paths,)`.
    """

    level: FloatArray
    spread: FloatArray


class Segments(NamedTuple):
    """The segments of many paths: what they cost, and the two parts of the cost's gradient.

    Attributes:
        costs: shape `(paths, segments)`.
        lengths: shape `(paths, segments)`.
        shares: returns the derivative with respect to log p(x, y) at the nodes: the terrain.
        stretching: returns the derivative with respect to the waypoints over unchanged terrain.
    """

    costs: FloatArray
    lengths: FloatArray
    shares: Callable[[], FloatArray]
    stretching: Callable[[], FloatArray]


class Switching(NamedTuple):
    """The switches of many paths.

    Attributes:
        costs: costs of the switches before each segment, shape `(paths, segments)`.
        gradient: returns the gradient of each path's total, shape `(paths, waypoints, n)`.
    """

    costs: FloatArray
    gradient: Callable[[], FloatArray]
