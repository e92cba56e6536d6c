from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from daace.eqi.report.evidence import (
    Direction,
    Finding,
    Part,
    all_of,
    larger,
    most,
    rises,
    share_above,
    trend,
)


def test_a_finding_counts_its_parts() -> None:
    def outcome(*parts: tuple[bool | None, float | None]) -> str:
        made = [Part(statement="", ours="", holds=h, p_value=p) for h, p in parts]
        return Finding(1, "", "", tuple(made)).outcome

    assert outcome((True, None), (True, 0.01)) == "2 of 2 parts hold"
    assert outcome((True, 0.2), (False, 0.01), (None, None)) == "0 of 2 parts hold"
    assert outcome((False, None)) == "does not hold"
    assert outcome((True, 0.2)) == "not significant"
    assert outcome((None, None)) == "not enough plans"


def test_directions_are_tested() -> None:
    rng = np.random.default_rng(0)
    up, level = pd.Series(rng.normal(0.6, 1.0, 40)), pd.Series(rng.normal(0.0, 1.0, 40))
    assert rises(up) == Direction(True, pytest.approx(stats.wilcoxon(up).pvalue))
    assert not rises(up, falls=True).right
    assert larger(up, level) == Direction(True, stats.mannwhitneyu(up, level).pvalue)
    order = pd.Series(range(40))
    assert trend(up.sort_values(), order) == (pytest.approx(1.0), pytest.approx(0.0))
    assert share_above(46, 134, 1 / 3) == Direction(True, stats.binomtest(46, 134, 1 / 3).pvalue)
    domains = pd.DataFrame({"Air": up + 2, "Land": level, "Water": level - 2})
    assert most(domains, "Air").right
    assert most(domains, "Air").p_value < 0.05
    assert not most(domains, "Land").right
    both = all_of("", "", [rises(up), share_above(46, 134, 1 / 3)])
    assert both.verdict == "not significant"
    assert both.p_value == share_above(46, 134, 1 / 3).p_value
    contradicted = all_of("", "", [rises(up, falls=True), share_above(46, 134, 1 / 3)])
    assert contradicted.verdict == "does not hold"
    assert contradicted.p_value == 2 * rises(up).p_value
