"""The front door: learn a density once, then ask what would have to change."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, Literal

from daace._checks import check_integer
from daace._workers import Backend
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput
from daace.explain.answering import Jobs, answer_all, explain_solved
from daace.explain.answers.reasons import find_reasons
from daace.explain.answers.summary import Summary
from daace.explain.asking.identity import name_of
from daace.explain.asking.query import Query, refuse
from daace.explain.asking.rows import read_row, read_rows
from daace.explain.asking.settings import Settings
from daace.explain.asking.solving import solve_row
from daace.explain.explanation import Explanation
from daace.explain.files.model_file import save
from daace.explain.files.stream import explain_file
from daace.explain.judging.classifier import ClassifierPosterior
from daace.explain.several.alternatives import with_alternatives
from daace.explain.several.audit import Audit, split_groups
from daace.explain.several.batch import Batch
from daace.explain.several.front import ExplanationFront, search_front
from daace.explain.several.tradeoff import PENALTIES, Tradeoff, check_penalties, scan_penalties
from daace.explain.trust.check import Check
from daace.explain.trust.review import ModelReview
from daace.landscape.constraints import Constraints
from daace.planners.base import Planner
from daace.planners.nsga2 import NSGA2


@dataclass(frozen=True, eq=False)
class Explainer(ModelReview):
    """Answers "what would have to change?" over a density.

    Args:
        density: a fitted density.
        planner: how to look for a path; `PathOptimizer()` when left out.
        penalty: how much the path avoids implausible regions; 0 gives the shortest path.
        scale: of the landscape, 'relative' or the paper's 'nll'.
        plausibility: how plausible the end must be, in standard deviations of log p above the
            mean of the density's draws.
        min_posterior: smallest probability of the target at the end.
        constraints: what may change.
        classifier: judges the class in place of the density: a fitted estimator with
            `predict_proba`, a torch module in evaluation mode, or a function of rows. It gets
            rows with your columns in your units, and returns probabilities: one column for each
            class, in the order of its `classes_` or, if it has none, of `density.classes_`.
        classifier_grad: function of the same rows: the gradient of every class probability with
            respect to the columns, shape `(rows, classes, columns)`; with two classes that of
            the second, shape `(rows, columns)`, will do. Used in place of difference quotients;
            a torch module needs none.
        classifier_budget: rows that the classifier may be asked about in the search for each
            explanation; and as many draws of the density, once for each class. When it is spent,
            the answer is the best path found so far.
        held_out: how the density does on rows that were held out when it was fitted, as
            `daace.fit` finds it; where it does badly, every explanation has a note on it.

    Example:
        >>> from daace import GaussianMixture
        >>> density = GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["ill", "well"])
        >>> Explainer(density, min_posterior=0.9).explain({"x1": 0.0}).target
        'well'
    """

    density: ConditionalDensity
    _: KW_ONLY
    planner: Planner | None = None
    penalty: float = 1.0
    scale: Literal["relative", "nll"] = "relative"
    plausibility: float = -0.5
    min_posterior: float = 0.5
    constraints: Constraints | None = None
    classifier: Any = None
    classifier_grad: Callable[[Any], Any] | None = None
    classifier_budget: int | None = None
    held_out: Check | None = None

    def __post_init__(self) -> None:
        self._settings()  # says what is wrong with them

    def explain(
        self,
        row: object,
        *,
        target: object = None,
        penalty: float | None = None,
        plausibility: float | None = None,
        min_log_prob: float | None = None,
        min_posterior: float | None = None,
        constraints: Constraints | None = None,
        planner: Planner | None = None,
        time_limit: float | None = None,
        alternatives: int = 0,
        seed: int = 0,
    ) -> Explanation:
        """Explain one row. What is left out is as the explainer has it.

        Args:
            row: a Series, dict, one-row frame (pandas or polars) or array, in user units. Columns
                that the model does not know are ignored.
            target: the class to reach; with two classes, the less probable one when left out.
            penalty: how much the path avoids implausible regions.
            plausibility: how plausible the end must be; see the constructor.
            min_log_prob: threshold of log p itself; overrides `plausibility`.
            min_posterior: smallest probability of the target at the end.
            constraints: what may change.
            planner: how to look for a path.
            time_limit: seconds for the search; for each of them, when there are alternatives.
            alternatives: how many other answers to look for, as `e.alternatives`: their ends
                differ from the best one's, and from each other's, by 0.5 standard deviations or
                more in some feature, and none costs more than 1.5 times the best. There are
                fewer where fewer were found.
            seed: of the random generator.

        Raises:
            InvalidInput: the row, the target or a setting is not what was expected. That there
                is no counterfactual is not an error: `found` is then false.
        """
        settings = self._settings(
            penalty=penalty, plausibility=plausibility, min_log_prob=min_log_prob,
            min_posterior=min_posterior, constraints=constraints, planner=planner,
            time_limit=time_limit, seed=seed,
        )  # fmt: skip
        check_integer("alternatives", alternatives, at_least=0)
        query = Query.of(settings, read_row(self.density, row), target, strict=True)
        solved = solve_row(query)
        best = explain_solved(query, solved).with_model(query)
        if best.status == "goal_unreachable" and self.classifier_budget is None:
            return replace(best, notes=(*best.notes, *find_reasons(solved.problem)))
        if alternatives == 0:
            return best
        return with_alternatives(query, solved.problem, best, int(alternatives))

    def tradeoff(
        self,
        row: object,
        *,
        target: object = None,
        penalties: Sequence[float] = PENALTIES,
        plausibility: float | None = None,
        min_log_prob: float | None = None,
        min_posterior: float | None = None,
        constraints: Constraints | None = None,
        planner: Planner | None = None,
        time_limit: float | None = None,
        seed: int = 0,
    ) -> Tradeoff:
        """Explain one row at several penalties: from the shortest path to the most plausible one.

        Args:
            row: as in `explain`.
            target: as in `explain`.
            penalties: to try; the answers come in ascending order.
            plausibility: as in `explain`.
            min_log_prob: as in `explain`.
            min_posterior: as in `explain`.
            constraints: as in `explain`.
            planner: as in `explain`.
            time_limit: seconds for each penalty.
            seed: of the random generator.

        Raises:
            InvalidInput: as `explain`.
        """
        settings = self._settings(
            plausibility=plausibility, min_log_prob=min_log_prob, min_posterior=min_posterior,
            constraints=constraints, planner=planner, time_limit=time_limit, seed=seed,
        )  # fmt: skip
        scan = check_penalties(penalties)
        query = Query.of(settings, read_row(self.density, row), target, strict=True)
        return scan_penalties(query, scan)

    def front(
        self,
        row: object,
        *,
        target: object = None,
        vertices: int = 1,
        planner: NSGA2 | None = None,
        seed: int = 0,
    ) -> ExplanationFront:
        """Explain one row by a front over cost, probability and plausibility; needs pymoo.

        Args:
            row: as in `explain`.
            target: as in `explain`.
            vertices: waypoints between start and end, in the genetic search.
            planner: settings of the genetic search; `NSGA2()` when left out.
            seed: of the random generator.

        Raises:
            InvalidInput: as `explain`.
            MissingDependency: pymoo is not installed.
        """
        settings = self._settings(seed=seed)
        search: object = NSGA2() if planner is None else planner
        if not isinstance(search, NSGA2):
            kind = type(search).__name__
            raise InvalidInput(argument="planner", expected="be an NSGA2", got=kind)
        query = Query.of(settings, read_row(self.density, row), target, strict=True)
        return search_front(query, search, vertices=vertices)

    def explain_batch(
        self,
        frame: object,
        *,
        target: object = None,
        n_jobs: int | None = 1,
        backend: Backend = "loky",
        progress: bool = False,
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
        """Explain every row of a frame, in its order.

        A row that cannot be explained (a gap, text for a number, a rule that its start breaks) has
        the status 'invalid_row' and the reason as a note; the others are answered.

        Args:
            frame: rows in user units, as a DataFrame (pandas or polars) or a two-dimensional
                array. Columns that the model does not know are passed through to the answers.
            target: one class for all, or one per row; with two classes, the less probable one of
                each row when left out.
            n_jobs: processes, -1 for all processors; None is 1. It does not change the answers.
            backend: runs the processes: 'loky' (joblib's own), 'dask' or 'ray'. A connected dask
                client or ray cluster is used; else one is started on this machine.
            progress: show a bar on stderr, or a line a minute in a log.
            penalty: as in `explain`.
            plausibility: as in `explain`.
            min_log_prob: as in `explain`.
            min_posterior: as in `explain`.
            constraints: as in `explain`.
            planner: as in `explain`.
            time_limit: seconds for each 32 to 160 rows, which are solved together.
            strict: raise before the search begins if a row cannot be explained.
            seed: of the random generator.

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
            by: a column of the frame, which need not be a feature of the model; or a group for
                each row.
            target: as in `explain_batch`.
            n_jobs: as in `explain_batch`.
            progress: as in `explain_batch`.
            strict: as in `explain_batch`.
            seed: of the random generator.

        Raises:
            InvalidInput: as `explain_batch`; or a group is missing, or there are too many.
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

        Finished rows are kept in a file beside the output, its name with '.part' at the end: after
        a stop the same call continues from there. The answers are those of `explain_batch` on all
        rows. An output has one writer at a time; a link stays a link, its target is replaced.

        Args:
            source: CSV, TSV or parquet; text may be compressed. Columns that the model does not
                know are passed through to the answers.
            output: CSV or parquet with a row per answer, as `Batch.to_frame(detail=True)`; or JSON
                lines ('.jsonl') with whole explanations. It appears when all rows are explained.
                In CSV, cost, log_prob, posterior and changes are rounded to six digits; starts and
                ends are exact, because the row that is written must be the row that was judged.
                Text that a spreadsheet would run has a single quote before it.
            target: one class for all; with two classes, the less probable one of each row when
                left out.
            n_jobs: as in `explain_batch`.
            backend: as in `explain_batch`.
            progress: as in `explain_batch`.
            resume: continue from a '.part' file; False starts again.
            time_limit: seconds for each 32 to 160 rows, which are solved together.
            strict: as in `explain_batch`.
            long: CSV or parquet with a row per change, as `Batch.changes`.
            seed: of the random generator.

        Raises:
            InvalidInput: a file or a row is not what was expected, or the '.part' file belongs to
                another question, model, classifier or user, or to a run that is not over.
            MissingDependency: parquet without pyarrow.
            OSError: the output cannot be written.
        """
        settings = self._settings(time_limit=time_limit, seed=seed)
        return explain_file(
            settings, source, output, target=target, jobs=Jobs(n_jobs, backend, progress),
            resume=resume, strict=strict, long=long,
        )  # fmt: skip

    def save(self, path: str | os.PathLike[str], include_rows: bool = False) -> None:
        """Write a model file: density and settings, but no classifier and no training row.

        Args:
            path: where to; an existing file is replaced as a whole or not at all.
            include_rows: write a density that is made of training rows (a KDE) all the same.

        Raises:
            PrivacyError: the file would hold training rows.
            InvalidInput: a file cannot hold this density: it is one of your own, has more than
                2,000 classes, or a name with more than 1,000 characters.
            OSError: the file cannot be written.
        """
        save(self._settings(), path, include_rows=include_rows)

    def _settings(self, **given: Any) -> Settings:
        """Return the settings of one question: the explainer's own, unless others were given."""
        own = {
            name: getattr(self, name)
            for name in (
                "density", "planner", "penalty", "scale", "plausibility", "min_posterior",
                "constraints", "classifier_budget", "held_out",
            )
        }  # fmt: skip
        used = {**own, **{name: value for name, value in given.items() if value is not None}}
        settings = Settings(**used)
        if self.classifier is None:
            if self.classifier_grad is not None:
                raise InvalidInput(
                    argument="classifier_grad", expected="come with a 'classifier'", got="none"
                )
            return settings
        judge = self._judge(frozenset(settings.rules.integer))
        return replace(settings, classifier=name_of(self.classifier), judge=judge)

    @property
    def _classifier_judge(self) -> ClassifierPosterior | None:
        return self._settings().judge

    def _judge(self, whole: frozenset[str]) -> ClassifierPosterior:
        """Return the classifier as a judge that sees some features whole; it remembers draws."""
        if whole not in self._judges:
            self._judges[whole] = ClassifierPosterior(
                self.classifier, self.density, self.classifier_grad, whole=whole
            )
        return self._judges[whole]

    @cached_property
    def _judges(self) -> dict[frozenset[str], ClassifierPosterior]:
        return {}
