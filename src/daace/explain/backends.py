"""Who runs the processes of a batch: joblib's own workers, dask or ray."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from importlib import import_module
from typing import Any, Literal, TypeVar

from daace.exceptions import MissingDependency

Result = TypeVar("Result")
Backend = Literal["loky", "dask", "ray"]

BACKENDS = ("loky", "dask", "ray")


def run_parallel(
    function: Callable[..., Result],
    calls: Sequence[tuple[Any, ...]],
    *,
    n_jobs: int,
    backend: Backend,
) -> Iterator[Result]:
    """Yield the result of each call, in their order.

    Args:
        function: what to call; known to the workers by its name.
        calls: arguments of each call.
        n_jobs: processes; -1 means all processors.
        backend: who runs them. A dask client or ray cluster that is connected is used; else one
            is started on this machine and left at the end.

    Raises:
        MissingDependency: the backend's package is not installed.
    """
    from joblib import Parallel, delayed, effective_n_jobs, parallel_config

    tasks = [delayed(function)(*call) for call in calls]
    if backend == "loky":
        yield from Parallel(n_jobs=n_jobs, backend="loky", return_as="generator", max_nbytes=None)(
            tasks
        )
        return
    with ExitStack() as stack:
        connect = _connect_dask if backend == "dask" else _connect_ray
        connect(stack, effective_n_jobs(n_jobs))
        stack.enter_context(parallel_config(backend, n_jobs=n_jobs))
        # A list: not every version of these backends can hand out results one by one.
        yield from Parallel(batch_size=1)(tasks)


def _connect_dask(stack: ExitStack, n_jobs: int) -> None:
    try:
        distributed = import_module("distributed")
    except ImportError:
        raise MissingDependency(
            "The backend 'dask' needs dask.distributed: pip install 'daace[dask]'."
        ) from None
    try:
        distributed.get_client()
    except ValueError:  # nobody is connected
        stack.enter_context(
            distributed.Client(n_workers=n_jobs, threads_per_worker=1, dashboard_address=None)
        )


def _connect_ray(stack: ExitStack, n_jobs: int) -> None:
    try:
        ray = import_module("ray")
        register = import_module("ray.util.joblib").register_ray
    except ImportError:
        raise MissingDependency("The backend 'ray' needs ray: pip install 'daace[ray]'.") from None
    if not ray.is_initialized():
        ray.init(
            num_cpus=n_jobs, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
        )
        stack.callback(ray.shutdown)
    register()
