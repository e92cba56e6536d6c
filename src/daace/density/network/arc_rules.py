"""Arcs that a user sets by name: read, checked, and made the first graph of a search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from daace._wording import quote
from daace.density.network.families import SufficientStatistics, most_parents
from daace.density.network.graph import Structure, topological_order
from daace.exceptions import InvalidInput

Arcs = Iterable[tuple[str, str]]


def read_arcs(arcs: Arcs, argument: str, features: Sequence[str], target: str) -> Structure:
    """Return arcs (parent, child) by name as a graph.

    Args:
        arcs: the arcs; the class has the name of the target column.
        argument: 'arcs', 'forced' or 'forbidden', for messages; only forbidden arcs may point to
            the class or make a cycle.
        features: names of the features.
        target: name of the class.

    Raises:
        InvalidInput: an arc names unknown columns or points to the class, or they make a cycle.
    """
    n = len(features)
    position = {name: j for j, name in enumerate(features)}
    structure = Structure(np.zeros((n, n), dtype=bool), np.zeros(n, dtype=bool))
    for arc in arcs:
        if isinstance(arc, str) or len(arc) != 2:
            raise InvalidInput(
                argument=argument, expected="be pairs (parent, child)", got=repr(arc)
            )
        parent, child = (str(end) for end in arc)
        unknown = [end for end in (parent, child) if end not in position and end != target]
        if unknown:
            raise InvalidInput(
                argument=argument, expected="name columns of the table", got=quote(unknown)
            )
        if child == target:
            if argument == "forbidden":
                continue  # the class never has parents anyway
            raise InvalidInput(
                argument=argument,
                expected="not point to the class",
                got=f"('{parent}', '{child}')",
                remedy="the class never has parents",
            )
        if parent == target:
            structure.class_arcs[position[child]] = True
        else:
            structure.arcs[position[parent], position[child]] = True
    if argument != "forbidden":
        try:
            topological_order(structure.arcs)
        except ValueError:
            raise InvalidInput(argument=argument, expected="not make a cycle") from None
    return structure


def first_graph(
    forced: Structure,
    forbidden: Structure,
    stats: SufficientStatistics,
    *,
    start: Literal["naive", "empty"],
    max_parents: int | None,
    features: Sequence[str],
) -> Structure:
    """Return the initial graph of hill climbing.

    Args:
        forced: arcs that the graph must have.
        forbidden: arcs that the graph must not have.
        stats: the sufficient statistics of the table.
        start: whether the class is a parent of every feature that has room for it.
        max_parents: largest number of parents, the class included; None for no limit.
        features: names of the features, for messages.

    Raises:
        InvalidInput: the arcs contradict each other, or are too many.
    """
    if (forced.arcs & forbidden.arcs).any() or (forced.class_arcs & forbidden.class_arcs).any():
        raise InvalidInput(argument="'forced' and 'forbidden'", expected="not name the same arc")
    check_counts(forced, stats, "forced", features)
    class_arcs = forced.class_arcs.copy()
    parents = forced.arcs.sum(axis=0)
    if start == "naive":
        room = parents <= most_parents(stats.counts[:-1].min())
        room &= max_parents is None or parents < max_parents
        class_arcs |= ~forbidden.class_arcs & room
    parents = parents + forced.class_arcs
    if max_parents is not None and (parents > max_parents).any():
        child = features[int(np.argmax(parents))]
        raise InvalidInput(
            argument="forced",
            expected=f"keep to max_parents={max_parents}",
            got=f"{parents.max()} for '{child}'",
        )
    return Structure(forced.arcs.copy(), class_arcs)


def check_counts(
    structure: Structure, stats: SufficientStatistics, argument: str, features: Sequence[str]
) -> None:
    """Raise `InvalidInput` unless every feature has enough rows for its parents.

    Args:
        structure: the graph.
        stats: the sufficient statistics of the table.
        argument: argument that gave the graph, for messages.
        features: names of the features, for messages.
    """
    parents = structure.arcs.sum(axis=0)
    fewest = np.where(structure.class_arcs, stats.counts[:-1].min(), stats.rows)
    most = most_parents(fewest)
    lacking = np.flatnonzero(parents > most)
    if len(lacking):
        child = int(lacking[0])
        where = "the smallest class" if structure.class_arcs[child] else "the table"
        raise InvalidInput(
            argument=argument,
            expected=(
                f"give '{features[child]}' at most {most[child]:g} parents besides the class, as "
                f"{where} has {fewest[child]:g} rows"
            ),
            got=str(parents[child]),
        )
