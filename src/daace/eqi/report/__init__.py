"""Reports on plans: one county in words, many as tables, figures and findings on one page."""

from daace.eqi.report.findings import check_findings
from daace.eqi.report.page import write_report
from daace.eqi.report.results import CountyResults, read_results
from daace.eqi.report.words import describe, to_json

__all__ = [
    "CountyResults", "check_findings", "describe", "read_results", "to_json", "write_report",
]  # fmt: skip
