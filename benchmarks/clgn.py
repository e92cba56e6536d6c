"""Linear Gaussian network against PyBNesian: structure, whole fit, log-likelihood."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypedDict

import numpy as np
import pandas as pd
import pyarrow as pa
import pybnesian as pb
from threadpoolctl import threadpool_limits

from daace._typing import FloatArray, IntArray
from daace.data.catalog import load_table
from daace.data.table import Table
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.density.network.families import SufficientStatistics
from daace.density.network.graph import Structure
from daace.density.network.hill_climbing import hill_climb

MAX_PARENTS = 3


class Row(TypedDict):
    """One line of the table: seconds (or a count) of ours and of the peer, and peer / ours."""

    what: str
    ours: float
    peer: float
    ratio: float


def row(what: str, ours: float, peer: float) -> Row:
    """Return a line of the table."""
    return {"what": what, "ours": ours, "peer": peer, "ratio": peer / ours}


def seconds(work: Callable[[], object], *, repeats: int) -> float:
    """Return the median time of a call, after one to warm up."""
    work()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def random_network_table(seed: int, *, rows: int = 3_000, features: int = 130) -> Table:
    """Draw a table from a random network: up to 2 parents each, half of them under the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    X = np.zeros((rows, features))
    for j in range(features):
        parents = rng.choice(j, size=min(j, int(rng.integers(0, 3))), replace=False)
        coefficients = rng.normal(size=(2, len(parents)))
        offsets = rng.normal(size=2)
        if rng.random() < 0.5:
            coefficients[1], offsets[1] = coefficients[0], offsets[0]
        X[:, j] = offsets[y] + np.einsum("rp,rp->r", X[:, parents], coefficients[y])
        X[:, j] += rng.normal(size=rows)
        X[:, j] /= X[:, j].std()
    names = [f"x{j}" for j in range(features)]
    frame = pd.DataFrame(X[:, rng.permutation(features)], columns=names)
    return Table.from_frame(frame.assign(y=np.array(["no", "yes"])[y]), target="y")


def record_batch(X: FloatArray, y: IntArray, classes: list[str], table: Table) -> pa.RecordBatch:
    """Return rows as PyBNesian takes them."""
    labels = pa.DictionaryArray.from_arrays(pa.array(y.astype(np.int8)), pa.array(classes))
    columns = [pa.array(np.ascontiguousarray(column)) for column in X.T]
    return pa.RecordBatch.from_arrays([labels, *columns], names=[table.target, *table.features])


def peer_network(table: Table, arcs: list[tuple[str, str]]) -> pb.CLGNetwork:
    """Return PyBNesian's network with these arcs."""
    nodes = [table.target, *table.features]
    return pb.CLGNetwork(
        nodes=nodes, arcs=arcs, node_types=[(table.target, pb.DiscreteFactorType())]
    )


def hill_climbing(runs: int) -> list[Row]:
    """Compare structure search on 3000 x 130 with at most 3 parents, from naive Bayes."""
    ours, peers, fits, peer_fits, wins = [], [], [], [], 0
    for seed in range(runs):
        table = random_network_table(seed)
        network = LinearGaussianNetwork(max_parents=MAX_PARENTS)
        fits.append(seconds(lambda t=table, m=network: m.fit(t), repeats=1))  # type: ignore[misc]
        X = network.to_model(table.to_frame())
        y = np.searchsorted(table.classes, table.y)
        n = X.shape[1]
        nothing = Structure(np.zeros((n, n), dtype=bool), np.zeros(n, dtype=bool))
        naive = Structure(nothing.arcs, ~nothing.class_arcs)

        def climb(X: FloatArray = X, y: IntArray = y) -> Structure:
            stats = SufficientStatistics.of(X, y, 2)
            rules = {"forced": nothing, "forbidden": nothing}  # noqa: B023
            return hill_climb(stats, naive, max_parents=MAX_PARENTS, **rules)  # noqa: B023

        ours.append(seconds(climb, repeats=3))

        batch = record_batch(X, y, table.classes.tolist(), table)
        start = peer_network(table, [(table.target, name) for name in table.features])
        began = time.perf_counter()
        peer = pb.hc(
            batch,
            start=start,
            bn_type=pb.CLGNetworkType(),
            score="bic",
            operators=["arcs"],
            max_indegree=MAX_PARENTS,
            arc_blacklist=[(name, table.target) for name in table.features],
        )
        peers.append(time.perf_counter() - began)
        peer.fit(batch)
        peer_fits.append(time.perf_counter() - began)
        wins += network.bic(table) >= pb.BIC(batch).score(peer)
    size = f"3000 x 130, {MAX_PARENTS} parents, median of {runs} runs"
    return [
        row(f"hill climbing, {size}", float(np.median(ours)), float(np.median(peers))),
        row(f"fit with 10,000 draws, {size}", float(np.median(fits)), float(np.median(peer_fits))),
        {
            "what": "hill climbing: our BIC is at least as good (of so many runs)",
            "ours": float(wins),
            "peer": float(runs),
            "ratio": wins / runs,
        },
    ]


def log_likelihood() -> list[Row]:
    """Compare log p(x, y) of 20 rows, the same graph in both: ours for all classes at once."""
    result = []
    for table in (load_table("breast_cancer"), random_network_table(0)):
        network = LinearGaussianNetwork(max_parents=MAX_PARENTS).fit(table)
        X = network.to_model(table.to_frame())
        y = np.searchsorted(table.classes, table.y)
        batch = record_batch(X, y, table.classes.tolist(), table)
        peer = peer_network(table, network.arcs_)
        peer.fit(batch)
        few, few_rows = batch.slice(0, 20), X[:20]
        reference = peer.logl(few)
        mine = network.log_joint(few_rows)[np.arange(20), y[:20]]
        error = float(np.abs(mine / reference - 1).max())
        result.append(
            row(
                f"log_joint of 20 rows, {X.shape[1]} features (differ by {error:.0e})",
                seconds(lambda m=network, q=few_rows: m.log_joint(q), repeats=200),  # type: ignore[misc]
                seconds(lambda m=peer, q=few: m.logl(q), repeats=20),  # type: ignore[misc]
            )
        )
    return result


def rows(*, full: bool = False) -> list[Row]:
    """Return the table; the short one makes 2 runs, the full one 10."""
    with threadpool_limits(1):
        return hill_climbing(10 if full else 2) + log_likelihood()
