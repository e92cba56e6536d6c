"""Effects between indices and variables along the arcs of a network, with high = good."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from daace._typing import FloatArray
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.eqi.data.counties import INDICES, index_name


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
        i = place[index_name(domain_of[name])]
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
