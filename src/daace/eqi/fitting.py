"""Models of the application in a folder: learned once, with how good they are beside them."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

from daace._files import write_atomically
from daace._json import dump_json, load_json
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.eqi.data import Counties
from daace.eqi.model import (
    HELD_OUT,
    SPLIT_SEED,
    broken_rules,
    cross_validate,
    domains_of,
    eqi_flow,
    free_network,
    performance,
    restricted_network,
)
from daace.eqi.policy import MIN_POSTERIOR, Advisor
from daace.exceptions import InvalidInput
from daace.explain.explainer import Explainer
from daace.explain.model_file import load

NETWORK, FLOW, PERFORMANCE = "network.daace", "flow.daace", "performance.json"

#: What the rows of a measurement are called.
IN_SAMPLE, CROSS, OUTSIDE = "in sample", "10-fold cross-validation", "held out"


def fit_models(
    counties: Counties,
    folder: str | os.PathLike[str],
    *,
    flow: bool = False,
    time_limit: float | None = None,
    progress: bool = False,
) -> str:
    """Learn the densities from the known counties, save them, and measure them on the others.

    The network takes seconds; a stopped training of the flow goes on from its checkpoint.

    Args:
        counties: all of them; a tenth is held out.
        folder: of the models; made when it is not there.
        flow: whether to train the RealNVP too.
        time_limit: seconds after which its training ends.
        progress: show bars on stderr, or a line a minute in a log.

    Returns:
        how good they are, as text.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    table = counties.table
    known, held_out = counties.split(HELD_OUT, seed=SPLIT_SEED)
    train, test = table.take(known), table.take(held_out)
    network = restricted_network(counties).fit(train)
    Explainer(network).save(place / NETWORK)
    if flow:
        density = eqi_flow(time_limit=time_limit).fit(
            train, progress=progress, checkpoint=place / "flow.checkpoint"
        )
        Explainer(density).save(place / FLOW)
    rows = measure_models(counties, progress=progress)
    if (place / FLOW).exists():
        rows += flow_rows(load(place / FLOW).density, train, test, table)
    write_atomically(place / PERFORMANCE, dump_json(rows, indent=1) + "\n")
    return performance_text(rows)


def measure_models(counties: Counties, *, progress: bool = False) -> list[dict[str, Any]]:
    """Return how good the three networks are: in sample, cross-validated, and held out.

    Returns:
        one entry per network and set of rows: model, rows, arcs, broken (rules), and the numbers
        of `Performance`.
    """
    table, scale = counties.table, counties.table.X.std(axis=0)
    known, held_out = counties.split(HELD_OUT, seed=SPLIT_SEED)
    domain_of = domains_of(counties)
    makers = {
        "network, at most 3 parents": lambda: restricted_network(counties),
        "network, parents unlimited": lambda: restricted_network(counties, max_parents=None),
        "network, unrestricted": free_network,
    }
    rows: list[dict[str, Any]] = []
    with warnings.catch_warnings():
        # An index is a sum of its variables: without limits the networks find that out.
        warnings.filterwarnings("ignore", message="Nearly no variance")
        for name, make in makers.items():
            whole = make().fit(table)
            about = {
                "model": name,
                "arcs": len(whole.arcs_),
                "broken": len(broken_rules(whole, domain_of)),
            }

            def learn(part: Table, make: Any = make) -> LinearGaussianNetwork:
                fitted: LinearGaussianNetwork = make().fit(part)
                return fitted

            scores = {
                IN_SAMPLE: performance(whole, table, scale),
                CROSS: cross_validate(learn, table, progress=progress),
                OUTSIDE: performance(learn(table.take(known)), table.take(held_out), scale),
            }
            rows += [{**about, "rows": on, **s._asdict()} for on, s in scores.items()]
    return rows


def flow_rows(
    flow: ConditionalDensity, train: Table, test: Table, table: Table
) -> list[dict[str, Any]]:
    """Return how good the flow is on the rows it was trained on, and on the others."""
    scale = table.X.std(axis=0)
    scores = {IN_SAMPLE: performance(flow, train, scale), OUTSIDE: performance(flow, test, scale)}
    return [{"model": "RealNVP", "rows": on, **s._asdict()} for on, s in scores.items()]


def performance_text(rows: list[dict[str, Any]]) -> str:
    """Return the numbers as an aligned table."""
    head = ("model", "rows", "mean log p(x, y)", "accuracy", "within one", "log loss")
    body = [
        (
            row["model"],
            row["rows"],
            f"{row['log_joint']:.2f}",
            f"{row['accuracy']:.1%}",
            f"{row['near']:.1%}",
            f"{row['log_loss']:.3f}",
        )
        for row in rows
    ]
    widths = [max(len(line[j]) for line in [head, *body]) for j in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(w) if j < 2 else cell.rjust(w)
            for j, (cell, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in [head, *body]
    )


def read_performance(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return what `fit_models` measured; nothing where it did not."""
    path = Path(folder) / PERFORMANCE
    return list(load_json(path.read_text(encoding="utf-8"))) if path.exists() else []


def read_advisor(
    counties: Counties,
    folder: str | os.PathLike[str] | None,
    *,
    min_posterior: float = MIN_POSTERIOR,
) -> Advisor:
    """Return the advisor over the models of a folder, or over a network learned right now.

    Each density has its own threshold of log p, by the paper's rule. The paper takes the flow's for
    all; but no county is as plausible to the network as our flow, a much better density, asks.

    Raises:
        InvalidInput: the folder holds no network.
    """
    if folder is None:
        known, _ = counties.split(HELD_OUT, seed=SPLIT_SEED)
        network = restricted_network(counties).fit(counties.table.take(known))
        return Advisor(counties, network, min_posterior=min_posterior)
    place = Path(folder)
    if not (place / NETWORK).is_file():
        raise InvalidInput(
            f"'--models' must be a folder of models. '{place}' has no {NETWORK}: make it with "
            f"'daace eqi fit --out {place}'."
        )
    loaded = load(place / NETWORK).density
    if not isinstance(loaded, LinearGaussianNetwork):
        raise InvalidInput(f"'{place / NETWORK}' must be a linear Gaussian network: fit it again.")
    if not (place / FLOW).is_file():
        return Advisor(counties, loaded, min_posterior=min_posterior)
    flow = load(place / FLOW).density
    return Advisor(counties, loaded, flow, min_posterior=min_posterior)
