"""log p(x, y) along the segments of many paths, with gradients with respect to the waypoints."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeAlias

import numpy as np

from daace._typing import FloatArray, Pullback

#: `log_joint_and_pullback` of a density.
Evaluate: TypeAlias = Callable[[FloatArray], tuple[FloatArray, Pullback]]

#: `log_joint_along` of a density.
Along: TypeAlias = Callable[[FloatArray, FloatArray], tuple[FloatArray, Pullback]]

#: log p(x, y) along paths, log p(x, y) at their ends, and the pullback of both.
ToEnd: TypeAlias = tuple[
    FloatArray, FloatArray, Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
]


def points_on_segments(
    paths: FloatArray, nodes: FloatArray, codes: Collection[int] = ()
) -> FloatArray:
    """Return the points at the nodes of every segment.

    Args:
        paths: shape `(paths, waypoints, n)`.
        nodes: positions on a segment, from 0, its beginning, to 1, shape `(nodes,)`.
        codes: columns that hold codes: those of a segment are those of its last waypoint.

    Returns:
        Shape `(paths, segments, nodes, n)`.

    Example:
        >>> points_on_segments(np.array([[[0.0], [2.0]]]), np.array([0.25])).tolist()
        [[[[0.5]]]]
    """
    vectors = paths[:, 1:] - paths[:, :-1]
    points: FloatArray = paths[:, :-1, None] + nodes[:, None] * vectors[:, :, None]
    for column in codes:
        points[..., column] = paths[:, 1:, None, column]
    return points


def pull_to_waypoints(pulled: FloatArray, nodes: FloatArray) -> FloatArray:
    """Return the gradient with respect to the waypoints from that with respect to the points.

    A point at node t of a segment is `(1 - t) a + t b`, so the waypoint a gets the share 1 - t of
    its gradient, and b the share t.

    Args:
        pulled: gradient at the points, shape `(paths, segments, nodes, n)`.
        nodes: as in `points_on_segments`.

    Returns:
        Shape `(paths, waypoints, n)`.
    """
    behind = np.einsum("bsqn,q->bsn", pulled, nodes)
    gradient = np.zeros((len(pulled), pulled.shape[1] + 1, pulled.shape[3]))
    gradient[:, 1:] = behind
    gradient[:, :-1] += pulled.sum(axis=2) - behind
    return gradient


def along_segments(
    evaluate: Evaluate, paths: FloatArray, nodes: FloatArray, codes: Collection[int] = ()
) -> tuple[FloatArray, Pullback]:
    """Return log p(x, y) at the nodes of every segment, point by point, and its pullback.

    Args:
        evaluate: log p(x, y) of rows, with its pullback.
        paths: shape `(paths, waypoints, n)`.
        nodes: positions on a segment.
        codes: columns that hold codes.
    """
    points = points_on_segments(paths, nodes, codes)
    joint, pullback = evaluate(points.reshape(-1, paths.shape[-1]))

    def to_waypoints(W: FloatArray) -> FloatArray:
        pulled = pullback(W.reshape(joint.shape))
        return pull_to_waypoints(pulled.reshape(points.shape), nodes)

    return joint.reshape(*points.shape[:-1], joint.shape[1]), to_waypoints


def in_one_pass(
    evaluate: Evaluate,
    paths: FloatArray,
    nodes: FloatArray,
    looks: int,
    codes: Collection[int] = (),
) -> ToEnd:
    """Return log p(x, y) along paths and at their ends, all points evaluated together.

    Args:
        evaluate: log p(x, y) of rows, with its pullback.
        paths: shape `(paths, waypoints, n)`.
        nodes: positions on a segment.
        looks: number of gradients wanted at each end.
        codes: columns that hold codes.
    """
    points, n = points_on_segments(paths, nodes, codes), paths.shape[-1]
    ends = np.repeat(paths[:, -1], looks, axis=0)
    joint, pullback = evaluate(np.concatenate([points.reshape(-1, n), ends]))
    classes, along = joint.shape[1], len(joint) - len(ends)

    def to_waypoints_and_ends(W: FloatArray, V: FloatArray) -> tuple[FloatArray, FloatArray]:
        pulled = pullback(np.concatenate([W.reshape(-1, classes), V.reshape(-1, classes)]))
        gradient = pull_to_waypoints(pulled[:along].reshape(points.shape), nodes)
        return gradient, pulled[along:].reshape(len(paths), looks, n)

    there = joint[along::looks]
    return joint[:along].reshape(*points.shape[:-1], classes), there, to_waypoints_and_ends


def in_two_passes(
    along: Along, evaluate: Evaluate, paths: FloatArray, nodes: FloatArray, looks: int
) -> ToEnd:
    """Return log p(x, y) along paths and at their ends, the ends evaluated separately.

    Args:
        along: log p(x, y) along segments, with its pullback.
        evaluate: log p(x, y) of rows, with its pullback.
        paths: shape `(paths, waypoints, n)`.
        nodes: positions on a segment.
        looks: number of gradients wanted at each end.
    """
    joint, to_waypoints = along(paths, nodes)
    there, pullback = evaluate(paths[:, -1])

    def both(W: FloatArray, V: FloatArray) -> tuple[FloatArray, FloatArray]:
        return to_waypoints(W), np.stack([pullback(V[:, k]) for k in range(looks)], axis=1)

    return joint, there, both
