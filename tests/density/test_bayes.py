from __future__ import annotations

import numpy as np
import pytest

from daace.density.bayes import log_posterior, log_sum_exp


def test_log_sum_exp_never_overflows() -> None:
    rows = np.array([[0.0, 0.0], [-1e5, -1e5], [1e5, 0.0], [-1e300, 0.0]])
    assert log_sum_exp(rows) == pytest.approx([np.log(2), -1e5 + np.log(2), 1e5, 0.0])
    assert log_posterior(rows)[1] == pytest.approx(np.log([0.5, 0.5]))
    assert log_posterior(rows)[3].tolist() == [-1e300, 0.0]
