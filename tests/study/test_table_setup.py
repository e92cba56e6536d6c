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
from daace.study.cache import Cache
from daace.study.evaluation import compare_densities, evaluate_plan
from daace.study.spec import DensitySpec, StudySpec, TableSpec
from daace.study.table_setup import SampleSummary, TableSetup
from daace.study.tables import fingerprint, load_rows
from daace.study.trials import TableKeys


@pytest.fixture
def setup(tiny: StudySpec, tmp_path: Path) -> TableSetup:
    table = tiny.tables[1]
    return TableSetup(TableKeys(tiny, table, fingerprint(table, tiny.seed)), Cache(tmp_path))


def test_thresholds_are_the_papers(setup: TableSetup) -> None:
    X, y = setup.sample
    assert len(X) == 200
    log_prob = setup.truth.log_prob(X)
    own = [
        setup.truth.predict_proba(x[None])[0, setup.truth.class_index(k)]
        for x, k in zip(X, y, strict=True)
    ]
    summary = setup.summary
    assert summary.min_log_prob(-0.5) == pytest.approx(log_prob.mean() - 0.5 * log_prob.std())
    assert summary.min_posterior(-0.5) == pytest.approx(np.mean(own) - 0.5 * np.std(own))
    assert setup.box[0] == pytest.approx(X.min(axis=0) - 0.01)
    assert setup.box[1] == pytest.approx(X.max(axis=0) + 0.01)


@pytest.mark.parametrize(("mean", "m", "beta"), [(0.97, 1.0, 0.99), (0.9, -0.5, 0.85), (0, -1, 0)])
def test_no_threshold_asks_for_certainty(mean: float, m: float, beta: float) -> None:
    summary = SampleSummary(1, (0.0, 1.0), (mean, 0.1), (), ())
    assert summary.min_posterior(m) == pytest.approx(beta)


def test_instances_do_not_depend_on_their_number(setup: TableSetup, tiny: StudySpec) -> None:
    more = TableSetup(replace(setup.keys, spec=replace(tiny, instances=9)), setup.cache)
    for i in range(2):
        start, label, target = setup.instance(i)
        assert np.array_equal(start, more.instance(i)[0])
        assert {label, target} == {"c0", "c1"}
    assert not np.array_equal(setup.instance(0)[0], setup.instance(1)[0])


def test_what_was_made_is_not_made_again(
    setup: TableSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    density = setup.density("clgn")
    face, _ = setup.planner(setup.spec.algorithm("FACE GT"), "c0")
    summary = setup.summary
    again = TableSetup(setup.keys, setup.cache)
    for name in ("_learn", "sample"):
        monkeypatch.setattr(TableSetup, name, None)
    X = np.ones((3, 3))
    assert np.array_equal(again.density("clgn").log_joint(X), density.log_joint(X))
    assert again.summary == summary
    rows = Face(np.zeros((2, 3)), nodes=40)  # which are not needed either
    graph = again._graph(setup.spec.algorithm("FACE GT"), rows, "")
    assert np.array_equal(graph.log_prob, face.graph.log_prob)  # type: ignore[attr-defined]


def test_an_interrupted_training_is_not_kept(
    setup: TableSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted:
        kind = "realnvp"
        stopped_ = "interrupted"

        def fit(self, table: object, *, checkpoint: Path) -> None:
            checkpoint.write_text("the state so far")

    monkeypatch.setattr(DensitySpec, "make", lambda self, table: Interrupted())
    with pytest.raises(KeyboardInterrupt):
        setup.density("clgn")
    key = setup.keys.density("clgn")
    assert not setup.cache.has(key, "daace")
    assert setup.cache.has(key, "checkpoint")


def test_damaged_files_of_the_cache_are_named(setup: TableSetup) -> None:
    setup.density("clgn")
    setup.summary  # noqa: B018
    for file in setup.cache.folder.iterdir():
        file.write_bytes(b"nonsense")
    again = TableSetup(setup.keys, setup.cache)
    with pytest.raises(ModelFileError, match="Delete this file, and it is made again"):
        again.density("clgn")
    with pytest.raises(ModelFileError, match="Delete this file, and it is made again"):
        again.summary  # noqa: B018


def test_wachter_gets_the_rows_of_the_target(setup: TableSetup) -> None:
    X, y = setup.sample
    for target in ("c0", "c1"):
        planner, _ = setup.planner(setup.spec.algorithm("Wachter"), target)
        assert np.array_equal(planner.rows, X[y == target])  # type: ignore[attr-defined]


def test_paths_are_judged_as_in_the_paper(setup: TableSetup) -> None:
    start, _, target = setup.instance(0)
    landscape = Landscape(setup.density("clgn"), penalty=5, scale="nll")
    problem = Problem(start, landscape, Goal(target=target, plausibility=-1), box=setup.box)
    plan = PathOptimizer(vertices=1).solve(problem, rng=np.random.default_rng(0))
    judged = evaluate_plan(plan, problem, setup.truth)
    total = 0.0
    for a, b in zip(plan.waypoints[:-1], plan.waypoints[1:], strict=True):
        t = (np.arange(19) + 0.5) / 19
        u = -setup.truth.log_prob(a + t[:, None] * (b - a))
        total += float((np.sign(u) * np.abs(u) ** 5).mean() * np.linalg.norm(b - a))
    assert judged["cost_nll"] == pytest.approx(total, rel=1e-9)
    assert judged["hops"] == 2


def test_nothing_found_is_no_number(setup: TableSetup) -> None:
    start, _, target = setup.instance(0)
    goal = Goal(target=target, min_log_prob=1e6)
    problem = Problem(start, Landscape(setup.truth), goal, box=setup.box)
    plan = PathOptimizer(vertices=0).solve(problem, rng=np.random.default_rng(0))
    assert set(evaluate_plan(plan, problem, setup.truth).values()) == {None}


def test_no_density_is_better_than_the_truth(setup: TableSetup) -> None:
    record = compare_densities(setup)
    assert record["nll"]["truth"] < record["nll"]["clgn"]
    assert record["squared_error"]["truth"] < record["squared_error"]["clgn"]
    assert len(record["pairs"]) == 2


def test_the_truth_of_a_table_is_its_kde(tiny: StudySpec, tmp_path: Path) -> None:
    table = TableSpec(name="iris", classes=("versicolor", "virginica"))
    keys = TableKeys(replace(tiny, tables=(table,)), table, fingerprint(table, 0))
    setup = TableSetup(keys, Cache(tmp_path))
    assert isinstance(setup.truth, KernelDensity)
    expected = KernelDensity().fit(load_rows(table))
    X = setup.sample[0][:5]
    assert np.array_equal(setup.truth.log_joint(X), expected.log_joint(X))
    assert np.array_equal(TableSetup(keys, Cache(tmp_path)).sample[0], setup.sample[0])


def test_a_fingerprint_sees_every_number(monkeypatch: pytest.MonkeyPatch) -> None:
    table = TableSpec(name="breast_cancer")
    before = fingerprint(table, 0)
    assert fingerprint(table, 0) == before
    rows = load_table("breast_cancer")
    rows.X[3, 4] += 1e-12
    monkeypatch.setattr("daace.study.tables.load_table", lambda name: rows)
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
