"""Polylines and the quadrature rules that integrate along them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from daace._typing import FloatArray
from daace.landscape.code_rules import CodeRules

#: Smallest divisor where a segment's length divides: shorter segments have no direction.
EPSILON = 1e-9

#: Gauss-Legendre nodes per panel; longer rules repeat the panel.
PANEL = 16


@dataclass(frozen=True, eq=False)
class Quadrature:
    """Nodes and weights on [0, 1]; `weights` sum to 1."""

    nodes: FloatArray
    weights: FloatArray

    def __len__(self) -> int:
        return len(self.nodes)


@lru_cache(maxsize=64)
def gauss_rule(nodes: int) -> Quadrature:
    """Return a Gauss-Legendre rule: one panel up to 16 nodes, panels of 16 beyond."""
    panels = -(-nodes // PANEL)
    x, w = np.polynomial.legendre.leggauss(nodes if panels == 1 else PANEL)
    starts = np.arange(panels)[:, None]
    return Quadrature(((starts + (x + 1) / 2) / panels).ravel(), np.tile(w / (2 * panels), panels))


@lru_cache(maxsize=8)
def midpoint_rule(pieces: int) -> Quadrature:
    """Return the midpoints of equal pieces, as in the paper's experiments (19 pieces)."""
    return Quadrature((np.arange(pieces) + 0.5) / pieces, np.full(pieces, 1 / pieces))


def segment_vectors(paths: FloatArray) -> FloatArray:
    """Return the vectors between consecutive waypoints; `paths` has shape `(..., waypoints, n)`."""
    return paths[..., 1:, :] - paths[..., :-1, :]


def segment_lengths(vectors: FloatArray) -> FloatArray:
    """Return the lengths of segment vectors, shape `(..., segments)`."""
    lengths: FloatArray = np.sqrt(np.einsum("...n,...n->...", vectors, vectors))
    return lengths


def points_along(paths: FloatArray, rule: Quadrature) -> FloatArray:
    """Return the rule's points on each segment, shape `(..., segments, nodes, n)`."""
    t = rule.nodes[:, None]
    return paths[..., :-1, None, :] + t * segment_vectors(paths)[..., None, :]


def straight_paths(
    start: FloatArray, ends: FloatArray, vertices: int, codes: CodeRules | None = None
) -> FloatArray:
    """Return straight lines from start to each end, with evenly spaced vertices.

    Codes switch at the start.

    Args:
        start: shape `(n,)` or `(ends, n)`.
        ends: shape `(ends, n)`.
        vertices: number of waypoints between start and end.
        codes: rules of the codes; None if all features are plain numbers.
    """
    t = np.linspace(0, 1, vertices + 2)[:, None]
    begins = np.broadcast_to(start, ends.shape)[:, None, :]
    paths: FloatArray = begins + t * (ends[:, None, :] - begins)
    paths[:, -1] = ends
    if codes is not None and vertices:
        last = np.broadcast_to(ends[:, None], paths[:, 1:-1].shape)
        paths[:, 1:-1] = codes.between(begins, last, paths[:, 1:-1])
    return paths


def split_segment(
    paths: FloatArray, segments: np.ndarray, codes: CodeRules | None = None
) -> FloatArray:
    """Insert the midpoint of one segment of each path, shape `(paths, waypoints + 1, n)`.

    The cost of the path stays the same. A segment that enters an atom is travelled with the atom's
    code and would cost something else in two pieces: there the end is inserted instead.

    Args:
        paths: shape `(paths, waypoints, n)`.
        segments: index of the segment of each path.
        codes: rules of the codes; None if all features are plain numbers.
    """
    rows = np.arange(len(paths))
    middle = 0.5 * (paths[rows, segments] + paths[rows, segments + 1])
    if codes is not None:
        begin, end = paths[rows, segments], paths[rows, segments + 1]
        middle = codes.between(begin, end, middle)
        middle = np.where(codes.enters_atom(begin, end)[:, None], end, middle)
    longer = np.empty((len(paths), paths.shape[1] + 1, paths.shape[2]))
    for row, segment in enumerate(segments):
        longer[row] = np.insert(paths[row], segment + 1, middle[row], axis=0)
    return longer
