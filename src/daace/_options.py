"""Options of commands that belong together, as one dataclass instead of many parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that has the fields of its dataclass parameters as options of their own.

    Typer reads a command's options from its parameters. A parameter whose type is a dataclass is
    replaced by its fields, `Annotated` with their `typer.Option`; when the command is called, the
    dataclass is put together again.

    Example:
        >>> from dataclasses import dataclass
        >>> from inspect import signature
        >>> @dataclass
        ... class Limits:
        ...     time_limit: float | None = None
        ...     seed: int = 0
        >>> @expanded
        ... def plan(model: str, limits: Limits) -> None:
        ...     print(model, limits)
        >>> list(signature(plan).parameters)
        ['model', 'time_limit', 'seed']
        >>> plan(model="m", time_limit=1.0, seed=2)
        m Limits(time_limit=1.0, seed=2)
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if not (isinstance(kind, type) and is_dataclass(kind)):
            parameters.append(parameter.replace(annotation=kind))
            continue
        groups[name] = kind
        types = get_type_hints(kind, include_extras=True)
        for field in fields(kind):
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            parameters.append(
                inspect.Parameter(
                    field.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=default,
                    annotation=types[field.name],
                )
            )

    @wraps(command)
    def called(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        command(**given)

    keyword_only = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    called.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]
    called.__annotations__ = {p.name: p.annotation for p in parameters}
    return called
