"""What a plan is worth: one flat record per county, algorithm and penalty."""

from __future__ import annotations

from typing import Any

import numpy as np

from daace.eqi.policy.advisor import Advisor
from daace.eqi.policy.recourse import CountyPath, Recourse, category_of
from daace.eqi.policy.request import Algorithm, Ask
from daace.explain.metrics import end_sparsity, l2, path_sparsity
from daace.landscape.cost import Landscape
from daace.landscape.goal import Goal
from daace.landscape.path import segment_lengths

#: Digits that a change in standard deviations is recorded with.
DIGITS = 4

#: The only search with a seed of its own.
GENETIC: Algorithm = "BayesACE by NSGA-II"

#: Under its density all algorithms are compared.
JUDGE: Algorithm = "DAACE"


def record_key(fips: int, ask: Ask) -> str:
    """Return the name of a plan among the records.

    Example:
        >>> record_key(6037, Ask(equity=True))
        '6037/BayesACE/equity/5/2'
    """
    fixed = f"/{','.join(ask.fixed)}" if ask.fixed else ""
    seed = f"/seed {ask.seed}" if ask.seed else ""
    return f"{fips}/{ask.algorithm}/{ask.mode}/{ask.penalty:g}/{ask.improve}{fixed}{seed}"


def to_record(advisor: Advisor, recourse: Recourse) -> dict[str, Any]:
    """Return the record of a plan.

    Args:
        advisor: who made it; with the flow, under which all algorithms are compared.
        recourse: the plan.

    Returns:
        what was asked, how it ended and, where it was found: cost under the flow (the paper's
        rule), L2, length of the path and sparsity; log p and probability of the target at the end,
        under the planner's own density and the flow; the indices before, as planned and as
        recomputed (published sense, high = bad) with the largest gap; the categories that both
        give; the change of each feature in standard deviations.
    """
    ask, answer = recourse.ask, recourse.explanation
    record: dict[str, Any] = {
        "key": record_key(recourse.fips, ask),
        "kind": "recourse",
        "fips": recourse.fips,
        "algorithm": ask.algorithm,
        "mode": ask.mode,
        "penalty": float(ask.penalty),
        "improve": ask.improve,
        "fixed": list(ask.fixed),
        **({"seed": ask.seed} if ask.algorithm == GENETIC else {}),
        "category": int(advisor.counties.category[recourse.fips]),
        "target": recourse.target,
        "status": str(answer.status),
        "found": recourse.found,
        "seconds": recourse.seconds,
        "notes": list(answer.notes),
    }
    if not recourse.found:
        return record
    own, judge = (_end(advisor, recourse, algorithm) for algorithm in (ask.algorithm, JUDGE))
    return {
        **record,
        "log_prob_own": own["log_prob"],
        "posterior_own": own["posterior"],
        "log_prob_judge": judge["log_prob"],
        "posterior_judge": judge["posterior"],
        "own_cost": recourse.cost,
        **_sizes(advisor, recourse),
        "goal_met": own["met"],
        "valid_judge": judge["met"],
        **_indices(advisor, recourse),
        "change": np.round(recourse.waypoints[-1] - recourse.waypoints[0], DIGITS).tolist(),
        "path": recourse.waypoints.tolist(),
    }


def _end(advisor: Advisor, recourse: Recourse, algorithm: Algorithm) -> dict[str, Any]:
    """Return the measures of the end of a path under the density of its algorithm."""
    density, end = advisor.density(algorithm), recourse.waypoints[-1]
    joint = density.log_joint(end[None])[0]
    log_prob = float(np.logaddexp.reduce(joint))
    goal = Goal(
        recourse.target,
        min_log_prob=advisor.threshold(algorithm),
        min_posterior=advisor.min_posterior,
    )
    return {
        "log_prob": log_prob,
        "posterior": float(np.exp(joint[density.class_index(recourse.target)] - log_prob)),
        "met": goal.check(density, end),
    }


def _sizes(advisor: Advisor, recourse: Recourse) -> dict[str, Any]:
    """Return cost under the judge, distance, length and sparsity of a path."""
    path = recourse.waypoints
    landscape = Landscape(advisor.density(JUDGE), penalty=recourse.ask.penalty, scale="nll")
    return {
        "cost": landscape.path_cost(path, rule="midpoint"),
        "l2": l2(path),
        "length": float(segment_lengths(np.diff(path, axis=0)).sum()),
        "path_sparsity": path_sparsity(path),
        "end_sparsity": end_sparsity(path),
        "vertices": max(0, len(path) - 2),
    }


def _indices(advisor: Advisor, recourse: Recourse) -> dict[str, Any]:
    """Return indices and categories at the end, as planned and as EPA's formulas give them."""
    counties = advisor.counties
    path = CountyPath.of(counties, recourse)
    return {
        "before": path.planned.iloc[0].tolist(),
        "planned": path.planned.iloc[-1].tolist(),
        "recomputed": path.recomputed.iloc[-1].tolist(),
        "gap": path.gap,
        "category_planned": category_of(counties, path.planned.iloc[-1:])[0],
        "category_recomputed": category_of(counties, path.recomputed.iloc[-1:])[0],
    }


def to_atlas_record(advisor: Advisor, recourse: Recourse) -> dict[str, Any]:
    """Return the light record of a plan, for the maps: how it ended, and the real indices."""
    record: dict[str, Any] = {
        "key": f"atlas/{record_key(recourse.fips, recourse.ask)}",
        "kind": "atlas",
        "fips": recourse.fips,
        "target": recourse.target,
        "status": str(recourse.explanation.status),
        "found": recourse.found,
    }
    if recourse.found:
        indices = CountyPath.of(advisor.counties, recourse).recomputed
        record |= {
            "before": indices.iloc[0].tolist(),
            "recomputed": indices.iloc[-1].tolist(),
            "category_recomputed": category_of(advisor.counties, indices.iloc[-1:])[0],
        }
    return record
