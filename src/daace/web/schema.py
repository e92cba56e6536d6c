"""The bodies of requests, as OpenAPI documents them."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from daace.landscape.constraints import Constraints
from daace.landscape.rules.reading import options
from daace.web.questions import known_settings

RULES = "; ".join(f"`{rule.name}`: {rule.help.rstrip('.')}" for rule in options())

#: A value of a feature.
Cell: TypeAlias = StrictBool | StrictInt | StrictFloat | StrictStr | None
Row: TypeAlias = Annotated[
    dict[str, Cell],
    Field(description="Value of every feature in your units, null where it is missing."),
]
Target: TypeAlias = Annotated[
    StrictBool | StrictInt | StrictStr | None,
    Field(description="Class to reach; with two classes, the less probable one when left out."),
]
Settings: TypeAlias = Annotated[
    dict[str, Any],
    Field(
        json_schema_extra={"propertyNames": {"enum": list(known_settings())}},
        description="Settings by name, as of `Explainer.explain` and the command line: "
        f"{', '.join(known_settings())}.",
    ),
]
Rules: TypeAlias = Annotated[
    dict[str, Any],
    Field(
        json_schema_extra={"propertyNames": {"enum": [rule.name for rule in fields(Constraints)]}},
        description=f"Rules by name, as of `daace.Constraints`. {RULES}.",
    ),
]
Name: TypeAlias = Annotated[
    str | None,
    Field(
        pattern=r"^[A-Za-z0-9_-]{1,64}$",
        description="Name of your choice, to see the progress by and to stop the search.",
    ),
]
Known: TypeAlias = Annotated[
    str | None,
    Field(
        min_length=1, max_length=80, description="`answer` of a response: the answer that is meant."
    ),
]


class Body(BaseModel, ABC):
    """What all bodies share: nothing else may be in them."""

    model_config = ConfigDict(extra="forbid")


class AskRow(Body):
    """A question about one row."""

    row: Row
    target: Target = None
    settings: Settings = {}
    constraints: Rules = {}
    job: Name = None


class AskMore(Body):
    """A question about one row, and how many other answers to look for."""

    row: Row
    target: Target = None
    settings: Settings = {}
    constraints: Rules = {}
    job: Name = None
    count: Annotated[StrictInt, Field(ge=1, le=6)] = 3


class Answered(Body):
    """An answer that was given, by its name; or the question, if that was long ago."""

    answer: Known = None
    row: Row | None = None
    target: Target = None
    settings: Settings = {}
    constraints: Rules = {}


class Axes(Body):
    """An answer, and the two features of its terrain."""

    answer: Known = None
    row: Row | None = None
    target: Target = None
    settings: Settings = {}
    constraints: Rules = {}
    features: Annotated[list[str], Field(min_length=2, max_length=2)] | None = None


class Seen(Body):
    """An answer to look at again: one that is kept, or the content of an exported file."""

    answer: Known = None
    record: dict[str, Any] | None = Field(None, description="JSON that was exported.")


class Upload(Body):
    """A table whose rows are all asked about."""

    text: str = Field(min_length=1, description="The table as CSV or TSV, with a header.")
    format: Annotated[str, Field(pattern="^(csv|tsv)$")] = "csv"
    target: Target = None
    settings: Settings = {}
    constraints: Rules = {}
    job: Name = None


class Fault(Body):
    """What is wrong with a request."""

    message: str
    argument: str | None = None
    expected: str | None = None
    got: str | None = None
    remedy: str | None = None


class Failure(Body):
    """The body of every response that is not an answer."""

    error: Fault


def row_schema(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a row of one model: a value of its kind for every feature.

    Args:
        facts: of the model.
    """
    properties = {feature["name"]: _cell_schema(feature) for feature in facts["features"]}
    return {"properties": properties, "required": list(properties)}


def _cell_schema(feature: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of one value: a level, or a number."""
    gap = [None] if feature["missing"] else []
    if "levels" in feature:
        return {"enum": [*feature["levels"], *gap]}
    kinds = ["integer" if feature["kind"] == "whole" else "number", *(["null"] if gap else [])]
    return {"type": kinds, "description": feature["unit"] or feature["kind"]}
