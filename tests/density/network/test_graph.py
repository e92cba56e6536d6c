from __future__ import annotations

import numpy as np
import pytest

from daace.density.network.graph import topological_order


def test_parents_come_first() -> None:
    arcs = np.zeros((4, 4), dtype=bool)
    arcs[3, 1] = arcs[1, 0] = arcs[2, 0] = True
    assert topological_order(arcs).tolist() == [2, 3, 1, 0]


def test_a_cycle_has_no_order() -> None:
    arcs = np.zeros((3, 3), dtype=bool)
    arcs[0, 1] = arcs[1, 2] = arcs[2, 0] = True
    with pytest.raises(ValueError, match="the arcs have a cycle"):
        topological_order(arcs)
