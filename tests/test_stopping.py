"""Stopped or killed, with two jobs: no process is left, and the same command resumes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import daace
from daace import GaussianMixture, PathOptimizer
from daace.cli import main
from daace.explain.explainer import Explainer
from daace.study.paper import PAPER
from daace.study.run import run_study
from daace.study.spec_reader import parse_spec
from daace.study.toml_file import TomlFile

from .study.conftest import TINY, lines

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")

#: For a process that was told to stop, and for what it started; a busy machine needs many times
#: the two seconds of an idle one. Left alone, idle workers stay for 300.
SECONDS = 30

#: A generous limit for what must happen at all.
PATIENCE = 300


def members(group: int) -> dict[int, bytes]:
    """The processes of a group that still run, with their command lines."""
    found = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of = file.read_text().rpartition(")")[2].split()[:3]
            command = file.with_name("cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(of) == group and state not in "ZX":
            found[int(file.parent.name)] = command
    return found


def await_true(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether a condition becomes true in time."""
    deadline = time.monotonic() + seconds
    while not (true := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return true


def stop_midway(
    how: signal.Signals,
    command: list[str],
    begun: Callable[[], bool],
    folder: Path,
    *,
    before: str = "",
) -> tuple[int, str]:
    """Run a command until it has begun, stop it; return its exit code and what it said."""
    # Whoever runs the tests in the background has them ignore interrupts.
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += f"{before}\nfrom daace.cli import main; main()"
    log = folder / "stderr.txt"
    with log.open("w") as said:  # no pipe: workers would hold it open
        process = subprocess.Popen(
            [sys.executable, "-c", code, *command],
            env={**os.environ, "PYTHONPATH": str(Path(daace.__file__).parents[1])},
            stderr=said,
            start_new_session=True,
        )
        try:

            def busy() -> bool:
                workers = [c for c in members(process.pid).values() if b"LokyProcess" in c]
                return (len(workers) == 2 and begun()) or process.poll() is not None

            assert await_true(busy, PATIENCE)
            assert process.poll() is None, log.read_text()
            process.send_signal(how)
            if how == signal.SIGINT and not await_true(lambda: process.poll() is not None, SECONDS):
                process.send_signal(how)  # as people do: compiled libraries can lose the first
            assert await_true(lambda: process.poll() is not None, SECONDS), "it does not end"
            assert await_true(lambda: not members(process.pid), SECONDS), members(process.pid)
        finally:
            for number in members(process.pid):
                os.kill(number, signal.SIGKILL)
    return process.wait(), log.read_text()


#: Rows that are read and written at once, fewer than usual.
BLOCK = 64

#: Run before the command: after the first block, its workers are at work until they are ended.
ENDLESS = f"""
import threading
from daace.explain.files import stream
from daace.explain.several import jobs

stream.BLOCK = {BLOCK}
answer = jobs.answer_chunk

def answer_the_first_block(query):
    if query.first >= {BLOCK}:
        threading.Event().wait()
    return answer(query)

jobs.answer_chunk = answer_the_first_block
"""


@pytest.fixture(scope="module")
def work(tmp_path_factory) -> Iterator[Path]:
    """A folder with a model, three blocks of rows, and their answers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("daace.explain.files.stream.BLOCK", BLOCK)
        yield fill(tmp_path_factory.mktemp("work"))


def fill(folder: Path) -> Path:
    density = GaussianMixture([1, 1], [[0, 0], [4, 1]], [np.eye(2)] * 2, ["ill", "well"])
    explainer = Explainer(density, planner=PathOptimizer(vertices=0, starts=1))
    explainer.save(folder / "model.daace")
    rows = np.random.default_rng(3).normal(size=(150, 2))
    pd.DataFrame(rows, columns=["x1", "x2"]).to_csv(folder / "data.csv", index=False)
    explainer.explain_file(folder / "data.csv", folder / "whole.csv", target="well")
    return folder


@pytest.mark.parametrize(("how", "expected"), [("SIGKILL", -9), ("SIGTERM", 143), ("SIGINT", 130)])
def test_a_stopped_batch_leaves_no_process_and_goes_on(work, tmp_path, how, expected):
    out = tmp_path / "out.csv"
    part = Path(f"{out}.part")
    command = ["explain", str(work / "model.daace"), str(work / "data.csv"), "--to", "well"]
    command += ["--all", "--jobs", "2", "-o", str(out)]

    def begun() -> bool:
        return part.exists() and part.read_bytes().count(b"\n") > 1

    code, said = stop_midway(signal.Signals[how], command, begun, tmp_path, before=ENDLESS)
    assert code == expected, said
    assert not out.exists()
    if expected > 0:
        assert "Traceback" not in said
        assert "the same command resumes" in said
    with pytest.raises(SystemExit) as leaving:
        main(command)
    assert leaving.value.code == 0
    assert out.read_bytes() == (work / "whole.csv").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.csv", "stderr.txt"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> list[str]:
    """The records of a study that nobody stopped."""
    folder = tmp_path_factory.mktemp("undisturbed")
    run_study(parse_spec(TomlFile.parse(TINY, name="tiny.toml")), folder, client=PAPER)
    return lines(folder)


# One is killed while its workers still start.
@pytest.mark.parametrize(("how", "expected"), [("SIGKILL", -9), ("SIGTERM", 143)])
def test_a_stopped_study_leaves_no_process_and_goes_on(undisturbed, tmp_path, how, expected):
    spec, out = tmp_path / "tiny.toml", tmp_path / "out"
    spec.write_text(TINY)
    command = ["study", "run", str(spec), "--out", str(out), "--jobs", "2"]

    def begun() -> bool:
        return how == "SIGKILL" or any((out / "cache").glob("*.json"))

    code, said = stop_midway(signal.Signals[how], command, begun, tmp_path)
    assert code == expected, said
    if expected > 0:
        assert "Traceback" not in said
    with pytest.raises(SystemExit) as leaving:
        main(command)
    assert leaving.value.code == 0
    assert lines(out) == undisturbed


#: Interrupts joblib when it has made the thread of its pool and not yet started it.
INTERRUPTED_START = """
import os, signal, threading, time
from daace._workers import Workers

signal.signal(signal.SIGINT, signal.default_int_handler)
start = threading.Thread.start

def interrupt_and_start(thread):
    if "ExecutorManager" in type(thread).__name__:
        print("interrupting", flush=True)
        os.kill(os.getpid(), signal.SIGINT)
    start(thread)

threading.Thread.start = interrupt_and_start
try:
    with Workers(jobs=2).ready() as crew:
        print(sorted(crew.run(time.sleep, [1000] * 4)))
except KeyboardInterrupt as error:
    kept = error  # with all that was going on; the tasks are given up all the same
    print("interrupted")
"""


def test_an_interrupt_while_workers_are_started_is_not_lost():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_START],
        env={**os.environ, "PYTHONPATH": str(Path(daace.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "interrupting\ninterrupted\n"), done.stderr
