"""The front door: learn a density once, then ask what would have to change."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import KW_ONLY, asdict, dataclass, is_dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from daace._checks import check_choice, check_integer
from daace._typing import FloatArray, IntArray
from daace.data.table import Table, quote
from daace.density.base import ConditionalDensity
from daace.exceptions import DaaceError, InvalidInput, ModelFileError
from daace.explain.alternatives import find_alternatives
from daace.explain.audit import Audit, split_groups
from daace.explain.backends import Backend
from daace.explain.batch import Batch, Chunk, Question, check_jobs, check_seed, solve_rows
from daace.explain.classifier import ClassifierPosterior, judge_starts
from daace.explain.explanation import Explanation
from daace.explain.front import ExplanationFront
from daace.explain.network import Network, read_network
from daace.explain.persistence import read_model, reason, write_model
from daace.explain.provenance import Provenance, name_of
from daace.explain.registry import LEARNED, density_class
from daace.explain.summary import Summary
from daace.explain.tradeoff import PENALTIES, Tradeoff, check_penalties, choose_scan, measure
from daace.explain.trust import Check, check_density, membership_auc
from daace.landscape.constraints import Constraints
from daace.landscape.cost import Landscape
from daace.landscape.goal import Goal, Posterior
from daace.landscape.problem import Problem
from daace.planners.base import Plan, Planner, Status
from daace.planners.nsga2 import NSGA2
from daace.planners.optimizer import PathOptimizer

#: Most that a model file may ask for: more would take hours, or all memory.
MAX_VERTICES, MAX_STARTS = 100, 1000


def fit(table: Table, density: str | ConditionalDensity = "linear-gaussian") -> Explainer:
    """Learn the density of a table and return an explainer with the default settings.

    Args:
        table: rows with their class.
        density: 'linear-gaussian', 'kde', 'realnvp', or a density of your own; one that is
            fitted already is used as it is.

    Raises:
        InvalidInput: the density is unknown, or fitted on other columns.
        MissingDependency: the density needs a package that is not installed.

    Example:
        >>> from daace import load_table
        >>> fit(load_table("iris")).density.kind
        'linear-gaussian'
    """
    if not isinstance(table, Table):
        raise InvalidInput(
            f"'table' must be a daace.Table. Got {type(table).__name__}: "
            "make one with daace.Table.from_frame(frame, target=...)."
        )
    if isinstance(density, str):
        check_choice("density", density, LEARNED)
        density = density_class(density)()
    if not isinstance(density, ConditionalDensity):
        raise InvalidInput(
            f"'density' must be one of {quote(LEARNED)} or a ConditionalDensity. "
            f"Got {type(density).__name__}."
        )
    if hasattr(density, "standardizer_"):
        if set(density.features_) != set(table.features):
            others = sorted(set(density.features_) ^ set(table.features))
            raise InvalidInput(
                f"'density' must have the features of the table. They differ in {quote(others)}."
            )
        return Explainer(density)
    if not hasattr(density, "fit"):
        raise InvalidInput(
            f"'density' must have a method 'fit'. {type(density).__name__} has none."
        )
    return Explainer(density.fit(table))


def load(
    path: str | os.PathLike[str],
    classifier: Any = None,
    *,
    classifier_grad: Callable[[Any], Any] | None = None,
    classifier_budget: int | None = None,
) -> Explainer:
    """Read an explainer that `Explainer.save` wrote.

    Args:
        path: the model file.
        classifier: judge of the class; model files never hold one.
        classifier_grad, classifier_budget: as in `Explainer`.

    Raises:
        ModelFileError: the file is damaged, hostile, or of another version.
    """
    density, settings = read_model(path)
    try:
        penalty, plausibility, min_posterior = (
            float(settings[name]) for name in ("penalty", "plausibility", "min_posterior")
        )
        planner, rules = settings["planner"], settings["constraints"]
        if planner is not None:
            planner = _rebuild_planner(planner)
        explainer = Explainer(
            density,
            planner=planner,
            penalty=penalty,
            scale=settings["scale"],
            plausibility=plausibility,
            min_posterior=min_posterior,
            constraints=None if rules is None else Constraints(**rules),
        )
    except (DaaceError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"'{path}' holds wrong settings: {reason(error)}.") from None
    if classifier is not None:
        return replace(
            explainer,
            classifier=classifier,
            classifier_grad=classifier_grad,
            classifier_budget=classifier_budget,
        )
    if settings.get("classifier"):
        warnings.warn(
            f"'{path}' was saved with a classifier ({settings['classifier']}), which a model file "
            "does not hold: the density judges the class now. Pass classifier=... to load.",
            stacklevel=2,
        )
    return explainer


def _rebuild_planner(settings: dict[str, Any]) -> PathOptimizer:
    """Return the planner of a model file.

    Raises:
        ValueError: it asks for too much.
    """
    vertices, starts = settings["vertices"], settings["starts"]
    if not all(type(v) is int and v <= MAX_VERTICES for v in vertices):
        raise ValueError(f"'vertices' must be integers up to {MAX_VERTICES}")
    if not (type(starts) is int and starts <= MAX_STARTS):
        raise ValueError(f"'starts' must be an integer up to {MAX_STARTS}")
    return PathOptimizer(**{**settings, "vertices": tuple(vertices)})


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

    def __post_init__(self) -> None:
        if not isinstance(self.density, ConditionalDensity):
            raise InvalidInput(
                f"'density' must be a ConditionalDensity. Got {type(self.density).__name__}: "
                "daace.fit(table) learns one."
            )
        if not hasattr(self.density, "standardizer_"):
            raise InvalidInput(
                "'density' must be fitted: call its fit(table), or daace.fit(table)."
            )
        if not (self.planner is None or isinstance(self.planner, Planner)):
            raise InvalidInput(f"'planner' must be a Planner. Got {type(self.planner).__name__}.")
        if not (self.constraints is None or isinstance(self.constraints, Constraints)):
            raise InvalidInput(
                f"'constraints' must be a daace.Constraints. Got {type(self.constraints).__name__}."
            )
        rules = self.constraints.features() if self.constraints is not None else set()
        unknown = sorted(rules - set(self.density.features_))
        if unknown:
            raise InvalidInput(
                f"'constraints' must name features of the model. Got {quote(unknown)}."
            )
        Landscape(self.density, penalty=self.penalty, scale=self.scale)
        Goal(None, plausibility=self.plausibility, min_posterior=self.min_posterior)
        if self.classifier_budget is not None:
            check_integer("classifier_budget", self.classifier_budget, at_least=1)
        if self.classifier is None and self.classifier_grad is not None:
            raise InvalidInput("'classifier_grad' must come with a 'classifier'. Got none.")
        _ = self._judge

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
            row: a Series, dict, one-row frame (pandas or polars) or array, in user units.
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
        values = self.density.user_values(row)
        if len(values) != 1:
            raise InvalidInput(f"'row' must be one row. Got {len(values)}: use explain_batch.")
        check_integer("alternatives", alternatives, at_least=0)
        used = self._adjusted(
            penalty=penalty,
            plausibility=plausibility,
            min_posterior=min_posterior,
            constraints=constraints,
            planner=planner,
        )
        (best,) = used.explain_batch(
            values, target=target, min_log_prob=min_log_prob, time_limit=time_limit, seed=seed
        )
        if alternatives == 0:
            return best
        question, _, (problem,) = used._asked(values, target, min_log_prob, time_limit)
        plan = Plan(best.status, self.density.to_model(best.path), best.cost, 0, 0.0)
        others = find_alternatives(
            problem,
            plan,
            planner=question.planner,
            count=int(alternatives),
            rng=np.random.default_rng(seed),
        )
        answers = [used._answer(problem, p, values[0], question.planner, seed) for p in others]
        return replace(best, alternatives=tuple(answers))

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
        values = self.density.user_values(row)
        if len(values) != 1:
            raise InvalidInput(f"'row' must be one row. Got {len(values)}.")
        used = self._adjusted(
            plausibility=plausibility,
            min_posterior=min_posterior,
            constraints=constraints,
            planner=planner,
        )
        problems, plans = [], []
        for penalty in scan:
            question, rows, some = used._adjusted(penalty=penalty)._asked(
                values, target, min_log_prob, time_limit, seed=seed
            )
            problems += some
            plans += solve_rows(question, rows)
        chosen = choose_scan(problems, plans)
        sizes = [measure(problems[0], p.waypoints) if p.found else (np.nan,) * 2 for p in chosen]
        return Tradeoff(
            scan,
            tuple(
                used._answer(problem, plan, values[0], question.planner, seed)
                for problem, plan in zip(problems, chosen, strict=True)
            ),
            *np.array(sizes, dtype=np.float64).T,
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
            vertices: waypoints between start and end.
            planner: settings of the genetic search; `NSGA2()` when left out.
            seed: of the random generator.

        Raises:
            InvalidInput: as `explain`.
            MissingDependency: pymoo is not installed.
        """
        search = NSGA2() if planner is None else planner
        if not isinstance(search, NSGA2):
            raise InvalidInput(f"'planner' must be an NSGA2. Got {type(planner).__name__}.")
        values = self.density.user_values(row)
        if len(values) != 1:
            raise InvalidInput(f"'row' must be one row. Got {len(values)}.")
        _, _, (problem,) = self._asked(values, target, None, None)
        rng = np.random.default_rng(check_seed(seed))
        found = search.solve_front(problem, rng=rng, vertices=vertices)
        plans = [
            Plan(Status.FOUND, path, float(cost), 0, 0.0)
            for path, cost in zip(found.paths, found.costs, strict=True)
        ]
        return ExplanationFront(
            tuple(self._answer(problem, plan, values[0], search, seed) for plan in plans)
        )

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
        seed: int = 0,
    ) -> Batch:
        """Explain every row of a frame, in its order.

        Args:
            frame: rows in user units, as a DataFrame (pandas or polars) or a two-dimensional
                array.
            target: one class for all, or one per row; with two classes, the less probable one of
                each row when left out.
            n_jobs: processes, -1 for all processors; None is 1. The answers are the same for any
                number.
            backend: who runs the processes: 'loky' (joblib's own), 'dask' or 'ray'. The answers
                are the same with any. A dask client or ray cluster that is connected is used;
                else one is started on this machine.
            progress: show a bar on stderr, if that is a terminal.
            penalty, plausibility, min_log_prob, min_posterior, constraints, planner, seed: as in
                `explain`.
            time_limit: seconds for each 32 rows.

        Raises:
            InvalidInput: as `explain`, before the search begins.
        """
        used = self._adjusted(
            penalty=penalty,
            plausibility=plausibility,
            min_posterior=min_posterior,
            constraints=constraints,
            planner=planner,
        )
        values = self.density.user_values(frame)
        explanations = used.explain_values(
            values,
            target=target,
            min_log_prob=min_log_prob,
            time_limit=time_limit,
            n_jobs=n_jobs,
            backend=backend,
            progress=progress,
            seed=seed,
        )
        index = frame.index if isinstance(frame, pd.DataFrame) else pd.RangeIndex(len(values))
        return Batch(explanations, index, self.density.features_)

    def audit(
        self,
        frame: object,
        *,
        by: object,
        target: object = None,
        n_jobs: int | None = 1,
        progress: bool = False,
        seed: int = 0,
    ) -> Audit:
        """Explain every row of a frame and compare the answers by group.

        Args:
            frame: rows in user units, as a DataFrame.
            by: a column of the frame, which need not be a feature of the model; or a group for
                each row.
            target, n_jobs, progress, seed: as in `explain_batch`.

        Raises:
            InvalidInput: as `explain_batch`; or a group is missing, or there are too many.
        """
        rows, groups = split_groups(frame, by, self.density.features_)
        answers = self.explain_batch(
            rows, target=target, n_jobs=n_jobs, progress=progress, seed=seed
        )
        return Audit(answers, groups, str(groups.name))

    def check(self, table: Table) -> Check:
        """Compare the density with rows that it has not seen, and warn if it is weak.

        Args:
            table: held-out rows with their classes. Rows that the density was fitted on make it
                look better than it is.

        Raises:
            InvalidInput: the table has no rows, other features, or classes that are not known.
        """
        result = check_density(self.density, table, self.judge())
        for sentence in result.warnings:
            warnings.warn(sentence, stacklevel=2)
        return result

    def membership(self, training: Table, held_out: Table) -> float:
        """Return how well the density tells its training rows from others.

        Args:
            training: rows that it was fitted on.
            held_out: rows of the same kind that it was not fitted on.

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
        seed: int = 0,
    ) -> Summary:
        """Explain every row of a file, which may be larger than memory.

        Finished rows are kept in a file beside the output, its name with '.part' at the end: the
        same call goes on from there after a stop, with the answers it would have given without.
        They are those of `explain_batch` on all rows.

        Args:
            source: CSV, TSV or parquet; columns that the model does not know are ignored.
            output: CSV or parquet with a row per answer, as `Batch.to_frame`; or JSON lines
                ('.jsonl') with whole explanations. It appears when all rows are explained.
            target: one class for all; with two classes, the less probable one of each row when
                left out.
            n_jobs, backend, progress, seed: as in `explain_batch`.
            resume: go on with a '.part' file; False begins anew.
            time_limit: seconds for each 32 rows.

        Raises:
            InvalidInput: a file or a row is not what was expected, or the '.part' file belongs to
                another question.
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
            seed=check_seed(seed),
        )

    def save(self, path: str | os.PathLike[str], include_rows: bool = False) -> None:
        """Write a model file: density and settings, but no classifier and no training row.

        Args:
            path: where to; an existing file is replaced as a whole or not at all.
            include_rows: write a density that is made of training rows (a KDE) all the same.

        Raises:
            PrivacyError: the file would hold training rows.
            OSError: the file cannot be written.
        """
        kept = self.planner if type(self.planner) is PathOptimizer else None
        if self.planner is not kept:
            warnings.warn(
                f"A model file does not hold a {type(self.planner).__name__}: the loaded explainer "
                "uses PathOptimizer. Pass planner=... to explain.",
                stacklevel=2,
            )
        settings = {
            "penalty": self.penalty,
            "scale": self.scale,
            "plausibility": self.plausibility,
            "min_posterior": self.min_posterior,
            "constraints": None if self.constraints is None else asdict(self.constraints),
            "planner": None if kept is None else {**asdict(kept), "vertices": kept.tried},
            "classifier": None if self.classifier is None else name_of(self.classifier),
        }
        write_model(path, self.density, settings, include_rows=include_rows)

    # How --------------------------------------------------------------------------------------

    def explain_values(
        self,
        values: FloatArray,
        *,
        target: object = None,
        min_log_prob: float | None = None,
        time_limit: float | None = None,
        first: int = 0,
        n_jobs: int | None = 1,
        backend: Backend = "loky",
        progress: bool = False,
        seed: int = 0,
    ) -> tuple[Explanation, ...]:
        """Explain rows that are an array in user units, in the model's order of features.

        Args:
            values: shape `(rows, features)`.
            first: number of the first row, where these are part of a longer table.
            target, min_log_prob, time_limit, n_jobs, backend, progress, seed: as in
                `explain_batch`.
        """
        n_jobs = check_jobs(n_jobs)
        question, rows, problems = self._asked(
            values, target, min_log_prob, time_limit, seed=seed, first=first
        )
        plans = solve_rows(question, rows, n_jobs=n_jobs, backend=backend, progress=progress)
        return tuple(
            self._answer(problem, plan, row, question.planner, seed)
            for problem, plan, row in zip(problems, plans, values, strict=True)
        )

    def _adjusted(self, **settings: Any) -> Explainer:
        """Return the explainer with the settings that were given, and its judge of the class."""
        given = {name: value for name, value in settings.items() if value is not None}
        if not given:
            return self
        other = copy(self)
        other.__dict__.update(given)
        other.__post_init__()
        return other

    def _asked(
        self,
        values: FloatArray,
        target: object,
        min_log_prob: float | None,
        time_limit: float | None,
        *,
        seed: int = 0,
        first: int = 0,
    ) -> tuple[Question, Chunk, list[Problem]]:
        """Return what rows in user units share, the rows to solve, and the problem of each."""
        starts = self.density.standardizer_.transform(values)
        logs = None if self._judge is None else judge_starts(self._judge, starts)
        numbers = np.arange(first, first + len(starts))
        classes, goal_of = np.unique(self._targets(target, starts, logs), return_inverse=True)
        question = self._question(classes, min_log_prob, time_limit)
        rows = Chunk(starts, goal_of, numbers, check_seed(seed), logs)
        return question, rows, question.problems(starts, goal_of, question.inquiry())

    def _answer(
        self, problem: Problem, plan: Plan, values: FloatArray, planner: Planner, seed: int
    ) -> Explanation:
        """Return a plan as an explanation, with where it comes from."""
        source = Provenance.of(
            problem, plan, planner=planner, classifier=self.classifier, seed=int(seed)
        )
        return Explanation.of(problem, plan, values=values, provenance=source, explainer=self)

    def judge(self) -> Posterior | None:
        """Return the judge of the class, if it is not the density."""
        return self._judge

    @cached_property
    def _judge(self) -> ClassifierPosterior | None:
        """The classifier, which remembers what it said of the density's draws."""
        if self.classifier is None:
            return None
        return ClassifierPosterior(self.classifier, self.density, self.classifier_grad)

    def _targets(self, target: object, starts: FloatArray, logs: FloatArray | None) -> IntArray:
        """Return the class index that each row shall reach."""
        density, rows = self.density, len(starts)
        if target is None:
            if len(density.classes_) != 2:
                raise InvalidInput(
                    f"'target' must be given, as there are {len(density.classes_)} classes: "
                    f"{quote(density.classes_.tolist(), limit=20)}."
                )
            logs = density.log_posterior(starts) if logs is None else logs
            least: IntArray = logs.argmin(axis=1)
            return least
        several = isinstance(
            target,
            list | tuple | np.ndarray | pd.Series | pd.Index | pd.api.extensions.ExtensionArray,
        )
        labels = list(target) if several else [target] * rows  # type: ignore[call-overload]
        if len(labels) != rows:
            raise InvalidInput(
                f"'target' must be one class, or one per row ({rows}). Got {len(labels)}."
            )
        return np.array([density.class_index(label) for label in labels], dtype=np.intp)

    def _question(
        self, classes: IntArray, min_log_prob: float | None, time_limit: float | None
    ) -> Question:
        """Return what the rows share, with a goal for each class of `classes`."""
        planner = PathOptimizer() if self.planner is None else self.planner
        return Question(
            planner=planner if time_limit is None else _limited(planner, time_limit),
            landscape=Landscape(self.density, penalty=self.penalty, scale=self.scale),
            goals=tuple(
                Goal(
                    self.density.classes_[k].item(),
                    plausibility=self.plausibility,
                    min_log_prob=min_log_prob,
                    min_posterior=self.min_posterior,
                )
                for k in classes
            ),
            constraints=Constraints() if self.constraints is None else self.constraints,
            judge=self._judge,
            budget=self.classifier_budget,
        )


def _limited(planner: Any, time_limit: float) -> Planner:
    """Return the planner with another time limit."""
    if not (is_dataclass(planner) and hasattr(planner, "time_limit")):
        raise InvalidInput(
            f"'time_limit' must be left out: a {type(planner).__name__} knows no time limit."
        )
    limited: Planner = replace(planner, time_limit=time_limit)  # type: ignore[type-var, assignment]
    return limited
