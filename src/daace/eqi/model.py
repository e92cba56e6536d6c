"""The densities of the application: networks that follow what is known of the index, and a flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from daace._progress import Bar
from daace._typing import FloatArray
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.bayes import log_posterior
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.density.realnvp import RealNVP
from daace.eqi.data import INDICES, TARGET, Counties

#: Most parents of a feature in the restricted network, the class included.
MAX_PARENTS = 3

#: Share of the counties that nothing is learned from, and the seed that chooses them.
HELD_OUT, SPLIT_SEED = 0.1, 1

Arc = tuple[str, str]


def forced_arcs() -> list[Arc]:
    """Return the arcs that must be there: from the class to each domain index."""
    return [(TARGET, index) for index in INDICES]


def forbidden_arcs(domain_of: Mapping[str, str]) -> list[Arc]:
    """Return the arcs that must not be there.

    None from the class to a variable, none from an index to a variable of another domain, none
    between variables of different domains, none from a variable to an index.

    Args:
        domain_of: domain of each feature, indices included.

    Example:
        >>> of = {"Air index": "Air", "pm10": "Air", "Radon": "Land"}
        >>> ("pm10", "Radon") in forbidden_arcs(of), ("Air index", "pm10") in forbidden_arcs(of)
        (True, False)
    """
    indices = [name for name in domain_of if name in INDICES]
    variables = [name for name in domain_of if name not in INDICES]
    apart = [(a, b) for a in domain_of for b in variables if domain_of[a] != domain_of[b]]
    back = [(v, i) for v in variables for i in indices]
    return [(TARGET, v) for v in variables] + apart + back


def restricted_network(
    counties: Counties, *, max_parents: int | None = MAX_PARENTS
) -> LinearGaussianNetwork:
    """Return the paper's network, unfitted: class over indices over the variables of a domain.

    Args:
        counties: who know the domain of each feature.
        max_parents: of a feature, the class included; None for no limit.
    """
    domain_of = {feature: counties.domain(feature) for feature in counties.table.features}
    return LinearGaussianNetwork(
        start="empty",
        max_parents=max_parents,
        forced=forced_arcs(),
        forbidden=forbidden_arcs(domain_of),
    )


def free_network() -> LinearGaussianNetwork:
    """Return the network without any restriction, unfitted."""
    return LinearGaussianNetwork(start="empty")


def broken_rules(network: LinearGaussianNetwork, domain_of: Mapping[str, str]) -> list[str]:
    """Return what a fitted network has against the restrictions, read from its arcs alone.

    Example:
        >>> from daace.data.synthetic import draw_table, random_mixture
        >>> table = draw_table(random_mixture(2, rng=np.random.default_rng(0)), 50,
        ...                    rng=np.random.default_rng(0))
        >>> broken_rules(LinearGaussianNetwork().fit(table), {"x1": "Air", "x2": "Land"})[0]
        'no arc class -> Air index'
    """
    arcs = network.arcs_
    rules = [
        f"no arc class -> {index}" for index in INDICES if (network.target_, index) not in arcs
    ]
    for parent, child in arcs:
        if child in INDICES:
            if parent != network.target_ and parent not in INDICES:
                rules.append(f"variable over an index: {parent} -> {child}")
        elif parent == network.target_:
            rules.append(f"class over a variable: {parent} -> {child}")
        elif domain_of[parent] != domain_of[child]:
            rules.append(f"between domains: {parent} -> {child}")
    parents = pd.Series([child for _, child in arcs], dtype=object).value_counts()
    rules += [f"{n} parents of {child}" for child, n in parents.items() if n > MAX_PARENTS]
    return rules


def eqi_flow(*, time_limit: float | None = None) -> RealNVP:
    """Return the RealNVP of the application, unfitted.

    The best of 16 settings by 3-fold cross-validation on the counties that are not held out (see
    `tune_eqi` in `benchmarks/flow.py`): -78.7 nats, with two thirds of the rows and 60 epochs. The
    paper's printed settings (`RealNVP.preset("EQI")`) stay far behind on these files: their decay
    and noise are too strong for a density with 131 features, of which many nearly follow from
    others.
    """
    return RealNVP(
        flows=10,
        layers=2,
        hidden=2,
        learning_rate=0.00042,
        weight_decay=0.0018,
        noise=0.073,
        time_limit=time_limit,
    )


# How good they are --------------------------------------------------------------------------------


class Performance(NamedTuple):
    """How well a density describes rows and tells their class.

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
    seed: int = 0,
    progress: bool = False,
) -> Performance:
    """Return the performance on rows that were not learned from, averaged over folds.

    Args:
        fit: learns a density from a table.
        table: all rows.
        folds: parts, each held out once.
        seed: of the division.
        progress: show a bar on stderr, or a line a minute in a log.
    """
    scale = table.X.std(axis=0)
    order = np.random.default_rng(seed).permutation(len(table))
    found = []
    with Bar("Cross-validating", folds, shown=progress) as bar:
        for part in np.array_split(order, folds):
            density = fit(table.take(np.setdiff1d(order, part)))
            found.append((len(part), performance(density, table.take(part), scale)))
            bar.advance()
    sizes = np.array([size for size, _ in found])
    return Performance(*(np.array([p for _, p in found]).T @ sizes / sizes.sum()).tolist())


def index_arcs(network: LinearGaussianNetwork) -> pd.DataFrame:
    """Return the arcs among class and indices with their effects, in the sense "high = good".

    The effect of an index on an index is its coefficient, averaged over the categories by their
    share. That of the class on an index is the slope of the index's mean over the category: in
    standard deviations per category, of a better category on a better index.

    Returns:
        parent, child, effect.
    """
    prior = np.exp(network.log_prior_)
    place = {name: j for j, name in enumerate(network.features_)}
    rows = []
    for parent, child in network.arcs_:
        if child not in INDICES:
            continue
        if parent == network.target_:
            effect = class_slope(network, place[child])
            parent = "Category"
        else:
            effect = float(prior @ network.coefficients_[:, place[child], place[parent]])
        rows.append((parent, child, effect))
    return pd.DataFrame(rows, columns=["parent", "child", "effect"])


def class_slope(network: LinearGaussianNetwork, feature: int) -> float:
    """Return how a feature's own part of its mean moves per category, its parents held fixed.

    Own part: the mean of the feature with its parents at their mean over all counties, which is 0
    in model space. The slope is the least-squares one over the categories, weighted by share.
    """
    prior = np.exp(network.log_prior_)
    steps = np.arange(len(prior)) - prior @ np.arange(len(prior))
    return float((prior * steps) @ network.intercepts_[:, feature] / (prior @ steps**2))


def domain_effects(network: LinearGaussianNetwork, domain_of: Mapping[str, str]) -> pd.DataFrame:
    """Return each variable's link to the index of its domain, in the sense "high = good".

    Returns:
        by variable: domain, correlation (of the model, over all counties), and effect: the
        coefficient of the arc index -> variable, NaN where there is no such arc. Negative: more of
        the variable goes with a worse index.
    """
    correlations = model_correlations(network)
    prior = np.exp(network.log_prior_)
    place = {name: j for j, name in enumerate(network.features_)}
    rows = {}
    for name, j in place.items():
        if name in INDICES:
            continue
        i = place[f"{domain_of[name]} index"]
        arc = network.structure_.arcs[i, j]
        effect = -float(prior @ network.coefficients_[:, j, i]) if arc else np.nan
        rows[name] = (domain_of[name], -float(correlations[i, j]), effect)
    return pd.DataFrame.from_dict(rows, orient="index", columns=["domain", "correlation", "effect"])


def model_correlations(network: LinearGaussianNetwork) -> FloatArray:
    """Return the correlations that a network implies, over all classes, shape `(n, n)`."""
    prior = np.exp(network.log_prior_)
    n = network.intercepts_.shape[1]
    lifts = np.linalg.inv(np.eye(n) - network.coefficients_)
    means = np.einsum("kij,kj->ki", lifts, network.intercepts_)
    within = np.einsum("kij,kj,klj->kil", lifts, network.variances_, lifts)
    centre = prior @ means
    apart = means - centre
    covariance = np.einsum("k,kil->il", prior, within) + np.einsum(
        "k,ki,kl->il", prior, apart, apart
    )
    sd = np.sqrt(np.diag(covariance))
    correlations: FloatArray = covariance / np.outer(sd, sd)
    return correlations


def domains_of(counties: Counties) -> dict[str, str]:
    """Return the domain of each feature of the model."""
    return {feature: counties.domain(feature) for feature in counties.table.features}
