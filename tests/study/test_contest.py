from __future__ import annotations

import numpy as np
import pandas as pd

from daace.study.contest import Contest, by_table, judge

from .made_up import NAMES


def test_ranks_of_all_algorithms_decide_and_wilcoxon_stands_beside() -> None:
    """One rank between neighbours of seven: Wilcoxon is sure of it, Bergmann and Hommel are not."""
    scores = pd.DataFrame(
        {name: np.full(20, float(k)) for k, name in enumerate(NAMES)},
        index=pd.MultiIndex.from_product([[f"t{k}" for k in range(20)], [0]], names=["table", "i"]),
    )
    check = Contest(scores).lower("DAACE GT", "DAACE")
    assert check.verdict == "not significant"
    assert check.wilcoxon.startswith("lower on 20 of 20 problems, higher on 0; effect -1.00, p = ")
    assert float(check.wilcoxon.rpartition(" ")[2]) < 1e-4
    assert check.ours == "mean ranks 1.00 and 2.00, p = 0.43; medians -1.50 and -1.00"
    assert Contest(scores[["DAACE GT", "DAACE"]]).lower("DAACE GT", "DAACE").verdict == "holds"


def test_friedman_must_reject_before_a_pair_can_differ() -> None:
    scores = pd.DataFrame({"a": [1.0, 1.0, 2.0], "b": [2.0, 2.0, 1.0], "c": [3.0, 3.0, 3.0]})
    contest = Contest(scores)
    assert contest.p_value("a", "b") >= contest.test.p_value > 0.05
    assert contest.alike("a", "c").verdict == "holds"
    assert contest.not_lower("a", "c").verdict == "holds"
    assert contest.lower("a", "missing").verdict == "not run"


def test_the_lowest_must_differ_from_the_next() -> None:
    index = pd.MultiIndex.from_product([[f"t{k}" for k in range(40)], [0]], names=["table", "i"])
    scores = pd.DataFrame({n: np.full(40, float(k)) for k, n in enumerate("abcd")}, index=index)
    contest = Contest(scores, ", somewhere")
    assert contest.lowest("a").verdict == contest.lowest("b", "a").verdict == "holds"
    assert contest.lowest("b").verdict == contest.highest("a").verdict == "does not hold"
    assert contest.highest("d").verdict == "holds"
    assert contest.lowest("b", "a").what == "b and a have the lowest mean ranks, somewhere"
    assert contest.lowest("a", "b", "c", "d").verdict == "not run"


def test_a_vote_per_table_is_a_share() -> None:
    index = pd.MultiIndex.from_tuples([("t", 0), ("t", 1), ("u", 0)], names=["table", "instance"])
    scores = pd.DataFrame({"a": [1.0, 3.0, np.inf], "b": [2.0, 2.0, 1.0]}, index=index)
    assert by_table(scores, "a", "b").to_dict() == {"t": 0.0, "u": -1.0}


def test_a_tie_is_not_significant() -> None:
    assert judge(1.0, 0.0) == "not significant"
