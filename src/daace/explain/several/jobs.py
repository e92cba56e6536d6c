"""Explain many rows: in chunks that are solved together, by one process or several."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from daace._checks import check_choice
from daace._progress import Bar
from daace._workers import BACKENDS, Backend, Workers
from daace.exceptions import InvalidInput
from daace.explain.answering import explain_invalid, explain_solved
from daace.explain.asking.query import Query
from daace.explain.asking.settings import Settings
from daace.explain.asking.solving import solve
from daace.explain.explanation import Explanation

#: Rows of a block, chunks that a block is divided into, and the smallest chunk. Larger
#: chunks are faster, by half from 32 to 128; more of them leave work for more processes, and equal
#: ones keep these busy to the end. What is solved together is part of the result, so it depends on
#: the rows alone.
BLOCK, CHUNKS, SMALLEST_CHUNK = 640, 4, 32

#: Whether a bar is shown; or a function that is called with the rows done and all rows.
Progress = bool | Callable[[int, int], None]


@dataclass(frozen=True)
class Jobs:
    """How the work is shared out; the answers do not depend on it.

    Args:
        count: processes, as in joblib: -1 means all processors; None is one.
        backend: runs them: 'loky' (this machine), 'dask' or 'ray'.
        progress: show a bar on stderr, or a line a minute in a log; or a function that is called
            with the rows done and all rows.

    Raises:
        InvalidInput: the number is 0 or not an integer, or there is no such backend.
    """

    count: int | None = 1
    backend: Backend = "loky"
    progress: Progress = False

    def __post_init__(self) -> None:
        whole = isinstance(self.count, int) and not isinstance(self.count, bool)
        if not (self.count is None or (whole and self.count != 0)):
            raise InvalidInput(
                argument="n_jobs", expected="be an integer other than 0", got=repr(self.count)
            )
        check_choice("backend", self.backend, BACKENDS)

    @property
    def single(self) -> bool:
        """Whether this process does all the work."""
        return self.count in (None, 1)


def answer_all(
    query: Query, jobs: Jobs, *, parts: Sequence[slice] | None = None
) -> tuple[Explanation, ...]:
    """Explain every row of a query.

    Args:
        query: what is asked.
        jobs: who works on it.
        parts: which rows are solved together; those of `share_out` when left out.
    """
    chunks = [query.take(part) for part in (share_out(len(query)) if parts is None else parts)]
    answers: dict[int, list[Explanation]] = {}
    done = 0
    with Bar("Explaining", len(query), shown=jobs.progress is True) as bar:
        for number, some in _answer_chunks(chunks, jobs):
            answers[number] = some
            done += len(some)
            bar.advance(steps=len(some))
            if callable(jobs.progress):
                jobs.progress(done, len(query))
    return tuple(
        e.with_model(chunk.take(slice(row, row + 1)))
        for number, chunk in enumerate(chunks)
        for row, e in enumerate(answers[number])
    )


def _answer_chunks(chunks: list[Query], jobs: Jobs) -> Iterator[tuple[int, list[Explanation]]]:
    """Yield the number of each chunk and its answers, as they come."""
    if jobs.single or len(chunks) <= 1:
        yield from enumerate(map(answer_chunk, chunks))
        return
    from joblib import effective_n_jobs

    batch = secrets.token_hex(8)
    count = int(effective_n_jobs(jobs.count))
    with Workers(jobs=count, backend=jobs.backend).ready() as crew:
        yield from crew.run(_answer_in_worker, [(batch, chunk) for chunk in chunks])


#: In a worker: the first copy of the settings it got, by batch.
_kept: dict[str, Settings] = {}


def _answer_in_worker(task: tuple[str, Query]) -> list[Explanation]:
    """Answer a chunk by the settings at hand, so that what their density caches serves all."""
    batch, chunk = task
    if batch not in _kept:
        _kept.clear()
        _kept[batch] = chunk.settings
    return answer_chunk(replace(chunk, settings=_kept[batch]))


def answer_chunk(query: Query) -> list[Explanation]:
    """Explain rows that are solved together, without what the answers share: the model."""
    solved = solve(query)
    return [
        explain_invalid(query, row, one)
        if isinstance(one := solved[row], str)
        else explain_solved(query, one, row=row)
        for row in range(len(query))
    ]


def share_out(count: int) -> list[slice]:
    """Return the rows of each chunk: every block is cut into a few of equal size.

    Example:
        >>> [(part.start, part.stop) for part in share_out(100)]
        [(0, 34), (34, 67), (67, 100)]
    """
    parts = []
    for begin in range(0, count, BLOCK):
        size = min(BLOCK, count - begin)
        chunks = min(CHUNKS, max(1, size // SMALLEST_CHUNK))
        edges = [begin + -(-size * k // chunks) for k in range(chunks + 1)]
        parts += [slice(low, high) for low, high in pairwise(edges)]
    return parts
