"""A folder of models: the network, perhaps the flow, and how good they are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd

from daace._files import write_atomically
from daace._json import dump_json, load_json
from daace.density.base import ConditionalDensity
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.density.realnvp import RealNVP
from daace.eqi.data.counties import Counties
from daace.eqi.models.densities import eqi_flow, restricted_network
from daace.eqi.models.performance import measure_flow, measure_networks, performance_table
from daace.exceptions import InvalidInput
from daace.explain.explainer import Explainer
from daace.explain.loading import load

NETWORK, FLOW, PERFORMANCE = "network.daace", "flow.daace", "performance.json"


def fit_models(
    counties: Counties,
    folder: str | os.PathLike[str],
    *,
    flow: bool = False,
    printed: bool = False,
    epochs: int = 500,
    time_limit: float | None = None,
    progress: bool = False,
) -> str:
    """Learn the densities from the known counties, save them, and measure them on the others.

    The network takes seconds; a stopped training of the flow continues from its checkpoint.

    Args:
        counties: all of them; a tenth is held out.
        folder: the folder of the models; created if missing.
        flow: whether to train the RealNVP too.
        printed: train it with the settings printed in the paper instead of ours.
        epochs: number of epochs of the printed settings.
        time_limit: seconds after which its training ends.
        progress: show bars on stderr, or a line a minute in a log.

    Returns:
        how good they are, as text.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    Explainer(_fit_network(counties)).save(place / NETWORK)
    if flow:
        preset = RealNVP.preset("EQI", epochs=epochs, time_limit=time_limit)
        density = (preset if printed else eqi_flow(time_limit=time_limit)).fit(
            counties.table.take(counties.split[0]),
            progress=progress,
            checkpoint=place / "flow.checkpoint",
        )
        Explainer(density).save(place / FLOW)
    rows = measure_networks(counties, progress=progress)
    if (place / FLOW).exists():
        rows += measure_flow(counties, load(place / FLOW).density)
    write_atomically(place / PERFORMANCE, dump_json(rows, indent=1) + "\n")
    head, body = performance_table(rows)
    return pd.DataFrame(body, columns=head).to_string(index=False)


def read_performance(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return what `fit_models` measured; nothing where it did not."""
    path = Path(folder) / PERFORMANCE
    return list(load_json(path.read_text(encoding="utf-8"))) if path.exists() else []


def read_models(
    counties: Counties, folder: str | os.PathLike[str] | None
) -> tuple[LinearGaussianNetwork, ConditionalDensity | None]:
    """Return network and flow of a folder, or a network that is learned right now.

    Args:
        counties: to learn from, where no folder is given.
        folder: from `fit_models`; None for a network alone, fitted in about a second.

    Raises:
        InvalidInput: the folder holds no network.
    """
    if folder is None:
        return _fit_network(counties), None
    place = Path(folder)
    if not (place / NETWORK).is_file():
        raise InvalidInput(
            f"'--models' must be a folder of models. '{place}' has no {NETWORK}: make it with "
            f"'daace eqi fit --out {place}'."
        )
    network = load(place / NETWORK).density
    if not isinstance(network, LinearGaussianNetwork):
        raise InvalidInput(f"'{place / NETWORK}' must be a linear Gaussian network: fit it again.")
    flow = load(place / FLOW).density if (place / FLOW).is_file() else None
    return network, flow


def _fit_network(counties: Counties) -> LinearGaussianNetwork:
    return restricted_network(counties).fit(counties.table.take(counties.split[0]))
