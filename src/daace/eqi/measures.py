"""What a plan is worth: one flat record per county, algorithm and penalty."""

from __future__ import annotations

from typing import Any

import numpy as np

from daace.density.base import ConditionalDensity
from daace.eqi.data import DOMAINS, Counties
from daace.eqi.policy import Recourse, category_of, recomputed_indices, transformed_path
from daace.explain.metrics import end_sparsity, l2, path_sparsity
from daace.landscape.cost import Landscape
from daace.landscape.goal import Goal
from daace.landscape.path import segment_lengths

#: Digits that a change in standard deviations is recorded with.
DIGITS = 4


def measure(
    recourse: Recourse,
    counties: Counties,
    *,
    own: ConditionalDensity,
    judge: ConditionalDensity,
    min_log_prob: float,
    judge_min_log_prob: float,
    min_posterior: float,
) -> dict[str, Any]:
    """Return the record of a plan.

    Args:
        recourse: the plan.
        counties: who know formulas.
        own: the density that the algorithm planned over.
        judge: the density under which all algorithms are compared.
        min_log_prob, min_posterior: of the goal.
        judge_min_log_prob: smallest log p that the judge asks for.

    Returns:
        what was asked, how it ended and, where it was found: cost under the judge (the paper's
        rule), L2, length of the way and sparsity; log p and probability of the target at the end,
        under both; the indices before, as planned and as recomputed (published sense, high = bad)
        with the largest gap; the categories that both give; the change of each feature in standard
        deviations.
    """
    ask = recourse.ask
    record: dict[str, Any] = {
        "kind": "recourse",
        "fips": recourse.fips,
        "algorithm": ask.algorithm,
        "mode": ask.mode,
        "penalty": float(ask.penalty),
        "improve": ask.improve,
        "fixed": list(ask.fixed),
        "category": int(counties.category[recourse.fips]),
        "target": recourse.target,
        "status": str(recourse.status),
        "found": recourse.found,
        "seconds": recourse.seconds,
        "notes": list(recourse.notes),
    }
    if not recourse.found:
        return record
    path = recourse.waypoints
    landscape = Landscape(judge, penalty=ask.penalty, scale="nll")
    indices, variables = transformed_path(counties, own, recourse)
    again = recomputed_indices(counties, variables)
    ends = {
        name: density.log_joint(path[-1:])[0] for name, density in (("own", own), ("judge", judge))
    }
    goal, strict = (
        Goal(recourse.target, min_log_prob=alpha, min_posterior=min_posterior)
        for alpha in (min_log_prob, judge_min_log_prob)
    )
    for name, density in (("own", own), ("judge", judge)):
        joint = ends[name]
        log_p = float(np.logaddexp.reduce(joint))
        record[f"log_prob_{name}"] = log_p
        record[f"posterior_{name}"] = float(
            np.exp(joint[density.class_index(recourse.target)] - log_p)
        )
    record |= {
        "own_cost": recourse.cost,
        "cost": landscape.path_cost(path, rule="midpoint"),
        "l2": l2(path),
        "length": float(segment_lengths(np.diff(path, axis=0)).sum()),
        "path_sparsity": path_sparsity(path),
        "end_sparsity": end_sparsity(path),
        "vertices": max(0, len(path) - 2),
        "goal_met": goal.check(own, path[-1]),
        "valid_judge": strict.check(judge, path[-1]),
        "before": indices.iloc[0].tolist(),
        "planned": indices.iloc[-1].tolist(),
        "recomputed": again.iloc[-1].tolist(),
        "gap": float(np.abs(indices.to_numpy() - again[list(DOMAINS)].to_numpy()).max()),
        "category_planned": category_of(counties, indices.iloc[-1:])[0],
        "category_recomputed": category_of(counties, again.iloc[-1:])[0],
        "change": np.round(path[-1] - path[0], DIGITS).tolist(),
        "path": path.tolist(),
    }
    return record
