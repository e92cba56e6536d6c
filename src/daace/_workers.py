"""Workers for parallel tasks: this process, other processes, or a cluster of Dask or Ray."""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from itertools import islice
from typing import Any, Literal, TypeVar

from daace._checks import check_choice, check_integer
from daace._signals import deferring_interrupts
from daace.exceptions import DaaceError, InvalidInput, MissingDependency

Task = TypeVar("Task")
Result = TypeVar("Result")
Backend = Literal["loky", "dask", "ray"]

BACKENDS = ("loky", "dask", "ray")

#: Tasks per worker that are handed out ahead.
PREPARED = 2

#: Seconds between two checks of a worker that its parent is alive.
WATCH = 1.0

#: Names of the errors that joblib's backends raise when a process dies.
DEATHS = {
    "BrokenProcessPool",
    "TerminatedWorkerError",
    "KilledWorker",
    "RayActorError",
    "WorkerCrashedError",
}


class WorkerDied(DaaceError):
    """A worker process ended: killed, out of memory, or crashed by a library."""


@dataclass(frozen=True, kw_only=True)
class Workers:
    """The number of workers, and where they run.

    Args:
        jobs: number of processes of the backend 'loky', 1 for this process, -1 for one per core;
            number of simultaneous tasks of a cluster.
        backend: 'loky' (this machine), 'dask' or 'ray'.
        dask_address: address of the Dask scheduler; None for the one that this process is
            connected to, if any, or else a temporary one on this machine.
        ray_address: address of the Ray cluster; None as for `dask_address`.

    Example:
        >>> with Workers(jobs=1).ready() as crew:
        ...     sorted(crew.run(abs, [-1, -2]))
        [(0, 1), (1, 2)]
    """

    jobs: int = 1
    backend: Backend = "loky"
    dask_address: str | None = None
    ray_address: str | None = None

    def __post_init__(self) -> None:
        if self.jobs != -1:
            check_integer("jobs", self.jobs, at_least=1)
        check_choice("backend", self.backend, BACKENDS)
        for name in ("dask", "ray"):
            if getattr(self, f"{name}_address") is not None and self.backend != name:
                raise InvalidInput(
                    f"'{name}_address' must go with the backend '{name}'. Got '{self.backend}'.",
                    argument=f"{name}_address",
                )

    @contextmanager
    def ready(self) -> Iterator[Crew]:
        """Connect to the workers, and disconnect at the end.

        Raises:
            MissingDependency: the backend's package is not installed.
            InvalidInput: nothing answers at the address.
        """
        if self.backend == "ray":
            with self._ray():
                yield Crew(self)
        elif self.backend == "dask":
            from joblib import parallel_config

            with self._dask(), parallel_config("dask"):
                yield Crew(self)
        else:
            yield Crew(self)

    @contextmanager
    def _dask(self) -> Iterator[None]:
        distributed = _import("distributed", "dask")
        if self.dask_address is None and _is_connected(distributed):
            yield
            return
        try:
            if self.dask_address is not None:
                client = distributed.Client(self.dask_address)
            else:
                client = distributed.Client(
                    n_workers=self._cores(), threads_per_worker=1, dashboard_address=None
                )
        except (OSError, ValueError) as error:
            raise InvalidInput(
                f"'dask_address' must be that of a scheduler, like tcp://host:8786. "
                f"'{self.dask_address}' does not answer ({error}).",
                argument="dask_address",
            ) from None
        with client:
            yield

    def _cores(self) -> int:
        from joblib import effective_n_jobs

        return int(effective_n_jobs(self.jobs))

    @contextmanager
    def _ray(self) -> Iterator[None]:
        ray = _import("ray", "ray")
        if self.ray_address is None and ray.is_initialized():
            yield
            return
        try:
            if self.ray_address is not None:
                ray.init(address=self.ray_address, log_to_driver=False)
            else:
                ray.init(
                    num_cpus=self._cores(),
                    include_dashboard=False,
                    log_to_driver=False,
                    logging_level="ERROR",
                )
        except (ConnectionError, ValueError) as error:
            raise InvalidInput(
                f"'ray_address' must be that of a cluster, like ray://host:10001. "
                f"'{self.ray_address}' does not answer ({error}).",
                argument="ray_address",
            ) from None
        try:
            yield
        finally:
            ray.shutdown()


class Crew:
    """Workers that are ready to run tasks."""

    def __init__(self, workers: Workers) -> None:
        self.workers = workers

    @property
    def handed_out(self) -> int:
        """Number of tasks that may be with workers at the same time."""
        from joblib import effective_n_jobs

        return PREPARED * int(effective_n_jobs(self.workers.jobs))

    def run(
        self, function: Callable[[Task], Result], tasks: Iterable[Task]
    ) -> Iterator[tuple[int, Result]]:
        """Yield the number of each task and its result, as they are finished.

        Tasks are handed out in order, and taken from the iterable only then. Workers on this
        machine end with this process, even if it is killed.

        Raises:
            WorkerDied: a worker process ended; results that were not yielded are lost.
        """
        if self.workers.backend == "loky" and self.workers.jobs == 1:
            for number, task in enumerate(tasks):
                yield number, function(task)
            return
        try:
            several = self._ray if self.workers.backend == "ray" else self._joblib
            yield from several(function, enumerate(tasks))
        except Exception as error:
            if DEATHS & {kind.__name__ for kind in type(error).__mro__}:
                raise WorkerDied("A worker died.") from None
            raise

    def alone(self, function: Callable[[Task], Result], task: Task) -> Result:
        """Return the result of one task, run by a worker with no other task.

        Raises:
            WorkerDied: the worker process ended.
        """
        apart = Crew(replace(self.workers, jobs=max(self.workers.jobs, 2)))
        return next(iter(apart.run(function, [task])))[1]

    def _joblib(
        self, function: Callable[[Task], Result], tasks: Iterable[tuple[int, Task]]
    ) -> Iterator[tuple[int, Result]]:
        from joblib import Parallel, delayed

        # Two warnings that are of no use to users: loky replaces a worker whose memory has grown,
        # as by importing torch; and tasks are cancelled when the work is stopped.
        warnings.filterwarnings(
            "ignore", "A worker stopped while some jobs", UserWarning, "joblib.externals.loky"
        )
        warnings.filterwarnings(
            "ignore", r"\d+ tasks (have been|which were still)", UserWarning, "joblib.parallel"
        )
        pool = Parallel(
            n_jobs=self.workers.jobs,
            batch_size=1,
            pre_dispatch=self.handed_out,
            return_as="generator_unordered",
            max_nbytes=None,
            initializer=_tied_to(os.getpid()),  # threads and clusters ignore it
        )
        calls = (delayed(_numbered)(function, number, task) for number, task in tasks)
        with _holding_failures_of_loky(), ExitStack() as stack:
            with deferring_interrupts():  # an interrupt while loky starts may deadlock it
                results = pool(calls)  # starts the workers and hands out the first tasks
                stack.enter_context(closing(results))  # cancels what is left at the end
            yield from results

    def _ray(
        self, function: Callable[[Task], Result], tasks: Iterable[tuple[int, Task]]
    ) -> Iterator[tuple[int, Result]]:
        """Hand out tasks without joblib, whose Ray backend returns all results at the end."""
        ray = _import("ray", "ray")
        remote = ray.remote(num_cpus=1, max_retries=0)(_numbered)
        rest = iter(tasks)
        waiting: list[Any] = []
        while True:
            for number, task in islice(rest, self.handed_out - len(waiting)):
                waiting.append(remote.remote(function, number, task))
            if not waiting:
                return
            ready, waiting = ray.wait(waiting, num_returns=1)
            yield ray.get(ready[0])


@contextmanager
def _holding_failures_of_loky() -> Iterator[None]:
    """Hide errors of loky's own thread if the work is stopped.

    Workers then end while they send results, and that thread fails on an incomplete one.
    """
    shown, held = threading.excepthook, list[threading.ExceptHookArgs]()

    def hook(failure: threading.ExceptHookArgs) -> None:
        if failure.thread is not None and failure.thread.name == "ExecutorManagerThread":
            held.append(failure)
        else:
            shown(failure)

    threading.excepthook = hook
    try:
        yield
    except (KeyboardInterrupt, GeneratorExit):
        raise  # the thread may fail even later: the hook stays
    except BaseException:
        threading.excepthook = shown
        for failure in held:
            shown(failure)
        raise
    threading.excepthook = shown


def _numbered(function: Callable[[Task], Result], number: int, task: Task) -> tuple[int, Result]:
    return number, function(task)


@cache
def _tied_to(parent: int) -> Callable[[], None]:
    """Return the initializer of a worker: a thread that ends it when its parent ends.

    A parent that is killed cannot stop its workers. The functions are nested so that they are
    pickled by value: the thread starts before the worker imports this package, which takes most of
    its start-up time.

    Args:
        parent: process id. The result is cached, as joblib replaces its workers whenever the
            initializer is another object.
    """

    def wait() -> None:
        if sys.platform == "win32":
            import _winapi

            synchronize = 0x00100000
            handle = _winapi.OpenProcess(synchronize, False, parent)  # OSError: it is gone
            _winapi.WaitForSingleObject(handle, _winapi.INFINITE)
        elif os.getppid() == parent:
            # Not by prctl(PR_SET_PDEATHSIG), which is about the thread that made this process.
            while os.getppid() == parent:
                time.sleep(WATCH)
        else:  # the parent is gone already, or this is a grandchild
            while True:
                os.kill(parent, 0)  # OSError: it is gone
                time.sleep(WATCH)

    def watch() -> None:
        with suppress(OSError):
            wait()
        os._exit(1)  # at once: nobody is left to take a result

    def begin() -> None:
        threading.Thread(target=watch, name="daace-parent", daemon=True).start()

    return begin


def _is_connected(distributed: Any) -> bool:
    try:
        distributed.get_client()
    except ValueError:
        return False
    return True


def _import(module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise MissingDependency(
            f"The backend '{extra}' needs {module}: pip install 'daace[{extra}]'."
        ) from None
