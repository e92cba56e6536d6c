"""From rows and a target to problems: what exactly is asked of an explainer."""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from daace._checks import check_integer
from daace._typing import FloatArray, IntArray
from daace.data.table import quote
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput
from daace.explain.classifier import judge_starts
from daace.explain.explanation import PROFILE, Explanation
from daace.explain.held_out import find_weakness
from daace.explain.inquiry import Inquiry
from daace.explain.merging import merge_steps
from daace.explain.provenance import Provenance
from daace.explain.question import Chunk, Question, check_seed
from daace.explain.trust import Check
from daace.landscape.constraints import Constraints
from daace.landscape.cost import Landscape
from daace.landscape.goal import Goal
from daace.landscape.problem import Problem
from daace.landscape.rows import frame_of_rows
from daace.planners.base import Plan, Planner, Status
from daace.planners.optimizer import PathOptimizer

if TYPE_CHECKING:
    from daace.explain.explainer import Explainer


def check_settings(explainer: Explainer) -> None:
    """Raise `InvalidInput` unless the settings of an explainer make sense."""
    if not isinstance(explainer.density, ConditionalDensity):
        raise InvalidInput(
            f"'density' must be a ConditionalDensity. Got {type(explainer.density).__name__}: "
            "daace.fit(table) learns one."
        )
    if not hasattr(explainer.density, "standardizer_"):
        raise InvalidInput("'density' must be fitted: call its fit(table), or daace.fit(table).")
    if not (explainer.planner is None or isinstance(explainer.planner, Planner)):
        raise InvalidInput(f"'planner' must be a Planner. Got {type(explainer.planner).__name__}.")
    rules = Constraints() if explainer.constraints is None else explainer.constraints
    if not isinstance(rules, Constraints):
        raise InvalidInput(
            f"'constraints' must be a daace.Constraints. Got {type(rules).__name__}."
        )
    rules.check_features(explainer.density.features_)
    Landscape(explainer.density, penalty=explainer.penalty, scale=explainer.scale)
    Goal(None, plausibility=explainer.plausibility, min_posterior=explainer.min_posterior)
    if not (explainer.held_out is None or isinstance(explainer.held_out, Check)):
        raise InvalidInput(
            f"'held_out' must be a daace.Check. Got {type(explainer.held_out).__name__}."
        )
    if explainer.classifier_budget is not None:
        check_integer("classifier_budget", explainer.classifier_budget, at_least=1)
    if explainer.classifier is None and explainer.classifier_grad is not None:
        raise InvalidInput("'classifier_grad' must come with a 'classifier'. Got none.")


@dataclass(frozen=True, eq=False)
class Asked:
    """Rows that an explainer was asked about.

    Attributes:
        explainer: who was asked, with the settings of the question.
        question: what they share.
        rows: what is to be solved.
        problems: that of each row.
    """

    explainer: Explainer
    question: Question
    rows: Chunk
    problems: list[Problem]

    def answer(self, row: int, plan: Plan, planner: Planner | None = None) -> Explanation:
        """Return the plan of a row as an explanation, with where it comes from."""
        explainer, problem = self.explainer, self.problems[row]
        plan = merge_steps(problem, plan)
        inquiry, logs = problem.posterior, self.rows.start_logs
        if plan.judged is None and isinstance(inquiry, Inquiry) and logs is not None:
            path = problem.to_user(plan.waypoints)
            plan = replace(plan, judged=inquiry.report([path], logs[[row]])[0])
        source = Provenance.of(
            problem,
            plan,
            planner=self.question.planner if planner is None else planner,
            classifier=explainer.classifier,
            seed=self.rows.seed,
        )
        found = Explanation.of(problem, plan, provenance=source, explainer=explainer)
        weak = find_weakness(explainer.held_out, classified=explainer.classifier is not None)
        return replace(found, notes=(*found.notes, *weak))


def ask(
    explainer: Explainer,
    values: FloatArray,
    *,
    target: object,
    min_log_prob: float | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    numbers: IntArray | None = None,
    start_logs: FloatArray | None = None,
    searches: int = 1,
) -> Asked:
    """Return the problems of rows in user units.

    Args:
        explainer: has the settings.
        values: shape `(rows, features)`, in the model's order of features.
        target: one class, one per row, or None.
        min_log_prob: overrides the explainer's plausibility.
        time_limit: overrides that of the planner.
        seed: each row has its own generator, spawned from it.
        numbers: of the rows, where these are part of a longer table.
        start_logs: what the classifier says of the rows; it is asked when left out.
        searches: explanations that are sought by the problems themselves, not by their rows:
            each has the classifier's budget.

    Raises:
        InvalidInput: the target is not known, a row breaks the constraints, or the classifier
            cannot judge it.
    """
    density, judge = explainer.density, explainer.judge
    starts = density.standardizer_.transform(values)
    logs = start_logs
    if judge is not None and logs is None:
        logs = judge_starts(judge, values)
    classes, goal_of = np.unique(_targets(density, target, starts, logs), return_inverse=True)
    planner = PathOptimizer() if explainer.planner is None else explainer.planner
    question = Question(
        planner=planner if time_limit is None else _limited(planner, time_limit),
        landscape=Landscape(density, penalty=explainer.penalty, scale=explainer.scale),
        goals=tuple(_goal(explainer, density.classes_.item(k), min_log_prob) for k in classes),
        constraints=Constraints() if explainer.constraints is None else explainer.constraints,
        judge=judge,
        budget=explainer.classifier_budget,
    )
    numbers = np.arange(len(starts)) if numbers is None else numbers
    rows = Chunk(values, goal_of, numbers, check_seed(seed), logs)
    problems = question.problems(values, goal_of, question.inquiry(searches))
    return Asked(explainer, question, rows, problems)


def _goal(explainer: Explainer, target: object, min_log_prob: float | None) -> Goal:
    return Goal(
        target,
        plausibility=explainer.plausibility,
        min_log_prob=min_log_prob,
        min_posterior=explainer.min_posterior,
    )


def answer_invalid(
    asked: Asked, values: FloatArray, reason: str, *, target: object, min_log_prob: float | None
) -> Explanation:
    """Return the answer to a row that cannot be explained: no search, and the reason as a note.

    Args:
        asked: the rows that can.
        values: of this row, in user units; NaN where there is no number.
        reason: a sentence.
        target: the class asked for, if one was.
        min_log_prob: as asked.
    """
    explainer, density = asked.explainer, asked.explainer.density
    label = None if target is None else density.classes_.item(density.class_index(target))
    return Explanation(
        status=Status.INVALID_ROW,
        current=None,
        target=label,
        path=frame_of_rows(values[None], density.features_).rename_axis("waypoint"),
        profile=frame_of_rows(np.full((1, len(PROFILE)), np.nan), PROFILE).rename_axis("waypoint"),
        cost=np.inf,
        relax={},
        sd=density.standardizer_.scale.copy(),
        units=dict(density.units_),
        provenance=Provenance.asked(
            asked.question.landscape,
            _goal(explainer, label, min_log_prob),
            asked.question.constraints,
            planner=asked.question.planner,
            classifier=explainer.classifier,
            seed=asked.rows.seed,
        ),
        notes=(reason,),
    )


def one_row(density: ConditionalDensity, row: object) -> FloatArray:
    """Return a row in user units, shape `(1, features)`.

    Raises:
        InvalidInput: it is not one row with the features of the density.
    """
    frame = density.user_frame(row)
    values = density.user_values(frame[list(density.features_)])
    if len(values) != 1:
        raise InvalidInput(f"'row' must be one row. Got {len(values)}: use explain_batch.")
    return values


def target_of_each(target: object, rows: int) -> list[Any]:
    """Return the class that each row shall reach; None for those that were not given one.

    Raises:
        InvalidInput: there are several, but not one per row.
    """
    several = isinstance(
        target,
        list | tuple | np.ndarray | pd.Series | pd.Index | pd.api.extensions.ExtensionArray,
    )
    labels = list(target) if several else [target] * rows  # type: ignore[call-overload]
    if len(labels) != rows:
        raise InvalidInput(
            f"'target' must be one class, or one per row ({rows}). Got {len(labels)}."
        )
    return labels


def _targets(
    density: ConditionalDensity, target: object, starts: FloatArray, logs: FloatArray | None
) -> IntArray:
    """Return the class index that each row shall reach."""
    if target is None:
        if len(density.classes_) != 2:
            raise InvalidInput(
                f"'target' must be given, as there are {len(density.classes_)} classes: "
                f"{quote(density.classes_.tolist(), limit=20)}."
            )
        logs = density.log_posterior(starts) if logs is None else logs
        least: IntArray = logs.argmin(axis=1)
        return least
    labels = target_of_each(target, len(starts))
    return np.array([density.class_index(label) for label in labels], dtype=np.intp)


def _limited(planner: Any, time_limit: float) -> Planner:
    """Return the planner with another time limit."""
    if not (is_dataclass(planner) and hasattr(planner, "time_limit")):
        raise InvalidInput(
            f"'time_limit' must be left out: a {type(planner).__name__} knows no time limit."
        )
    limited: Planner = replace(planner, time_limit=time_limit)  # type: ignore[type-var, assignment]
    return limited
