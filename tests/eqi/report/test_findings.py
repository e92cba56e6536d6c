"""The published record, read again, must give what the published page says."""

from __future__ import annotations

import html
import re
from pathlib import Path

from daace.eqi.data.counties import Counties
from daace.eqi.models.folder import read_models
from daace.eqi.report.findings import check_findings
from daace.eqi.report.results import read_results

FOLDER = Path(__file__).parents[3] / "docs" / "results" / "eqi"


def text_of(cell: str) -> str:
    return html.unescape(re.sub("<[^>]+>", "", cell))


def test_the_published_findings_are_found_again(real_counties: Counties) -> None:
    network, _ = read_models(real_counties, None)
    findings = check_findings(read_results(real_counties, FOLDER / "records.gz"), network)
    page = (FOLDER / "report.html").read_text(encoding="utf-8")
    for finding in findings:
        section = re.search(rf"<h3>{finding.number}\. (.*?)</h3>.*?</table>", page, re.DOTALL)
        assert section is not None
        assert text_of(section[1]) == f"{finding.title} {finding.outcome}"
        rows = re.findall(r"<tr>(<td>.*?)</tr>", section[0], re.DOTALL)
        published = [tuple(map(text_of, re.findall("<td>(.*?)</td>", row))) for row in rows]
        ours = [(p.statement, p.ours, p.evidence, p.verdict) for p in finding.parts]
        assert ours == published
