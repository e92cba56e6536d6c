"""A study of seconds: known mixtures, a linear Gaussian network, four algorithms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from daace.study.paper import PAPER
from daace.study.records import CIRCUMSTANCES, read_records
from daace.study.results import RECORDS
from daace.study.run import run_study
from daace.study.spec import StudySpec
from daace.study.spec_reader import parse_spec
from daace.study.toml_file import TomlFile

TINY = """
name = "tiny"
seed = 3
tables = [
  { name = "random-2", mixture = "random", features = 2 },
  { name = "random-3", mixture = "random", features = 3 },
]
rows = [200]
instances = 2
penalties = [1, 5]
plausibility = [-1]
certainty = [-0.5]
samples = 100

[densities.clgn]
kind = "linear-gaussian"

[algorithms.BayesACE]
planner = "PathOptimizer"
density = "clgn"
vertices = [0, 1]
vertex_tolerance = 0

[algorithms."FACE GT"]
planner = "Face"
density = "truth"
nodes = 40

[algorithms.FACE-eps]
planner = "Face"
density = "clgn"
graph = "epsilon"
nodes = 40

[algorithms.Wachter]
planner = "Wachter"
density = "truth"
rows = "target"
"""


@pytest.fixture
def tiny() -> StudySpec:
    return parse_spec(TomlFile.parse(TINY, name="tiny.toml"))


@pytest.fixture
def tiny_file(tmp_path: Path) -> Path:
    file = tmp_path / "tiny.toml"
    file.write_text(TINY)
    return file


def lines(folder: Path) -> list[str]:
    """The records sorted by key, byte for byte except times and host."""
    records = read_records(folder / RECORDS)
    assert len(records) == len((folder / RECORDS).read_bytes().splitlines()), "none twice"
    kept = []
    for key in sorted(records):
        record = dict(records[key])
        assert set(record.pop(CIRCUMSTANCES)) == {"host", "seconds", "graph_seconds", "memory_mb"}
        kept.append(json.dumps(record))
    return kept


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    summary = run_study(parse_spec(TomlFile.parse(TINY, name="tiny.toml")), folder, client=PAPER)
    assert (summary.asked, summary.answered, summary.new, summary.failed) == (32, 32, 32, 0)
    return folder


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the figures out of pages, for tests of all else: drawing takes seconds."""
    monkeypatch.setattr("daace.study.report.draw_figures", lambda results: ())
