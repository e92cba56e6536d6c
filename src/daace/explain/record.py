"""Explanations as JSON, with a schema version; exact to the last bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from daace.exceptions import InvalidInput
from daace.explain.encoding import load_json
from daace.explain.provenance import Provenance
from daace.landscape.rows import frame_of_rows
from daace.planners.base import Status

if TYPE_CHECKING:
    from daace.explain.explanation import Explanation

SCHEMA = "daace.explanation"
SCHEMA_VERSION = 1

#: Columns of `Explanation.profile`.
PROFILE = ("log_prob", "plausibility", "percentile", "posterior")


def to_record(e: Explanation) -> dict[str, Any]:
    """Return all of an explanation but its density and explainer, ready for JSON."""
    record = {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "status": str(e.status),
        "current": e.current,
        "target": e.target,
        "cost": e.cost,
        "features": list(e.path.columns),
        "units": e.units,
        "sd": e.sd,
        "path": e.path.to_numpy(dtype=np.float64),
        "profile": {name: e.profile[name].to_numpy() for name in PROFILE},
        "relax": e.relax,
        "provenance": asdict(e.provenance),
        "notes": list(e.notes),
    }
    if e.alternatives:
        record["alternatives"] = [to_record(other) for other in e.alternatives]
    return record


def parse_record(text: str) -> dict[str, Any]:
    """Return the fields of an explanation, by name, from its JSON.

    Alternatives are fields of explanations in turn.

    Raises:
        InvalidInput: the text is not such JSON, is of another version, or is damaged.
    """
    try:
        record = load_json(text)
        name, version = record["schema"], record["schema_version"]
    except (ValueError, TypeError, KeyError):
        raise InvalidInput("'text' must be JSON from Explanation.to_json. It is not.") from None
    if name != SCHEMA or version != SCHEMA_VERSION:
        raise InvalidInput(
            f"'text' must have schema '{SCHEMA}' version {SCHEMA_VERSION}. "
            f"Got '{name}' version {version}: read it with the daace that wrote it."
        )
    try:
        return _fields(record)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else error
        raise InvalidInput(
            f"'text' must be a whole explanation. It is damaged: {reason}."
        ) from None


def _fields(record: Mapping[str, Any]) -> dict[str, Any]:
    features = [str(name) for name in record["features"]]
    path = np.array(record["path"], dtype=np.float64)
    sd = np.array(record["sd"], dtype=np.float64)
    profile = {name: np.array(record["profile"][name], dtype=np.float64) for name in PROFILE}
    if path.ndim != 2 or not path.size or path.shape[1] != len(features):
        raise ValueError("the path does not fit the features")
    if sd.shape != (len(features),) or len(set(features)) != len(features):
        raise ValueError("the standard deviations do not fit the features")
    if any(column.shape != (len(path),) for column in profile.values()):
        raise ValueError("the profile does not fit the path")
    status = Status(record["status"])
    for name in ("current", "target"):
        unknown = record[name] is None and status is Status.INVALID_ROW
        if not (unknown or isinstance(record[name], str | int | bool)):
            raise ValueError(f"'{name}' is not a class")
    source = Provenance.from_record(record["provenance"])
    whole = [features.index(name) for name in source.constraints.get("integer", ())]
    frame = frame_of_rows(path, tuple(features), whole=whole)
    return {
        "status": status,
        "current": record["current"],
        "target": record["target"],
        "path": frame.rename_axis("waypoint"),
        "profile": pd.DataFrame(profile).rename_axis("waypoint"),
        "cost": float(record["cost"]),
        "relax": {str(name): float(value) for name, value in record["relax"].items()},
        "sd": sd,
        "units": {str(name): str(unit) for name, unit in record["units"].items()},
        "provenance": source,
        "alternatives": tuple(_fields(other) for other in record.get("alternatives", ())),
        "notes": tuple(str(note) for note in record["notes"]),
    }
