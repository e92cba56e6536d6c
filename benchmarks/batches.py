"""Many rows at once against row by row: paths per second, by the wall clock.

Needs an idle machine: a batch uses two processes, single queries one.
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd

import daace
from daace import Explainer

#: Rows asked one by one; all of them are in the batch too.
SINGLE = 100


def paths_per_second(explainer: Explainer, frame: pd.DataFrame, *, n_jobs: int) -> pd.DataFrame:
    """Compare a batch with single queries about the same rows.

    Workers are started, and draws and roadmap made, before the clock runs: they serve all batches.
    """
    explainer.explain_batch(frame.iloc[:64], n_jobs=n_jobs)
    explainer.explain(frame.iloc[0])
    began = time.perf_counter()
    answers = explainer.explain_batch(frame, n_jobs=n_jobs)
    together = len(frame) / (time.perf_counter() - began)
    chosen = np.linspace(0, len(frame) - 1, SINGLE).astype(int)
    began = time.perf_counter()
    singles = [explainer.explain(frame.iloc[row]) for row in chosen]
    alone = len(chosen) / (time.perf_counter() - began)
    pairs = [(answers[row].cost, one.cost) for row, one in zip(chosen, singles, strict=True)]
    excess = [(a - b) / b for a, b in pairs if b > 0 and np.isfinite(b)]
    return pd.DataFrame(
        {
            "rows": [len(frame)],
            "n_jobs": [n_jobs],
            "paths per second, batch": [together],
            "paths per second, single": [alone],
            "ratio": [together / alone],
            "largest excess cost of a batch": [max(excess)],
            "found": [sum(a.found for a in answers) / len(frame)],
        }
    )


def rows(*, repeats: int = 3) -> pd.DataFrame:
    """Return the table: the rows of breast_cancer, and as many drawn from their network."""
    table = daace.load_table("breast_cancer")
    explainer = daace.fit(table)
    real = table.to_frame().drop(columns=table.target)
    drawn = explainer.density.to_user(
        explainer.density.sample(512, rng=np.random.default_rng(0))[0]
    )
    parts = [
        paths_per_second(explainer, frame, n_jobs=n_jobs).assign(table=name)
        for _ in range(repeats)
        for name, frame in (("breast_cancer", real), ("drawn from the network", drawn))
        for n_jobs in (1, 2)
    ]
    return pd.concat(parts).sort_values(["table", "n_jobs"]).reset_index(drop=True)


if __name__ == "__main__":
    print(rows().to_string(index=False, float_format="%.4g"))
