"""The exact schema of questions to one model: published, and used for checking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from daace._json import LARGEST_INTEGER
from daace.exceptions import InvalidInput
from daace.landscape.cost import MAX_PENALTY
from daace.landscape.goal import MAX_THRESHOLD
from daace.web.json_schema import read_value
from daace.web.questions import MOST_VERTICES, known_settings

Schema = dict[str, Any]

#: Bodies about a row; with more than two classes, they must name the target.
ASKING = ("AskRow", "AskMore", "Upload")

#: Values must be smaller, with either sign.
LARGEST = 1e100

NUMBER: Schema = {"type": "number", "exclusiveMinimum": -LARGEST, "exclusiveMaximum": LARGEST}
POSITIVE: Schema = {**NUMBER, "exclusiveMinimum": 0}
NOT_NEGATIVE: Schema = {"type": "number", "minimum": 0, "exclusiveMaximum": LARGEST}
WEIGHT: Schema = {"type": "number", "minimum": 1e-3, "maximum": 1e3}
COUNT: Schema = {"type": "integer", "minimum": 1, "maximum": LARGEST_INTEGER}
FLAG: Schema = {"type": "boolean"}
VERTICES: Schema = {"type": "integer", "minimum": 0, "maximum": MOST_VERTICES}


def or_null(schema: Mapping[str, Any]) -> Schema:
    """Return the schema of values that may be missing.

    Example:
        >>> or_null({"type": "boolean"}), or_null({"enum": ["own", "rent"]})
        ({'type': ['boolean', 'null']}, {'enum': ['own', 'rent', None]})
    """
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None]}
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return {**schema, "type": [*kinds, "null"]}


#: The schema of each setting.
SETTINGS: dict[str, Schema] = {
    "penalty": or_null({"type": "number", "minimum": 0, "maximum": MAX_PENALTY}),
    "plausibility": or_null({**NUMBER, "maximum": MAX_THRESHOLD}),
    "min_log_prob": or_null({**NUMBER, "maximum": MAX_THRESHOLD}),
    "min_posterior": or_null({"type": "number", "minimum": 0, "exclusiveMaximum": 1}),
    "time_limit": or_null(POSITIVE),
    "seed": {"type": "integer", "minimum": 0, "maximum": LARGEST_INTEGER},
    "changes": {"enum": ["few", "all"]},
    "scale": {"enum": ["relative", "nll"]},
    "judge": or_null({"enum": ["committee", "density"]}),
    "classifier_budget": or_null(COUNT),
    "round": FLAG,
    "vertices": {
        **VERTICES, "type": ["integer", "array"],
        "items": VERTICES, "minItems": 1, "maxItems": MOST_VERTICES,
    },
    "sparsity": NOT_NEGATIVE,
}  # fmt: skip


class Exact:
    """The parts of questions to one model.

    Args:
        facts: facts of the model.
    """

    def __init__(self, facts: Mapping[str, Any]) -> None:
        features = facts["features"]
        self._classes = list(facts["classes"])
        kinds = {rule["name"]: rule["kinds"] for rule in facts["rules"]}
        numbers = [feature["name"] for feature in features if "levels" not in feature]
        self._parts: dict[str, Schema] = {
            "row": {
                "type": "object",
                "properties": {feature["name"]: _cell(feature) for feature in features},
                "required": [feature["name"] for feature in features],
            },
            "target": {"enum": [*self._classes, None]},
            "settings": _object({name: SETTINGS[name] for name in known_settings()}),
            "constraints": _object(_rules(features, kinds)),
            "features": {**_list({"enum": numbers}, least=2, most=2), "uniqueItems": True},
        }

    def describe(self, bodies: Mapping[str, Any]) -> None:
        """Put the parts into the schemas of bodies, in place.

        Args:
            bodies: `components.schemas` of the description of the API.
        """
        for name in (*ASKING, "Answered", "Axes"):
            known = bodies[name]["properties"]
            for part in self._parts.keys() & known.keys():
                _describe(known[part], self._parts[part])
            if name in ASKING and len(self._classes) > 2:
                known["target"] = {**known["target"], "enum": self._classes}
                bodies[name]["required"] = [*bodies[name].get("required", []), "target"]

    def read(self, name: str, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the record of a body, with integers for whole numbers and rows of features only.

        Args:
            name: name of the body.
            record: content of the body.

        Raises:
            InvalidInput: it does not follow the schema.
        """
        read = {
            part: read_value(value, self._parts[part], (part,))
            if part in self._parts and value is not None
            else value
            for part, value in record.items()
        }
        if name in ASKING and len(self._classes) > 2 and record["target"] is None:
            listed = ", ".join(map(repr, self._classes))
            raise InvalidInput(argument="target", expected=f"be one of {listed}", got="nothing")
        return read


def _describe(known: Schema, exact: Schema) -> None:
    """Make the schema of a part exact, but keep its description, default, and null if allowed."""
    sources = [*known.get("anyOf", ()), dict(known)]
    kept = {key: one[key] for one in sources for key in ("description", "default") if key in one}
    nothing = any(one.get("type") == "null" for one in sources)
    known.clear()
    known |= {**(or_null(exact) if nothing and "type" in exact else exact), **kept}


def _object(properties: Mapping[str, Schema], *, least: int = 0) -> Schema:
    """Return the schema of mappings with some of these names."""
    schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return {**schema, "minProperties": least} if least else schema


def _list(entry: Schema, *, least: int = 0, most: int | None = None) -> Schema:
    limits = {"minItems": least} if most is None else {"minItems": least, "maxItems": most}
    return {"type": "array", "items": entry, **limits}


def _cell(feature: Mapping[str, Any]) -> Schema:
    """Return the schema of a value of a feature: a level, or a number."""
    if "levels" in feature:
        cell: Schema = {"enum": list(feature["levels"])}
    else:
        kind = "integer" if feature["kind"] == "whole" else "number"
        cell = {**NUMBER, "type": [kind], "description": feature["unit"] or feature["kind"]}
    return or_null(cell) if feature["missing"] else cell


def _rules(
    features: Sequence[Mapping[str, Any]], kinds: Mapping[str, Sequence[str]]
) -> dict[str, Schema]:
    """Return the schema of each rule, with the features of the kinds that it applies to."""

    def about(rule: str) -> list[Mapping[str, Any]]:
        atoms = "atoms" in kinds[rule]
        return [f for f in features if f["kind"] in kinds[rule] or (atoms and f.get("atoms"))]

    def names(rule: str) -> Schema:
        return _list({"enum": [f["name"] for f in about(rule)]})

    def numbers(rule: str, number: Schema, *, least: int = 0) -> Schema:
        return _object({f["name"]: number for f in about(rule)}, least=least)

    def levels(rule: str, *, pairs: bool = False) -> Schema:
        found = {}
        for f in about(rule):  # atoms are named by their values or words
            level = _cell(f) if "levels" in f else {"type": ["number", "string", "null"]}
            found[f["name"]] = _list(_list(level, least=2, most=2) if pairs else level, least=1)
        return _object(found)

    sides = dict.fromkeys(("equals", "at_least", "at_most"), or_null(NUMBER))
    link = _object({"terms": numbers("links", NUMBER, least=1), **sides})
    schemas = {
        **{rule: names(rule) for rule in ("fixed", "only_up", "only_down", "integer")},
        **{rule: _object({f["name"]: _bound(f) for f in about(rule)}) for rule in BOUNDS},
        **{rule: numbers(rule, NOT_NEGATIVE) for rule in ("max_rise", "max_fall")},
        "weights": numbers("weights", WEIGHT),
        "max_step": numbers("max_step", POSITIVE),
        "links": _list({**link, "required": ["terms"]}),
        "max_changed": or_null(COUNT),
        "allowed": levels("allowed"),
        "forbidden": levels("forbidden", pairs=True),
        "natural": or_null(FLAG),
        "given": or_null(FLAG),
    }
    assert kinds.keys() <= schemas.keys(), "a kind of rule has no schema"
    return schemas


#: Rules that are bounds.
BOUNDS = ("lower", "upper")


def _bound(feature: Mapping[str, Any]) -> Schema:
    """Return the schema of a bound: a level if levels are words, otherwise a number."""
    words = [level for level in feature.get("levels", ()) if isinstance(level, str)]
    return {"enum": list(feature["levels"])} if words else NUMBER
