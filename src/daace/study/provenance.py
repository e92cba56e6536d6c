"""Where a record comes from: versions, host, times, memory."""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from daace.study.records import CIRCUMSTANCES, Record

#: Folders of the package that the numbers of a record come from.
NUMERICS = ("data", "density", "landscape", "planners")


def describe_origin(seconds: float = 0.0, graph_seconds: float = 0.0) -> Record:
    """Return versions, and what differs between two runs.

    Args:
        seconds: seconds of the search.
        graph_seconds: seconds to build the graph that the search used.
    """
    return {
        "versions": dict(_versions()),
        CIRCUMSTANCES: {
            "host": platform.node(),
            "seconds": seconds,
            "graph_seconds": graph_seconds,
            "memory_mb": peak_memory(),
        },
    }


def peak_memory() -> float:
    """Return the largest memory this process has held so far, in MB; 0 where unknown."""
    try:
        import resource
    except ImportError:  # not on Windows
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


@lru_cache(maxsize=1)
def _versions() -> Mapping[str, str]:
    found = {"python": platform.python_version(), "code": code_state()}
    for package in ("daace", "numpy", "scipy", "torch", "pymoo"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    from daace import __version__

    return found | {"daace": __version__}


@lru_cache(maxsize=1)
def code_state() -> str:
    """Return a hash of the code that densities, costs and plans come from."""
    package = Path(__file__).parents[1]
    hashed = hashlib.sha256()
    for folder in NUMERICS:
        for file in sorted((package / folder).rglob("*.py")):
            hashed.update(file.read_bytes())
    return hashed.hexdigest()[:12]
