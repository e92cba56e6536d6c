from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from daace import Explainer, Explanation, Planner


@pytest.fixture
def ending(straight: Planner) -> Callable[[Explainer, str], Explanation]:
    """Explain a row between the classes 'a' and 'b' so that the search ends with a status."""
    asked = {"goal_unreachable": {"plausibility": 99.0}, "already_there": {"plausibility": -99.0}}

    def explain(explainer: Explainer, status: str) -> Explanation:
        row = explainer.density.to_user(np.zeros((1, len(explainer.density.features_))) - 0.5)
        target = "a" if status == "already_there" else "b"
        e = explainer.explain(row, target=target, planner=straight, **asked.get(status, {}))
        assert e.status == status
        return e

    return explain
