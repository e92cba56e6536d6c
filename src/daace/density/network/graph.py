"""The graph of a Bayesian network: arcs between features, and from the class to features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daace._typing import BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class Structure:
    """A directed acyclic graph over features and class.

    Attributes:
        arcs: `arcs[i, j]` is whether feature i is a parent of feature j, shape `(n, n)`.
        class_arcs: whether the class is a parent of each feature, shape `(n,)`.
    """

    arcs: BoolArray
    class_arcs: BoolArray

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Structure)
            and np.array_equal(self.arcs, other.arcs)
            and np.array_equal(self.class_arcs, other.class_arcs)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays may change

    def parents(self, child: int) -> IntArray:
        """Return the feature parents of a feature, in order."""
        return np.flatnonzero(self.arcs[:, child])


def topological_order(arcs: BoolArray) -> IntArray:
    """Return the features in an order in which parents come first; ties by index.

    Args:
        arcs: `arcs[i, j]` is whether feature i is a parent of feature j.

    Raises:
        ValueError: the arcs have a cycle.
    """
    waiting = arcs.sum(axis=0)
    done = np.zeros(len(arcs), dtype=bool)
    order = []
    for _ in range(len(arcs)):
        ready = np.flatnonzero(~done & (waiting == 0))
        if len(ready) == 0:
            raise ValueError("the arcs have a cycle")
        node = int(ready[0])
        order.append(node)
        done[node] = True
        waiting = waiting - arcs[node]
    return np.array(order, dtype=np.intp)
