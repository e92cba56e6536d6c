"""Questions about many rows: of a frame, of a file, or by group."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any

from daace._workers import Backend
from daace.density.base import ConditionalDensity
from daace.explain.answers.summary import Summary
from daace.explain.asking.query import Query, refuse
from daace.explain.asking.rows import read_rows
from daace.explain.asking.settings import Settings
from daace.explain.files.stream import explain_file
from daace.explain.several.audit import Audit, split_groups
from daace.explain.several.batch import Batch
from daace.explain.several.jobs import Jobs, Progress, answer_all
from daace.landscape.constraints import Constraints
from daace.planners.base import Planner


class ManyRows(ABC):
    """The questions about many rows that an `Explainer` answers besides those about one."""

    density: ConditionalDensity

    @abstractmethod
    def _settings(self, **given: Any) -> Settings:
        """Return the settings of one question: the explainer's own, unless overridden."""

    def explain_batch(
        self,
        frame: object,
        *,
        target: object = None,
        n_jobs: int | None = 1,
        backend: Backend = "loky",
        progress: Progress = False,
        penalty: float | None = None,
        plausibility: float | None = None,
        min_log_prob: float | None = None,
        min_posterior: float | None = None,
        constraints: Constraints | None = None,
        planner: Planner | None = None,
        time_limit: float | None = None,
        strict: bool = False,
        seed: int = 0,
    ) -> Batch:
        """Explain every row of a frame, in order.

        A row that cannot be explained (a gap where the training table had none, text instead of a
        number, a start that violates a constraint) has the status 'invalid_row' and the reason as
        a note; the others are answered.

        Args:
            frame: rows in user units, as a DataFrame (pandas or polars) or a two-dimensional
                array. Columns that the model does not use are passed through to the answers.
            target: one class for all rows, or one per row; if there are two classes, None stands
                for the less probable class of each row.
            n_jobs: number of processes, -1 for one per core; None is 1. It does not change the
                answers.
            backend: backend of the processes: 'loky' (joblib's own), 'dask' or 'ray'. A connected
                Dask client or Ray cluster is used; otherwise one is started on this machine.
            progress: show a bar on stderr, or a line per minute in a log; or a function that is
                called with the number of finished rows and of all rows.
            penalty: as in `explain`.
            plausibility: as in `explain`.
            min_log_prob: as in `explain`.
            min_posterior: as in `explain`.
            constraints: as in `explain`.
            planner: as in `explain`.
            time_limit: seconds for each 32 to 160 rows, which are solved together.
            strict: raise an error before the search begins if a row cannot be explained.
            seed: seed of the random generator.

        Raises:
            InvalidInput: as `explain`, before the search begins; for single rows only if `strict`.
        """
        settings = self._settings(
            penalty=penalty, plausibility=plausibility, min_log_prob=min_log_prob,
            min_posterior=min_posterior, constraints=constraints, planner=planner,
            time_limit=time_limit, seed=seed,
        )  # fmt: skip
        rows = read_rows(self.density, frame)
        if strict:
            refuse({**rows.invalid, **settings.excluded(rows)}, len(rows))
        query = Query.of(settings, rows, target, strict=strict)
        answers = answer_all(query, Jobs(n_jobs, backend, progress))
        return Batch(answers, rows.others.index, self.density.features_, rows.others)

    def audit(
        self,
        frame: object,
        *,
        by: object,
        target: object = None,
        n_jobs: int | None = 1,
        progress: bool = False,
        strict: bool = False,
        seed: int = 0,
    ) -> Audit:
        """Explain every row of a frame and compare the answers by group.

        Args:
            frame: rows in user units, as a DataFrame or a `Table`.
            by: name of a column, which need not be a feature of the model; or one group per row.
            target: as in `explain_batch`.
            n_jobs: as in `explain_batch`.
            progress: as in `explain_batch`.
            strict: as in `explain_batch`.
            seed: seed of the random generator.

        Raises:
            InvalidInput: as for `explain_batch`; or a group is missing, or there are too many.
        """
        rows, groups = split_groups(frame, by, self.density.features_)
        answers = self.explain_batch(
            rows, target=target, n_jobs=n_jobs, progress=progress, strict=strict, seed=seed
        )
        return Audit(answers, groups, str(groups.name))

    def explain_file(
        self,
        source: str | os.PathLike[str],
        output: str | os.PathLike[str],
        *,
        target: object = None,
        n_jobs: int | None = 1,
        backend: Backend = "loky",
        progress: bool = False,
        resume: bool = True,
        time_limit: float | None = None,
        strict: bool = False,
        long: bool = False,
        seed: int = 0,
    ) -> Summary:
        """Explain every row of a file, which may be larger than memory.

        Finished rows are kept beside the output, in a file whose name ends in '.part': after an
        interruption, the same call resumes from it. The answers are those of `explain_batch` on
        all rows. An output has one writer at a time; if it is a link, its target is replaced.

        Args:
            source: CSV, TSV or parquet file; text may be compressed. Columns that the model does
                not use are passed through to the answers.
            output: CSV or parquet file with one row per answer, as `Batch.to_frame(detail=True)`;
                or JSON lines ('.jsonl') with complete explanations. It is written when all rows
                are explained. In CSV, cost, log_prob, posterior and changes are rounded to six
                digits; starts and ends are exact, because the row that is written must be the row
                that was judged. Text that a spreadsheet would run is prefixed with a single quote.
            target: one class for all rows; if there are two classes, None stands for the less
                probable class of each row.
            n_jobs: as in `explain_batch`.
            backend: as in `explain_batch`.
            progress: as in `explain_batch`.
            resume: resume from a '.part' file; False starts again.
            time_limit: seconds for each 32 to 160 rows, which are solved together.
            strict: as in `explain_batch`.
            long: write one row per change instead, as `Batch.changes`; CSV and parquet only.
            seed: seed of the random generator.

        Raises:
            InvalidInput: a file or a row is invalid, or the '.part' file belongs to another
                question, model, classifier or user, or to a run that is still in progress.
            MissingDependency: a parquet file is given, and pyarrow is not installed.
            OSError: the output cannot be written.
        """
        settings = self._settings(time_limit=time_limit, seed=seed)
        return explain_file(
            settings, source, output, target=target, jobs=Jobs(n_jobs, backend, progress),
            resume=resume, strict=strict, long=long,
        )  # fmt: skip
