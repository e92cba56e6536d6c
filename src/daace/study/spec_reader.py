"""Reads a study from a TOML file; every mistake is reported with its line and a remedy."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from daace._wording import quote
from daace.density.registry import density_class, learned_kinds
from daace.exceptions import InvalidInput, MissingDependency
from daace.study.spec import (
    MIXTURES,
    PLANNERS,
    TRUTH,
    AlgorithmSpec,
    DensitySpec,
    StudySpec,
    Subset,
    TableSpec,
    takes_rows,
)
from daace.study.toml_file import Section, TomlFile, unknown_key


def read_spec(path: str | Path) -> StudySpec:
    """Read a study.

    Args:
        path: the TOML file.

    Raises:
        InvalidInput: something in it is wrong; the message has line and remedy.
    """
    return parse_spec(TomlFile.read(path))


def parse_spec(source: TomlFile) -> StudySpec:
    """Read a study from TOML that was read.

    Args:
        source: the TOML.

    Raises:
        InvalidInput: something in it is wrong; the message has line and remedy.
    """
    top = Section(source, (), source.data)
    tables = _tables(top)
    named = [table.name for table in tables if not table.mixture]
    densities = tuple(
        _density(name, section, named) for name, section in top.sections("densities").items()
    )
    if TRUTH in {density.name for density in densities}:
        source.refuse(("densities", TRUTH), f"'{TRUTH}' must not be redefined: use [truth].")
    truth = Section.of(source, ("truth",), top.take("truth", {"kind": "kde"}))
    rows = top.numbers("rows", (15_000, 50_000), at_least=10)
    if len(rows) not in (1, 2) or list(rows) != sorted(rows) or any(r % 1 for r in rows):
        top.refuse("rows", f"'rows' must be the fewest and the most rows. Got {list(rows)}.")
    spec = StudySpec(
        name=top.text("name", Path(source.name).stem),
        seed=top.integer("seed", 0, at_least=0),
        instances=top.integer("instances", at_least=1),
        penalties=top.numbers("penalties", at_least=0),
        plausibility=top.numbers("plausibility"),
        certainty=top.numbers("certainty"),
        rows=(int(rows[0]), int(rows[-1])),
        target=top.choice("target", ("other", "predicted"), "other"),
        scale=top.choice("scale", ("nll", "relative"), "nll"),
        margin=top.number("margin", 0.01, at_least=0),
        samples=top.integer("samples", 1000, at_least=2),
        tables=tables,
        truth=_density(TRUTH, truth, named),
        densities=densities,
        algorithms=(),
    )
    algorithms = tuple(
        one
        for name, section in top.sections("algorithms").items()
        for one in _algorithm(name, section, spec)
    )
    if not algorithms:
        source.refuse(("algorithms",), "A study must have at least one [algorithms.NAME].")
    top.close()
    return replace(spec, algorithms=algorithms)


def _tables(top: Section) -> tuple[TableSpec, ...]:
    entries = top.take("tables")
    if not isinstance(entries, list) or not entries:
        top.refuse("tables", f"'tables' must be a list of tables. Got {entries!r}.")
    tables = []
    for entry in entries:
        if isinstance(entry, str):
            tables.append(TableSpec(name=entry))
            continue
        section = Section.of(top.source, ("tables",), entry)
        name = section.text("name")
        section.place = ("tables", name)
        classes = section.texts("classes", ())
        if len(classes) not in (0, 2):
            section.refuse("classes", f"'classes' must be two classes. Got {list(classes)}.")
        mixture = section.choice("mixture", MIXTURES, "") if "mixture" in entry else ""
        features = section.integer("features", 2, at_least=1)
        section.close(known=["mixture"])
        tables.append(TableSpec(name=name, classes=classes, mixture=mixture, features=features))
    names = [table.name for table in tables]
    if len(set(names)) < len(names):
        top.refuse("tables", f"'tables' must have distinct names. Got {quote(names, limit=20)}.")
    return tuple(tables)


def _density(name: str, section: Section, named: list[str]) -> DensitySpec:
    kind = section.choice("kind", learned_kinds())
    preset = section.flag("preset")
    if preset and kind != "realnvp":
        section.refuse("preset", f"'preset' must go with the kind 'realnvp'. Got '{kind}'.")
    maker: Any = density_class(kind)
    _check_keys(section, maker.preset if preset else maker)
    settings = tuple((key, _frozen(value)) for key, value in section.rest().items())
    spec = DensitySpec(name=name, kind=kind, preset=preset, settings=settings)
    for table in named if preset else [""]:
        with _blaming_setting(section):
            spec.make(table)
    return spec


def _algorithm(name: str, section: Section, spec: StudySpec) -> list[AlgorithmSpec]:
    planner = section.text("planner")
    known = [TRUTH, *(d.name for d in spec.densities)]
    density = section.text("density")
    if density not in known:
        section.refuse("density", f"'density' must be one of {quote(known)}. Got '{density}'.")
    rows = section.choice("rows", ("all", "target"), "all")
    only = _subset(section, spec)
    each, beside = section.flag("each_vertex"), section.flag("beside")
    if beside and only is not None:
        section.refuse("beside", "'beside' must go without 'only'.")
    tune = section.integer("tune", 0, at_least=0)
    if tune and planner != "NSGA2":
        section.refuse("tune", f"'tune' must go with the planner NSGA2. Got {planner}.")
    path = PLANNERS.get(planner, planner)
    folder = "" if planner in PLANNERS else str(Path(section.source.name).resolve().parent)
    one = AlgorithmSpec(
        name=name,
        planner=path,
        density=density,
        rows=rows,
        only=only,
        tune=tune,
        beside=beside,
        folder=folder,
    )
    with section.source.blaming((*section.place, "planner")):
        maker: Any = one.planner_class()
    _check_keys(section, maker, hidden=("rows",))
    settings = {key: _frozen(value) for key, value in section.rest().items()}
    with _blaming_setting(section):
        maker(*_placeholder_rows(maker), **settings)
    if not each:
        return [replace(one, settings=tuple(settings.items()))]
    tried = settings.get("vertices")
    if not isinstance(tried, tuple) or only is None:
        section.refuse(
            "each_vertex", "'each_vertex' must go with a list 'vertices' and a table 'only'."
        )
    return [
        replace(
            one,
            name=f"{name} v={v}",
            settings=tuple({**settings, "vertices": v}.items()),
            family=name,
            vertices=v,
        )
        for v in tried
    ]


def _subset(section: Section, spec: StudySpec) -> Subset | None:
    given = section.take("only", None)
    if given is None:
        return None
    only = Section.of(section.source, (*section.place, "only"), given)
    parts: dict[str, Any] = {}
    whole = {
        "penalties": spec.penalties,
        "plausibility": spec.plausibility,
        "certainty": spec.certainty,
    }
    for key, all_of_them in whole.items():
        parts[key] = only.numbers(key, None) if key in given else only.take(key, None)
        if not set(parts[key] or ()) <= set(all_of_them):
            only.refuse(key, f"'{key}' must be among {list(all_of_them)}. Got {list(parts[key])}.")
    tables = only.texts("tables", ()) or None
    names = [table.name for table in spec.tables]
    if not set(tables or ()) <= set(names):
        only.refuse("tables", f"'tables' must be among {quote(names, limit=20)}.")
    instances = only.integer("instances", spec.instances, at_least=1)
    only.close()
    return Subset(tables=tables, instances=instances, **parts)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _placeholder_rows(planner: Any) -> tuple[Any, ...]:
    return ([[0.0, 0.0], [1.0, 1.0]],) if takes_rows(planner) else ()


def _check_keys(section: Section, maker: Any, hidden: tuple[str, ...] = ()) -> None:
    known = [k for k in inspect.signature(maker).parameters if k not in (*hidden, "name", "_")]
    for key in section.rest():
        if key not in known:
            section.refuse(key, unknown_key(key, [*known, *section.taken]))


@contextmanager
def _blaming_setting(section: Section) -> Iterator[None]:
    """Name the line of the setting that a constructor complains about."""
    try:
        yield
    except MissingDependency:
        raise
    except (InvalidInput, TypeError) as error:
        named = [key for key in section.rest() if f"'{key}'" in str(error)]
        section.source.refuse((*section.place, *named[:1]), str(error))
