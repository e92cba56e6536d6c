"""Many rows: solved in chunks, in one process or several, with the same result."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, overload

import numpy as np
import pandas as pd

from daace._checks import check_choice
from daace._progress import Bar
from daace._typing import IntArray
from daace._workers import BACKENDS, Backend, Workers
from daace.exceptions import InvalidInput
from daace.explain.outcomes import OUTCOME, Layout, to_outcome
from daace.explain.question import Chunk, Question
from daace.explain.summary import Summary
from daace.planners.base import Plan

if TYPE_CHECKING:
    from daace.explain.explanation import Explanation

#: Rows that are shared out as one block, into so many chunks that are solved together. Larger
#: chunks are faster, by half from 32 to 128; more of them leave work for more processes, and equal
#: ones keep these busy to the end. What is solved together is part of the result, so it depends on
#: the rows alone.
BLOCK, CHUNKS, SMALLEST_CHUNK = 640, 4, 32


def solve_rows(
    question: Question,
    rows: Chunk,
    *,
    parts: Sequence[slice] | None = None,
    n_jobs: int = 1,
    backend: Backend = "loky",
    progress: bool = False,
) -> list[Plan]:
    """Plan a path for each row; the plans are the same for any number of processes.

    Args:
        question: what the rows share.
        rows: as many as there are.
        parts: which rows are solved together; those of `share_out` when left out.
        n_jobs: processes, as in joblib: -1 means all processors.
        backend: who runs them.
        progress: show a bar on stderr, or a line a minute in a log.
    """
    check_choice("backend", backend, BACKENDS)
    count = len(rows.rows)
    chunks = [rows.take(part) for part in (share_out(count) if parts is None else parts)]
    plans: dict[int, list[Plan]] = {}
    with Bar("Explaining", count, shown=progress) as bar:
        for number, part in _solve_chunks(question, chunks, n_jobs, backend):
            plans[number] = part
            bar.advance(steps=len(part))
    return [plan for number in sorted(plans) for plan in plans[number]]


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


def among(rows: IntArray, parts: Sequence[slice]) -> list[slice]:
    """Return which of some rows, in ascending order, are in each part of all rows.

    Example:
        >>> among(np.array([0, 1, 4]), [slice(0, 3), slice(3, 6)])
        [slice(0, 2, None), slice(2, 3, None)]
    """
    edges = [np.searchsorted(rows, (part.start, part.stop)).tolist() for part in parts]
    return [slice(low, high) for low, high in edges if low < high]


def _solve_chunks(
    question: Question, chunks: list[Chunk], n_jobs: int, backend: Backend
) -> Iterator[tuple[int, list[Plan]]]:
    """Yield the number of each chunk and its plans, as they come."""
    if n_jobs == 1 or len(chunks) <= 1:
        yield from enumerate(map(question.solve, chunks))
        return
    from joblib import effective_n_jobs

    batch = secrets.token_hex(8)
    with Workers(jobs=int(effective_n_jobs(n_jobs)), backend=backend).ready() as crew:
        yield from crew.run(_solve_in_worker, [(batch, question, chunk) for chunk in chunks])


def check_jobs(n_jobs: int | None) -> int:
    """Return the number of processes; None is one.

    Raises:
        InvalidInput: it is 0, or no integer.
    """
    n_jobs = 1 if n_jobs is None else n_jobs
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
        raise InvalidInput(f"'n_jobs' must be an integer other than 0. Got {n_jobs!r}.")
    return n_jobs


#: In a worker: the first copy of the question it got, by batch.
_kept: dict[str, Question] = {}


def _solve_in_worker(task: tuple[str, Question, Chunk]) -> list[Plan]:
    """Solve a chunk by the copy at hand, so that what its density caches serves all chunks."""
    batch, question, chunk = task
    if batch not in _kept:
        _kept.clear()
        _kept[batch] = question
    return _kept[batch].solve(chunk)


@dataclass(frozen=True, eq=False)
class Batch:
    """Explanations of many rows, in their order.

    Attributes:
        explanations: one per row.
        index: of the frame that was explained.
        features: names, in the model's order.
        others: the columns of that frame that the model does not know.

    Example:
        >>> from daace import GaussianMixture
        >>> from daace.explain.explainer import Explainer
        >>> density = GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["ill", "well"])
        >>> many = Explainer(density).explain_batch([[0.0], [1.0]], target="well")
        >>> many.to_frame()["status"].tolist()
        ['found', 'found']
    """

    explanations: tuple[Explanation, ...]
    index: pd.Index
    features: tuple[str, ...]
    others: pd.DataFrame | None = None

    def __len__(self) -> int:
        return len(self.explanations)

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self.explanations)

    @overload
    def __getitem__(self, position: int) -> Explanation: ...
    @overload
    def __getitem__(self, position: slice) -> Batch: ...
    def __getitem__(self, position: int | slice) -> Explanation | Batch:
        if isinstance(position, slice):
            others = None if self.others is None else self.others.iloc[position]
            return Batch(self.explanations[position], self.index[position], self.features, others)
        return self.explanations[position]

    def __repr__(self) -> str:
        return f"Batch(rows={len(self)}, found={sum(e.found for e in self)})"

    def summary(self) -> Summary:
        """Return how many were found, and what they cost."""
        outcomes = [to_outcome(e, detail=False) for e in self]
        return Summary.of(pd.DataFrame(outcomes, columns=list(OUTCOME)))

    def to_frame(self, *, detail: bool = False) -> pd.DataFrame:
        """Return one row per explanation: outcome, then the counterfactual in user units.

        Columns that the model does not know come first, as they were given. The last column of
        the outcome, `notes`, is what the search has to say besides, such as that the time limit
        cut it off, or why a row is invalid; it is empty where there is nothing. The features are
        missing where no counterfactual was found. Where a column that was given has the name of a
        column of the outcome, the latter is called 'explanation_...'.

        Args:
            detail: as in the files of `explain_file`: also `changes`, the largest changes in
                words, and for each feature x `x_start` and `x_change`, which is missing where
                nothing changes.
        """
        outcomes = [to_outcome(e, detail=detail) for e in self]
        return self._layout.wide(outcomes, self.index, self._others, detail=detail)

    def changes(self) -> pd.DataFrame:
        """Return one row per change: feature, from, to, change and change_sd, as `e.changes()`.

        Columns that the model does not know come first. Rows without a change are not there.
        """
        outcomes = [to_outcome(e) for e in self]
        sd = self.explanations[0].sd if self.explanations else np.ones(len(self.features))
        return self._layout.long(outcomes, self.index, self._others, sd=sd)

    @property
    def _others(self) -> pd.DataFrame:
        return pd.DataFrame(index=self.index) if self.others is None else self.others

    @property
    def _layout(self) -> Layout:
        return Layout(self.features, list(self._others.columns))
