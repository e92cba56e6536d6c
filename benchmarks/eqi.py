"""The EQI application: the restricted network against PyBNesian, BayesACE against NSGA2.

Needs EPA's files in `$DAACE_DATA/eqi`. `python -m benchmarks.eqi` takes an hour, a line of eqi.csv
per county, and goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.clgn import Row, record_batch, row
from daace.eqi.data.counties import TARGET, Counties
from daace.eqi.data.files import read_counties
from daace.eqi.models.densities import (
    MAX_PARENTS,
    forbidden_arcs,
    forced_arcs,
    restricted_network,
)
from daace.eqi.models.performance import performance
from daace.eqi.models.planners import StraightOptimizer
from daace.eqi.policy.advisor import read_advisor
from daace.eqi.policy.study import PENALTY, sample_counties
from daace.landscape.cost import Landscape
from daace.landscape.goal import Goal
from daace.landscape.problem import Problem
from daace.planners.nsga2 import NSGA2


def fitting(counties: Counties) -> list[Row]:
    """Compare structure and parameters of the restricted network, same rules, same rows."""
    import pybnesian as pb

    table = counties.table
    forbidden = forbidden_arcs(counties.domain_of)
    began = time.perf_counter()
    network = restricted_network(counties).fit(table)
    ours = time.perf_counter() - began
    assert not set(network.arcs_) & set(forbidden)
    X = network.to_model(table.to_frame())
    y = np.searchsorted(table.classes, table.y)
    batch = record_batch(X, y, [str(label) for label in table.classes], table)
    forced = forced_arcs()
    start = pb.CLGNetwork(
        nodes=[TARGET, *table.features], arcs=forced, node_types=[(TARGET, pb.DiscreteFactorType())]
    )
    began = time.perf_counter()
    peer = pb.hc(
        batch, start=start, bn_type=pb.CLGNetworkType(), score="bic", operators=["arcs"],
        max_indegree=MAX_PARENTS, arc_whitelist=forced,
        arc_blacklist=[*forbidden, *((name, TARGET) for name in table.features)],
    )  # fmt: skip
    peer.fit(batch)
    theirs = time.perf_counter() - began
    score = performance(network, table, table.X.std(axis=0)).log_joint
    return [
        row("restricted network, 3142 x 131: seconds to fit", ours, theirs),
        row("mean log p(x, y), in sample", score, float(peer.logl(batch).mean())),
    ]


def planning(counties: Counties, count: int, record: Path) -> pd.DataFrame:
    """Compare costs at penalty 5 on the raw scale with one vertex, under the network itself.

    NSGA2 takes minutes for a county: each line goes to `record`, and what stands there is kept.
    """
    advisor = read_advisor(counties, None)
    density = advisor.network
    alpha = advisor.threshold("BayesACE")
    landscape = Landscape(density, penalty=PENALTY, scale="nll")
    done = set(pd.read_csv(record)["fips"]) if record.exists() else set()
    for fips in sample_counties(counties, max(0, count - 3))[:count]:
        if fips in done:
            continue
        start = advisor.rows[counties.position(fips)]
        goal = Goal(advisor.target(fips, 2), min_log_prob=alpha, min_posterior=0.7)
        problem = Problem(start, landscape, goal)
        rng = np.random.default_rng(fips)
        began = time.process_time()
        ours = StraightOptimizer(vertices=(1,)).solve(problem, rng=rng)
        middle = time.process_time()
        theirs = NSGA2(vertices=1).solve(problem, rng=rng)
        line = {
            "fips": fips,
            "county": counties.label(fips),
            "ours": ours.cost,
            "nsga2": theirs.cost,
            "ratio": ours.cost / theirs.cost,
            "cpu_seconds": middle - began,
            "nsga2_cpu_seconds": time.process_time() - middle,
        }
        pd.DataFrame([line]).to_csv(record, mode="a", header=not record.exists(), index=False)
    return pd.read_csv(record)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counties", type=int, default=20)
    parser.add_argument("--record", type=Path, default=Path(__file__).parent / "eqi.csv")
    options = parser.parse_args()
    counties = read_counties()
    with threadpool_limits(1):
        print(pd.DataFrame(fitting(counties)).to_string(index=False), flush=True)
        found = planning(counties, options.counties, options.record)
    print(found.to_string(index=False))
    print(f"ratio: median {found['ratio'].median():.3f}, largest {found['ratio'].max():.3f}")


if __name__ == "__main__":
    main()
