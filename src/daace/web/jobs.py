"""Running searches: in threads, with progress, and stopped when no client waits for them."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Any

from daace.exceptions import DaaceError, InvalidInput
from daace.planners.watch import Stopped, watched

#: Threads for single answers, and for slow work: neither waits for the other.
QUICK, SLOW = 6, 2

#: Maximum number of tasks waiting or running; more are refused.
MOST_WAITING = 256

#: Number of finished jobs that are kept, and of finished batches among them.
REMEMBERED, BATCHES = 64, 4


class Busy(DaaceError):
    """Too many jobs are waiting."""


@dataclass(eq=False)
class Task:
    """One piece of work.

    Attributes:
        name: name of the job.
        kind: kind of work.
        limit: longest time at work, in seconds; None for no limit.
        done: number of finished rows of a batch.
        total: number of rows of a batch; 0 for other jobs.
        evaluations: paths that the current search has evaluated.
        began: when the work began; None while it waits.
        ended: when it ended.
    """

    name: str
    kind: str
    limit: float | None = None
    done: int = 0
    total: int = 0
    evaluations: int = 0
    began: float | None = None
    ended: float | None = None
    future: Future[Any] = field(default_factory=Future)
    _stop: Event = field(default_factory=Event)

    def stop(self) -> None:
        """Stop the work at its next check of the clock; waiting work does not begin."""
        self._stop.set()
        self.future.cancel()

    @property
    def state(self) -> str:
        """One of 'waiting', 'running', 'done', 'failed', 'stopped'."""
        if self.future.cancelled():
            return "stopped"
        if self.future.done():
            error = self.future.exception()
            if isinstance(error, Stopped):
                return "stopped"
            return "done" if error is None else "failed"
        return "waiting" if self.began is None else "running"

    def to_record(self) -> dict[str, Any]:
        """Return the progress, ready for JSON."""
        until = time.monotonic() if self.ended is None else self.ended
        record: dict[str, Any] = {
            "job": self.name,
            "kind": self.kind,
            "state": self.state,
            "done": self.done,
            "total": self.total,
            "evaluations": self.evaluations,
            "seconds": 0.0 if self.began is None else round(until - self.began, 2),
        }
        if self.state == "failed":
            error = self.future.exception()
            known = isinstance(error, DaaceError)
            record["message"] = str(error) if known else "An internal error; see the server's log."
        if self.state == "done" and isinstance(self.future.result(), dict):
            record["summary"] = self.future.result().get("summary", "")
        return record

    def advance(self, done: int, total: int) -> None:
        """Record the number of finished rows."""
        self.done, self.total = done, total
        self.look(self.evaluations)

    def look(self, evaluations: int) -> None:
        """Record the progress of a search.

        Raises:
            Stopped: no client waits for it, or it takes too long.
        """
        self.evaluations = evaluations
        if self._stop.is_set():
            raise Stopped("The search was stopped.")
        at_work = 0.0 if self.began is None else time.monotonic() - self.began
        if self.limit is not None and at_work > self.limit:
            raise Stopped(f"The search was stopped after {self.limit:g} seconds.")


class Tasks:
    """All jobs of a server."""

    def __init__(self) -> None:
        self._pools = {
            False: ThreadPoolExecutor(QUICK, thread_name_prefix="answer"),
            True: ThreadPoolExecutor(SLOW, thread_name_prefix="search"),
        }
        self._jobs: OrderedDict[str, Task] = OrderedDict()
        self._lock = Lock()

    def start(
        self,
        kind: str,
        work: Callable[[Task], Any],
        *,
        slow: bool = False,
        name: str | None = None,
        limit: float | None = None,
    ) -> Task:
        """Start some work.

        Args:
            kind: kind of work.
            work: a function of the job, to which it reports.
            slow: whether it may take long.
            name: name of the job; generated if None.
            limit: longest time at work, in seconds.

        Raises:
            Busy: too many jobs are waiting.
            InvalidInput: a running job has this name.
        """
        job = Task(name or secrets.token_hex(8), kind, limit)
        with self._lock:
            at_work = sum(not other.future.done() for other in self._jobs.values())
            if at_work >= MOST_WAITING:
                raise Busy("Too many questions are waiting: try again in a moment.")
            known = self._jobs.get(job.name)
            if known is not None and not known.future.done():
                raise InvalidInput(
                    argument="job", expected="not be the name of a running job", got=f"'{job.name}'"
                )
            self._forget()
            job.future = self._pools[slow].submit(_run, job, work)
            self._jobs[job.name] = job
        return job

    def find(self, name: str) -> Task | None:
        """Return the job of a name; None if there is none."""
        with self._lock:
            return self._jobs.get(name)

    def close(self) -> None:
        """Stop everything."""
        with self._lock:
            for job in self._jobs.values():
                job.stop()
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)

    def _forget(self) -> None:
        """Drop the oldest finished jobs; of batches, whose results are large, fewer are kept."""
        finished = [job for job in self._jobs.values() if job.future.done()]
        batches = [job for job in finished if job.kind == "batch"]
        for job in {*finished[:-REMEMBERED], *batches[:-BATCHES]}:
            del self._jobs[job.name]


def _run(job: Task, work: Callable[[Task], Any]) -> Any:
    job.began = time.monotonic()
    try:
        with watched(job.look):
            job.look(0)
            return work(job)
    finally:
        job.ended = time.monotonic()
