from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from daace import (
    Face,
    Goal,
    KernelDensity,
    Landscape,
    ModelFileError,
    PathOptimizer,
    Problem,
    load_table,
)
from daace.study.answers import compare_densities, judge
from daace.study.bench import Bench, Setting
from daace.study.cache import Cache
from daace.study.problems import Keys, fingerprint, load_rows
from daace.study.spec import DensitySpec, StudySpec, TableSpec


@pytest.fixture
def bench(tiny: StudySpec, tmp_path: Path) -> Bench:
    table = tiny.tables[1]
    return Bench(Keys(tiny, table, fingerprint(table, tiny.seed)), Cache(tmp_path))


def test_thresholds_are_the_papers(bench: Bench) -> None:
    X, y = bench.sample
    assert len(X) == 200
    log_prob = bench.truth.log_prob(X)
    own = [
        bench.truth.predict_proba(x[None])[0, bench.truth.class_index(k)]
        for x, k in zip(X, y, strict=True)
    ]
    setting = bench.setting
    assert setting.min_log_prob(-0.5) == pytest.approx(log_prob.mean() - 0.5 * log_prob.std())
    assert setting.min_posterior(-0.5) == pytest.approx(np.mean(own) - 0.5 * np.std(own))
    assert bench.box[0] == pytest.approx(X.min(axis=0) - 0.01)
    assert bench.box[1] == pytest.approx(X.max(axis=0) + 0.01)


@pytest.mark.parametrize(("mean", "m", "beta"), [(0.97, 1.0, 0.99), (0.9, -0.5, 0.85), (0, -1, 0)])
def test_no_threshold_asks_for_certainty(mean: float, m: float, beta: float) -> None:
    setting = Setting(1, (0.0, 1.0), (mean, 0.1), (), (), 0.0)
    assert setting.min_posterior(m) == pytest.approx(beta)


def test_instances_do_not_depend_on_their_number(bench: Bench, tiny: StudySpec) -> None:
    more = Bench(replace(bench.keys, spec=replace(tiny, instances=9)), bench.cache)
    for i in range(2):
        start, label, target = bench.instance(i)
        assert np.array_equal(start, more.instance(i)[0])
        assert {label, target} == {"c0", "c1"}
    assert not np.array_equal(bench.instance(0)[0], bench.instance(1)[0])


def test_what_was_made_is_not_made_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    density = bench.density("clgn")
    face, _ = bench.planner(bench.spec.algorithm("FACE GT"), "c0")
    setting = bench.setting
    again = Bench(bench.keys, bench.cache)
    for name in ("_learn", "sample"):
        monkeypatch.setattr(Bench, name, None)
    X = np.ones((3, 3))
    assert np.array_equal(again.density("clgn").log_joint(X), density.log_joint(X))
    assert again.setting == setting
    rows = Face(np.zeros((2, 3)), nodes=40)  # which are not needed either
    graph = again._graph(bench.spec.algorithm("FACE GT"), rows, "")
    assert np.array_equal(graph.log_prob, face.graph.log_prob)  # type: ignore[attr-defined]


def test_an_interrupted_training_is_not_kept(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        kind = "realnvp"
        stopped_ = "interrupted"

        def fit(self, table: object, *, checkpoint: Path) -> None:
            checkpoint.write_text("the state so far")

    monkeypatch.setattr(DensitySpec, "make", lambda self, table: Interrupted())
    with pytest.raises(KeyboardInterrupt):
        bench.density("clgn")
    key = bench.keys.density("clgn")
    assert not bench.cache.has(key, "daace")
    assert bench.cache.has(key, "checkpoint")


def test_damaged_files_of_the_cache_are_named(bench: Bench) -> None:
    bench.density("clgn")
    bench.setting  # noqa: B018
    for file in bench.cache.folder.iterdir():
        file.write_bytes(b"nonsense")
    again = Bench(bench.keys, bench.cache)
    with pytest.raises(ModelFileError, match="Delete this file, and it is made again"):
        again.density("clgn")
    with pytest.raises(ModelFileError, match="Delete this file, and it is made again"):
        again.setting  # noqa: B018


def test_wachter_gets_the_rows_of_the_target(bench: Bench) -> None:
    X, y = bench.sample
    for target in ("c0", "c1"):
        planner, _ = bench.planner(bench.spec.algorithm("Wachter"), target)
        assert np.array_equal(planner.rows, X[y == target])  # type: ignore[attr-defined]


def test_paths_are_judged_as_in_the_paper(bench: Bench) -> None:
    start, _, target = bench.instance(0)
    landscape = Landscape(bench.density("clgn"), penalty=5, scale="nll")
    problem = Problem(start, landscape, Goal(target=target, plausibility=-1), box=bench.box)
    plan = PathOptimizer(vertices=1).solve(problem, rng=np.random.default_rng(0))
    judged = judge(plan, problem, bench.truth)
    total = 0.0
    for a, b in zip(plan.waypoints[:-1], plan.waypoints[1:], strict=True):
        t = (np.arange(19) + 0.5) / 19
        u = -bench.truth.log_prob(a + t[:, None] * (b - a))
        total += float((np.sign(u) * np.abs(u) ** 5).mean() * np.linalg.norm(b - a))
    assert judged["cost_nll"] == pytest.approx(total, rel=1e-9)
    assert judged["hops"] == 2


def test_nothing_found_is_no_number(bench: Bench) -> None:
    start, _, target = bench.instance(0)
    goal = Goal(target=target, min_log_prob=1e6)
    problem = Problem(start, Landscape(bench.truth), goal, box=bench.box)
    plan = PathOptimizer(vertices=0).solve(problem, rng=np.random.default_rng(0))
    assert set(judge(plan, problem, bench.truth).values()) == {None}


def test_no_density_is_better_than_the_truth(bench: Bench) -> None:
    record = compare_densities(bench)
    assert record["nll"]["truth"] < record["nll"]["clgn"]
    assert record["squared_error"]["truth"] < record["squared_error"]["clgn"]
    assert len(record["pairs"]) == 2


def test_the_truth_of_a_table_is_its_kde(tiny: StudySpec, tmp_path: Path) -> None:
    table = TableSpec(name="iris", classes=("versicolor", "virginica"))
    keys = Keys(replace(tiny, tables=(table,)), table, fingerprint(table, 0))
    bench = Bench(keys, Cache(tmp_path))
    assert isinstance(bench.truth, KernelDensity)
    expected = KernelDensity().fit(load_rows(table))
    X = bench.sample[0][:5]
    assert np.array_equal(bench.truth.log_joint(X), expected.log_joint(X))
    assert np.array_equal(Bench(keys, Cache(tmp_path)).sample[0], bench.sample[0])


def test_a_fingerprint_sees_every_number(monkeypatch: pytest.MonkeyPatch) -> None:
    table = TableSpec(name="breast_cancer")
    before = fingerprint(table, 0)
    assert fingerprint(table, 0) == before
    rows = load_table("breast_cancer")
    rows.X[3, 4] += 1e-12
    monkeypatch.setattr("daace.study.problems.load_table", lambda name: rows)
    assert fingerprint(table, 0) != before


@pytest.mark.parametrize(
    ("name", "features"),
    {
        "credit": 4, "california": 6, "wine": 11, "electricity": 6, "covertype": 10, "pol": 18,
        "house_16H": 15, "kdd_ipums_la_97-small": 8, "MagicTelescope": 10, "bank-marketing": 7,
        "phoneme": 5, "MiniBooNE": 9, "Higgs": 24, "eye_movements": 18, "jannis": 54,
    }.items(),
)  # fmt: skip
def test_the_papers_number_of_features_is_kept(data_folder: Path, name: str, features: int) -> None:
    if not (data_folder / "benchmark" / f"{name}.parquet").exists():
        pytest.skip(f"needs the table {name}")
    assert len(load_rows(TableSpec(name=name)).features) == features
