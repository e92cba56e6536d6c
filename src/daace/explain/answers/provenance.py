"""The provenance of an answer: enough to repeat the question."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from daace._json import read_number, read_text
from daace.density.draws import DrawStatistics
from daace.explain.asking.settings import Settings
from daace.landscape.constraints import Constraints
from daace.landscape.goal import Goal
from daace.planners.base import Plan, Planner

#: Entries that records of earlier versions do not have.
LATER = {"mean_log_prob", "sd_log_prob", "judge", "changes"}


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Versions, settings and effort behind an explanation.

    Attributes:
        version: version of this package.
        density: kind of density.
        planner: the planner and its settings.
        classifier: name of the classifier that judged the class, if one did.
        judge: judge of the class: 'classifier', 'committee' or 'density'.
        penalty: exponent of the local cost.
        scale: scale of the landscape.
        plausibility: as set, in standard deviations of log p; None if `min_log_prob` was given.
        min_log_prob: threshold of log p at the end.
        min_posterior: threshold of the target's probability at the end.
        mean_log_prob: mean of log p over the draws that plausibility refers to; those that share
            the fixed features with the start, if there are any. None in earlier versions.
        sd_log_prob: standard deviation of log p over the same draws.
        changes: 'few' if features were held while the cost grew by at most a quarter, 'all' for the
            cheapest path; None if a planner was given, and in earlier versions.
        constraints: fields of `Constraints`.
        seed: seed of the random generator.
        seconds: time of the search; rows of a batch are solved together and share it.
        evaluations: number of paths whose cost was evaluated.
        classifier_calls: number of the search's calls of the classifier.
        classifier_rows: number of rows in these calls; draws of the density count once.
    """

    version: str
    density: str
    planner: str
    classifier: str | None
    penalty: float
    scale: str
    plausibility: float | None
    min_log_prob: float
    min_posterior: float
    constraints: Mapping[str, Any]
    seed: int
    seconds: float
    evaluations: int
    classifier_calls: int = 0
    classifier_rows: int = 0
    mean_log_prob: float | None = None
    sd_log_prob: float | None = None
    judge: str = "density"
    changes: str | None = None

    @classmethod
    def of(
        cls,
        settings: Settings,
        goal: Goal,
        plan: Plan | None = None,
        *,
        draws: DrawStatistics | None = None,
        planner: Planner | None = None,
    ) -> Self:
        """Collect the provenance of an answer.

        Args:
            settings: settings of the query.
            goal: goal of the row.
            plan: the plan; None if nothing was searched for.
            draws: statistics that plausibility refers to; the density's when left out.
            planner: planner of the plan; that of the settings when left out.
        """
        from daace import __version__

        draws = settings.density.draws_ if draws is None else draws
        landscape, judged = settings.landscape, None if plan is None else plan.judged
        return cls(
            version=__version__,
            density=settings.density.kind or type(settings.density).__name__,
            planner=(settings.search if planner is None else planner).describe(),
            classifier=settings.classifier,
            judge=settings.decides,
            penalty=float(landscape.penalty),
            scale=landscape.scale,
            plausibility=None if goal.min_log_prob is not None else float(goal.plausibility),
            min_log_prob=goal.threshold(draws),
            mean_log_prob=draws.mean,
            sd_log_prob=draws.sd,
            min_posterior=float(goal.min_posterior),
            constraints=asdict(settings.rules),
            seed=settings.seed,
            seconds=0.0 if plan is None else plan.seconds,
            evaluations=0 if plan is None else plan.evaluations,
            classifier_calls=0 if judged is None else judged.calls,
            classifier_rows=0 if judged is None else judged.rows,
            changes=settings.changes if planner is None and settings.planner is None else None,
        )

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Rebuild from `dataclasses.asdict` that went through JSON.

        Raises:
            ValueError: entries are missing, unknown, or not what they must be.
        """
        known = {entry.name for entry in fields(cls)}
        if not known - LATER <= set(record) <= known:
            raise ValueError("the provenance has other entries")
        classifier, plausibility = record["classifier"], record["plausibility"]
        changes = record.get("changes")
        min_posterior = read_number(record["min_posterior"])
        min_log_prob = read_number(record["min_log_prob"], finite=False)
        if not (0 <= min_posterior <= 1 and min_log_prob < math.inf):
            raise ValueError(f"the thresholds are {min_log_prob} and {min_posterior}")
        return cls(
            version=read_text(record["version"]),
            density=read_text(record["density"]),
            planner=read_text(record["planner"]),
            classifier=None if classifier is None else read_text(classifier),
            penalty=read_number(record["penalty"]),
            scale=read_text(record["scale"]),
            plausibility=None if plausibility is None else read_number(plausibility),
            min_log_prob=min_log_prob,
            min_posterior=min_posterior,
            constraints=asdict(Constraints(**record["constraints"])),
            seed=_count(record, "seed"),
            seconds=read_number(record["seconds"]),
            evaluations=_count(record, "evaluations"),
            classifier_calls=_count(record, "classifier_calls"),
            classifier_rows=_count(record, "classifier_rows"),
            mean_log_prob=_optional(record, "mean_log_prob"),
            sd_log_prob=_optional(record, "sd_log_prob"),
            judge=_read_judge(record, classifier),
            changes=None if changes is None else read_text(changes),
        )


def _read_judge(record: Mapping[str, Any], classifier: object) -> str:
    """Return the judge of the class; earlier versions had classifiers and densities only."""
    judge = record.get("judge", "density" if classifier is None else "classifier")
    if judge not in ("classifier", "committee", "density") or (
        (judge == "classifier") != (classifier is not None)
    ):
        raise ValueError(f"{str(judge)[:20]!r} is not a judge")
    return str(judge)


def _optional(record: Mapping[str, Any], name: str) -> float | None:
    """Return a number that earlier versions do not have."""
    value = record.get(name)
    return None if value is None else read_number(value)


def _count(record: Mapping[str, Any], name: str) -> int:
    """Return a count."""
    value = record[name]
    if type(value) is not int or value < 0:
        raise ValueError(f"'{name}' is {str(value)[:20]!r}, not a count")
    return value
