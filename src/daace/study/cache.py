"""A cache of what takes long to make: densities, graphs and notes, by the hash of their inputs.

A file is written completely or not at all, and never changed: any number of workers may read while
one writes, and two that write the same key write the same content.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from daace._files import write_atomically
from daace._json import dump_json, load_json
from daace.density.base import ConditionalDensity
from daace.density.model_file import read_model, write_model
from daace.exceptions import ModelFileError
from daace.planners.graphs import EdgeRule, Graph


@dataclass(frozen=True)
class Cache:
    """A folder of files that never change.

    Attributes:
        folder: created when the first file is written.

    Example:
        >>> cache = Cache(Path("cache"))
        >>> cache.keep_notes("a1", {"rows": 3})
        >>> cache.notes("a1"), cache.notes("b2")
        ({'rows': 3}, None)
    """

    folder: Path

    def place(self, key: str, kind: str) -> Path:
        """Return the file of a key.

        Args:
            key: hash of the inputs.
            kind: ending of the file: 'daace', 'graph', 'json' or 'checkpoint'.
        """
        return self.folder / f"{key}.{kind}"

    def has(self, key: str, kind: str) -> bool:
        """Whether there is a file of a key.

        Args:
            key: hash of the inputs.
            kind: ending of the file.
        """
        return self.place(key, kind).exists()

    # Densities ----------------------------------------------------------------------------------

    def density(self, key: str) -> ConditionalDensity | None:
        """Return the density of a key, or None."""
        if not self.has(key, "daace"):
            return None
        try:
            return read_model(self.place(key, "daace"))[0]
        except ModelFileError as error:
            raise ModelFileError(f"{error} Delete this file, and it is made again.") from None

    def keep_density(self, key: str, density: ConditionalDensity) -> None:
        """Write a fitted density; a KDE with its rows."""
        if not self.has(key, "daace"):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_model(self.place(key, "daace"), density, {}, include_rows=True)

    # Graphs -------------------------------------------------------------------------------------

    def graph(self, key: str, rule: EdgeRule) -> Graph | None:
        """Return the graph of a key, or None; `rule` is the one that its edges were made with."""
        from safetensors import SafetensorError, safe_open

        if not self.has(key, "graph"):
            return None
        try:
            with safe_open(self.place(key, "graph"), framework="numpy") as file:
                seconds = float((file.metadata() or {})["seconds"])
                a = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return Graph(
                a["points"], a["log_joint"], rule, a["indptr"], a["indices"], a["radii"],
                a.get("log_prob"), seconds,
            )  # fmt: skip
        except (SafetensorError, ValueError, KeyError):
            raise ModelFileError(
                f"'{self.place(key, 'graph')}' is damaged. Delete this file, and it is made again."
            ) from None

    def keep_graph(self, key: str, graph: Graph) -> None:
        """Write a graph with the log-densities along its edges."""
        from safetensors.numpy import save

        if self.has(key, "graph"):
            return
        names = ("points", "log_joint", "indptr", "indices", "radii", "log_prob")
        arrays = {name: getattr(graph, name) for name in names}
        content = save(
            {n: np.ascontiguousarray(a) for n, a in arrays.items() if a is not None},
            metadata={"seconds": repr(graph.seconds)},
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self.place(key, "graph"), content)

    # Notes --------------------------------------------------------------------------------------

    def notes(self, key: str) -> Any:
        """Return the notes of a key, or None."""
        if not self.has(key, "json"):
            return None
        try:
            return load_json(self.place(key, "json").read_text(encoding="utf-8"))
        except ValueError:
            raise ModelFileError(
                f"'{self.place(key, 'json')}' is damaged. Delete this file, and it is made again."
            ) from None

    def keep_notes(self, key: str, notes: Any) -> None:
        """Write notes, which may be anything that JSON can hold."""
        if not self.has(key, "json"):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self.place(key, "json"), dump_json(notes))
