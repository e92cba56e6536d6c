"""Studies: many problems, many algorithms; run, resumed, and compared by statistical tests."""

from daace.study.client import NO_CLIENT, StudyClient, TableFact
from daace.study.contest import Contest, Statement
from daace.study.report import write_report
from daace.study.results import Reference, StudyResults, read_results
from daace.study.run import RunSummary, run_study
from daace.study.spec import StudySpec
from daace.study.spec_reader import parse_spec, read_spec
from daace.study.toml_file import TomlFile

__all__ = [
    "NO_CLIENT",
    "Contest",
    "Reference",
    "RunSummary",
    "Statement",
    "StudyClient",
    "StudyResults",
    "StudySpec",
    "TableFact",
    "TomlFile",
    "parse_spec",
    "read_results",
    "read_spec",
    "run_study",
    "write_report",
]
