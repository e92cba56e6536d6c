"""The paper's study in numbers, and where another study differs from it.

Tables and preprocessing follow Grinsztajn, L., Oyallon, E. and Varoquaux, G. (2022), "Why do
tree-based models still outperform deep learning on tabular data?", arXiv:2207.08815.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from daace.planners.nsga2 import NSGA2
from daace.study.spec import PLANNERS, AlgorithmSpec, StudySpec

#: Rows that the truth of each table is resampled to.
ROWS = {
    "phoneme": 15_000,
    "wine": 15_000,
    "kdd_ipums_la_97-small": 15_000,
    "credit": 16_714,
    "bank-marketing": 15_000,
    "california": 20_634,
    "MagicTelescope": 15_000,
    "MiniBooNE": 50_000,
    "eye_movements": 15_000,
    "house_16H": 15_000,
    "pol": 15_000,
    "covertype": 50_000,
    "electricity": 38_474,
    "Higgs": 50_000,
    "jannis": 50_000,
}

#: Instances per table, and training epochs of each flow.
INSTANCES, EPOCHS = 15, 500

#: Nodes of a graph of FACE.
NODES = 1000

#: Edges of each graph: their kind, and how many midpoints an integral is summed over.
EDGES = {"FACE GT": ("integral", 19), "FACE-DE": ("density", None), "FACE-eps": ("epsilon", None)}

#: The paper's grid, by the name of the setting.
GRID: dict[str, Any] = {
    "penalties": (1, 5, 10, 15),
    "plausibility": (-1, -0.5, 0),
    "certainty": (-0.5, 0),
    "rows": (15_000, 50_000),
    "scale": "nll",
    "margin": 0.01,
    "samples": 1000,
}


def differences(spec: StudySpec, tables: Sequence[str]) -> list[str]:
    """Return a sentence for each number of a study that is not the paper's.

    Args:
        spec: the study.
        tables: names of those that were run.
    """
    found = []
    if len(tables) != len(ROWS):
        found.append(f"{len(tables)} tables; the paper has {len(ROWS)}.")
    if spec.instances != INSTANCES:
        found.append(f"{spec.instances} instances per table; the paper has {INSTANCES}.")
    for name, usual in GRID.items():
        ours = getattr(spec, name)
        if ours != usual:
            found.append(f"{name} = {_plain(ours)}; the paper has {_plain(usual)}.")
    for density in spec.densities:
        epochs = dict(density.settings).get("epochs", EPOCHS)
        if density.kind == "realnvp" and epochs != EPOCHS:
            found.append(f"'{density.name}' is trained for {epochs} epochs; the paper: {EPOCHS}.")
    for algorithm in spec.algorithms:
        found += _of_algorithm(algorithm)
    return list(dict.fromkeys(found))


def note_differences(spec: StudySpec, tables: Sequence[str]) -> Mapping[str, list[str]]:
    """Return the differences as an entry of the plan.

    Args:
        spec: the study.
        tables: names of those that were run.
    """
    return {"differences": differences(spec, tables)}


def other_rows(rows: Mapping[str, int]) -> list[str]:
    """Return a sentence for each of the paper's tables with another number of rows.

    Args:
        rows: to which the truth was resampled, by name of the table.
    """
    found = []
    for name, count in rows.items():
        usual = ROWS.get(name, count)
        if count != usual:
            found.append(f"{name}: {count:,} rows are drawn; the paper has {usual:,}.")
    return found


def _of_algorithm(algorithm: AlgorithmSpec) -> list[str]:
    settings, name = dict(algorithm.settings), algorithm.family or algorithm.name
    if algorithm.beside:
        return [f"{name} is not in the paper: it is shown beside its algorithms and not ranked."]
    if algorithm.planner == PLANNERS["NSGA2"]:
        usual = NSGA2()
        return [
            f"{name}: {ours} {entry}; the paper has {getattr(usual, entry)}."
            for entry in ("generations", "population")
            if (ours := settings.get(entry, getattr(usual, entry))) != getattr(usual, entry)
        ] + _subset(name, algorithm)
    if algorithm.planner == PLANNERS["PathOptimizer"] and algorithm.only is None:
        return [f"{name} is searched for by gradients (PathOptimizer); the paper uses NSGA-II."]
    if algorithm.planner != PLANNERS["Face"]:
        return []
    nodes = settings.get("nodes", NODES)
    found = [f"{name}: a graph on {nodes} rows; the paper has {NODES}."] if nodes != NODES else []
    kind = settings.get("graph", "integral")
    usual_kind, midpoints = EDGES.get(name, (kind, None))
    if kind != usual_kind:
        found.append(f"{name}: '{kind}' edges; the paper has '{usual_kind}'.")
    elif midpoints is not None and settings.get("pieces") != midpoints:
        ours = f"{settings['pieces']} midpoints" if "pieces" in settings else "Gauss points"
        found.append(f"{name}: an edge is summed over {ours}; the paper has {midpoints} midpoints.")
    return found


def _subset(name: str, algorithm: AlgorithmSpec) -> list[str]:
    only = algorithm.only
    if only is None:
        return []
    tables = "all tables" if only.tables is None else ", ".join(only.tables)
    instances = "all" if only.instances is None else str(only.instances)
    return [f"{name} answers a part only: {tables}; {instances} instance(s) of each."]


def _plain(value: Any) -> str:
    return ", ".join(f"{v:g}" for v in value) if isinstance(value, tuple) else f"{value}"
