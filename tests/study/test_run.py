from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import daace
from daace._workers import Workers
from daace.cli import main
from daace.exceptions import InvalidInput
from daace.study.client import StudyClient, TableFact
from daace.study.paper import PAPER, henze_zirkler
from daace.study.plan_file import read_plan
from daace.study.records import RecordFile, read_records
from daace.study.results import RECORDS, read_results, restore
from daace.study.run import run_study
from daace.study.spec import StudySpec
from daace.study.spec_reader import parse_spec
from daace.study.toml_file import TomlFile

from .conftest import TINY, lines

SOURCES = str(Path(daace.__file__).parents[1])


def test_every_problem_has_a_record(whole: Path) -> None:
    records = read_records(whole / RECORDS)
    problems = [r for r in records.values() if r["kind"] == "problem"]
    assert len(problems) == 2 * 4 * 2 * 2
    assert sum(r["kind"] == "densities" for r in records.values()) == 2
    for r in problems:
        assert r["found"] == (r["cost_nll"] is not None)
        assert r["versions"]["numpy"]
        if r["found"]:
            assert r["hops"] == len(r["path"]) - 1
        if r["algorithm"] in ("FACE GT", "Wachter") and r["found"]:
            assert r["valid"], "who checks the goal with the truth is valid under the truth"
        assert (r["run"]["graph_seconds"] > 0) == r["algorithm"].startswith("FACE")


def test_a_second_run_has_nothing_to_do(whole: Path, tiny: StudySpec) -> None:
    before = (whole / RECORDS).read_bytes()
    assert run_study(tiny, whole, client=PAPER).new == 0
    assert (whole / RECORDS).read_bytes() == before


def test_two_workers_give_the_same_records(whole: Path, tiny: StudySpec, tmp_path: Path) -> None:
    run_study(tiny, tmp_path, workers=Workers(jobs=2), client=PAPER)
    assert lines(tmp_path) == lines(whole)


def test_more_instances_only_add(whole: Path, tiny: StudySpec, tmp_path: Path) -> None:
    fewer = replace(tiny, instances=1)
    assert run_study(fewer, tmp_path, tables=["random-3"], client=PAPER).new == 8
    assert run_study(tiny, tmp_path, tables=["random-3"], client=PAPER).new == 8
    assert run_study(tiny, tmp_path, client=PAPER).new == 16
    assert lines(tmp_path) == lines(whole)


def test_another_setting_is_another_problem(tiny: StudySpec, tmp_path: Path) -> None:
    one = replace(tiny, algorithms=tiny.algorithms[3:], tables=tiny.tables[:1])
    assert run_study(one, tmp_path).new == 4
    assert run_study(replace(one, seed=4), tmp_path).new == 4
    assert run_study(replace(one, margin=0.5), tmp_path).new == 4


def test_without_a_client_records_and_plan_know_nothing_of_the_paper(
    whole: Path, tiny: StudySpec, tmp_path: Path
) -> None:
    one = replace(tiny, tables=tiny.tables[:1])
    run_study(one, tmp_path)
    plain, papers = (read_records(folder / RECORDS) for folder in (tmp_path, whole))
    for key, record in plain.items():
        expected = {k: v for k, v in papers[key].items() if k not in ("normality", "run")}
        assert {k: v for k, v in record.items() if k != "run"} == expected
    assert "differences" in read_plan(whole)
    assert "differences" not in read_plan(tmp_path)


def test_a_fact_that_cannot_be_computed_is_left_open(tiny: StudySpec, tmp_path: Path) -> None:
    few = replace(tiny, tables=tiny.tables[:1], algorithms=tiny.algorithms[3:])
    client = StudyClient(facts=(TableFact("normality", "p", too_few_rows, str),))
    assert run_study(few, tmp_path, client=client).failed == 0
    (record,) = (r for r in read_records(tmp_path / RECORDS).values() if r["kind"] == "densities")
    assert record["normality"] is None


def too_few_rows(rows: np.ndarray) -> float:
    return henze_zirkler(rows[:2]).p_value


def test_records_can_be_set_aside(tiny: StudySpec, tmp_path: Path) -> None:
    one = replace(tiny, algorithms=tiny.algorithms[3:], tables=tiny.tables[:1])
    run_study(one, tmp_path)
    assert run_study(one, tmp_path, resume=False).new == 4
    assert (tmp_path / "records-1.jsonl").exists()
    with (
        RecordFile(tmp_path / RECORDS),
        pytest.raises(daace.InvalidInput, match=r"must have one writer. Another process"),
    ):
        run_study(one, tmp_path, resume=False)
    assert not (tmp_path / "records-2.jsonl").exists()


#: Runs the command, and dies as told when the records reach a size: in the middle of a line, after
#: a line that is not yet safe on the disk, or between two.
DYING = """
import os, signal, sys
from daace.cli import main
from daace.study import records

# Whoever runs the tests in the background has them ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
when, how, count = sys.argv[1], getattr(signal, sys.argv[2]), int(sys.argv[3])
write, sync, append = os.write, os.fsync, records.RecordFile.append
lines = 0

def die():
    if lines >= count:
        os.kill(os.getpid(), how)

def torn_write(handle, data):
    global lines
    if when == "line" and data.startswith(b"{"):
        if lines >= count:
            write(handle, data[:-5])
            die()
    done = write(handle, data)
    lines += data.count(b"\\n") if data.startswith(b"{") else 0
    return done

def late_sync(handle):
    if when == "sync":
        die()
    sync(handle)

def last_append(self, new):
    append(self, new)
    if when == "between":
        die()

os.write, os.fsync, records.RecordFile.append = torn_write, late_sync, last_append
main(sys.argv[4:])
"""


def start(code: str, *arguments: str) -> tuple[int, str]:
    """Run code in a process of its own; return its exit code and what it said on stderr."""
    with tempfile.TemporaryFile("w+") as said:  # no pipe: workers would hold it open
        process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            env={**os.environ, "PYTHONPATH": SOURCES},
            stderr=said,
        )
        code_of_exit = process.wait()
        said.seek(0)
        return code_of_exit, said.read()


def command_here(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Run the command in this process; return its exit code and what it said on stderr."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as leaving:
        main(list(arguments))
    assert isinstance(leaving.value.code, int)
    return leaving.value.code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("jobs", "kills"),
    [("1", [("between", 3), ("line", 4), ("sync", 5)]), ("2", [("line", 4)])],
)
def test_kills_lose_nothing_and_repeat_nothing(
    whole: Path,
    tiny_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    jobs: str,
    kills: list[tuple[str, int]],
) -> None:
    out, seen = tmp_path / "killed", 0
    command = ["study", "run", str(tiny_file), "--out", str(out), "--jobs", jobs]
    for when, count in kills:
        code, said = start(DYING, when, "SIGKILL", str(count), *command)
        assert code == -signal.SIGKILL, said
        data = (out / RECORDS).read_bytes()
        assert data.endswith(b"\n") == (when != "line")
        after = data.count(b"\n")
        assert seen + count <= after < 34
        seen = after
    code, said = command_here(capsys, *command)
    assert code == 0
    assert f"32 of 32 problems are recorded, {34 - seen} of them by this run" in said
    assert lines(out) == lines(whole)


def test_an_interrupt_leaves_things_whole(tiny_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "stopped"
    command = ["study", "run", str(tiny_file), "--out", str(out)]
    code, said = start(DYING, "sync", "SIGINT", "4", *command)
    assert code == 130
    assert "the same command resumes" in said
    assert "Traceback" not in said
    assert (out / RECORDS).read_bytes().count(b"\n") >= 4
    assert (out / RECORDS).read_bytes().endswith(b"\n")


def algorithm(planner: str) -> StudySpec:
    text = TINY[: TINY.index("[algorithms.BayesACE]")]
    text += f'[algorithms.mine]\nplanner = "{planner}"\ndensity = "truth"\n'
    return parse_spec(TomlFile.parse(text, name=__file__))


def test_failures_are_recorded_and_retried_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = algorithm("odd_planners:Picky")
    first = run_study(spec, tmp_path)
    assert 0 < first.failed < first.asked == first.answered == 8
    failed = [r for r in read_records(tmp_path / RECORDS).values() if r.get("error")]
    assert {r["error"] for r in failed} == {"ArithmeticError: too far to the left"}
    monkeypatch.setenv("DAACE_TEST_HEALED", "yes")
    assert run_study(spec, tmp_path).new == 0
    again = run_study(spec, tmp_path, retry=True)
    assert (again.new, again.failed) == (first.failed, 0)


def test_a_worker_that_dies_takes_nothing_with_it(tmp_path: Path) -> None:
    spec = replace(algorithm("odd_planners:Deadly"), instances=1)
    summary = run_study(spec, tmp_path, workers=Workers(jobs=2))
    assert summary.answered == 4
    records = [r for r in read_records(tmp_path / RECORDS).values() if r["kind"] == "problem"]
    killed = [r for r in records if r["status"] == "failed"]
    assert 0 < len(killed) < 4
    assert all(r["error"].startswith("WorkerDied: ") and r["penalty"] == 5 for r in killed)


def test_a_density_that_cannot_be_learned_fails_its_algorithms_only(
    tiny: StudySpec, tmp_path: Path
) -> None:
    broken = replace(tiny.densities[0], settings=(("forced", (("x1", "nobody"),)),))
    summary = run_study(replace(tiny, densities=(broken,)), tmp_path)
    assert (summary.answered, summary.failed) == (32, 16)
    records = read_records(tmp_path / RECORDS).values()
    assert {r["algorithm"] for r in records if r.get("error")} == {"BayesACE", "FACE-eps"}


def test_a_read_only_folder_is_named(
    tiny_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if os.geteuid() == 0:
        out = Path("/proc/daace-study")  # root may write everywhere else
    else:
        out = tmp_path / "closed"
        out.mkdir(mode=0o500)
    code, said = command_here(capsys, "study", "run", str(tiny_file), "--out", str(out))
    assert code == 2
    assert said.startswith("Error: '")
    assert "Traceback" not in said


def test_a_disk_that_fills_up_loses_nothing(
    whole: Path, tiny_file: Path, tmp_path: Path, tiny: StudySpec
) -> None:
    pytest.importorskip("resource")
    out = tmp_path / "full"
    # So that only records are written from here on.
    run_study(replace(tiny, instances=1), out, client=PAPER)
    size = (out / RECORDS).stat().st_size + 2000
    limited = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    limited += f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size})); "
    limited += "from daace.cli import main; main()"
    code, said = start(limited, "study", "run", str(tiny_file), "--out", str(out))
    assert code == 2
    assert "records are safe, make room and run the same command again" in said
    assert (out / RECORDS).read_bytes().endswith(b"\n")
    run_study(tiny, out, client=PAPER)
    assert lines(out) == lines(whole)


def test_unknown_tables_are_named(tiny: StudySpec, tmp_path: Path) -> None:
    with pytest.raises(daace.InvalidInput, match="'tables' must be among 'random-2', 'random-3'"):
        run_study(tiny, tmp_path, tables=["iris"])


def test_a_table_of_three_classes_needs_two_of_them(tiny: StudySpec, tmp_path: Path) -> None:
    table = replace(tiny.tables[0], name="iris", mixture="")
    with pytest.raises(daace.InvalidInput, match=r'write \{ name = "iris", classes = \["setosa"'):
        run_study(replace(tiny, tables=(table,)), tmp_path)


def test_a_compact_record_is_continued_in_another_folder(
    whole: Path, tiny: StudySpec, tmp_path: Path
) -> None:
    """Half of a study is exported, restored elsewhere and finished; the results are the same."""
    first = replace(tiny, penalties=(1.0,))
    run_study(first, tmp_path / "first", client=PAPER)
    half = read_results(tmp_path / "first", reference=PAPER.reference)
    half.write_compact(tmp_path / "half.gz")
    assert restore(tmp_path / "half.gz", tmp_path / "second") == 16 + 2
    assert restore(tmp_path / "half.gz", tmp_path / "second") == 0
    done = run_study(tiny, tmp_path / "second", client=PAPER)
    assert (done.answered, done.new) == (32, 16)
    ours, usual = (
        read_results(folder, reference=PAPER.reference).problems.set_index("key")
        for folder in (tmp_path / "second", whole)
    )
    for measure in ("cost_nll", "l2", "to_face_gt"):
        assert ours[measure].astype(float).to_dict() == pytest.approx(
            usual[measure].astype(float).to_dict(), rel=1e-4, abs=1e-4, nan_ok=True
        )


def test_answers_that_came_before_the_reference_are_measured_to_it(
    whole: Path, tiny: StudySpec, tmp_path: Path
) -> None:
    others = replace(tiny, algorithms=tuple(a for a in tiny.algorithms if a.name != "FACE GT"))
    run_study(others, tmp_path / "first", client=PAPER)
    half = read_results(tmp_path / "first", reference=PAPER.reference)
    half.write_compact(tmp_path / "half.gz")
    restore(tmp_path / "half.gz", tmp_path / "second")
    assert run_study(tiny, tmp_path / "second", client=PAPER).new == 8
    ours, usual = (
        read_results(folder, reference=PAPER.reference).scores("to_face_gt")
        for folder in (tmp_path / "second", whole)
    )
    assert ours.to_numpy() == pytest.approx(usual.to_numpy(), rel=1e-4, abs=1e-4)


def test_the_target_can_be_the_class_that_is_not_predicted(tiny: StudySpec, tmp_path: Path) -> None:
    few = replace(tiny, target="predicted", algorithms=tiny.algorithms[3:], instances=6)
    run_study(few, tmp_path)
    records = [r for r in read_records(tmp_path / RECORDS).values() if r["kind"] == "problem"]
    assert any(r["label"] == r["target"] for r in records), "drawn with a class unlike its own"
    assert not any(r["status"] == "already_there" for r in records), "Wachter asks the truth"
    assert read_plan(tmp_path)["target"] == "predicted"
    usual = replace(tiny, algorithms=tiny.algorithms[3:], instances=6)
    assert run_study(usual, tmp_path).new == len(records)


def test_nsga2_is_tuned_once_for_all_vertices(tiny: StudySpec, tmp_path: Path) -> None:
    text = (
        TINY[: TINY.index("[algorithms.BayesACE]")]
        + """
[algorithms.N]
planner = "NSGA2"
density = "clgn"
vertices = [0, 1]
each_vertex = true
population = 8
generations = 2
tune = 1
only = { tables = ["random-2"], instances = 1 }
"""
    )
    spec = parse_spec(TomlFile.parse(text, name="tuned.toml"))
    run_study(spec, tmp_path, tables=["random-2"])
    records = [r for r in read_records(tmp_path / RECORDS).values() if r["kind"] == "problem"]
    assert len(records) == 4
    chosen = {r["planner"].partition("population")[2] for r in records}
    assert len(chosen) == 1
    assert "eta_crossover=" in chosen.pop()
    with pytest.raises(InvalidInput, match="'tune' must go with the planner NSGA2"):
        parse_spec(TomlFile.parse(TINY + "\ntune = 3\n", name="tuned.toml"))
