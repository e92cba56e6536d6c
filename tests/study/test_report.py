from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest
from matplotlib.colors import to_rgb

from daace.exceptions import InvalidInput
from daace.study.client import NO_CLIENT, StudyClient, TableFact
from daace.study.figure_list import draw_figures
from daace.study.figures import palette
from daace.study.paper import PAPER
from daace.study.paper.claims import check_claims
from daace.study.paper.figure_list import BY_SETTING, draw_paper_figures
from daace.study.report import write_report
from daace.study.results import StudyResults, read_results

from .made_up import NAMES, made_up


def test_an_algorithm_has_one_colour_in_all_figures() -> None:
    results = made_up(dict(zip(NAMES, (1, 2, 3, 4, 5, 6, 7), strict=True)))
    drawn = {name: figure for name, _, figure in draw_figures(results)}
    for kind in ("cost_nll", "to_face_gt"):  # the second has no box for FACE GT
        shown = [name for name in NAMES if kind == "cost_nll" or name != "FACE GT"]
        boxes = [patch.get_facecolor()[:3] for patch in drawn[f"box-{kind}"].axes[0].patches]
        usual = [to_rgb(palette(NAMES)[name][0]) for name in shown]
        assert boxes == usual


@pytest.fixture(scope="module")
def page(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(whole, tmp_path_factory.mktemp("report"), client=PAPER)


def test_the_page_stands_alone(page: Path, whole: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)=["'](?!data:)""", text)
    assert "<script" not in text
    results = read_results(whole, reference=PAPER.reference)
    shown = {claim.letter for claim in check_claims(results) if claim.tested}
    assert shown == set(re.findall(r"<h3>\((\w)\)", text))
    assert "j" in shown
    for word in ("valid under the truth", "negative costs", "One vote per table", "already there"):
        assert word in text
    assert "<p>In one line: " in text
    assert "<li>2 instances per table; the paper has 15.</li>" in text


@pytest.fixture
def eighth() -> StudyResults:
    """The paper's seven, and an eighth that is shown beside them."""
    costs = dict(zip(NAMES, (1, 2, 3, 4, 5, 6, 7), strict=True))
    return made_up({**costs, "eighth": 0.5}, noise=0.0, beside=("eighth",))


def test_what_is_shown_beside_changes_no_rank_and_no_claim(eighth: StudyResults) -> None:
    seven = made_up(dict(zip(NAMES, (1, 2, 3, 4, 5, 6, 7), strict=True)), noise=0.0)
    assert len(eighth.problems) == len(seven.problems) * 8 / 7
    assert check_claims(eighth) == check_claims(seven)
    ours, usual = (
        {name: f for name, _, f in chain(draw_figures(r), draw_paper_figures(r))}
        for r in (eighth, seven)
    )
    assert ours.keys() == usual.keys()
    for name in ("found", "box-cost_nll", "box-l2-by-penalty"):
        labels = [label.get_text() for label in ours[name].axes[0].get_yticklabels()]
        assert [label.split("  ")[0] for label in labels] == [*NAMES, "eighth"]
    for name in ("box-cost_nll", "box-l2-by-penalty"):
        boxes, before = (f[name].axes[0].patches for f in (ours, usual))
        assert [b.get_hatch() for b in boxes] == [None] * 7 + ["///"]
        for box, same in zip(boxes[:7], before, strict=True):
            assert (box.get_path().vertices == same.get_path().vertices).all()
    for name in ("ranks-cost_nll", "ranks-l2-by-penalty"):
        words, before = ([text.get_text() for text in f[name].axes[0].texts] for f in (ours, usual))
        assert words == before
        title = ours[name].axes[0].get_title()
        assert "not compared, would rank (diamond): eighth  1.00" in title


def test_the_papers_figures_by_setting() -> None:
    seven = made_up(dict(zip(NAMES, (1, 2, 3, 4, 5, 6, 7), strict=True)))
    drawn = {name: figure for name, _, figure in draw_paper_figures(seven)}
    for by, measure in BY_SETTING:
        for kind in ("box", "ranks"):
            assert len(drawn[f"{kind}-{measure}-by-{by}"].axes) == 2
    assert "box-cost_nll-penalty-1-m-half" in drawn
    titles = [axes.get_title() for axes in drawn["ranks-l2-by-penalty"].axes]
    assert [title.split(":")[0] for title in titles] == ["Penalty 1", "Penalty 5"]


def test_what_is_shown_beside_has_a_section_of_its_own(
    eighth: StudyResults, tmp_path: Path, no_pictures: None
) -> None:
    half = [  # on half of the problems the end of DAACE is not valid
        r | {"valid": r["algorithm"] != "DAACE" or r["penalty"] == 1.0} for r in eighth.records
    ]
    StudyResults(eighth.plan, tuple(half)).write_compact(tmp_path / "a.gz")
    text = write_report(tmp_path / "a.gz", tmp_path, client=PAPER).read_text(encoding="utf-8")
    line = "<td>eighth against DAACE</td><td>96</td><td>100.0%</td><td>0.25</td><td>48</td>"
    assert line in text
    assert "eighth: given the same problems" in text
    assert "<td>eighth</td><td>100.0%</td><td>1.00</td>" in text
    by_table = text[text.index("One vote per table") :]
    assert "DAACE against BayesACE" in by_table
    assert "eighth" not in by_table


def test_a_page_without_it_has_no_such_section(tmp_path: Path, no_pictures: None) -> None:
    made_up(dict(zip(NAMES, range(1, 8), strict=True))).write_compact(tmp_path / "a.gz")
    text = write_report(tmp_path / "a.gz", tmp_path, client=PAPER).read_text(encoding="utf-8")
    assert "Shown beside" not in text


@pytest.fixture
def own() -> StudyResults:
    """A study of one's own, with other algorithms than the paper's."""
    study = made_up({"DAACE": 1.0, "FACE-DE": 2.0})
    named = {"DAACE": "mine", "FACE-DE": "theirs"}
    records = [r | {"algorithm": named[r["algorithm"]]} for r in study.records]
    plan = {**study.plan, "compared": list(named.values()), "differences": ["1 table."]}
    return StudyResults(plan, tuple(records))


@pytest.mark.parametrize("client", [NO_CLIENT, PAPER])
def test_a_study_of_ones_own_is_not_measured_by_the_papers(
    own: StudyResults, client: StudyClient, tmp_path: Path, no_pictures: None
) -> None:
    own.write_compact(tmp_path / "own.gz")
    text = write_report(tmp_path / "own.gz", tmp_path, client=client).read_text(encoding="utf-8")
    assert "mine against theirs" in text
    assert "paper" not in text


def test_captions_say_nothing_of_the_paper(own: StudyResults) -> None:
    captions = [caption for _, caption, _ in draw_figures(own)]
    assert len(captions) > 10
    assert not any("paper" in caption or "FACE" in caption for caption in captions)


def test_a_client_adds_facts_and_sections(whole: Path, tmp_path: Path, no_pictures: None) -> None:
    client = StudyClient(
        facts=(TableFact("features", "widest", lambda rows: 0.0, lambda n: f"{n} of <3>"),),
        write_sections=lambda results: [f"<h2>{len(results.problems)} trials</h2>"],
    )
    text = write_report(whole, tmp_path, client=client).read_text(encoding="utf-8")
    assert "<th>widest</th>" in text
    assert "<td>2 of &lt;3&gt;</td>" in text
    assert "<h2>32 trials</h2>" in text
    assert "claims" not in text


def test_figures_stand_beside_the_page(page: Path) -> None:
    files = {file.name for file in page.parent.iterdir()}
    for name in ("box-cost_nll", "ranks-cost_nll", "penalty-l2", "found", "density-nll"):
        assert {f"{name}.png", f"{name}.svg"} <= files
    assert not any(name.startswith("plausibility") for name in files), "there is one threshold"


def test_without_a_reference_there_is_no_distance_to_it(whole: Path) -> None:
    results = read_results(whole)
    assert "to_face_gt" not in results.problems
    assert results.scores("to_face_gt").empty


def test_distances_to_the_reference_are_measured(whole: Path) -> None:
    results = read_results(whole, reference=PAPER.reference)
    frame = results.problems[results.problems["found"].astype(bool)]
    assert (frame.loc[frame["algorithm"] == "FACE GT", "to_face_gt"] == 0).all()
    assert (frame.loc[frame["algorithm"] == "BayesACE", "to_face_gt"] > 0).all()


def test_a_folder_without_records_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="must hold the records of a study"):
        write_report(tmp_path, tmp_path)
    (tmp_path / "records.jsonl").write_text("")
    with pytest.raises(InvalidInput, match=r"plan.json' must list the records"):
        write_report(tmp_path, tmp_path)
    (tmp_path / "plan.json").write_text(
        '{"study": "a", "questions": {}, "densities": {}, "families": {}, "compared": []}'
    )
    with pytest.raises(InvalidInput, match=r"The study must have records. It has none: run it"):
        write_report(tmp_path, tmp_path)
