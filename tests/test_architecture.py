"""Imports point one way, heavy packages stay where they belong; read from the syntax trees."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCES = Path(__file__).parents[1] / "src"
PACKAGE = SOURCES / "daace"

#: A layer may import itself and those before it.
LAYERS = (
    "data", "density", "landscape", "planners", "testing", "explain", "study", "eqi", "web", "cli",
)  # fmt: skip

#: Known to all layers.
COMMON = {
    "daace._checks",
    "daace._files",
    "daace._formats",
    "daace._journal",
    "daace._options",
    "daace._json",
    "daace._progress",
    "daace._signals",
    "daace._workers",
    "daace._typing",
    "daace._warnings",
    "daace._wording",
    "daace.exceptions",
    "daace.notes",
}

#: What landscape and planners may know of densities: what holds for any of them.
ABSTRACT = {f"daace.density.{name}" for name in ("base", "bayes", "draws", "given_draws")}

#: Where else a package may be named; elsewhere it may not be imported, not even inside a function.
HOMES = {
    "matplotlib": ("pictures", "figures"),
    "torch": ("trainer", "torch_module"),
    "pymoo": ("nsga2", "genes"),
    "optuna": ("tuning",),
    "fastapi": ("web",),
    "uvicorn": ("web",),
    "pydantic": ("web",),
    "anywidget": ("web",),
    "typer": ("cli", "_options"),
}

#: Not imported when a module is: only inside the functions that use them.
DEFERRED = {"sklearn", "torch", "pymoo", "optuna", "joblib", "safetensors", "rich"}

#: Modules, and folders of modules, that may only be imported inside functions: they load a package.
LAZY_MODULES = ("pictures", "figures")


class Import(NamedTuple):
    """One import statement: which module asks for which, and whether at load time."""

    importer: str
    imported: str
    line: int
    at_load: bool


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCES).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def trees() -> dict[str, ast.Module]:
    files = sorted(PACKAGE.rglob("*.py"))
    return {module_name(path): ast.parse(path.read_text(encoding="utf-8")) for path in files}


def statements(tree: ast.AST, *, at_load: bool = True) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield the import statements below a node, and whether they run at load time."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, at_load
        else:
            later = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or (
                isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
            )
            yield from statements(node, at_load=at_load and not later)


@cache
def imports() -> list[Import]:
    found = []
    for importer, tree in trees().items():
        for node, at_load in statements(tree):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                assert isinstance(node, ast.ImportFrom)
                assert node.level == 0, f"{importer}:{node.lineno} is a relative import"
                base = node.module or ""
                submodules = [f"{base}.{alias.name}" for alias in node.names]
                names = [name if name in trees() else base for name in submodules]
            found += [Import(importer, name, node.lineno, at_load) for name in names]
    return found


def layer(module: str) -> str:
    """Return the folder of a module, or its own name at the top."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def inner_imports() -> list[Import]:
    return [
        i for i in imports() if i.imported.split(".")[0] == "daace" and i.imported not in COMMON
    ]


def where(wrong: list[Import]) -> list[str]:
    return [f"{i.importer}:{i.line} imports {i.imported}" for i in wrong]


def test_the_package_was_read() -> None:
    assert {"daace", "daace.data.table", "daace.planners.base"} <= set(trees())
    assert len(imports()) > 100


def test_every_folder_is_a_layer() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert folders <= set(LAYERS)


def test_imports_point_to_earlier_layers_only() -> None:
    rank = {name: place for place, name in enumerate(LAYERS)}
    wrong = [
        i
        for i in inner_imports()
        if layer(i.importer) in rank
        and rank.get(layer(i.imported), len(rank)) > rank[layer(i.importer)]
        # The one thing at the top that layers may ask for: the version that made a file.
        and not (i.imported == "daace" and not i.at_load)
    ]
    assert where(wrong) == []


def test_nobody_imports_the_command_line() -> None:
    others = [i for i in inner_imports() if layer(i.importer) not in ("cli", "__main__")]
    assert where([i for i in others if layer(i.imported) == "cli"]) == []


def test_the_common_modules_import_nothing_of_ours() -> None:
    assert where([i for i in inner_imports() if i.importer in COMMON]) == []


def test_landscape_and_planners_know_no_concrete_density() -> None:
    wrong = [
        i
        for i in inner_imports()
        if layer(i.importer) in ("landscape", "planners")
        and layer(i.imported) == "density"
        and i.imported not in ABSTRACT
    ]
    assert where(wrong) == []


def test_the_machinery_of_studies_does_not_know_the_paper() -> None:
    """Only the command line hands the paper's client to it."""
    paper = "daace.study.paper"
    wrong = [
        i
        for i in inner_imports()
        if layer(i.importer) == "study"
        and not i.importer.startswith(paper)
        and i.importer != "daace.cli.study"
        and i.imported.startswith(paper)
    ]
    assert where(wrong) == []


@pytest.mark.parametrize("package", HOMES)
def test_packages_stay_at_home(package: str) -> None:
    wrong = [
        i
        for i in imports()
        if i.imported.split(".")[0] == package
        and not set(i.importer.split(".")) & set(HOMES[package])
    ]
    assert where(wrong) == []


def test_heavy_packages_are_imported_when_used() -> None:
    wrong = [i for i in imports() if i.at_load and i.imported.split(".")[0] in DEFERRED]
    assert where(wrong) == []


def test_plots_are_imported_when_drawn() -> None:
    wrong = [
        i
        for i in inner_imports()
        if i.at_load
        and set(i.imported.split(".")) & set(LAZY_MODULES)
        and not set(i.importer.split(".")) & set(LAZY_MODULES)
    ]
    assert where(wrong) == []


def test_no_modules_import_each_other() -> None:
    """Imports inside functions and for type checkers count: they tie modules together as well."""
    edges: dict[str, set[str]] = {name: set() for name in trees()}
    for i in imports():
        if i.imported in edges and i.imported not in (i.importer, "daace"):
            edges[i.importer].add(i.imported)
    seen: dict[str, bool] = {}

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join([*trail[trail.index(module) :], module])
        if module not in seen:
            for other in sorted(edges[module]):
                visit(other, (*trail, module))
            seen[module] = True

    for module in edges:
        if module != "daace":
            visit(module, ())


def test_no_drawer_without_a_name() -> None:
    assert not {"utils", "util", "helpers", "misc", "common"} & {
        part for module in trees() for part in module.split(".")
    }


def test_every_module_says_what_it_is() -> None:
    silent = [name for name, tree in trees().items() if not ast.get_docstring(tree)]
    assert silent == []


def test_each_parameter_is_documented_by_itself() -> None:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    grouped = [
        f"{name}: {line.strip()}"
        for name, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, documented)
        for line in (ast.get_docstring(node) or "").splitlines()
        if re.match(r"\s+[a-z_]+(, [a-z_]+)+: ", line)
    ]
    assert grouped == []


def test_no_class_stands_on_a_concrete_one() -> None:
    bases: dict[str, list[str]] = {}
    for tree in trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                bases[node.name] = [ast.unparse(base).split("[")[0] for base in node.bases]

    def depth(name: str) -> int:
        return 1 + max((depth(base) for base in bases[name] if base in bases), default=0)

    def is_abstract(name: str) -> bool:
        return bool({"ABC", "Protocol"} & set(bases[name])) or name == "DaaceError"

    assert {"ConditionalDensity", "KernelDensity"} <= set(bases)
    assert [name for name in bases if depth(name) > 2] == []
    on_concrete = [
        f"{name}({base})"
        for name, of in bases.items()
        for base in of
        if base in bases and not is_abstract(base)
    ]
    assert on_concrete == []


def test_importing_is_light() -> None:
    """The package, its public names, and the command: nothing heavy before it is used."""
    code = """
import sys
import daace
print(*sys.modules)
[getattr(daace, name) for name in daace.__all__]
print(*sys.modules)
import daace.cli
print(*sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    package, names, command = (set(line.split()) for line in done.stdout.splitlines())
    assert "daace" in package
    assert not package & {"numpy", "pandas", "scipy"}  # names are loaded when they are used
    heavy = {"torch", "matplotlib", "pymoo", "sklearn", "scipy.stats", "scipy.optimize"}
    assert "daace.explain.explainer" in names
    assert not names & {*heavy, "joblib", "typer", "optuna", "scipy.sparse", "scipy.spatial"}
    assert not names & {"fastapi", "uvicorn", "pydantic", "anywidget"}
    assert "daace.cli" in command
    assert not command & heavy


def test_public_names_are_found_where_they_are_listed() -> None:
    import daace

    assert {"fit", "load", "Explainer", "Table"} <= set(daace.__all__)
    assert set(daace.__all__) <= set(dir(daace))
    assert daace.density.LinearGaussianNetwork is daace.LinearGaussianNetwork
    with pytest.raises(AttributeError, match="module 'daace' has no attribute 'fits'"):
        _ = daace.fits
