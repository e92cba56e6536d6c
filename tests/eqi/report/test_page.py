from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import same_color

from daace.eqi.data.counties import DOMAINS, Counties
from daace.eqi.data.files import read_counties
from daace.eqi.models.folder import read_models, read_performance
from daace.eqi.policy.advisor import Advisor, read_advisor
from daace.eqi.policy.study import run_atlas, run_study, sample_counties
from daace.eqi.report.colours import CATEGORY_COLOURS
from daace.eqi.report.figure_list import draw_maps
from daace.eqi.report.figures.networks import index_network
from daace.eqi.report.findings import check_findings
from daace.eqi.report.page import write_report
from daace.eqi.report.results import CountyResults, paired_ratio, read_results
from daace.eqi.report.tables import costs
from daace.exceptions import InvalidInput
from daace.explain.explainer import Explainer


@pytest.fixture(scope="module")
def models(
    fit_command: tuple[Path, str], advisor: Advisor, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("report") / "models"
    copytree(fit_command[0], folder)
    assert advisor.flow is not None
    Explainer(advisor.flow).save(folder / "flow.daace")
    return folder


@pytest.fixture(scope="module")
def run(
    counties: Counties, models: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("run")
    advisor = read_advisor(counties, models)
    run_study(advisor, folder, fips=sample_counties(counties, 2))
    return folder


@pytest.fixture(scope="module")
def results(counties: Counties, run: Path) -> CountyResults:
    return read_results(counties, run)


def test_the_page_holds_everything(
    counties: Counties, run: Path, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DAACE_DATA", raising=False)
    page = write_report(counties, run, models, tmp_path)
    text = page.read_text(encoding="utf-8")
    assert "The network is not a causal model." in text
    for number in range(1, 11):
        assert f"<h3>{number}. " in text
    assert text.count("data:image/svg+xml;base64,") == 14
    assert "pass --map with county outlines" in text
    assert "http" not in text.replace("http-equiv", "")  # nothing is loaded from elsewhere
    assert "Are the plans real?" in text
    assert "What equity costs" in text
    assert "By rural-urban code" in text
    assert "<summary>By state</summary>" in text
    for state in {counties.places.loc[f, "state"] for f in sample_counties(counties, 2)}:
        assert f"<td>{state}</td>" in text
    # The compact record beside it says the same.
    network, _ = read_models(counties, models)
    whole, compact = (
        check_findings(read_results(counties, source), network)
        for source in (run, tmp_path / "records.gz")
    )
    assert whole == compact
    # And without models, the same page: the network is learned again, the rest is on record.
    again = write_report(counties, tmp_path / "records.gz", None, tmp_path / "again")
    assert "10-fold cross-validation" in text
    tail = "<h2>Are the plans real?"
    assert again.read_text(encoding="utf-8").partition(tail)[2] == text.partition(tail)[2]


def test_maps_colour_the_counties(results: CountyResults, map_file: Path) -> None:
    maps = draw_maps(results, map_file)
    assert list(maps) == ["map-now", "map-after", "map-domain"]
    (axes,) = maps["map-now"][1].axes
    colours = axes.collections[0].get_facecolor()
    assert len(colours) == 3  # two outlines, one of them under two codes
    assert same_color(colours[0], CATEGORY_COLOURS[3])  # Los Angeles
    assert same_color(colours[1], "#ECECEC")  # not a county of the table


def test_results_have_the_sense_high_is_good(results: CountyResults, counties: Counties) -> None:
    plans = results.select(mode="consistent")
    record = next(
        r
        for r in results.records
        if r["kind"] == "recourse" and r["mode"] == "consistent" and r["fips"] == 6037
    )
    expected = np.array(record["before"]) - np.array(record["planned"])
    assert plans.loc[6037, list(DOMAINS)].astype(float).to_numpy() == pytest.approx(expected)
    changes = results.changes(mode="consistent")
    scale = counties.table.X.std(axis=0)[: len(DOMAINS)]
    moved = changes.loc[6037].to_numpy()[: len(DOMAINS)] * scale
    assert moved == pytest.approx(expected, abs=0.05)
    category, better = results.after
    assert category.index.tolist() == plans.index.tolist()
    assert list(better.columns) == list(DOMAINS)


def test_an_atlas_covers_every_county_that_can_improve(
    counties: Counties, advisor: Advisor, atlas: Path, results: CountyResults
) -> None:
    able = counties.category.index[counties.category >= 6]
    assert run_atlas(advisor, atlas, improve=6).new == 0
    lines = [json.loads(line) for line in (atlas / "atlas.jsonl").read_text().splitlines()]
    assert sorted(line["fips"] for line in lines) == sorted(able)
    both = CountyResults(counties, (*results.records, *lines))
    category, better = both.after
    found = {line["fips"] for line in lines if line["found"]}
    assert set(category.index) == found | set(results.after[0].index)
    assert better.index.tolist() == category.index.tolist()


def test_findings_are_all_there_and_can_fail(results: CountyResults, advisor: Advisor) -> None:
    findings = check_findings(results, advisor.network)
    assert [f.number for f in findings] == list(range(1, 11))
    assert all(f.parts for f in findings)
    cheaper = [p for p in findings[5].parts if "cheaper" in p.statement]
    assert len(cheaper) == 4  # a penalty each, decided by a test
    assert all(p.p_value is not None and 0 <= p.p_value <= 1 for p in cheaper)
    assert all(p.p_value is None for f in findings[7:] for p in f.parts)  # single counties
    # With every plan turned around, what was found about the plans no longer is.
    turned = []
    for record in results.records:
        record = dict(record)
        if record.get("found"):
            record["planned"] = (2 * np.array(record["before"]) - record["planned"]).tolist()
        turned.append(record)
    other = check_findings(CountyResults(results.counties, tuple(turned)), advisor.network)
    assert [p.holds for p in other[2].parts] != [p.holds for p in findings[2].parts]


def test_the_changes_of_conejos_are_summed_over_the_domains(
    results: CountyResults, advisor: Advisor
) -> None:
    (part,) = [
        p
        for p in check_findings(results, advisor.network)[9].parts
        if p.statement.startswith("smallest")
    ]
    total = results.select().loc[8021, list(DOMAINS)].astype(float).sum()
    assert f"sum of changes: BayesACE {total:+.2f}" in part.ours


def test_negative_costs_are_counted_and_have_no_ratio(
    results: CountyResults, counties: Counties, run: Path, models: Path, tmp_path: Path
) -> None:
    records = [dict(r) for r in results.records]
    turned = [r for r in records if r.get("algorithm") == "FACE" and r.get("found")][:3]
    for record in turned:
        record["cost"] = -abs(record["cost"])
    changed = CountyResults(counties, tuple(records))
    text = costs(changed)
    assert f"3 of all {int(changed.plans['found'].sum())} plans, of any rules, have a neg" in text
    one, other = (changed.select(a)["cost"].astype(float) for a in ("FACE", "BayesACE"))
    assert len(paired_ratio(one, other)) == len(one) - int((one < 0).sum())


def test_the_study_plans_with_the_papers_vertices(results: CountyResults) -> None:
    assert results.vertices == (0, 1, 2, 3)
    tried = results.plans.loc[results.plans["found"].astype(bool), "vertices"].astype(int)
    assert tried.max() <= 3


def test_performance_stands_beside_the_models(models: Path) -> None:
    rows = read_performance(models)
    assert (rows[0]["model"], rows[0]["rows"]) == ("network, at most 3 parents", "in sample")
    assert len(rows) == 9
    assert rows[0]["log_joint"] > rows[1]["log_joint"]  # in sample and cross-validated


def test_records_that_are_none(counties: Counties, run: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="must be the folder of a run, or its compact record"):
        read_results(counties, tmp_path / "nothing")
    with pytest.raises(InvalidInput, match="must hold the records of a study"):
        read_results(counties, tmp_path)
    wrong = tmp_path / "x.gz"
    wrong.write_bytes(gzip.compress(b'{"key": "a", "kind": "problem"}\n'))
    with pytest.raises(InvalidInput, match="must hold plans, from 'daace eqi study'"):
        read_results(counties, wrong)
    text = (run / "records.jsonl").read_text().replace('"fips": 6037', '"fips": 99')
    (tmp_path / "records.jsonl").write_text(text)
    with pytest.raises(InvalidInput, match="They have no county 99"):
        read_results(counties, tmp_path)


def test_green_is_positive() -> None:
    arcs = pd.DataFrame(
        [("Category", "Air index", 0.5), ("Category", "Land index", -0.5)],
        columns=["parent", "child", "effect"],
    )
    (axes,) = index_network(arcs).axes
    colours = {
        tuple(np.round(a.xy, 3)): a.arrow_patch.get_edgecolor()
        for a in axes.texts
        if getattr(a, "arrow_patch", None) is not None
    }
    assert len(colours) == 2
    air, land = sorted(colours)[::-1]  # Air stands right of Land
    assert same_color(colours[air][:3], "#1A7F4B")
    assert same_color(colours[land][:3], "#C0392B")


def test_the_published_page_follows_from_its_record(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its text byte for byte, without any model; `make results` draws the figures too."""
    if not (data_folder / "eqi").is_dir():
        pytest.skip("needs the folder eqi in DAACE_DATA")
    for name in ("draw_figures", "draw_maps"):
        monkeypatch.setattr(f"daace.eqi.report.page.{name}", lambda *args: {})
    published = Path(__file__).parents[3] / "docs" / "results" / "eqi"
    counties = read_counties(data_folder / "eqi")
    page = write_report(counties, published / "records.gz", None, tmp_path)

    def text(file: Path) -> tuple[str, str]:
        whole = file.read_text(encoding="utf-8").partition("</style>")[2]
        return whole.partition("<h2>Maps")[0], whole.partition("<h2>Are the plans real?")[2]

    assert text(page) == text(published / "report.html")
