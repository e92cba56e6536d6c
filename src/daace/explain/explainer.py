"""The front door: learn a density once, then ask what would have to change."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Any, Literal

from daace._checks import check_integer
from daace._wording import quote
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput
from daace.explain.answering import explain_solved
from daace.explain.answers.reasons import find_reasons
from daace.explain.asking.query import Query
from daace.explain.asking.settings import Settings
from daace.explain.asking.solving import solve_row
from daace.explain.decision import DecisionReasons, find_decision_reasons
from daace.explain.explanation import Explanation
from daace.explain.files.model_file import save
from daace.explain.judging.classifier import ClassifierPosterior
from daace.explain.judging.committee import Committee
from daace.explain.judging.judges import Judges
from daace.explain.several.alternatives import with_alternatives
from daace.explain.several.front import ExplanationFront, check_search, search_front
from daace.explain.several.many_rows import ManyRows
from daace.explain.several.tradeoff import PENALTIES, Tradeoff, check_penalties, scan_penalties
from daace.explain.trust.check import Check
from daace.explain.trust.review import ModelReview
from daace.landscape.constraints import Constraints
from daace.planners.base import Planner
from daace.planners.nsga2 import NSGA2

#: Settings of an explainer that are the defaults of each question.
OWN = (
    "density", "planner", "changes", "penalty", "scale", "plausibility", "min_posterior",
    "constraints", "judge", "committee", "classifier_budget", "held_out", "round",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Explainer(ManyRows, ModelReview):
    """Answers "what would have to change?" over a density.

    Args:
        density: a fitted density.
        planner: planner of the paths; chosen by `changes` when left out.
        changes: 'few' holds features at the start as long as the cost grows by no more than a
            quarter (`PathOptimizer(sparsity=0.25)`); 'all' finds the cheapest path, which usually
            changes every feature a little (`PathOptimizer()`). A planner is used as it is.
        penalty: how strongly paths avoid implausible regions; 0 gives the shortest path.
        scale: scale of the landscape, 'relative' or the paper's 'nll'.
        plausibility: minimum plausibility of the end, in standard deviations of log p above the
            mean of the density's draws.
        min_posterior: smallest probability of the target at the end. When left out, that of the
            committee for this class, where the committee judges, and 0.5 otherwise.
        constraints: rules of what may change.
        judge: 'committee': the density and the members of the committee, each of which has to give
            the target `min_posterior`; 'density': the density alone. When left out, the committee
            if there is one.
        committee: a few smooth models of the class, as `daace.fit` trains them.
        classifier: judges the class in place of both: a fitted estimator with
            `predict_proba`, a torch module in evaluation mode, or a function of rows. It gets
            rows with your columns in your units, and returns probabilities: one column for each
            class, in the order of its `classes_` or, if it has none, of `density.classes_`.
        classifier_grad: function of the same rows: the gradient of every class probability with
            respect to the columns, shape `(rows, classes, columns)`; with two classes that of
            the second, shape `(rows, columns)`, will do. Used in place of difference quotients;
            a torch module needs none.
        classifier_budget: maximum number of rows that the classifier predicts in the search for
            each explanation, and the same number of draws of the density, once for each class.
            When it is spent, the answer is the best path found so far.
        held_out: performance of the density on rows that were held out when it was fitted, as
            measured by `daace.fit`; if it is poor, every explanation has a note on it.
        round: give round values where goal and rules allow it and the cost grows by at most 5%:
            1,500 instead of 1,506.3. The rounded row is judged. With a classifier of your own,
            values are not rounded.

    Example:
        >>> from daace import GaussianMixture
        >>> density = GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["ill", "well"])
        >>> Explainer(density, min_posterior=0.9).explain({"x1": 0.0}).target
        'well'
    """

    density: ConditionalDensity
    _: KW_ONLY
    planner: Planner | None = None
    changes: Literal["few", "all"] = "few"
    penalty: float = 1.0
    scale: Literal["relative", "nll"] = "relative"
    plausibility: float = -0.5
    min_posterior: float | None = None
    constraints: Constraints | None = None
    judge: Literal["committee", "density"] | None = None
    committee: Committee | None = None
    classifier: Any = None
    classifier_grad: Callable[[Any], Any] | None = None
    classifier_budget: int | None = None
    held_out: Check | None = None
    round: bool = True

    def __post_init__(self) -> None:
        self._settings()  # checks them

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
        """Explain one row. The defaults are the explainer's settings.

        Args:
            row: a Series, dict, one-row frame (pandas or polars) or array, in user units. Columns
                that the model does not know are ignored.
            target: the class to reach; with two classes, the less probable one when left out.
            penalty: how strongly the path avoids implausible regions.
            plausibility: minimum plausibility of the end; see the constructor.
            min_log_prob: threshold of log p itself; overrides `plausibility`.
            min_posterior: smallest probability of the target at the end.
            constraints: rules of what may change.
            planner: planner of the path.
            time_limit: seconds for the search; for each search, when there are alternatives.
            alternatives: number of other answers, as in `e.alternatives`: any two, the best
                one included, change other features (a third of them or more) or end 0.5 standard
                deviations apart or more, and none costs more than 1.5 times the best. There may be
                fewer.
            seed: seed of the random generator.

        Raises:
            InvalidInput: the row, the target or a setting is invalid. It is not an error if there
                is no counterfactual: `found` is then false.
        """
        settings = self._settings(
            penalty=penalty, plausibility=plausibility, min_log_prob=min_log_prob,
            min_posterior=min_posterior, constraints=constraints, planner=planner,
            time_limit=time_limit, seed=seed,
        )  # fmt: skip
        check_integer("alternatives", alternatives, at_least=0)
        query = Query.of_row(settings, row, target)
        solved = solve_row(query)
        best = explain_solved(query, solved).with_model(query)
        known = any(note.code == "too_many_changes" for note in best.notes)
        if best.status == "goal_unreachable" and self.classifier_budget is None and not known:
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
            penalties: the penalties; the answers come in ascending order.
            plausibility: as in `explain`.
            min_log_prob: as in `explain`.
            min_posterior: as in `explain`.
            constraints: as in `explain`.
            planner: as in `explain`.
            time_limit: seconds for each penalty.
            seed: seed of the random generator.

        Raises:
            InvalidInput: as in `explain`.
        """
        settings = self._settings(
            plausibility=plausibility, min_log_prob=min_log_prob, min_posterior=min_posterior,
            constraints=constraints, planner=planner, time_limit=time_limit, seed=seed,
        )  # fmt: skip
        scan = check_penalties(penalties)
        query = Query.of_row(settings, row, target)
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
            seed: seed of the random generator.

        Raises:
            InvalidInput: as in `explain`.
            MissingDependency: pymoo is not installed.
        """
        settings = self._settings(seed=seed)
        search = check_search(NSGA2() if planner is None else planner)
        query = Query.of_row(settings, row, target)
        return search_front(query, search, vertices=vertices)

    def reasons(
        self,
        row: object,
        *,
        target: object = None,
        most: int = 4,
        sentences: Mapping[str, str] | None = None,
    ) -> DecisionReasons:
        """Return the features that now count most against the target, according to the judge.

        For notices that have to name the principal reasons of a decision. Each reason states what
        the feature costs the target, compared with typical rows that get it, and the value at
        which it no longer would, with all else unchanged. (The reasons why no path was found are
        in the notes of an explanation.)

        Args:
            row: as in `explain`.
            target: as in `explain`.
            most: maximum number of reasons.
            sentences: your own words for a feature that is a reason, by its name.

        Raises:
            InvalidInput: as in `explain`; or there is no feature of such a name.
        """
        check_integer("most", most, at_least=1)
        own = {} if sentences is None else dict(sentences)
        if unknown := [name for name in own if name not in self.density.features_]:
            raise InvalidInput(
                argument="sentences",
                expected="name features of the model",
                got=quote(unknown),
                remedy=f"its features are {quote(self.density.features_, 20)}",
            )
        settings = self._settings()
        query = Query.of_row(settings, row, target)
        return find_decision_reasons(
            self.density,
            query.judge(0) or self.density,
            self.density.user_frame(row),
            target=query.goals[0].target,
            name="The model" if settings.classifier is None else settings.classifier,
            most=int(most),
            sentences=own,
        )

    def widget(self, row: object, *, target: object = None) -> Any:
        """Return the explorer as a notebook widget, to change values and rules and see the path.

        `w.explanation` is the answer that is shown, `w.constraints` the rules that were chosen.

        Args:
            row: the row to begin with, as in `explain`.
            target: as in `explain`.

        Raises:
            InvalidInput: as in `explain`.
            MissingDependency: anywidget is not installed: `pip install 'daace[notebook]'`.
        """
        # By name: this package must not import the one above it.
        return import_module("daace.web.widget").open_widget(self, row, target=target)

    def save(self, path: str | os.PathLike[str], include_rows: bool = False) -> None:
        """Write a model file: density and settings, but no classifier and no training row.

        Args:
            path: path of the file; an existing file is replaced as a whole or not at all.
            include_rows: allow a density that consists of training rows (a KDE).

        Raises:
            PrivacyError: the file would hold training rows.
            InvalidInput: a file cannot hold this density: it is one of your own, has more than
                2,000 classes, or a name with more than 1,000 characters.
            OSError: the file cannot be written.
        """
        save(self._settings(), path, include_rows=include_rows)

    def _settings(self, **given: Any) -> Settings:
        """Return the settings of one question, with the explainer's own as defaults."""
        own = {name: getattr(self, name) for name in OWN}
        used = {name: value for name, value in given.items() if value is not None}
        return Settings(**{**own, **used}, judges=self._judges)

    @cached_property
    def _judges(self) -> Judges | None:
        return Judges.of(self.classifier, self.density, self.classifier_grad)

    @property
    def _classifier_judge(self) -> ClassifierPosterior | None:
        return self._settings().classifier_posterior
