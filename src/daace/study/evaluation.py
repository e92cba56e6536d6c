"""How good a path is under the truth, and how good a density."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from daace._typing import FloatArray
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput
from daace.explain import metrics
from daace.landscape.cost import Landscape
from daace.landscape.problem import Problem
from daace.planners.base import Plan
from daace.study.client import TableFact
from daace.study.provenance import describe_origin
from daace.study.records import Record
from daace.study.spec import TRUTH
from daace.study.statistics import compare_two
from daace.study.table_setup import TableSetup

#: Equal pieces of the midpoint rule by which the cost of every path is summed.
PIECES = 19

#: Percentiles over the rows that describe how a density does on a table.
SPREAD = (5, 25, 50, 75, 95)

#: Measures of a path, as records name them.
MEASURES = (
    "cost_nll", "cost_relative", "l2", "path_sparsity", "end_sparsity", "hops", "length",
    "log_prob", "posterior", "valid",
)  # fmt: skip


def evaluate_plan(plan: Plan, problem: Problem, truth: ConditionalDensity) -> Record:
    """Return the measures of a path under the truth; None for each if there is no path.

    Args:
        plan: the plan of any planner.
        problem: that it solves.
        truth: the density to measure by, in the model space of the problem.
    """
    if not plan.found:
        return dict.fromkeys(MEASURES)
    path, goal = plan.waypoints, problem.goal
    costs = [_cost(path, truth, problem.landscape.penalty, scale) for scale in ("nll", "relative")]
    values = (
        *costs,
        metrics.l2(path),
        metrics.path_sparsity(path),
        metrics.end_sparsity(path),
        metrics.hops(path),
        float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum()),
        metrics.log_density(path, truth),
        metrics.posterior(path, truth, goal.target),
        metrics.valid(path, truth, goal),
    )
    return dict(zip(MEASURES, values, strict=True))


def _cost(path: FloatArray, truth: ConditionalDensity, penalty: float, scale: Any) -> float:
    if len(path) < 2:
        return 0.0
    landscape = Landscape(truth, penalty=penalty, scale=scale)
    return landscape.path_cost(path, rule="midpoint", pieces=PIECES)


def compare_densities(setup: TableSetup, facts: Sequence[TableFact] = ()) -> Record:
    """Return how well each density describes fresh draws of the truth, and facts of the table.

    Densities are compared by -log p(x) and by the squared error of p(true class | x), two at a
    time by Wilcoxon's test.

    Args:
        setup: the setup of the table.
        facts: numbers to add; None in the record where one cannot be computed.
    """
    names = [TRUTH, *(density.name for density in setup.spec.densities)]
    X, y = setup.truth.sample(setup.spec.samples, rng=setup.compare_rng())
    nll: dict[str, FloatArray] = {}
    error: dict[str, FloatArray] = {}
    with threadpool_limits(1):
        for name in names:
            density = setup.density(name)
            nll[name] = -density.log_prob(X)
            own = density.predict_proba(X)[np.arange(len(y)), np.searchsorted(density.classes_, y)]
            error[name] = (1 - own) ** 2
        known = {fact.name: _compute(fact, setup.sample[0]) for fact in facts}
    summary = setup.summary
    return {
        "kind": "densities",
        "key": setup.keys.comparison(),
        "table": setup.keys.table.name,
        "features": len(setup.truth.features_),
        "rows": summary.rows,
        **known,
        "log_prob": summary.log_prob,
        "posterior": summary.posterior,
        "nll": {name: values.mean() for name, values in nll.items()},
        "squared_error": {name: values.mean() for name, values in error.items()},
        "spread": {"nll": _spread(nll), "squared_error": _spread(error)},
        "pairs": [*_compare_pairs("nll", nll), *_compare_pairs("squared_error", error)],
        **describe_origin(),
    }


def _spread(values: dict[str, FloatArray]) -> dict[str, list[float]]:
    """Return percentiles of what each row has above the truth, for the densities."""
    return {
        name: np.percentile(own - values[TRUTH], SPREAD).tolist()
        for name, own in values.items()
        if name != TRUTH
    }


def _compute(fact: TableFact, rows: FloatArray) -> float | None:
    try:
        return fact.compute(rows)
    except InvalidInput:  # a table that a test is not made for does not stop the study
        return None


def _compare_pairs(measure: str, scores: dict[str, FloatArray]) -> list[Record]:
    found = []
    for first, second in combinations(scores, 2):
        test = compare_two(scores[first].tolist(), scores[second].tolist())
        found.append(
            {
                "first": first,
                "second": second,
                "measure": measure,
                "p_value": test.p_value,
                "effect": test.effect,
                "median": test.median,
            }
        )
    return found
