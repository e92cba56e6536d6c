"""Run a study: what is recorded is never done again, whatever happened on the way."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daace._files import remove_abandoned, write_atomically
from daace._json import dump_json, load_json
from daace._progress import Bar
from daace._wording import quote
from daace._workers import Crew, WorkerDied, Workers
from daace.exceptions import InvalidInput
from daace.planners.face import Face
from daace.study.answers import Job, Record, do, failed
from daace.study.bench import Bench
from daace.study.cache import Cache
from daace.study.problems import Keys, Question, describe_question, fingerprint
from daace.study.protocol import differences
from daace.study.records import RecordFile
from daace.study.spec import TRUTH, StudySpec

#: Questions that a worker answers in one go: what a crash costs at most, per worker.
CHUNK = 8

RECORDS, PLAN, CACHE = "records.jsonl", "plan.json", "cache"


@dataclass(frozen=True)
class Summary:
    """What a run did.

    Attributes:
        asked: questions of the study, or of the tables that were chosen.
        answered: of these, how many have an answer now.
        failed: of these, how many ended in an error.
        new: how many this run answered.
        memory_mb: largest memory that a worker held.
    """

    asked: int
    answered: int
    failed: int
    new: int
    memory_mb: float


def run_study(
    spec: StudySpec,
    out: str | os.PathLike[str],
    *,
    workers: Workers | None = None,
    resume: bool = True,
    retry: bool = False,
    tables: Sequence[str] = (),
    progress: bool = False,
) -> Summary:
    """Ask every question that has no record yet.

    The folder `out` holds the records (`records.jsonl`), the keys of the current study
    (`plan.json`) and the cache, which must be visible to all workers.

    Args:
        spec: the study.
        out: the folder; made when it is not there.
        workers: who does the work; this process when left out.
        resume: go on where an earlier run stopped; otherwise its records are set aside.
        retry: ask the questions again that ended in an error.
        tables: only these; all when empty.
        progress: show a bar on stderr, or a line a minute in a log.

    Raises:
        InvalidInput: a table cannot be loaded, or another run writes to the folder.
        OSError: the folder cannot be written; the records so far are complete.
    """
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    if not resume:
        _set_aside(folder)
    workers = workers or Workers()
    with RecordFile(folder / RECORDS) as file:
        cache = Cache(folder / CACHE)
        remove_abandoned(cache.folder)
        every = [
            Keys(spec, table, fingerprint(table, spec.seed))
            for table in spec.tables
            if table.name in _chosen(spec, tables)
        ]
        asked = {keys: list(keys.questions()) for keys in every}
        _write_plan(folder, spec, every, asked)
        with workers.ready() as crew:
            run = _Run(spec, file, cache, crew, retry, progress)
            run.everything(asked)
        return _summary(asked, file, run.new)


def _chosen(spec: StudySpec, tables: Sequence[str]) -> list[str]:
    names = [table.name for table in spec.tables]
    unknown = [name for name in tables if name not in names]
    if unknown:
        raise InvalidInput(
            f"'tables' must be among {quote(names, limit=20)}. Got {quote(unknown)}."
        )
    return list(tables) or names


class _Run:
    """The stages of one run; each hands jobs to the workers and writes what comes back."""

    def __init__(
        self,
        spec: StudySpec,
        file: RecordFile,
        cache: Cache,
        crew: Crew,
        retry: bool,
        progress: bool,
    ) -> None:
        self.spec, self.file, self.cache, self.crew = spec, file, cache, crew
        self.retry, self.progress = retry, progress
        self.broken: dict[tuple[Keys, str, str], str] = {}
        self.new = 0

    def everything(self, asked: dict[Keys, list[Question]]) -> None:
        """Make what is missing, stage by stage, then answer the questions."""
        open_questions = {keys: [q for q in qs if self._is_open(q)] for keys, qs in asked.items()}
        busy = {keys: questions for keys, questions in open_questions.items() if questions}
        self._make("Ground truths", [self._job(k, "setting") for k in busy])
        names = [density.name for density in self.spec.densities]
        self._make("Densities", [self._job(k, "density", n) for k in busy for n in names])
        graphs = [
            self._job(k, "graph", a.name)
            for k, questions in busy.items()
            for a in self.spec.algorithms
            if issubclass(a.planner_class(), Face) and a.name in {q.algorithm for q in questions}
        ]
        self._make("Graphs", graphs)
        self._compare(asked)
        self._answer(busy)

    def _is_open(self, question: Question) -> bool:
        record = self.file.records.get(question.key)
        return record is None or (self.retry and record.get("status") == "failed")

    def _job(
        self, keys: Keys, task: str, name: str = "", questions: tuple[Question, ...] = ()
    ) -> Job:
        return Job(keys, str(self.cache.folder.resolve()), task, name, questions)

    def _make(self, what: str, jobs: list[Job]) -> None:
        """Do jobs whose result goes to the cache; remember which ones failed, and why."""
        jobs = [job for job in jobs if not self._made(job) and not self._why_not(job)]
        with Bar(what, len(jobs), shown=self.progress and bool(jobs)) as bar:
            for job, records in self._done(jobs):
                for record in records:
                    self.broken[(job.keys, job.task, job.name)] = record["error"]
                bar.advance(f"{job.keys.table.name} {job.name}")

    def _made(self, job: Job) -> bool:
        keys = job.keys
        if job.task == "setting":
            return self.cache.has(keys.setting, "json")
        if job.task == "density":
            return self.cache.has(keys.density(job.name), "daace")
        bench = Bench(keys, self.cache)
        return self.cache.has(bench.graph_key(self.spec.algorithm(job.name)), "graph")

    def _why_not(self, job: Job, algorithm: str = "") -> str:
        """Return why a job, or an algorithm, cannot be done; nothing if it can."""
        needed = [("setting", ""), ("density", job.name)]
        name = algorithm or (job.name if job.task == "graph" else "")
        if name:
            needed += [("graph", name), ("density", self.spec.algorithm(name).density)]
        return next((self.broken[k] for n in needed if (k := (job.keys, *n)) in self.broken), "")

    def _compare(self, asked: dict[Keys, list[Question]]) -> None:
        jobs = [
            self._job(keys, "comparison")
            for keys in asked
            if keys.comparison() not in self.file.records
            and not any(broken[0] == keys for broken in self.broken)
        ]
        with Bar("Comparing densities", len(jobs), shown=self.progress and bool(jobs)) as bar:
            for job, records in self._done(jobs):
                self.file.append(r for r in records if "key" in r)
                bar.advance(job.keys.table.name)

    def _answer(self, busy: dict[Keys, list[Question]]) -> None:
        jobs = []
        for keys, questions in busy.items():
            for algorithm in self.spec.algorithms:
                mine = [q for q in questions if q.algorithm == algorithm.name]
                why_not = self._why_not(self._job(keys, ""), algorithm.name)
                if why_not:
                    self._write([describe_question(q) | failed(why_not) for q in mine])
                    continue
                chunks = [tuple(mine[i : i + CHUNK]) for i in range(0, len(mine), CHUNK)]
                jobs += [self._job(keys, "questions", "", chunk) for chunk in chunks]
        total = sum(len(questions) for questions in busy.values())
        shown = self.progress and total > 0
        with Bar("Planning", total, done=self.new, shown=shown) as bar:
            for job, records in self._done(jobs):
                self._write(records)
                bar.advance(f"{job.keys.table.name}", steps=len(records))

    def _write(self, records: list[Record]) -> None:
        self.file.append(records)
        self.new += len(records)

    def _done(self, jobs: list[Job]) -> Iterator[tuple[Job, list[Record]]]:
        """Yield jobs with their records; a worker that dies takes no other work with it."""
        waiting = dict(enumerate(jobs))
        while waiting:
            numbers = list(waiting)
            try:
                for place, records in self.crew.run(do, list(waiting.values())):
                    yield waiting.pop(numbers[place]), records
            except WorkerDied:
                # Jobs are handed out in order: it was one of the first that still wait.
                suspects = [n for n in numbers if n in waiting][: self.crew.handed_out]
                for number in suspects:
                    job = waiting.pop(number)
                    yield job, self._carefully(job)

    def _carefully(self, job: Job) -> list[Record]:
        """Do a job one question at a time, each by a worker of its own."""
        if job.task != "questions":
            return self._survive(job, {})
        parts = [self._job(job.keys, job.task, "", (question,)) for question in job.questions]
        return [
            record
            for part in parts
            for record in self._survive(part, describe_question(part.questions[0]))
        ]

    def _survive(self, job: Job, about: dict[str, Any]) -> list[Record]:
        try:
            return self.crew.alone(do, job)
        except WorkerDied:
            return [about | failed("WorkerDied: its worker was killed, or ran out of memory.")]


def _write_plan(
    folder: Path, spec: StudySpec, every: Sequence[Keys], asked: dict[Keys, list[Question]]
) -> None:
    """Write which records belong to the study as it is now, and how it is called."""
    plan: dict[str, Any] = {
        "study": spec.name,
        "compared": spec.compared,
        "families": {a.name: [a.family, a.vertices] for a in spec.algorithms if a.family},
        "instances": spec.instances,
        "differences": differences(spec, [keys.table.name for keys in every]),
        "scale": spec.scale,
        "truth": TRUTH,
        "densities": {keys.table.name: keys.comparison() for keys in every},
        "questions": {keys.table.name: [q.key for q in asked[keys]] for keys in every},
    }
    others = [t.name for t in spec.tables if t.name not in plan["questions"]]
    if others and (folder / PLAN).exists():  # what earlier runs asked about other tables
        earlier = load_json((folder / PLAN).read_text(encoding="utf-8"))
        for part in ("densities", "questions"):
            plan[part] |= {name: earlier[part][name] for name in others if name in earlier[part]}
        plan["differences"] = differences(spec, list(plan["questions"]))
    write_atomically(folder / PLAN, dump_json(plan))


def _set_aside(folder: Path) -> None:
    """Rename the records of an earlier run, unless it still goes on: nothing is deleted."""
    old = folder / RECORDS
    if old.exists():
        with RecordFile(old):
            number = 1
            while (kept := folder / f"records-{number}.jsonl").exists():
                number += 1
            old.rename(kept)


def _summary(asked: dict[Keys, list[Question]], file: RecordFile, new: int) -> Summary:
    keys = [q.key for questions in asked.values() for q in questions]
    records = [file.records[key] for key in keys if key in file.records]
    memory = [float(r["run"]["memory_mb"]) for r in records]
    return Summary(
        asked=len(keys),
        answered=len(records),
        failed=sum(r["status"] == "failed" for r in records),
        new=new,
        memory_mb=max(memory, default=0.0),
    )
