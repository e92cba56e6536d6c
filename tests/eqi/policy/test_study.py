from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from daace.eqi.data.counties import Counties
from daace.eqi.policy.advisor import Advisor
from daace.eqi.policy.record import record_key
from daace.eqi.policy.study import CHUNK, THREE, run_atlas, run_study, sample_counties, study_asks
from daace.exceptions import InvalidInput
from daace.study.records import read_records

#: Two of the paper's three counties.
FIPS = (6037, 8021)


@pytest.fixture(scope="module")
def whole(advisor: Advisor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study that nobody stopped, in one process."""
    folder = tmp_path_factory.mktemp("whole")
    done = run_study(advisor, folder, fips=[*FIPS], few=1)
    assert (done.asked, done.recorded, done.new) == (31, 31, 31)
    return folder


def test_the_sample_is_held_out_and_bad_enough(counties: Counties) -> None:
    chosen = sample_counties(counties, 20)
    assert chosen[:3] == list(THREE)
    assert len(set(chosen)) == 23
    held_out = set(counties.places.index[counties.split[1]])
    assert set(chosen[3:]) <= held_out
    assert min(counties.category[c] for c in chosen) >= 2
    assert sample_counties(counties, 5) == chosen[:8]


def test_a_study_asks_all_penalties_and_all_rules() -> None:
    asks = study_asks(("BayesACE", "FACE", "Wachter"))
    assert len({record_key(1, a) for a in asks}) == len(asks) == 15
    assert {a.penalty for a in asks if a.algorithm == "FACE"} == {3, 5, 10, 15}
    assert {a.mode for a in asks} == {"free", "equity", "consistent", "consistent equity"}
    assert asks[0].penalty == 5  # the most important first


def test_a_run_that_was_stopped_goes_on(
    advisor: Advisor, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0
    original = Advisor.advise

    def stop(self: Advisor, *args: object, **kwargs: object) -> object:
        nonlocal calls
        calls += 1
        if calls == 8:
            raise KeyboardInterrupt
        return original(self, *args, **kwargs)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Advisor, "advise", stop)
        with pytest.raises(KeyboardInterrupt):
            run_study(advisor, tmp_path, fips=[*FIPS], few=1)
    file = tmp_path / "records.jsonl"
    kept = file.read_bytes()
    assert 0 < kept.count(b"\n") < 32
    file.write_bytes(kept + b'{"key": "torn')  # as a crash leaves it
    again = run_study(advisor, tmp_path, fips=[*FIPS], few=1)
    assert again.recorded == 31
    assert 0 < again.new < 31
    a, b = (read_records(folder / "records.jsonl") for folder in (whole, tmp_path))
    assert set(a) == set(b)
    for key, record in a.items():
        if record["kind"] == "recourse" and record["found"]:
            assert b[key]["cost"] == pytest.approx(record["cost"], rel=2e-3), key
    for record in a.values():
        if record["kind"] == "recourse":
            assert record["found"] or record["status"] == "goal_unreachable"
            assert not record["found"] or record["goal_met"]
            if record["found"] and "consistent" in record["mode"]:
                assert record["gap"] < 1e-9
    assert run_study(advisor, tmp_path, fips=[*FIPS], few=1).new == 0


def test_processes_plan_the_same(
    advisor: Advisor, whole: Path, atlas: Path, tmp_path: Path
) -> None:
    done = run_study(advisor, tmp_path, fips=[*FIPS], few=1, n_jobs=2)
    assert (done.asked, done.recorded) == (31, 31)
    one, two = (read_records(folder / "records.jsonl") for folder in (whole, tmp_path))
    assert set(one) == set(two)
    for key, record in one.items():
        clock = {"seconds"}
        assert {k: v for k, v in record.items() if k not in clock} == {
            k: v for k, v in two[key].items() if k not in clock
        }, key
    new = run_atlas(advisor, tmp_path, improve=6, n_jobs=2).new
    assert new > CHUNK  # several batches
    a, b = (read_records(folder / "atlas.jsonl") for folder in (atlas, tmp_path))
    assert a == b
    assert len(a) == new


def test_records_of_other_models_are_not_mixed(
    advisor: Advisor, counties: Counties, tmp_path: Path
) -> None:
    fips = sample_counties(counties, 0)[:1]
    run_study(advisor, tmp_path, fips=fips, algorithms=("Wachter",))
    other = replace(advisor, min_posterior=0.8)
    with pytest.raises(InvalidInput, match=r"belong to other models .* 'min_posterior'"):
        run_study(other, tmp_path, fips=fips, algorithms=("Wachter",))


def test_records_of_other_vertices_are_not_mixed(
    advisor: Advisor, counties: Counties, tmp_path: Path
) -> None:
    fips = sample_counties(counties, 0)[:1]
    run_study(advisor, tmp_path, fips=fips, algorithms=("Wachter",))
    file = tmp_path / "records.jsonl"
    models, *plans = file.read_text().splitlines()
    before = {k: v for k, v in json.loads(models).items() if k != "vertices"}
    file.write_text("\n".join([json.dumps(before), *plans]) + "\n")
    with pytest.raises(InvalidInput, match=r"they differ in 'vertices'"):
        run_study(advisor, tmp_path, fips=fips, algorithms=("Wachter",))


def test_a_study_needs_the_flow(advisor: Advisor, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="needs the RealNVP"):
        run_study(replace(advisor, flow=None), tmp_path, fips=[6037])


def test_the_papers_study_has_one_threshold_and_seeds(advisor: Advisor, tmp_path: Path) -> None:
    done = run_study(advisor, tmp_path, fips=[FIPS[0]], seeds=2)
    assert (done.asked, done.new) == (20, 20)
    records = read_records(tmp_path / "records.jsonl")
    plans = [r for r in records.values() if r["kind"] == "recourse"]
    assert {r["mode"] for r in plans} == {"free"}
    genetic = [r for r in plans if r["algorithm"] == "BayesACE by NSGA-II"]
    assert sorted((r["seed"], r["penalty"]) for r in genetic) == [
        (seed, penalty) for seed in (0, 1) for penalty in (3, 5, 10, 15)
    ]
    first, second = ([r.get("own_cost") for r in genetic if r["seed"] == seed] for seed in (0, 1))
    assert first != second
    alpha = records["models"]["min_log_prob"]
    assert records["models"]["network_min_log_prob"] == alpha
    assert all(r["log_prob_own"] >= alpha for r in plans if r["found"])
    assert run_study(advisor, tmp_path, fips=[FIPS[0]], seeds=2).new == 0
    with pytest.raises(InvalidInput, match=r"belong to other models .* 'network_min_log_prob'"):
        run_study(advisor, tmp_path, fips=[FIPS[0]])
