from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from daace.exceptions import InvalidInput
from daace.study.checks import Check, Contest, by_table, judge
from daace.study.claims import Claim, check_claims
from daace.study.figures import palette
from daace.study.gallery import draw_figures
from daace.study.report import write_report
from daace.study.results import Results, read_results

NAMES = ("DAACE GT", "DAACE", "BayesACE", "FACE GT", "FACE-DE", "FACE-eps", "Wachter")


def records(costs: dict[str, float], *, noise: float, tables: int = 24) -> list[dict[str, Any]]:
    """A made-up study in which the cost of an algorithm is the same everywhere, but for noise."""
    rng = np.random.default_rng(0)
    made = []
    for name, cost in costs.items():
        for t in range(tables):
            for penalty in (1.0, 5.0):
                for m in (-0.5, 0.0):
                    value = cost + float(rng.normal(scale=noise))
                    made.append(
                        {
                            "kind": "problem", "key": f"{name}{t}{penalty}{m}", "table": f"t{t}",
                            "algorithm": name, "instance": 0, "penalty": penalty,
                            "plausibility": m, "certainty": -0.5, "status": "found",
                            "found": np.isfinite(cost), "own_cost": value, "cost_nll": value,
                            "cost_relative": value, "l2": value, "path_sparsity": value,
                            "to_face_gt": abs(value), "valid": True, "hops": 2,
                            "run": {
                                "seconds": abs(value), "graph_seconds": 0.0, "host": "a",
                                "memory_mb": 1.0,
                            },
                        }
                    )  # fmt: skip
    return made


def made_up(costs: dict[str, float], *, noise: float = 0.01) -> Results:
    plan = {"study": "made up", "compared": list(NAMES), "families": {}, "scale": "nll"}
    return Results(plan, tuple(records(costs, noise=noise)))


def claim(results: Results, letter: str) -> Claim:
    return next(c for c in check_claims(results) if c.letter == letter)


def test_a_claim_counts_the_parts_that_hold() -> None:
    results = made_up(dict(zip(NAMES, (1, 2, 3, 4, 5, 6, 7), strict=True)))
    assert claim(results, "b").outcome == "6 of 6 parts hold"
    parts = {check.what: check.verdict for check in claim(results, "i").checks}
    assert parts == {  # a rank apart in 24 problems is not significant, three are
        "BayesACE < FACE-eps in cost, in almost all settings": "holds",
        "FACE-DE < FACE-eps in cost, in almost all settings": "not significant",
        "Wachter < FACE-eps in cost, in almost all settings": "does not hold",
    }
    assert claim(results, "i").outcome == "1 of 3 parts hold"
    assert claim(results, "a").outcome == claim(results, "h").outcome == "not run"


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


def test_the_distance_to_face_gt_is_standardised_over_the_others() -> None:
    costs = dict(zip(NAMES, (1, 2, 3, 400, 5, 6, 7), strict=True))
    far = claim(made_up(costs, noise=0), "f").checks[0]
    # (1, 2, 3, 5, 6, 7) have mean 4 and deviation 2.16; with FACE GT all others would be alike.
    assert "DAACE GT 1.00 (-1.39), DAACE 2.00 (-0.93), BayesACE 3.00 (-0.46)" in far.ours
    assert "FACE GT" not in far.ours.replace("DAACE GT", "")


def test_paths_over_the_truth_are_also_compared_by_exact_integrals() -> None:
    costs = dict(zip(NAMES, (1, 2, 3, 4, 5, 6, 7), strict=True))
    rough = [r | {"own_cost": 5 - r["own_cost"]} for r in records(costs, noise=0)]
    results = Results(made_up(costs).plan, tuple(rough))  # the midpoints say the contrary
    *by_midpoints, exact = claim(results, "b").checks
    assert all(check.verdict == "holds" for check in by_midpoints)
    assert exact.verdict == "does not hold"
    assert exact.ours == "median ratio 4.00"
    assert exact.wilcoxon.startswith("lower on 0 of 96")
    assert claim(results, "b").outcome == "6 of 6 parts hold"  # the paper's


def test_an_algorithm_has_one_colour_in_all_figures() -> None:
    results = made_up(dict(zip(NAMES, (1, 2, 3, 4, 5, 6, 7), strict=True)))
    drawn = {name: figure for name, _, figure in draw_figures(results)}
    for kind in ("cost_nll", "to_face_gt"):  # the second has no box for FACE GT
        shown = [name for name in NAMES if kind == "cost_nll" or name != "FACE GT"]
        boxes = [patch.get_facecolor()[:3] for patch in drawn[f"box-{kind}"].axes[0].patches]
        usual = [to_rgb(palette(NAMES)[name][0]) for name in shown]
        assert boxes == usual


def test_a_claim_does_not_hold_when_the_numbers_say_the_contrary() -> None:
    results = made_up(dict(zip(NAMES, (7, 6, 5, 4, 3, 2, 1), strict=True)))
    assert {check.verdict for check in claim(results, "b").checks} == {"does not hold"}
    assert claim(results, "b").outcome == "0 of 6 parts hold"


def test_no_difference_is_not_significant() -> None:
    results = made_up(dict.fromkeys(NAMES, 1.0), noise=0)
    assert {check.verdict for check in claim(results, "b").checks} == {"not significant"}
    assert "p = " in claim(results, "b").checks[0].by_table


def test_what_finds_nothing_loses() -> None:
    results = made_up({"DAACE": 1.0, "FACE-DE": np.inf, "FACE GT": 2.0, "DAACE GT": 1.0})
    checks = {check.what: check for check in claim(results, "b").checks}
    assert checks["DAACE < FACE-DE, penalty 5"].verdict == "holds"
    assert "lower on 48 of 48" in checks["DAACE < FACE-DE, penalty 5"].wilcoxon


def test_a_vote_per_table_is_a_share() -> None:
    index = pd.MultiIndex.from_tuples([("t", 0), ("t", 1), ("u", 0)], names=["table", "instance"])
    scores = pd.DataFrame({"a": [1.0, 3.0, np.inf], "b": [2.0, 2.0, 1.0]}, index=index)
    assert by_table(scores, "a", "b").to_dict() == {"t": 0.0, "u": -1.0}


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        (("holds", "holds"), "2 of 2 parts hold"),
        (("holds", "not significant"), "1 of 2 parts hold"),
        (("not significant", "does not hold"), "0 of 2 parts hold"),
        (("holds", "not run"), "holds"),
        (("not run",), "not run"),
    ],
)
def test_a_claim_is_told_by_its_parts(parts: tuple[Any, ...], whole: str) -> None:
    checks = tuple(Check(what="", verdict=part) for part in parts)
    ours = Check(what="", verdict="holds", of_paper=False)
    assert Claim("a", "", (*checks, ours)).outcome == whole


def test_starts_that_are_already_there_are_counted_and_left_out_once(tmp_path: Path) -> None:
    """Where a start needs no change, its cost of 0 must not decide a claim unseen."""
    costs = dict(zip(NAMES, (7, 6, 5, 4, 3, 2, 1), strict=True))
    made = [
        r | {"status": "already_there", "cost_nll": 0.0, "own_cost": 0.0}
        if r["algorithm"] == "DAACE GT" and r["table"] not in ("t0", "t1", "t2", "t3", "t4")
        else r
        for r in records(costs, noise=0.01)
    ]
    results = Results({**made_up(costs).plan, "differences": []}, tuple(made))
    assert len(results.already_there) == 19 * 4
    assert len(results.without(results.already_there).problems) == 5 * 4 * len(NAMES)
    results.write_compact(tmp_path / "there.gz")
    text = write_report(tmp_path / "there.gz", tmp_path).read_text(encoding="utf-8")
    assert "On 76 of 96 problems the start is already there" in text
    assert "(b) DAACE GT &lt; FACE GT, penalty 1 (does not hold)" in text
    row = re.search(r"<td>DAACE GT</td><td>96</td><td>100.0%</td><td>(\d+)</td>", text)
    assert row is not None
    assert row[1] == "76"


def test_a_tie_is_not_significant() -> None:
    assert judge(1.0, 0.0) == "not significant"


@pytest.fixture(scope="module")
def page(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(whole, tmp_path_factory.mktemp("report"))


def test_the_page_stands_alone(page: Path, whole: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)=["'](?!data:)""", text)
    assert "<script" not in text
    shown = {claim.letter for claim in check_claims(read_results(whole)) if claim.tested}
    assert shown == set(re.findall(r"<h3>\((\w)\)", text))
    assert "j" in shown
    for word in ("valid under the truth", "negative costs", "One vote per table", "already there"):
        assert word in text
    assert "<p>In one line: " in text
    assert "<li>2 instances per table; the paper has 15.</li>" in text


def test_a_study_of_ones_own_is_not_measured_by_the_papers(tmp_path: Path) -> None:
    study = made_up({"DAACE": 1.0, "FACE-DE": 2.0})
    named = {"DAACE": "mine", "FACE-DE": "theirs"}
    own = [r | {"algorithm": named[r["algorithm"]]} for r in study.records]
    plan = {**study.plan, "compared": list(named.values()), "differences": ["1 table."]}
    Results(plan, tuple(own)).write_compact(tmp_path / "own.gz")
    text = write_report(tmp_path / "own.gz", tmp_path).read_text(encoding="utf-8")
    assert "mine against theirs" in text
    assert "paper" not in re.sub(r"<figure>.*?</figure>", "", text)


def test_figures_stand_beside_the_page(page: Path) -> None:
    files = {file.name for file in page.parent.iterdir()}
    for name in ("box-cost_nll", "ranks-cost_nll", "penalty-l2", "found", "density-nll"):
        assert {f"{name}.png", f"{name}.svg"} <= files
    assert not any(name.startswith("plausibility") for name in files), "there is one threshold"


def test_a_compact_record_gives_the_same_claims(whole: Path, tmp_path: Path) -> None:
    full = read_results(whole)
    full.write_compact(tmp_path / "small.gz")
    small = read_results(tmp_path / "small.gz")
    assert check_claims(small) == check_claims(full)
    assert (tmp_path / "small.gz").stat().st_size < (whole / "records.jsonl").stat().st_size / 4


def test_distances_to_the_reference_are_measured(whole: Path) -> None:
    results = read_results(whole)
    frame = results.problems[results.problems["found"].astype(bool)]
    assert (frame.loc[frame["algorithm"] == "FACE GT", "to_face_gt"] == 0).all()
    assert (frame.loc[frame["algorithm"] == "BayesACE", "to_face_gt"] > 0).all()


def test_a_folder_without_records_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="must hold the records of a study"):
        write_report(tmp_path, tmp_path)
    (tmp_path / "records.jsonl").write_text("")
    with pytest.raises(InvalidInput, match=r"plan.json' must say which records belong"):
        write_report(tmp_path, tmp_path)
    (tmp_path / "plan.json").write_text(
        '{"study": "a", "questions": {}, "densities": {}, "families": {}, "compared": []}'
    )
    with pytest.raises(InvalidInput, match=r"The study must have records. It has none: run it"):
        write_report(tmp_path, tmp_path)
