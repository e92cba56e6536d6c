"""The Bayesian network behind an explanation: arcs with their sign, and where to draw them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from daace._checks import check_integer
from daace._formats import shorten
from daace._wording import quote
from daace.density.base import ConditionalDensity
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.exceptions import InvalidInput

if TYPE_CHECKING:
    from daace.explain.pictures.canvas import Plot

#: More arcs than these hide each other in a plot.
MOST_ARCS = 90


#: Arcs that the caption of a plot names.
MOST_MIXED = 4


@dataclass(frozen=True, eq=False)
class Network:
    """The arcs of a Bayesian network, with the coefficient of each in the mean of its child.

    Attributes:
        arcs: parent; child; coefficient (standard deviations of the child per standard deviation
            of the parent; mean over classes and profiles, weighted by their share); sign (1 or -1,
            or 0 if it differs between classes or profiles); lowest and highest coefficient of any
            class and profile.
        features: names of the nodes.
        of_class: features that have the class as a parent.
        target: name of the class.
        left_out: features that are not shown.
        profiles: whether some class has several profiles.

    Example:
        >>> from daace import fit, load_table
        >>> net = fit(load_table("iris")).network()
        >>> set(net.arcs["sign"]) <= {-1, 0, 1}
        True
    """

    arcs: pd.DataFrame
    features: tuple[str, ...]
    of_class: frozenset[str]
    target: str
    left_out: int = 0
    profiles: bool = False

    def to_frame(self) -> pd.DataFrame:
        """Return a copy of `arcs`."""
        return self.arcs.copy()

    def plot(self) -> Plot:
        """Draw the network: blue arcs have a positive coefficient, orange ones a negative one.

        The caption names the strongest arcs whose sign is not the same everywhere, with their
        lowest and highest coefficient.
        """
        from daace.explain.pictures.model_plots import draw_network

        arcs = strong_arcs(self, most=MOST_ARCS)
        notes = [f"{len(self.arcs)} arcs"]
        if len(arcs) < len(self.arcs):
            notes = [f"the strongest {len(arcs)} of {len(self.arcs)} arcs"]
        if self.left_out:
            notes.append(f"{self.left_out} features are not shown")
        return draw_network(
            lay_out(self),
            arcs,
            of_class=self.of_class,
            differs=f"sign differs by {self.target}{' or profile' * self.profiles}",
            target=self.target,
            title=f"What depends on what: {', '.join(notes)}",
            caption=describe_mixed(arcs),
        )


def read_network(
    density: ConditionalDensity, *, features: Sequence[str] | None = None, most: int = 30
) -> Network:
    """Return the network of a density.

    Args:
        density: a `LinearGaussianNetwork`.
        features: features to show; None for those with the strongest arcs.
        most: maximum number of features if `features` is None.

    Raises:
        InvalidInput: the density is not a network, or has no such feature.
    """
    if not isinstance(density, LinearGaussianNetwork):
        raise InvalidInput(
            "A network can be shown of a linear Gaussian network only. "
            f"Got {density.kind or type(density).__name__}: "
            "daace.fit(table, density='linear-gaussian') learns one."
        )
    check_integer("most", most, at_least=1)
    arcs = signed_arcs(density)
    if features is None:
        shown = strongest(_numbers(density), arcs, most)
    else:
        unknown = [name for name in features if name not in density.features_]
        if unknown:
            raise InvalidInput(argument="features", expected="be in the model", got=quote(unknown))
        shown = tuple(name for name in density.features_ if name in set(features))
    kept = arcs[arcs["parent"].isin(shown) & arcs["child"].isin(shown)].reset_index(drop=True)
    children = density.structure_.class_arcs
    of_class = {name for name, arc in zip(_numbers(density), children, strict=True) if arc}
    return Network(
        kept,
        shown,
        frozenset(of_class & set(shown)),
        density.target_,
        len(density.features_) - len(shown),
        not density.components_.single,
    )


def _numbers(density: LinearGaussianNetwork) -> list[str]:
    """Return the names of the features between which arcs have coefficients."""
    return [density.features_[j] for j in density.encoding_.number_columns]


def signed_arcs(density: LinearGaussianNetwork) -> pd.DataFrame:
    """Return parent, child, coefficients and sign of each arc between features."""
    shares = np.exp(density.components_.gaussians.log_weights)
    names, rows = _numbers(density), []
    for i, j in np.argwhere(density.structure_.arcs):
        each = density.coefficients_[:, j, i]
        signs = set(np.sign(each).astype(int).tolist())
        sign = signs.pop() if len(signs) == 1 else 0
        rows.append((names[i], names[j], float(shares @ each), sign, each.min(), each.max()))
    return pd.DataFrame(
        rows, columns=["parent", "child", "coefficient", "sign", "lowest", "highest"]
    )


def describe_mixed(arcs: pd.DataFrame) -> str:
    """Return the arcs whose sign is not the same everywhere, with the range of coefficients.

    Those with the widest range come first; the others are counted.

    Args:
        arcs: see `Network.arcs`.
    """
    mixed = arcs[arcs["sign"] == 0]
    if mixed.empty:
        return ""
    order = np.argsort((mixed["lowest"] - mixed["highest"]).to_numpy(), kind="stable")
    named = [
        f"{shorten(parent, 22)} → {shorten(child, 22)} ({low:.2g} to {high:.2g})"
        for parent, child, _, _, low, high in mixed.iloc[order[:MOST_MIXED]].itertuples(index=False)
    ]
    rest = len(mixed) - len(named)
    return "Sign differs: " + "; ".join([*named, f"and {rest} more"] if rest else named)


def strongest(features: Sequence[str], arcs: pd.DataFrame, most: int) -> tuple[str, ...]:
    """Return the features with the largest coefficients on their arcs, in the model's order."""
    if len(features) <= most:
        return tuple(features)
    weight = dict.fromkeys(features, 0.0)
    for parent, child, coefficient, *_ in arcs.itertuples(index=False):
        weight[parent] += abs(coefficient)
        weight[child] += abs(coefficient)
    chosen = set(sorted(features, key=lambda name: -weight[name])[:most])
    return tuple(name for name in features if name in chosen)


def lay_out(network: Network) -> dict[str, float]:
    """Return the angle of every node on a circle, neighbours in the network next to each other.

    The order is that of the second eigenvector of the graph's Laplacian, weighted by the size of
    the coefficients: it keeps strong arcs short. A learned network is often as deep as it has
    nodes, so that layers would be of one node each.
    """
    names = list(network.features)
    place = {name: k for k, name in enumerate(names)}
    weight = np.zeros((len(names), len(names)))
    for parent, child, coefficient, *_ in network.arcs.itertuples(index=False):
        i, j = place[parent], place[child]
        weight[i, j] = weight[j, i] = abs(coefficient)
    order = np.arange(len(names))
    if len(names) > 2 and weight.any():
        _, vectors = np.linalg.eigh(np.diag(weight.sum(axis=0)) - weight)
        second = vectors[:, 1] * (1 if vectors[np.abs(vectors[:, 1]).argmax(), 1] > 0 else -1)
        order = np.argsort(second, kind="stable")
    angles = np.pi / 2 - 2 * np.pi * (np.arange(len(names)) + 0.5) / len(names)
    return {names[k]: float(angle) for k, angle in zip(order, angles, strict=True)}


def strong_arcs(network: Network, *, most: int) -> pd.DataFrame:
    """Return the arcs with the largest coefficients, the strongest last, so drawn on top."""
    order = np.argsort(-network.arcs["coefficient"].abs().to_numpy(), kind="stable")[:most]
    return network.arcs.iloc[order[::-1]]
