"""Held-out log-likelihood on real tables with categories: network, profiles, KDE and flow.

    python -m benchmarks.mixed_likelihood [--rows 2500] [--epochs 150] [--only heart]

Of each table at most `--rows` rows are used: four fifths to fit, one fifth to compare. The numbers
are means of log p(x, d, y) in nats, of mixed rows: densities of numbers in standard deviations, and
probabilities of codes and atoms. `naive` is a mixture with as many components as the profiles, in
which nothing depends on anything but class and component. Each table is a line of
`mixed_likelihood.json` beside this module; tables with a line there are skipped.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from daace import KernelDensity, LinearGaussianNetwork, RealNVP, Table, load_table
from daace._typing import FloatArray
from daace.data.catalog import MIXED
from daace.density.base import ConditionalDensity
from daace.density.codes import CodeLayout, CodeTables
from daace.density.components import ClassComponents
from daace.density.gaussian import WhitenedGaussians
from daace.density.network.families import SufficientStatistics
from daace.density.network.graph import Structure
from daace.density.network.mixed_profiles import MixedLearner
from daace.density.network.mixed_rows import MixedRows
from daace.exceptions import InvalidInput

RECORD = Path(__file__).with_suffix(".json")


def parts(name: str, rows: int) -> tuple[Table, Table]:
    """Return rows to fit and rows to compare."""
    table = load_table(name)
    rng = np.random.default_rng(0)
    table = table.take(rng.permutation(len(table))[:rows])
    return table.split(0.2, rng=rng)


def log_likelihood(density: ConditionalDensity, test: Table) -> FloatArray:
    """Return log p(x, d, y) of each row, with respect to lengths and counts."""
    X, y = density.to_model(test.to_frame()), np.searchsorted(density.classes_, test.y)
    own: FloatArray = density.log_joint(X)[np.arange(len(y)), y] + density.log_measure(X)
    return own


def naive_mixture(network: LinearGaussianNetwork, train: Table, test: Table) -> FloatArray:
    """Return log p(x, d, y) by a naive Bayes mixture with a network's numbers of profiles."""
    layout = CodeLayout.of(network.encoding_, network.standardizer_)
    X, y = network.to_model(train.to_frame()), np.searchsorted(network.classes_, train.y)
    whole = (train.X == train.X.round()).all(axis=0)
    grid = (whole / 12 / network.standardizer_.scale**2)[layout.numbers]
    n = len(layout.numbers)
    plain = Structure(np.zeros((n, n), dtype=bool), np.ones(n, dtype=bool))

    def climb(stats: SufficientStatistics, before: Structure | None) -> Structure:
        return plain

    groups = [X[y == k] for k in range(len(network.classes_))]
    ordered = [group[np.lexsort(group.T[::-1])] for group in groups]
    rows = [MixedRows(group, layout, np.ones(len(group))) for group in ordered]
    learner = MixedLearner(rows, grid, climb, code_arcs=False)
    counts = np.bincount(network.components_.owner).tolist()
    found, _, _ = learner.learn(counts)
    components = ClassComponents(
        WhitenedGaussians(found.log_weights, *found.numbers.whitened()),
        found.owner,
        len(groups),
        CodeTables(layout, found.parents, found.tables, np.zeros(n)),
    )
    Z, k = network.to_model(test.to_frame()), np.searchsorted(network.classes_, test.y)
    own: FloatArray = components.log_joint(Z)[np.arange(len(k)), k]
    return own


def compare(name: str, rows: int, epochs: int) -> dict[str, Any]:
    """Fit every density on a table and compare them on its other rows."""
    train, test = parts(name, rows)
    line: dict[str, Any] = {"table": name, "rows": len(train), "compared": len(test)}
    line["epochs"] = epochs
    makers: dict[str, Callable[[], Any]] = {
        "network": LinearGaussianNetwork,
        "profiles": lambda: LinearGaussianNetwork(profiles="auto"),
        "kde": KernelDensity,
        "realnvp": lambda: RealNVP(epochs=epochs),
    }
    scores: dict[str, FloatArray] = {}
    for kind, make in makers.items():
        began = time.process_time()
        try:
            density = make().fit(train)
        except InvalidInput as error:  # no number without atoms
            line[kind], line[f"{kind}_why"] = None, str(error)
            continue
        line[f"{kind}_seconds"] = round(time.process_time() - began, 1)
        scores[kind] = log_likelihood(density, test)
        if kind == "profiles":
            line["numbers"] = np.bincount(density.components_.owner).tolist()
            scores["naive"] = naive_mixture(density, train, test)
        if kind == "kde":
            line |= {"bandwidth": density.bandwidth_, "smoothing": density.smoothing_}
    for kind, values in scores.items():
        line[kind] = round(float(values.mean()), 3)
        gain = values - scores["network"]
        line[f"{kind}_error"] = round(float(gain.std() / np.sqrt(len(gain))), 3)
    gain = scores["profiles"] - scores["naive"]
    line["profiles_minus_naive"] = round(float(gain.mean()), 3)
    line["profiles_minus_naive_error"] = round(float(gain.std() / np.sqrt(len(gain))), 3)
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2500, help="rows of each table")
    parser.add_argument("--epochs", type=int, default=150, help="epochs of a flow's training")
    parser.add_argument("--only", default="", help="tables that contain this text")
    options = parser.parse_args()
    done = json.loads(RECORD.read_text()) if RECORD.exists() else []
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for name in MIXED:
            if options.only in name and name not in [line["table"] for line in done]:
                done.append(compare(name, options.rows, options.epochs))
                print(done[-1], flush=True)
                lines = ",\n ".join(json.dumps(line) for line in done)
                RECORD.write_text(f"[\n {lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
