"""The front door: learn a density once, then ask what would have to change."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from daace._checks import check_integer
from daace._typing import FloatArray
from daace._workers import Backend
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput
from daace.explain.alternatives import DEARER, find_alternatives
from daace.explain.asking import answer_invalid, ask, check_settings, one_row, target_of_each
from daace.explain.audit import Audit, split_groups
from daace.explain.batch import Batch, among, check_jobs, share_out, solve_rows
from daace.explain.classifier import ClassifierPosterior, judge_rows
from daace.explain.explanation import Explanation
from daace.explain.front import ExplanationFront, search_front
from daace.explain.model_file import save
from daace.explain.network import Network, read_network
from daace.explain.oddities import note_denied
from daace.explain.question import check_seed
from daace.explain.reasons import find_reasons
from daace.explain.rows import check_rows, read_rows
from daace.explain.summary import Summary
from daace.explain.tradeoff import PENALTIES, Tradeoff, check_penalties, scan_penalties
from daace.explain.trust import Check, check_density, membership_auc
from daace.landscape.constraints import Constraints
from daace.planners.base import Plan, Planner
from daace.planners.nsga2 import NSGA2


@dataclass(frozen=True, eq=False)
class Explainer:
    """Answers "what would have to change?" over a density.

    Args:
        density: a fitted density.
        planner: how to look for a path; `PathOptimizer()` when left out.
        penalty: how much the path avoids implausible ground; 0 is the plain shortest way.
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
            the answer is the best way found until then.
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
        check_settings(self)
        _ = self.judge  # says what is wrong with a classifier

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
        """Explain one row. Whatever is left out is as the explainer has it.

        Args:
            row: a Series, dict, one-row frame (pandas or polars) or array, in user units. Columns
                that the model does not know are ignored.
            target: the class to reach; with two classes, the less probable one when left out.
            penalty, plausibility, min_posterior, constraints, planner: as in the constructor.
            min_log_prob: threshold of log p itself; overrides `plausibility`.
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
        values = one_row(self.density, row)
        check_integer("alternatives", alternatives, at_least=0)
        used = self._adjusted(
            penalty=penalty,
            plausibility=plausibility,
            min_posterior=min_posterior,
            constraints=constraints,
            planner=planner,
        )
        answers = used.explain_values(
            values, target=target, min_log_prob=min_log_prob, time_limit=time_limit, seed=seed
        )
        (best,) = note_denied(self.density, row, answers)
        blocked = best.status == "goal_unreachable" and used.classifier_budget is None
        if alternatives == 0 and not blocked:
            return best
        asked = ask(
            used,
            values,
            target=target,
            min_log_prob=min_log_prob,
            time_limit=time_limit,
            seed=seed,
            searches=int(alternatives),
        )
        if blocked:
            return replace(best, notes=(*best.notes, *find_reasons(asked.problems[0])))
        others = find_alternatives(
            asked.problems[0],
            Plan(best.status, self.density.to_model(best.path), best.cost, 0, 0.0),
            planner=asked.question.planner,
            count=int(alternatives),
            rng=np.random.default_rng(seed),
        )
        if not others and best.step_count:
            alone = f"No other way was found for at most {DEARER:g} times the cost."
            return replace(best, notes=(*best.notes, alone))
        return replace(best, alternatives=tuple(asked.answer(0, plan) for plan in others))

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
        """Explain one row at several penalties: from the shortest way to the most plausible one.

        Args:
            row: as in `explain`.
            penalties: to try; the answers come in ascending order.
            target, plausibility, min_log_prob, min_posterior, constraints, planner, seed: as in
                `explain`.
            time_limit: seconds for each penalty.

        Raises:
            InvalidInput: as `explain`.
        """
        scan = check_penalties(penalties)
        values = one_row(self.density, row)
        used = self._adjusted(
            plausibility=plausibility,
            min_posterior=min_posterior,
            constraints=constraints,
            planner=planner,
        )
        return scan_penalties(
            [used._adjusted(penalty=penalty) for penalty in scan],
            values,
            target=target,
            min_log_prob=min_log_prob,
            time_limit=time_limit,
            seed=seed,
        )

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
        search = NSGA2() if planner is None else planner
        if not isinstance(search, NSGA2):
            raise InvalidInput(f"'planner' must be an NSGA2. Got {type(planner).__name__}.")
        asked = ask(self, one_row(self.density, row), target=target, seed=seed)
        return search_front(asked, search, vertices=vertices)

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
            n_jobs: processes, -1 for all processors; None is 1. The answers are the same for any
                number.
            backend: who runs the processes: 'loky' (joblib's own), 'dask' or 'ray'. The answers
                are the same with any. A dask client or ray cluster that is connected is used;
                else one is started on this machine.
            progress: show a bar on stderr, or a line a minute in a log.
            penalty, plausibility, min_log_prob, min_posterior, constraints, planner, seed: as in
                `explain`.
            time_limit: seconds for each 32 to 160 rows, which are solved together.
            strict: raise before the search begins if a row cannot be explained.

        Raises:
            InvalidInput: as `explain`, before the search begins; for single rows only if `strict`.
        """
        used = self._adjusted(
            penalty=penalty,
            plausibility=plausibility,
            min_posterior=min_posterior,
            constraints=constraints,
            planner=planner,
        )
        if strict:
            check_rows(used.constraints, self.density, frame)
        rows = read_rows(self.density, frame, used.constraints)
        answers = used.explain_values(
            rows.values,
            invalid=rows.invalid,
            strict=strict,
            target=target,
            min_log_prob=min_log_prob,
            time_limit=time_limit,
            n_jobs=n_jobs,
            backend=backend,
            progress=progress,
            seed=seed,
        )
        explanations = note_denied(self.density, frame, answers)
        return Batch(explanations, rows.others.index, self.density.features_, rows.others)

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
            target, n_jobs, progress, strict, seed: as in `explain_batch`.

        Raises:
            InvalidInput: as `explain_batch`; or a group is missing, or there are too many.
        """
        rows, groups = split_groups(frame, by, self.density.features_)
        answers = self.explain_batch(
            rows, target=target, n_jobs=n_jobs, progress=progress, strict=strict, seed=seed
        )
        return Audit(answers, groups, str(groups.name))

    def check(self, table: object) -> Check:
        """Compare the density with rows that it has not seen, and warn if it is weak.

        Args:
            table: held-out rows with their classes, as a `Table` or a frame with the class
                column. Rows that the density was fitted on make it look better than it is.

        Raises:
            InvalidInput: the table has no rows, other features, or classes that are not known.
        """
        result = check_density(self.density, table, self.judge)
        for sentence in result.warnings:
            warnings.warn(sentence, stacklevel=2)
        return result

    def membership(self, training: object, held_out: object) -> float:
        """Return how well the density tells its training rows from others.

        Args:
            training: rows that it was fitted on, as a `Table` or a frame with the class column.
            held_out: rows of the same kind that it was not fitted on, as one or the other.

        Returns:
            the probability that a training row is denser than a held-out one (AUC): 0.5 if the
            density has not learned its rows by heart, 1 if it gives them away.
        """
        return membership_auc(self.density, training, held_out)

    def network(self, *, features: Sequence[str] | None = None, most: int = 30) -> Network:
        """Return the Bayesian network behind the answers: a frame of arcs, and a plot.

        Args:
            features: nodes to show; those with the strongest arcs when left out.
            most: how many those are, at most.

        Raises:
            InvalidInput: the density is no Bayesian network, or has no such feature.
        """
        return read_network(self.density, features=features, most=most)

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

        Finished rows are kept in a file beside the output, its name with '.part' at the end: the
        same call goes on from there after a stop, with the answers it would have given without.
        They are those of `explain_batch` on all rows. An output has one writer at a time; one that
        is a link stays one, and the file it points to is replaced.

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
            n_jobs, backend, progress, seed: as in `explain_batch`.
            resume: go on with a '.part' file; False begins anew.
            time_limit: seconds for each 32 to 160 rows, which are solved together.
            strict: as in `explain_batch`.
            long: CSV or parquet with a row per change, as `Batch.changes`.

        Raises:
            InvalidInput: a file or a row is not what was expected, or the '.part' file belongs to
                another question, model or classifier, to somebody else, or to a run that goes on.
            MissingDependency: parquet without pyarrow.
            OSError: the output cannot be written.
        """
        from daace.explain.stream import explain_file

        return explain_file(
            self,
            source,
            output,
            target=target,
            n_jobs=check_jobs(n_jobs),
            backend=backend,
            progress=progress,
            resume=resume,
            time_limit=time_limit,
            strict=strict,
            long=long,
            seed=check_seed(seed),
        )

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
        save(self, path, include_rows=include_rows)

    # How --------------------------------------------------------------------------------------

    def explain_values(
        self,
        values: FloatArray,
        *,
        target: object = None,
        min_log_prob: float | None = None,
        time_limit: float | None = None,
        first: int = 0,
        parts: Sequence[slice] | None = None,
        invalid: Mapping[int, str] | None = None,
        strict: bool = True,
        n_jobs: int | None = 1,
        backend: Backend = "loky",
        progress: bool = False,
        seed: int = 0,
    ) -> tuple[Explanation, ...]:
        """Explain rows that are an array in user units, in the model's order of features.

        Args:
            values: shape `(rows, features)`.
            first: number of the first row, where these are part of a longer table.
            parts: which rows are solved together, as far as they are valid.
            invalid: why a row cannot be explained, by its position; its values are not looked at.
            strict: raise if the classifier cannot judge a row; else it is invalid, too.
            target, min_log_prob, time_limit, n_jobs, backend, progress, seed: as in
                `explain_batch`.
        """
        n_jobs = check_jobs(n_jobs)
        targets = target_of_each(target, len(values))
        wrong = dict(invalid or {})
        valid = np.array([row for row in range(len(values)) if row not in wrong], dtype=np.intp)
        logs = None
        if self.judge is not None and not strict:
            logs, unjudged = judge_rows(self.judge, values[valid])
            wrong.update({int(valid[row]): reason for row, reason in unjudged.items()})
            judged = np.array([row not in unjudged for row in range(len(valid))], dtype=bool)
            valid, logs = valid[judged], logs[judged]
        asked = ask(
            self,
            values[valid],
            target=None if target is None else [targets[row] for row in valid],
            min_log_prob=min_log_prob,
            time_limit=time_limit,
            seed=seed,
            numbers=first + valid,
            start_logs=logs,
        )
        plans = solve_rows(
            asked.question,
            asked.rows,
            parts=among(valid, share_out(len(values)) if parts is None else parts),
            n_jobs=n_jobs,
            backend=backend,
            progress=progress,
        )
        answers = {
            int(number): asked.answer(row, plan)
            for row, (number, plan) in enumerate(zip(valid, plans, strict=True))
        }
        for row, reason in wrong.items():
            answers[row] = answer_invalid(
                asked, values[row], reason, target=targets[row], min_log_prob=min_log_prob
            )
        return tuple(answers[row] for row in range(len(values)))

    def _adjusted(self, **settings: Any) -> Explainer:
        """Return the explainer with the settings that were given, and its judge of the class."""
        given = {name: value for name, value in settings.items() if value is not None}
        if not given:
            return self
        other = copy(self)  # the judges, and what they have said of draws, are shared
        other.__dict__.update(given)
        other.__post_init__()
        return other

    @cached_property
    def _judges(self) -> dict[frozenset[str], ClassifierPosterior]:
        """The classifier as a judge, by the features that it sees whole."""
        return {}

    @property
    def judge(self) -> ClassifierPosterior | None:
        """Who judges the class, if it is not the density; remembers what it said of draws."""
        if self.classifier is None:
            return None
        whole = frozenset(() if self.constraints is None else self.constraints.integer)
        if whole not in self._judges:
            self._judges[whole] = ClassifierPosterior(
                self.classifier, self.density, self.classifier_grad, whole=whole
            )
        return self._judges[whole]
