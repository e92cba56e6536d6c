"""Kernel density estimate against scikit-learn at settings that make it exact too."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from sklearn.neighbors import KernelDensity as Peer
from threadpoolctl import threadpool_limits

from benchmarks.clgn import Row, row, seconds
from daace._typing import FloatArray
from daace.data.catalog import load_table
from daace.data.table import Table
from daace.density.kde import KernelDensity


def tables() -> list[Table]:
    """Return breast_cancer, and the paper's tables that are at hand."""
    folder = Path(os.environ.get("DAACE_DATA", "")) / "benchmark"
    names = [
        name
        for name in ("phoneme", "wine", "MagicTelescope", "Higgs")
        if (folder / f"{name}.parquet").exists()
    ]
    return [load_table(name) for name in ["breast_cancer", *names]]


def evaluation(table: Table, queries: int) -> Row:
    """Compare log p(x, y) of rows drawn from the density, a tenth of them 50 deviations away."""
    kde = KernelDensity(max_rows_per_class=5_000).fit(table)
    rng = np.random.default_rng(0)
    X, _ = kde.sample(queries, rng=rng)
    X[::10] += 50 * rng.normal(size=X[::10].shape)
    peers = [
        Peer(bandwidth=kde.bandwidth_, leaf_size=len(rows), rtol=0, atol=0).fit(rows)
        for rows in kde.rows_
    ]

    def peer() -> FloatArray:
        return np.column_stack([p.score_samples(X) for p in peers]) + kde.log_prior_

    error = float(np.abs(kde.log_joint(X) / peer() - 1).max())
    kernels = sum(len(rows) for rows in kde.rows_)
    what = f"{table.name}: log p of {queries} rows, {kernels} kernels, {X.shape[1]} features"
    return row(
        f"{what} (differ by {error:.0e})",
        seconds(lambda: kde.log_joint(X), repeats=5),
        seconds(peer, repeats=3),
    )


def rows(*, full: bool = False) -> list[Row]:
    """Return the table: 20 rows as a planner asks, and 200 (full: 2,000) as a study does."""
    with threadpool_limits(1):
        return [evaluation(t, n) for t in tables() for n in (20, 2_000 if full else 200)]
