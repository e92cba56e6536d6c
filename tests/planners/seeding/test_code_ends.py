from __future__ import annotations

import numpy as np
import pytest

from daace import Goal, Landscape, LinearGaussianNetwork, Problem, load_table
from daace.planners.seeding import code_ends


def test_a_goal_that_no_draw_near_the_start_meets(monkeypatch: pytest.MonkeyPatch) -> None:
    table = load_table("loans").take(np.arange(400))
    network = LinearGaussianNetwork().fit(table)
    refused = table.to_frame()[table.y == "refused"].iloc[[0]]
    problem = Problem(refused, Landscape(network), Goal("granted", min_posterior=0.9))
    monkeypatch.setattr(code_ends, "NEAR", 1)
    beam = code_ends._Beam.over(problem)
    assert not problem.region.contains(beam.draws[:1]).any()
    assert len(beam.drawn()) == code_ends.DRAWN
