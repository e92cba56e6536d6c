from __future__ import annotations

from pathlib import Path

import pytest

from daace.data.catalog import OPENML
from daace.exceptions import InvalidInput
from daace.study.spec import StudySpec
from daace.study.spec_reader import parse_spec, read_spec
from daace.study.toml_file import TomlFile
from daace.study.trials import TableKeys

from .conftest import TINY

STUDIES = Path(__file__).parents[2] / "studies"


def line_of(text: str, part: str) -> int:
    return next(k for k, line in enumerate(text.splitlines(), start=1) if part in line)


def test_a_study_is_read(tiny: StudySpec) -> None:
    assert [table.name for table in tiny.tables] == ["random-2", "random-3"]
    assert tiny.penalties == (1.0, 5.0)
    assert tiny.rows == (200, 200)
    assert tiny.compared == ("BayesACE", "FACE GT", "FACE-eps", "Wachter")
    assert dict(tiny.algorithm("BayesACE").settings)["vertices"] == (0, 1)
    assert tiny.algorithm("Wachter").rows == "target"


def test_a_study_cannot_be_changed(tiny: StudySpec) -> None:
    with pytest.raises(AttributeError):
        tiny.seed = 4  # type: ignore[misc]
    hash(tiny)  # all the way down


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("penalties = [1, 5]", "penaltys = [1, 5]", "Did you mean 'penalties'?"),
        ("penalties = [1, 5]", "", "'penalties' must be given in the study. It is missing."),
        ("seed = 3", "sed = 3", "'sed' is no setting here. Did you mean 'seed'?"),
        ("seed = 3", "seed = -3", "'seed' must be an integer of at least 0. Got -3."),
        ("instances = 2", "instances = 0", "'instances' must be an integer of at least 1"),
        ("penalties = [1, 5]", "penalties = [1, 1]", "'penalties' must not repeat a value"),
        ("penalties = [1, 5]", "penalties = [-1]", "'penalties' must be a finite number of at"),
        ("penalties = [1, 5]", "penalties = 5", "'penalties' must be a list of numbers. Got 5."),
        ("rows = [200]", "rows = [200, 100]", "'rows' must be the fewest and the most rows"),
        ("nodes = 40\n\n[algorithms.F", "node = 40\n\n[algorithms.F", "Did you mean 'nodes'?"),
        ("vertices = [0, 1]", "vertices = [0, -1]", "'vertices' must be an integer of at least"),
        ('graph = "epsilon"', 'graph = "eps"', "'graph' must be one of 'integral'"),
        ('density = "clgn"\nver', 'density = "clg"\nver', "must be one of 'truth', 'clgn'. Got"),
        ('kind = "linear-gaussian"', 'kind = "gauss"', "'kind' must be one of 'profiles'"),
        ('planner = "Wachter"', 'planner = "Wachte"', "or 'module:Class' that Python can import"),
        ('planner = "Wachter"', 'planner = "daace:Goal"', "must be a subclass of daace.Planner"),
        ('rows = "target"', 'rows = "some"', "'rows' must be one of 'all', 'target'"),
        ('mixture = "random", features = 3', 'mixture = "ran"', "'mixture' must be one of"),
        ("features = 3", "feature = 3", "Did you mean 'features'?"),
        ('rows = "target"', "each_vertex = true", "'each_vertex' must go with a list 'vertices'"),
        ('rows = "target"', "only = { penalties = [2] }", "'penalties' must be among [1.0, 5.0]"),
        ('rows = "target"', "only = { penalty = [1] }", "Did you mean 'penalties'?"),
        ('rows = "target"', "beside = 1", "'beside' must be true or false. Got 1."),
    ],
)  # fmt: skip
def test_every_mistake_has_its_line(old: str, new: str, sentence: str) -> None:
    assert TINY.count(old) == 1
    text = TINY.replace(old, new)
    with pytest.raises(InvalidInput) as caught:
        parse_spec(TomlFile.parse(text, name="my.toml"))
    message = str(caught.value)
    assert sentence in message
    if "must be given" in message:
        assert message.startswith("'my.toml', line 1: ")
    else:
        first = TINY[: TINY.index(old)].count("\n") + 1
        number = int(message.removeprefix("'my.toml', line ").split(":")[0])
        assert number == first, message


def test_what_is_no_toml_has_its_line() -> None:
    with pytest.raises(InvalidInput, match=r"'my.toml' must be TOML: .*line 2"):
        TomlFile.parse("seed = 1\nname = \n", name="my.toml")


def test_a_missing_file_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"'no.toml' must be a study in TOML"):
        read_spec("no.toml")


def test_keys_in_quotes_and_in_lists_are_found() -> None:
    source = TomlFile.parse(
        'tables = [\n "a",\n { name = "b", clases = [] },\n]\n[algorithms."FACE GT"]\nx = 1\n'
    )
    assert source.line(("tables", "b", "clases")) == 3
    assert source.line(("algorithms", "FACE GT", "x")) == 6
    assert source.line(("algorithms", "FACE GT", "unknown")) == 5


def test_each_vertex_becomes_an_algorithm() -> None:
    text = TINY.replace(
        "vertices = [0, 1]", "vertices = [0, 1]\neach_vertex = true\nonly = { penalties = [1] }"
    )
    spec = parse_spec(TomlFile.parse(text))
    names = [a.name for a in spec.algorithms if a.family == "BayesACE"]
    assert names == ["BayesACE v=0", "BayesACE v=1"]
    assert "BayesACE v=0" not in spec.compared


def test_an_algorithm_beside_has_every_problem() -> None:
    asked = 'density = "clgn"\nvertices = [0, 1]'
    spec = parse_spec(TomlFile.parse(TINY.replace(asked, f"{asked}\nbeside = true")))
    assert spec.compared == ("FACE GT", "FACE-eps", "Wachter")
    assert spec.beside == ("BayesACE",)
    keys = TableKeys(spec, spec.tables[0], "")
    usual = TableKeys(parse_spec(TomlFile.parse(TINY)), spec.tables[0], "")
    assert [t.key for t in keys.trials()] == [t.key for t in usual.trials()]
    with pytest.raises(InvalidInput, match="'beside' must go without 'only'"):
        parse_spec(
            TomlFile.parse(
                TINY.replace(asked, f"{asked}\nbeside = true\nonly = {{ instances = 1 }}")
            )
        )


@pytest.mark.parametrize("file", sorted(STUDIES.glob("*.toml")), ids=lambda path: path.stem)
def test_the_studies_of_the_project_are_in_order(file: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("pymoo")
    assert read_spec(file).name == file.stem


def test_the_papers_study_is_the_papers() -> None:
    spec = read_spec(STUDIES / "paper.toml")
    assert {table.name for table in spec.tables} == set(OPENML)
    grid = len(spec.penalties) * len(spec.plausibility) * len(spec.certainty) * spec.instances
    assert grid * len(spec.tables) == 5400
    assert spec.rows == (15_000, 50_000)
    assert spec.margin == 0.01
    assert spec.compared == (
        "DAACE GT", "DAACE", "BayesACE", "FACE GT", "FACE-DE", "FACE-eps", "Wachter",
    )  # fmt: skip
    assert spec.beside == ("BayesACE (profiles)",)
    assert spec.algorithm("BayesACE (profiles)").settings == spec.algorithm("BayesACE").settings


def test_records_of_earlier_versions_count(
    monkeypatch: pytest.MonkeyPatch, tiny: StudySpec
) -> None:
    monkeypatch.setattr("daace.__version__", "9.9.9")
    first = next(iter(TableKeys(tiny, tiny.tables[0], "").trials()))
    assert first.key == "45500a06a6d3ce3051dd"
