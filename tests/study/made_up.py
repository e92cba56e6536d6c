"""A study whose results are made up, with the paper's algorithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from daace.study.paper import PAPER
from daace.study.results import StudyResults

NAMES = ("DAACE GT", "DAACE", "BayesACE", "FACE GT", "FACE-DE", "FACE-eps", "Wachter")


def records(costs: dict[str, float], *, noise: float, tables: int = 24) -> list[dict[str, Any]]:
    """A made-up study in which the cost of an algorithm is the same everywhere, but for noise."""
    rng = np.random.default_rng(0)
    made = []
    for name, cost in costs.items():
        for t in range(tables):
            for penalty in (1.0, 5.0):
                for m in (-0.5, 0.0):
                    value = cost + float(rng.normal(scale=noise))
                    made.append(
                        {
                            "kind": "problem", "key": f"{name}{t}{penalty}{m}", "table": f"t{t}",
                            "algorithm": name, "instance": 0, "penalty": penalty,
                            "plausibility": m, "certainty": -0.5, "status": "found",
                            "found": np.isfinite(cost), "own_cost": value, "cost_nll": value,
                            "cost_relative": value, "l2": value, "path_sparsity": value,
                            "to_face_gt": abs(value), "valid": True, "hops": 2,
                            "run": {
                                "seconds": abs(value), "graph_seconds": 0.0, "host": "a",
                                "memory_mb": 1.0,
                            },
                        }
                    )  # fmt: skip
    return made


def made_up(
    costs: dict[str, float], *, noise: float = 0.01, beside: tuple[str, ...] = ()
) -> StudyResults:
    plan = {"study": "made up", "compared": list(NAMES), "families": {}, "scale": "nll"}
    if beside:
        plan["beside"] = list(beside)
    return StudyResults(plan, tuple(records(costs, noise=noise)), PAPER.reference)
