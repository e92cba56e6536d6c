"""How well the densities describe counties and predict their category."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from daace._progress import Bar
from daace._typing import FloatArray
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.bayes import log_posterior
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.eqi.data.counties import Counties
from daace.eqi.models.densities import restricted_network

#: Names of the sets of rows that a density is measured on.
IN_SAMPLE, CROSS, OUTSIDE = "in sample", "10-fold cross-validation", "held out"


class Performance(NamedTuple):
    """How well a density describes rows and predicts their class.

    Attributes:
        log_joint: mean of log p(x, y), features in standard deviations of all counties.
        accuracy: share of rows whose most probable category is theirs.
        near: share whose most probable category is theirs or next to it.
        log_loss: mean of -log p(y | x).
        brier: mean squared error of the class probabilities, summed over classes.
    """

    log_joint: float
    accuracy: float
    near: float
    log_loss: float
    brier: float


def performance(density: ConditionalDensity, table: Table, scale: FloatArray) -> Performance:
    """Measure a density on rows.

    Args:
        density: fitted, on features in any units.
        table: rows with their class.
        scale: standard deviation of each feature, in the table's units: log p(x, y) is given per
            such unit, so that densities fitted on different rows compare.
    """
    joint = density.log_joint(density.to_model(table.to_frame()))
    joint = joint + np.log(scale / density.standardizer_.scale).sum()
    truth = np.searchsorted(density.classes_, table.y)
    rows = np.arange(len(table))
    log_p = log_posterior(joint)
    guess = log_p.argmax(axis=1)
    miss = np.exp(log_p)
    miss[rows, truth] -= 1.0
    return Performance(
        log_joint=float(joint[rows, truth].mean()),
        accuracy=float((guess == truth).mean()),
        near=float((np.abs(guess - truth) <= 1).mean()),
        log_loss=float(-log_p[rows, truth].mean()),
        brier=float((miss**2).sum(axis=1).mean()),
    )


def cross_validate(
    fit: Callable[[Table], ConditionalDensity],
    table: Table,
    *,
    folds: int = 10,
    progress: bool = False,
) -> Performance:
    """Return the performance on rows that were not learned from, averaged over folds.

    Args:
        fit: learns a density from a table.
        table: all rows.
        folds: parts, each held out once.
        progress: show a bar on stderr, or a line a minute in a log.
    """
    scale = table.X.std(axis=0)
    order = np.random.default_rng(0).permutation(len(table))
    found = []
    with Bar("Cross-validating", folds, shown=progress) as bar:
        for part in np.array_split(order, folds):
            density = fit(table.take(np.setdiff1d(order, part)))
            found.append((len(part), performance(density, table.take(part), scale)))
            bar.advance()
    sizes = np.array([size for size, _ in found])
    return Performance(*(np.array([p for _, p in found]).T @ sizes / sizes.sum()).tolist())


def measure_networks(counties: Counties, *, progress: bool = False) -> list[dict[str, Any]]:
    """Return how good the three networks are: in sample, cross-validated, and held out.

    Args:
        counties: all of them.
        progress: show bars on stderr, or a line a minute in a log.

    Returns:
        one entry per network and set of rows: model, rows, arcs, and the numbers of `Performance`.
    """
    table, scale = counties.table, counties.table.X.std(axis=0)
    known, held_out = (table.take(rows) for rows in counties.split)
    makers: dict[str, Callable[[], LinearGaussianNetwork]] = {
        "network, at most 3 parents": lambda: restricted_network(counties),
        "network, parents unlimited": lambda: restricted_network(counties, max_parents=None),
        "network, unrestricted": lambda: LinearGaussianNetwork(start="empty"),
    }
    rows: list[dict[str, Any]] = []
    with warnings.catch_warnings():
        # An index is a sum of its variables: without limits the networks find that out.
        warnings.filterwarnings("ignore", message="Nearly no variance")
        for name, make in makers.items():
            learn = partial(_learn, make)
            whole = learn(table)
            scores = {
                IN_SAMPLE: performance(whole, table, scale),
                CROSS: cross_validate(learn, table, progress=progress),
                OUTSIDE: performance(learn(known), held_out, scale),
            }
            about = {"model": name, "arcs": len(whole.arcs_)}
            rows += [{**about, "rows": on, **s._asdict()} for on, s in scores.items()]
    return rows


def _learn(make: Callable[[], LinearGaussianNetwork], table: Table) -> LinearGaussianNetwork:
    return make().fit(table)


def measure_flow(counties: Counties, flow: ConditionalDensity) -> list[dict[str, Any]]:
    """Return how good the flow is on the counties it was trained on, and on the others.

    Args:
        counties: all of them.
        flow: trained on those that are not held out.

    Returns:
        two entries like those of `measure_networks`, without arcs.
    """
    table, scale = counties.table, counties.table.X.std(axis=0)
    return [
        {"model": "RealNVP", "rows": on, **performance(flow, table.take(rows), scale)._asdict()}
        for on, rows in zip((IN_SAMPLE, OUTSIDE), counties.split, strict=True)
    ]


def performance_table(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return head and cells of a table of what `measure_networks` and `measure_flow` found."""
    columns: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "density": lambda r: str(r["model"]),
        "rows": lambda r: str(r["rows"]),
        "mean log p(x, y)": lambda r: f"{r['log_joint']:.2f}",
        "category right": lambda r: f"{r['accuracy']:.1%}",
        "within one": lambda r: f"{r['near']:.1%}",
        "log loss": lambda r: f"{r['log_loss']:.3f}",
        "Brier": lambda r: f"{r['brier']:.3f}",
        "arcs": lambda r: str(r.get("arcs", "-")),
    }
    return list(columns), [[cell(row) for cell in columns.values()] for row in rows]
