"""Actionable counterfactual explanations: what would have to change, and how to get there.

The public names are those of `__init__.pyi`. Each is loaded when it is first used, so that
`import daace` and `daace --help` take no time.
"""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.2.0"

#: The module of each public name.
_HOMES = {
    alias.name: str(node.module)
    for node in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}

#: Packages and modules that hold them, known as `daace.density` and so on.
_ROOMS = {home.split(".")[1] for home in _HOMES.values()}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _ROOMS:
        value = import_module(f"daace.{name}")
    else:
        raise AttributeError(f"module 'daace' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_ROOMS})
