"""Codes first: p(d, y) by a network, then p(x | d, y) by a flow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from daace._typing import FloatArray, IntArray, Pullback
from daace.data.encoding import Encoding
from daace.data.table import Table
from daace.density.flow.context import FlowColumns
from daace.density.flow.coupling import CouplingFlow
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.exceptions import InvalidInput

#: Prefix of the network's arrays in a model file.
NETWORK = "network."


@dataclass(frozen=True, eq=False)
class CodesFirst:
    """`p(x, d, y) = p(d, y) p(x | d, y)`: x are numbers without atoms, d is everything else.

    Attributes:
        columns: indices of the columns of x and d.
        network: network of p(d, y).
    """

    columns: FlowColumns
    network: LinearGaussianNetwork

    @classmethod
    def fit(cls, table: Table, columns: FlowColumns) -> CodesFirst:
        """Learn the network."""
        return cls(columns, LinearGaussianNetwork(profiles="auto").fit(table.select(columns.names)))

    def refit(self, table: Table) -> CodesFirst:
        """Learn a network of other rows, with the same number of profiles."""
        return CodesFirst(self.columns, self.network.refit(table.select(self.columns.names)))

    @property
    def line_weights(self) -> dict[int, float]:
        """The network's h by column; see `weigh_lines`."""
        weights = self.network.line_weights_.items()
        return {int(self.columns.columns[j]): weight for j, weight in weights}

    def log_joint(self, flow: CouplingFlow, X: FloatArray) -> FloatArray:
        """Return log p(x, d, y) of rows in model space, shape `(rows, classes)`."""
        columns, before = self.columns, self.network.components_
        mapped = flow.log_density(X[:, columns.numbers], columns.context(X))
        return mapped + before.log_joint(X[:, columns.columns])

    def log_joint_and_pullback(
        self, flow: CouplingFlow, X: FloatArray
    ) -> tuple[FloatArray, Pullback]:
        """Return log p(x, d, y) of rows and its pullback."""
        columns, numbers = self.columns, X[:, self.columns.numbers]
        mapped, to_flow = flow.log_density_and_pullback(numbers, columns.context(X))
        before = X[:, columns.columns]
        joint, to_network = self.network.components_.log_joint_and_pullback(before)

        def pullback(W: FloatArray) -> FloatArray:
            slopes = to_flow(W)
            gradient = columns.pull(X, slopes[:, : flow.features], slopes[:, flow.features :])
            gradient[:, columns.columns] += to_network(W)
            return gradient

        return mapped + joint, pullback

    def sample(
        self, flow: CouplingFlow, n: int, *, rng: np.random.Generator, index: int | None
    ) -> tuple[FloatArray, IntArray]:
        """Draw rows, and the class index of each; `index` draws from one class only."""
        columns, components = self.columns, self.network.components_
        X = np.zeros((n, columns.encoding.width))
        X[:, columns.columns], drawn = components.sample(n, rng=rng, index=index)
        chosen, noise = components.owner[drawn], rng.normal(size=(n, flow.features))
        X[:, columns.numbers] = flow.inverse(noise, chosen, columns.context(X))
        return X, chosen

    def to_arrays(self) -> tuple[dict[str, FloatArray], dict[str, Any]]:
        """Return the network's arrays by name, and its settings."""
        arrays, settings = self.network.to_arrays()
        return {f"{NETWORK}{name}": array for name, array in arrays.items()}, settings

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, FloatArray], settings: Mapping[str, Any], encoding: Encoding
    ) -> CodesFirst:
        """Rebuild it from `to_arrays`.

        Raises:
            KeyError: something is missing.
            ValueError: something does not fit.
        """
        columns = FlowColumns.of(encoding)
        own = {n.removeprefix(NETWORK): a for n, a in arrays.items() if n.startswith(NETWORK)}
        network = LinearGaussianNetwork.from_arrays(own, {**settings, "encoding": columns.before})
        if not np.allclose(network.log_prior_, arrays["log_prior"], rtol=0, atol=1e-6):
            raise ValueError("its network has other shares of the classes")
        return cls(columns, network)


def split_columns(encoding: Encoding) -> FlowColumns | None:
    """Return the columns of the flow and of the network before it; None without codes.

    Raises:
        InvalidInput: there is no column that a flow could map.
    """
    if not encoding.code_sizes:
        return None
    columns = FlowColumns.of(encoding)
    if not len(columns.numbers):
        raise InvalidInput(
            argument="table",
            expected="have a number without atoms, which a flow can map",
            got="none, see table.kinds",
            remedy="learn a network ('profiles') instead",
        )
    return columns
