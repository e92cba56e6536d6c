from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from daace.study.paper.protocol import ROWS, differences, other_rows
from daace.study.spec_reader import read_spec

STUDIES = Path(__file__).parents[3] / "studies"


def test_the_papers_study_differs_in_how_it_searches_and_nothing_else():
    spec = read_spec(STUDIES / "paper.toml")
    found = differences(spec, [table.name for table in spec.tables])
    assert [sentence.split(":")[0].split(" is ")[0] for sentence in found] == [
        "DAACE GT",
        "DAACE",
        "BayesACE",
        "BayesACE (profiles)",
        "NSGA2 BayesACE answers a part only",
        "NSGA2 DAACE answers a part only",
    ]
    part = "NSGA2 DAACE answers a part only: phoneme, credit, california; 1 instance(s) of each."
    assert part in found
    beside = (
        "BayesACE (profiles) is not in the paper: it is shown beside its algorithms and not ranked."
    )
    assert beside in found


def test_every_number_that_differs_is_named():
    spec = read_spec(STUDIES / "paper.toml")
    usual = set(differences(spec, [table.name for table in spec.tables]))
    flow = replace(spec.density("realnvp"), settings=(("epochs", 120),))
    face = replace(spec.algorithm("FACE GT"), settings=(("nodes", 50),))
    learned = replace(spec.algorithm("FACE-DE"), settings=(("rule", "midpoint"), ("pieces", 19)))
    nsga2 = next(a for a in spec.algorithms if a.family == "NSGA2 DAACE")
    shorter = replace(nsga2, settings=(*nsga2.settings, ("generations", 200)), only=None)
    other = replace(
        spec,
        instances=5,
        penalties=(1.0, 5.0),
        densities=(flow, spec.density("clgn")),
        algorithms=(face, learned, shorter),
    )
    assert set(differences(other, ["phoneme"])) - usual == {
        "1 tables; the paper has 15.",
        "5 instances per table; the paper has 15.",
        "penalties = 1, 5; the paper has 1, 5, 10, 15.",
        "'realnvp' is trained for 120 epochs; the paper: 500.",
        "FACE GT: a graph on 50 rows; the paper has 1000.",
        "FACE GT: an edge is summed over Gauss points; the paper has 19 midpoints.",
        "FACE-DE: 'integral' edges; the paper has 'density'.",
        "NSGA2 DAACE: 200 generations; the paper has 1000.",
    }


def test_the_published_study_says_how_coarse_the_edges_of_face_gt_are():
    spec = read_spec(STUDIES.parent / "docs" / "results" / "synthetic" / "synthetic.toml")
    found = differences(spec, [table.name for table in spec.tables])
    assert [sentence for sentence in found if sentence.startswith("FACE")] == [
        "FACE GT: an edge is summed over 5 midpoints; the paper has 19 midpoints."
    ]


def test_tables_of_other_sizes_are_named_and_tables_of_ones_own_are_not():
    spec = read_spec(STUDIES / "paper.toml")
    assert set(ROWS) == {table.name for table in spec.tables}
    assert other_rows({"phoneme": 15_000, "covertype": 19_374, "mine": 7}) == [
        "covertype: 19,374 rows are drawn; the paper has 50,000."
    ]
