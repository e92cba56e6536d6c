"""Parameters of a network in a model file: arrays by name, checked when they are read."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from daace._typing import FloatArray
from daace.data.encoding import Encoding
from daace.density.base_measure import check_line_weights
from daace.density.codes import CodeLayout, CodeTables, parents_first
from daace.density.components import ClassComponents
from daace.density.network.graph import Structure, topological_order
from daace.density.network.profiles import ProfileParameters


def parameters_from_arrays(
    arrays: Mapping[str, FloatArray],
) -> tuple[ProfileParameters, Structure]:
    """Return the parameters and the graph of the numbers.

    Args:
        arrays: arrays by name, as written by `LinearGaussianNetwork.to_arrays`.

    Raises:
        KeyError: something is missing.
        ValueError: something does not fit.
    """
    (k,), (c, n) = arrays["log_prior"].shape, arrays["intercepts"].shape
    if not ("owner" in arrays or c == k):
        raise ValueError("its profiles belong to no class")
    owner = arrays.get("owner", np.arange(k, dtype=np.float64))
    log_weights = arrays.get("log_weights", arrays["log_prior"])
    expected = {
        "log_weights": (log_weights, (c,)),
        "owner": (owner, (c,)),
        "coefficients": (arrays["coefficients"], (c, n, n)),
        "variances": (arrays["variances"], (c, n)),
        "arcs": (arrays["arcs"], (n, n)),
        "class_arcs": (arrays["class_arcs"], (n,)),
    }
    for name, (array, shape) in expected.items():
        if array.shape != shape:
            raise ValueError(f"'{name}' has shape {array.shape}, not {shape}")
    if not (arrays["variances"] > 0).all():
        raise ValueError("a variance is not positive")
    if not all(np.isin(arrays[name], (0.0, 1.0)).all() for name in ("arcs", "class_arcs")):
        raise ValueError("an arc is neither there nor not there")
    structure = Structure(arrays["arcs"] > 0, arrays["class_arcs"] > 0)
    if (arrays["coefficients"][:, ~structure.arcs.T] != 0).any():
        raise ValueError("a coefficient stands where there is no arc")
    topological_order(structure.arcs)
    parameters = ProfileParameters(
        log_weights,
        arrays["coefficients"],
        arrays["intercepts"],
        arrays["variances"],
        owner.astype(np.intp),
    )
    if not (np.unique(owner).tolist() == list(range(k)) and (np.diff(owner) >= 0).all()):
        raise ValueError("its profiles are not in the order of the classes")
    if not np.allclose(parameters.log_prior, arrays["log_prior"], rtol=0, atol=1e-6):
        raise ValueError("the shares of its profiles do not sum to those of the classes")
    return parameters, structure


def graph_to_arrays(structure: Structure) -> dict[str, FloatArray]:
    """Return the arcs by name: 1 where there is one."""
    names = ("arcs", "class_arcs")
    return {name: getattr(structure, name).astype(np.float64) for name in names}


def components_to_arrays(components: ClassComponents) -> dict[str, FloatArray]:
    """Return by name what is known of profiles and codes, where there are any."""
    arrays = {} if components.codes is None else tables_to_arrays(components.codes)
    if not components.single:
        arrays["log_weights"] = components.gaussians.log_weights
        arrays["owner"] = components.owner.astype(np.float64)
    return arrays


def tables_to_arrays(codes: CodeTables) -> dict[str, FloatArray]:
    """Return the tables of codes by name."""
    arrays = {f"table.{j}": table for j, table in enumerate(codes.tables)}
    arrays["code_parents"] = codes.parents.astype(np.float64)
    arrays["line_weights"] = codes.measure
    arrays["atom_values"] = codes.layout.values
    return arrays


def tables_from_arrays(
    arrays: Mapping[str, FloatArray], encoding: Encoding, parameters: ProfileParameters
) -> CodeTables:
    """Return the tables of codes.

    Args:
        arrays: arrays by name, as written by `tables_to_arrays`.
        encoding: encoding of the columns.
        parameters: parameters of the numbers.

    Raises:
        KeyError: something is missing.
        ValueError: something does not fit.
    """
    layout = CodeLayout.of_columns(encoding, arrays["atom_values"])
    (c, n), m = parameters.intercepts.shape, len(layout.columns)
    if n != len(layout.numbers):
        raise ValueError("it has other numbers than its encoding")
    check_line_weights(arrays["line_weights"], layout)
    parents = arrays["code_parents"]
    if parents.shape != (m,) or not np.isin(parents, np.arange(-1, m)).all():
        raise ValueError("a code has an unknown parent")
    places = parents.astype(np.intp)
    parents_first(places)
    tables = []
    for j, parent in enumerate(places.tolist()):
        table = arrays[f"table.{j}"]
        shape = (layout.sizes[parent] if parent >= 0 else 1, layout.sizes[j], c)
        if table.shape != shape:
            raise ValueError(f"'table.{j}' has shape {table.shape}, not {shape}")
        if not np.allclose(np.exp(table).sum(axis=1), 1.0, rtol=0, atol=1e-6):
            raise ValueError(f"the probabilities of 'table.{j}' do not sum to 1")
        tables.append(table)
    return CodeTables(layout, places, tables, arrays["line_weights"])
