"""The bodies of requests, for OpenAPI; `Exact` adds the details of one model."""

from __future__ import annotations

from abc import ABC
from typing import Annotated, Any, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
)

from daace.landscape.rules.reading import options
from daace.web.questions import known_settings

RULES = "; ".join(f"`{rule.name}`: {rule.help.rstrip('.')}" for rule in options())


def whole(value: Any) -> Any:
    """Return 2 for 2.0, which are the same number in JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Row: TypeAlias = Annotated[
    dict[str, Any],
    Field(description="Value of every feature in your units, null where it is missing."),
]
Target: TypeAlias = Annotated[
    StrictBool | StrictInt | StrictStr | None,
    Field(description="Class to reach; with two classes, the less probable one when left out."),
]
Settings: TypeAlias = Annotated[
    dict[str, Any],
    Field(
        description="Settings by name, as for `Explainer.explain` and the command line: "
        f"{', '.join(known_settings())}.",
    ),
]
Rules: TypeAlias = Annotated[
    dict[str, Any],
    Field(
        description=f"Rules by name, as for `daace.Constraints`. {RULES}.",
    ),
]
Name: TypeAlias = Annotated[
    str | None,
    Field(
        pattern=r"^[A-Za-z0-9_-]{1,64}$",
        description="A name of your choice, for reading the progress and stopping the search.",
    ),
]
Known: TypeAlias = Annotated[
    str | None,
    Field(min_length=1, max_length=80, description="Name of the answer: `answer` of its response."),
]


#: Parts of every exported answer.
OF_EXPORTED = ("schema", "schema_version")


def _is_exported(record: dict[str, Any]) -> dict[str, Any]:
    missing = [name for name in OF_EXPORTED if name not in record]
    if missing:
        raise ValueError(f"'{missing[0]}' is missing")
    return record


Exported: TypeAlias = Annotated[
    dict[str, Any],
    AfterValidator(_is_exported),
    Field(json_schema_extra={"required": list(OF_EXPORTED)}),
]


class Body(BaseModel, ABC):
    """Base of all bodies: unknown names are errors."""

    model_config = ConfigDict(extra="forbid")


class AskRow(Body):
    """A question about one row."""

    row: Row
    target: Target = None
    settings: Settings = {}
    constraints: Rules = {}
    job: Name = None


class AskMore(Body):
    """A question about one row, and the number of alternatives."""

    row: Row
    target: Target = None
    settings: Settings = {}
    constraints: Rules = {}
    job: Name = None
    count: Annotated[StrictInt, Field(ge=1, le=6), BeforeValidator(whole)] = 3


class Answered(Body):
    """An earlier answer, by its name; or its question, if it is no longer kept."""

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
    """An earlier answer: one that is kept, or the content of an exported file."""

    answer: Known = None
    record: Exported | None = Field(None, description="JSON that was exported.")


class Upload(Body):
    """A table, and a question about all of its rows."""

    text: str = Field(min_length=1, description="The table as CSV or TSV, with a header.")
    format: Annotated[str, Field(pattern="^(csv|tsv)$")] = "csv"
    target: Target = None
    settings: Settings = {}
    constraints: Rules = {}
    job: Name = None


class Fault(Body):
    """The error of a request."""

    message: str
    argument: str | None = None
    expected: str | None = None
    got: str | None = None
    remedy: str | None = None


class Failure(Body):
    """The body of every response that is not an answer."""

    error: Fault
