"""What 'How we read the paper' says of the claims is what the published pages say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

#: The end of a row: how many parts hold, and of how many.
OF = r".* (\d+) of (\d+) \|"

RESULTS = Path(__file__).parents[3] / "docs" / "results"


@pytest.fixture(scope="module")
def sections() -> dict[str, str]:
    text = (RESULTS / "paper.md").read_text(encoding="utf-8")
    return {part.partition("\n")[0]: part for part in text.split("\n## ")}


@pytest.mark.parametrize(
    ("heading", "page", "row", "number"),
    [
        ("Synthetic study: the paper's claims", "synthetic", rf"\| \((\w)\) {OF}", r"\((\w)\)"),
        ("Counties: the paper's findings", "eqi", rf"\| (\d+) \| {OF}", r"(\d+)\."),
    ],
)
def test_the_parts_that_hold_are_those_of_the_page(
    sections: dict[str, str], heading: str, page: str, row: str, number: str
) -> None:
    said = {name: (int(n), int(m)) for name, n, m in re.findall(row, sections[heading])}
    text = (RESULTS / page / "report.html").read_text(encoding="utf-8")
    shown = {}
    for name, rest in re.findall(rf"<h3>{number} (.*?)</table>", text, re.DOTALL):
        verdicts = [
            re.sub("<[^>]+>", "", cells[-1])
            for line in re.findall("<tr>(<td>.*?)</tr>", rest, re.DOTALL)
            if " *" not in (cells := re.findall("<td>(.*?)</td>", line, re.DOTALL))[0]
        ]
        shown[name] = (verdicts.count("holds"), len(verdicts))
    assert said == shown
    total = [sum(counts) for counts in zip(*said.values(), strict=True)]
    assert f"In total, {total[0]} of {total[1]} parts hold" in sections[heading]


def test_every_topic_has_a_reading(sections: dict[str, str]) -> None:
    table = sections["Sentences that can be read in more than one way"]
    for word in (
        "beta", "95%", "Sign of the goal", "f(u)", "19 equal pieces", "FACE-DE's edges",
        "FACE GT's", "Nothing found", "Target class", "Walks past summits",
    ):  # fmt: skip
        assert word in table
    assert "Rebuilt tables" in sections["Deliberate differences"]
