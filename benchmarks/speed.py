"""The present code against older commits, in one run: CPU time per answer, and what answers cost.

    git worktree add /tmp/old e303019         # the code of 0.1
    git worktree add /tmp/old_mixed 5145397   # the first that answers about mixed rows
    python -m benchmarks.speed --old /tmp/old --old-mixed /tmp/old_mixed [--full] [--only TEXT ...]

Two processes, one with each version of the code, are asked alternately about the same rows, with
the same model file, so that other work on the machine concerns both. Every row is asked twice and
the quicker time counts. The model is fitted by the older code. Settings are those of 0.1: the
density judges, every feature may change, values are not rounded.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import daace
from benchmarks.growth import table_of

HERE = Path(__file__).resolve().parents[1]

#: Costs that are higher by a larger share count as higher.
HIGHER = 1e-3

#: Times that each row is asked; the quickest counts.
REPEATS = 2

Case = dict[str, Any]


@dataclass
class Version:
    """One version of the code in a process of its own."""

    process: subprocess.Popen[str]

    def ask(self, **question: Any) -> dict[str, Any]:
        """Return the answer to one question."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError("A version of the code ended before it answered; see stderr.")
        found: dict[str, Any] = json.loads(answer)
        return found


def environment(source: Path) -> dict[str, str]:
    """Return the environment of processes that import a version of the code."""
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**os.environ, **one, "PYTHONPATH": str(source / "src")}


@contextmanager
def version(source: Path, folder: Path) -> Iterator[Version]:
    """Start a version of the code, and end it afterwards."""
    worker = Path(__file__).with_name("speed_worker.py")
    process = subprocess.Popen(
        [sys.executable, str(worker), str(folder)],
        env=environment(source),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Version(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


def cases(rows: int) -> list[Case]:
    """Return what to measure; the first word of a name is that of the model file."""
    cancer: Case = {"model": "breast_cancer", "target": "class"}
    phoneme: Case = {"model": "phoneme", "target": "class"}
    credit: Case = {"model": "credit", "target": "class"}
    wide: Case = {"model": "wide", "target": "class"}
    flow: Case = {"model": "flow", "target": "class", "preset": "phoneme", "epochs": 40}
    return [
        {**cancer, "name": "network, breast_cancer", "rows": 2 * rows, "page": True},
        {**phoneme, "name": "network, phoneme", "rows": 2 * rows},
        {**wide, "name": "network, 130 features", "rows": rows // 2},
        {**credit, "name": "network, credit", "rows": rows},
        {**cancer, "name": "forest judges, breast_cancer", "rows": rows // 2, "forest": True},
        {**cancer, "name": "sparsity, breast_cancer", "rows": 3, "sparsity": 0.25},
        {**cancer, "name": "max_changed, breast_cancer", "rows": 3, "rules": {"max_changed": 5}},
        {**credit, "name": "integer, credit", "rows": rows // 3, "integer": True},
        {**flow, "name": "flow, phoneme", "rows": rows // 3},
        {**cancer, "name": "batch on one core, breast_cancer", "rows": 8 * rows, "n_jobs": 1},
        {**cancer, "name": "batch on two cores, breast_cancer", "rows": 8 * rows, "n_jobs": 2},
        {**flow, "name": "batch on one core, flow", "rows": rows, "n_jobs": 1},
        {**cancer, "name": "profiles, breast_cancer", "rows": rows, "profiles": "auto"},
        {**phoneme, "name": "profiles, phoneme", "rows": rows, "profiles": "auto"},
        {
            **cancer, "name": "profiles, batch on two cores, breast_cancer",
            "rows": 8 * rows, "profiles": "auto", "n_jobs": 2,
        },
        {
            "model": "adult", "target": "income", "name": "mixed, adult", "rows": rows,
            "mixed": True, "profiles": "auto",
        },
        {
            "model": "adult", "target": "income", "name": "mixed, batch on one core, adult",
            "rows": 4 * rows, "mixed": True, "profiles": "auto", "n_jobs": 1,
        },
    ]  # fmt: skip


def frame_of(model: str) -> pd.DataFrame:
    """Return the rows that a model is fitted on; the target is the last column or named so."""
    if model == "wide":
        return named(table_of(130))
    if model == "adult":
        path = Path(os.environ["DAACE_DATA"]) / "mixed" / "adult.csv"
        frame = pd.read_csv(path, keep_default_na=False, na_values=[""])
        return frame.sample(6000, random_state=0).reset_index(drop=True)
    return named(daace.load_table({"flow": "phoneme"}.get(model, model)))


def named(table: daace.Table) -> pd.DataFrame:
    """Return the rows of a table whose target is called 'class'."""
    return table.to_frame().rename(columns={table.target: "class"})


def prepare(case: Case, older: Version, folder: Path) -> str:
    """Write model and rows of a case; return the class that all rows are to reach.

    The rows are those that the model gives another class, spread over the table.
    """
    frame = frame_of(case["model"])
    if "profiles" in case:
        case["model"] += "-profiles"
    if case.get("integer"):
        columns = frame.drop(columns=case["target"])
        whole = [name for name in columns if (columns[name] == columns[name].round()).all()]
        case["rules"] = {"integer": whole}
    if not (folder / f"{case['model']}.daace").exists():
        frame.to_pickle(folder / f"{case['model']}.pkl")
        older.ask(do="fit", case=case)
    density = daace.load(folder / f"{case['model']}.daace").density
    features = frame.drop(columns=case["target"])
    logs = density.log_posterior(density.to_model(features))
    rare = int(np.bincount(logs.argmax(axis=1), minlength=logs.shape[1]).argmin())
    goal = density.classes_.item(rare if case["model"].startswith("adult") else 0)
    refused = np.flatnonzero(density.classes_[logs.argmax(axis=1)] != goal)
    some = np.linspace(0, len(refused) - 1, min(case["rows"], len(refused))).astype(int)
    features.iloc[refused[some]].to_pickle(folder / f"{case['name']}.rows.pkl")
    return str(goal)


def measure(case: Case, old: Version | None, new: Version, fitter: Version, folder: Path) -> Case:
    """Return the line of one case: CPU per answer of both versions, and costs compared.

    Args:
        case: what is asked.
        old: the older code; None if it cannot answer.
        new: the present code.
        fitter: fits the model.
        folder: for model and rows.
    """
    goal = prepare(case, fitter, folder)
    both = [v for v in (old, new) if v is not None]
    for v in both:
        v.ask(do="load", case=case)
    count = len(pd.read_pickle(folder / f"{case['name']}.rows.pkl"))
    questions: list[Case] = [{"do": "row", "row": row, "goal": goal} for row in range(count)]
    if "n_jobs" in case:
        questions = [{"do": "batch", "n_jobs": case["n_jobs"], "goal": goal}]
    for v in both:  # fills caches, starts workers
        v.ask(**questions[0])
    seconds = np.full((len(both), len(questions)), np.inf)
    answers: list[list[Case]] = [[] for _ in both]
    clock = "wall" if case.get("n_jobs", 1) > 1 else "seconds"
    for place, question in enumerate(questions):
        for repeat in range(REPEATS):
            for number, v in enumerate(both):
                answer = v.ask(**question)
                seconds[number, place] = min(seconds[number, place], answer[clock])
                if repeat == 0:
                    answers[number].append(answer)
    line: Case = {"case": case["name"], "answers": count}
    per_answer = 1000 * seconds.sum(axis=1) / count
    line["ms now"] = per_answer[-1]
    if old is not None:
        line |= {"ms then": per_answer[0], "times faster": per_answer[0] / per_answer[-1]}
        line |= compare(*answers)
    if case.get("page"):
        pages = [min(v.ask(do="page")["seconds"] for _ in range(3)) for v in both]
        line["page"] = pages[-1] / pages[0]
    return line


def compare(then: list[Case], now: list[Case]) -> Case:
    """Return how costs differ, in percent, and in how many answers a path was found."""

    def all_of(answers: list[Case], name: str) -> np.ndarray:
        return np.concatenate([np.atleast_1d(answer[name]) for answer in answers])

    a, b = all_of(then, "cost").astype(float), all_of(now, "cost").astype(float)
    found = all_of(then, "found").astype(bool) & all_of(now, "found").astype(bool)
    excess = (b[found] - a[found]) / np.maximum(np.abs(a[found]), 1e-300)
    return {
        "found then": int(all_of(then, "found").sum()),
        "found now": int(all_of(now, "found").sum()),
        "not higher (%)": 100 * float((excess <= HIGHER).mean()) if found.any() else np.nan,
        "worst (%)": 100 * float(excess.max(initial=-np.inf)),
        "mean (%)": 100 * float(excess.mean()) if found.any() else np.nan,
    }


def start_up(old: Path, new: Path) -> list[Case]:
    """Return the CPU time of starting Python to import daace, and to print the CLI's help."""
    commands = {
        "import daace": [sys.executable, "-c", "import daace"],
        "daace --help": [sys.executable, "-m", "daace", "--help"],
    }
    lines: list[Case] = []
    for name, command in commands.items():
        seconds = np.full(2, np.inf)
        for _ in range(6):  # the first run writes bytecode
            for number, source in enumerate((old, new)):
                took = child_seconds(command, environment(source))
                seconds[number] = min(seconds[number], took)
        then, now = (1000 * seconds).tolist()
        lines.append({"case": name, "ms then": then, "ms now": now, "times faster": then / now})
    return lines


def child_seconds(command: list[str], env: dict[str, str]) -> float:
    """Return the CPU time of a command."""

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = used()
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
    return used() - before


def rows(
    old: Path,
    old_mixed: Path,
    *,
    count: int = 16,
    only: Sequence[str] = ("",),
    note: Callable[[Case], None],
) -> pd.DataFrame:
    """Return the table.

    Args:
        old: working tree of e303019.
        old_mixed: working tree of 5145397, for mixed rows.
        count: rows of most cases.
        only: parts of the names of the cases to measure.
        note: is given each line as soon as it is known.
    """
    lines: list[Case] = []
    chosen = [case for case in cases(count) if any(part in case["name"] for part in only)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            version(old, folder) as then,
            version(old_mixed, folder) as mixed_then,
            version(HERE, folder) as now,
        ):
            for case in chosen:
                before, fitter = then, then
                if "profiles" in case:
                    before, fitter = mixed_then, mixed_then
                lines.append(measure(case, before, now, fitter, folder))
                note(lines[-1])
    if any(part in "start-up" for part in only):
        for line in start_up(old, HERE):
            lines.append(line)
            note(line)
    return pd.DataFrame(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--old", type=Path, required=True)
    parser.add_argument("--old-mixed", type=Path, required=True)
    parser.add_argument("--only", nargs="+", default=[""], help="parts of names of cases")
    parser.add_argument("--rows", type=int, default=16, help="rows of most cases")
    parser.add_argument("--full", action="store_true", help="96 rows")
    arguments = parser.parse_args()
    table = rows(
        arguments.old,
        arguments.old_mixed,
        count=96 if arguments.full else arguments.rows,
        only=arguments.only,
        note=lambda line: print(line, file=sys.stderr, flush=True),
    )
    print(table.to_string(index=False, float_format=lambda value: f"{value:.3g}", na_rep=""))


if __name__ == "__main__":
    main()
