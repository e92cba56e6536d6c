from __future__ import annotations

import numpy as np
import pytest

from daace.density.draws import DrawStatistics, draw_classes


def test_classes_are_drawn_from_the_prior() -> None:
    drawn = draw_classes(np.log([0.2, 0.8]), 10_000, rng=np.random.default_rng(0), index=None)
    assert drawn.mean() == pytest.approx(0.8, abs=0.02)
    assert draw_classes(np.log([0.2, 0.8]), 3, rng=np.random.default_rng(0), index=0).max() == 0


def test_statistics_of_known_draws() -> None:
    log_prob = np.arange(1001.0)
    X = np.column_stack([log_prob, -log_prob])
    draws = DrawStatistics.of(X, log_prob)
    assert draws.mean == 500
    assert draws.level == pytest.approx(990)
    assert draws.spread == pytest.approx(500 / 1.349)
    assert draws.lower == pytest.approx([1 - 99.8, -999 - 99.8])
    assert draws.upper == pytest.approx([999 + 99.8, -1 + 99.8])
    assert [draws.percentile(v) for v in (-5.0, 250.0, 5000.0)] == pytest.approx([0, 25, 100])
