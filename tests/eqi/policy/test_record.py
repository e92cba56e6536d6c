from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from daace import Landscape
from daace.eqi.data.counties import DOMAINS, INDICES, Counties
from daace.eqi.policy.advisor import Advisor
from daace.eqi.policy.record import record_key, to_record
from daace.eqi.policy.recourse import CountyPath
from daace.eqi.policy.request import Ask

LA = 6037


def test_a_record_says_what_the_plan_is_worth(
    advisor: Advisor, counties: Counties, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = advisor.advise([LA], Ask())[0]
    assert advisor.flow is not None
    record = to_record(advisor, found)
    path = found.waypoints
    judge = Landscape(advisor.flow, penalty=5.0, scale="nll")
    assert record["cost"] == judge.path_cost(path, rule="midpoint")
    assert record["l2"] == pytest.approx(np.linalg.norm(path[-1] - path[0]))
    assert record["length"] == pytest.approx(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())
    assert record["gap"] == CountyPath.of(counties, found).gap
    assert record["before"] == pytest.approx(counties.indices.loc[LA, list(DOMAINS)].tolist())
    assert record["log_prob_own"] == pytest.approx(advisor.network.log_prob(path[-1:])[0])
    assert record["posterior_own"] >= 0.7
    assert record["goal_met"] is True
    assert len(record["change"]) == len(counties.table.features)
    named = dict(zip(counties.table.features, record["change"], strict=True))
    moved = (path[-1] - path[0])[[counties.table.features.index(i) for i in INDICES]]
    assert [named[i] for i in INDICES] == pytest.approx(moved.tolist(), abs=1e-4)
    # Own density and judge have thresholds of their own.
    for own, judged in ((-1e6, 1e6), (1e6, -1e6)):
        alphas = {"BayesACE": own, "DAACE": judged}
        monkeypatch.setattr(Advisor, "threshold", lambda _, name, alphas=alphas: alphas[name])
        again = to_record(replace(advisor, min_posterior=0), found)
        assert (again["goal_met"], again["valid_judge"]) == (own < 0, judged < 0)


def test_a_record_of_nothing_found_says_why(advisor: Advisor) -> None:
    strict = replace(advisor, min_posterior=1 - 1e-12)
    for algorithm in ("BayesACE", "FACE", "Wachter"):
        (nothing,) = strict.advise([LA], Ask(algorithm=algorithm))
        assert not nothing.found
        record = to_record(strict, nothing)
        assert record["status"] == "goal_unreachable"
        assert "cost" not in record


def test_keys_tell_plans_apart() -> None:
    keys = {
        record_key(1, ask)
        for ask in (Ask(), Ask(fixed=("a",)), Ask(penalty=3), Ask(improve=1), Ask(equity=True))
    }
    assert len(keys) == 5
    assert sorted(keys)[0].startswith("1/BayesACE")
