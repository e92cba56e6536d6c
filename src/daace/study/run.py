"""Runs a study: a trial with a record is not repeated, however an earlier run ended."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from daace._files import remove_abandoned
from daace._progress import Bar
from daace._wording import quote
from daace._workers import Crew, WorkerDied, Workers
from daace.exceptions import InvalidInput
from daace.planners.face import Face
from daace.study.cache import Cache
from daace.study.client import NO_CLIENT, StudyClient
from daace.study.plan_file import write_plan
from daace.study.records import Record, RecordFile
from daace.study.results import RECORDS
from daace.study.spec import StudySpec
from daace.study.tables import fingerprint
from daace.study.trials import TableKeys, Trial
from daace.study.worker import Job, Task, describe_failure, do

#: Trials that a worker runs in one go; a crash loses as many at most.
CHUNK = 8

#: Folder of the cache in the folder of a run.
CACHE = "cache"

#: The trials of each table.
Trials = dict[TableKeys, list[Trial]]


@dataclass(frozen=True)
class RunSummary:
    """What a run did.

    Attributes:
        asked: number of trials of the study, or of the chosen tables.
        answered: number of these that have a record now.
        failed: number of these that ended in an error.
        new: number of trials recorded by this run.
        memory_mb: peak memory of a worker.
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
    client: StudyClient = NO_CLIENT,
    progress: bool = False,
) -> RunSummary:
    """Run every trial that has no record yet.

    The folder `out` holds the records (`records.jsonl`), the keys of the current study
    (`plan.json`) and the cache, which must be visible to all workers.

    Args:
        spec: the study.
        out: the folder; created if missing.
        workers: processes that run the trials; None for this process.
        resume: continue where an earlier run stopped; otherwise its records are set aside.
        retry: run the trials again that ended in an error.
        tables: only these; all when empty.
        client: what this particular study adds to the records and the plan.
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
        chosen = _chosen(spec, tables)
        every = [
            TableKeys(spec, table, fingerprint(table, spec.seed))
            for table in spec.tables
            if table.name in chosen
        ]
        trials = {keys: list(keys.trials()) for keys in every}
        write_plan(folder, spec, trials, client.note_plan)
        with workers.ready() as crew:
            run = _Run(spec, file, cache, crew, client, retry=retry, progress=progress)
            run.everything(trials)
        return _summary(trials, file, run.new)


def _chosen(spec: StudySpec, tables: Sequence[str]) -> list[str]:
    names = [table.name for table in spec.tables]
    unknown = [name for name in tables if name not in names]
    if unknown:
        raise InvalidInput(
            argument="tables", expected=f"be among {quote(names, limit=20)}", got=quote(unknown)
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
        client: StudyClient,
        *,
        retry: bool,
        progress: bool,
    ) -> None:
        self.spec, self.file, self.cache, self.crew, self.client = spec, file, cache, crew, client
        self.retry, self.progress = retry, progress
        self.broken: dict[tuple[TableKeys, str, str], str] = {}
        self.new = 0

    def everything(self, trials: Trials) -> None:
        """Prepare what is missing, stage by stage, then run the trials."""
        waiting = {keys: [t for t in mine if self._waits(t)] for keys, mine in trials.items()}
        busy = {keys: mine for keys, mine in waiting.items() if mine}
        self._make("Ground truths", [self._job(k, "sample") for k in busy])
        names = [density.name for density in self.spec.densities]
        self._make("Densities", [self._job(k, "density", n) for k in busy for n in names])
        graphs = [
            self._job(k, "graph", a.name)
            for k, mine in busy.items()
            for a in self.spec.algorithms
            if issubclass(a.planner_class(), Face) and a.name in {t.algorithm for t in mine}
        ]
        self._make("Graphs", graphs)
        tuned: dict[str, Job] = {
            k.tuning(a): self._job(k, "tuning", a.name)
            for k, mine in busy.items()
            for a in self.spec.algorithms
            if a.tune and a.name in {t.algorithm for t in mine}
        }
        self._make("Tuning", list(tuned.values()))
        self._compare(trials)
        self._run_trials(busy)

    def _waits(self, trial: Trial) -> bool:
        record = self.file.records.get(trial.key)
        return record is None or (self.retry and record.get("status") == "failed")

    def _job(
        self, keys: TableKeys, task: Task, name: str = "", trials: tuple[Trial, ...] = ()
    ) -> Job:
        return Job(
            keys=keys,
            folder=str(self.cache.folder.resolve()),
            task=task,
            name=name,
            trials=trials,
            facts=self.client.facts if task == "comparison" else (),
        )

    def _make(self, what: str, jobs: list[Job]) -> None:
        """Do jobs whose result goes to the cache; remember which ones failed, and why."""
        jobs = [
            job
            for job in jobs
            if not self._is_made(job)
            and not self._obstacle(job.keys, job.name if job.task in ("graph", "tuning") else "")
        ]
        with Bar(what, len(jobs), shown=self.progress and bool(jobs)) as bar:
            for job, records in self._done(jobs):
                for record in records:
                    self.broken[(job.keys, job.task, job.name)] = record["error"]
                bar.advance(f"{job.keys.table.name} {job.name}")

    def _is_made(self, job: Job) -> bool:
        keys = job.keys
        if job.task == "sample":
            return self.cache.has(keys.sample, "json")
        if job.task == "density":
            return self.cache.has(keys.density(job.name), "daace")
        if job.task == "tuning":
            return self.cache.has(keys.tuning(self.spec.algorithm(job.name)), "json")
        return self.cache.has(keys.graph(self.spec.algorithm(job.name)), "graph")

    def _obstacle(self, keys: TableKeys, algorithm: str = "") -> str:
        """Return why nothing can be made for a table or an algorithm; empty if it can."""
        needed = [("sample", "")]
        if algorithm:
            density = self.spec.algorithm(algorithm).density
            needed += [("graph", algorithm), ("tuning", algorithm), ("density", density)]
        return next((self.broken[k] for n in needed if (k := (keys, *n)) in self.broken), "")

    def _compare(self, trials: Trials) -> None:
        jobs = [
            self._job(keys, "comparison")
            for keys in trials
            if keys.comparison() not in self.file.records
            and not any(broken[0] == keys for broken in self.broken)
        ]
        with Bar("Comparing densities", len(jobs), shown=self.progress and bool(jobs)) as bar:
            for job, records in self._done(jobs):
                self.file.append(r for r in records if "key" in r)
                bar.advance(job.keys.table.name)

    def _run_trials(self, busy: Trials) -> None:
        jobs = []
        for keys, trials in busy.items():
            for algorithm in self.spec.algorithms:
                mine = [t for t in trials if t.algorithm == algorithm.name]
                obstacle = self._obstacle(keys, algorithm.name)
                if obstacle:
                    self._write([t.describe() | describe_failure(obstacle) for t in mine])
                    continue
                chunks = [tuple(mine[i : i + CHUNK]) for i in range(0, len(mine), CHUNK)]
                jobs += [self._job(keys, "trials", "", chunk) for chunk in chunks]
        total = sum(len(trials) for trials in busy.values())
        shown = self.progress and total > 0
        with Bar("Planning", total, done=self.new, shown=shown) as bar:
            for job, records in self._done(jobs):
                self._write(records)
                bar.advance(f"{job.keys.table.name}", steps=len(records))

    def _write(self, records: list[Record]) -> None:
        self.file.append(records)
        self.new += len(records)

    def _done(self, jobs: list[Job]) -> Iterator[tuple[Job, list[Record]]]:
        """Yield jobs with their records; if a worker dies, no other work is lost."""
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
        """Do a job one trial at a time, each in a separate worker."""
        if job.task != "trials":
            return self._survive(job, {})
        return [
            record
            for trial in job.trials
            for record in self._survive(
                self._job(job.keys, job.task, "", (trial,)), trial.describe()
            )
        ]

    def _survive(self, job: Job, about: Record) -> list[Record]:
        try:
            return self.crew.alone(do, job)
        except WorkerDied:
            why = "WorkerDied: its worker was killed, or ran out of memory."
            return [about | describe_failure(why)]


def _set_aside(folder: Path) -> None:
    """Rename the records of an earlier run, unless it is still writing; nothing is deleted."""
    old = folder / RECORDS
    if old.exists():
        with RecordFile(old):
            number = 1
            while (kept := folder / f"records-{number}.jsonl").exists():
                number += 1
            old.rename(kept)


def _summary(trials: Trials, file: RecordFile, new: int) -> RunSummary:
    keys = [trial.key for mine in trials.values() for trial in mine]
    records = [file.records[key] for key in keys if key in file.records]
    memory = [float(r["run"]["memory_mb"]) for r in records]
    return RunSummary(
        asked=len(keys),
        answered=len(records),
        failed=sum(r["status"] == "failed" for r in records),
        new=new,
        memory_mb=max(memory, default=0.0),
    )
