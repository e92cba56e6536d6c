"""Explanations as JSON, with a schema version; exact to the last bit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any, get_args

import numpy as np
import pandas as pd

from daace._json import (
    load_foreign_json,
    read_number,
    read_numbers,
    read_text,
    read_texts,
    reason,
)
from daace._wording import quote
from daace.data.dtypes import KNOWN
from daace.data.numbers import LARGEST
from daace.exceptions import InvalidInput
from daace.explain.answers.answer import ALONG, Answer
from daace.explain.answers.opinions import NO_VIEWS, VIEWS, Certainty, Limit, make_views
from daace.explain.answers.provenance import Provenance
from daace.landscape.constraints import Constraints
from daace.landscape.rows import frame_of_rows
from daace.notes import Note
from daace.planners.base import Status

SCHEMA = "daace.explanation"
SCHEMA_VERSION = 2

#: Versions that can be read.
READABLE = (1, SCHEMA_VERSION)

#: Up to this penalty no cost of a path overflows: squares of numbers that densities take are below
#: 1e200, the largest number is 1.8e308.
OVERFLOWING = 1.5


def to_record(e: Answer) -> dict[str, Any]:
    """Return everything of an answer except its model, ready for JSON."""
    record = {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "status": str(e.status),
        "current": e.current,
        "target": e.target,
        "cost": e.cost,
        "features": list(e.states.columns),
        "units": e.units,
        "sd": e.sd,
        **_path_record(e.states, e.provenance.constraints.get("integer", ())),
        "along": {
            **{name: e.along[name].to_numpy() for name in ALONG},
            "profile": e.along["profile"].tolist(),
        },
        "judges": {name: e.judges[name].tolist() for name in VIEWS},
        "certainty": asdict(e.certainty),
        "profiles": dict(e.profiles),
        "relax": e.relax,
        "provenance": asdict(e.provenance),
        "notes": [note.to_record() for note in e.notes],
    }
    if e.derived:
        derived = e.path[list(e.derived)]
        record["derived"] = {
            "columns": list(e.path.columns),
            "features": list(e.derived),
            **_cells_record(derived),
        }
    if e.alternatives:
        record["alternatives"] = [to_record(other) for other in e.alternatives]
    return record


def _path_record(path: pd.DataFrame, integer: Collection[str]) -> dict[str, Any]:
    """Return the waypoints: numbers, or the cells and the dtype of columns.

    Args:
        path: the waypoints.
        integer: features that are integers by a rule.
    """
    plain = {name: "int64" if name in integer else "float64" for name in path.columns}
    if all(str(kind) == plain[str(name)] for name, kind in path.dtypes.items()):
        return {"path": path.to_numpy(dtype=np.float64)}
    return _cells_record(path)


def _cells_record(path: pd.DataFrame) -> dict[str, Any]:
    """Return the cells and the dtype of columns."""
    kinds = [str(kind) for kind in path.dtypes]
    rows = [
        [None if pd.isna(cell) else cell for cell in row] for row in path.to_numpy(dtype=object)
    ]
    return {"path": rows, "dtypes": kinds}


def parse_record(text: str) -> dict[str, Any]:
    """Return the fields of an explanation, by name, from its JSON.

    Alternatives are fields of explanations in turn.

    Raises:
        InvalidInput: the text is not such JSON, is of another version, or is damaged.
    """
    try:
        record = load_foreign_json(text)
        name, version = record["schema"], record["schema_version"]
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidInput(
            f"'text' must be JSON from Explanation.to_json. It is not: {reason(error)}.",
            argument="text",
        ) from None
    if name != SCHEMA or version not in READABLE:
        raise InvalidInput(
            argument="text",
            expected=f"have schema '{SCHEMA}' version {SCHEMA_VERSION}",
            got=f"'{name}' version {version}",
            remedy="read it with the daace that wrote it",
        )
    try:
        fields = _fields(_current(record))
        others = record.get("alternatives", [])
        fields["alternatives"] = tuple(_alternative(other, record) for other in others)
        return fields
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InvalidInput(
            f"'text' must be a whole explanation. It is damaged: {reason(error)}.", argument="text"
        ) from None


def _current(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the record of an earlier version in the current form."""
    if "profile" in record and "along" not in record:
        record = {**record, "along": record["profile"]}
    if "profiles" not in record:
        none = [""] * len(record["path"])
        record = {**record, "profiles": {}, "along": {**record["along"], "profile": none}}
    return record


def _alternative(record: Mapping[str, Any], main: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of another answer to the same question."""
    if record["features"] != main["features"] or record.get("alternatives"):
        raise ValueError("an alternative has other features, or alternatives of its own")
    return _fields(_current(record))


def _fields(record: Mapping[str, Any]) -> dict[str, Any]:
    features = read_texts(record["features"])
    status = Status(record["status"])
    valid = status is not Status.INVALID_ROW  # such a row may have gaps
    mixed = _read_mixed(record, features) if "dtypes" in record else None
    path = read_numbers(record["path"], finite=valid) if mixed is None else np.zeros(mixed.shape)
    sd = read_numbers(record["sd"])
    if path.ndim != 2 or not path.size or path.shape[1] != len(features):
        raise ValueError("the path does not fit the features")
    if sd.shape != (len(features),) or len(set(features)) != len(features):
        raise ValueError("the standard deviations do not fit the features")
    if not ((sd > 0) & (sd < LARGEST)).all() or (np.abs(path) > LARGEST).any():
        raise ValueError("a standard deviation is not positive, or a number is too large")
    for name in ("current", "target"):
        unknown = record[name] is None and not valid
        if not (unknown or isinstance(record[name], str | int | bool)):
            raise ValueError(f"'{name}' is not a class")
    if not status and len(path) > 1:
        raise ValueError(f"there is a path, and the status is '{status}'")
    units = {name: read_text(unit) for name, unit in record["units"].items()}
    others = sorted(set(units) - set(features))
    if others:
        raise ValueError(f"there are units for {quote(others)}")
    provenance = Provenance.from_record(record["provenance"])
    rules = Constraints(**provenance.constraints)
    rules.check_features(features)
    cost = read_number(record["cost"], finite=False)
    overflown = cost == np.inf and provenance.penalty > OVERFLOWING
    if not (np.isfinite(cost) or overflown if status else cost == np.inf):
        raise ValueError(f"the cost is {cost}, and the status '{status}'")
    whole = [features.index(name) for name in rules.integer]
    frame = frame_of_rows(path, tuple(features), whole=whole) if mixed is None else mixed
    unsure = not valid or provenance.classifier is not None
    along = _along(record["along"], len(path), valid=valid, unsure=unsure)
    profiles = {name: read_text(words) for name, words in record["profiles"].items()}
    if set(profiles) != set(along["profile"]) - {""}:
        raise ValueError("the profiles along the path are not those that are described")
    return {
        "status": status,
        "current": record["current"],
        "target": record["target"],
        "path": _with_derived(frame, record.get("derived")).rename_axis("waypoint"),
        "derived": tuple(record["derived"]["features"]) if "derived" in record else (),
        "along": along,
        "judges": _judges(record["judges"], unsure) if "judges" in record else NO_VIEWS.copy(),
        "certainty": _certainty(record.get("certainty", {}), features),
        "profiles": profiles,
        "cost": cost,
        "relax": {name: read_number(value) for name, value in record["relax"].items()},
        "sd": sd,
        "units": units,
        "provenance": provenance,
        "alternatives": (),
        "notes": _notes(record["notes"]),
    }


def _with_derived(path: pd.DataFrame, record: Mapping[str, Any] | None) -> pd.DataFrame:
    """Return waypoints with the columns that were computed from features.

    Raises:
        ValueError: they do not fit the path.
    """
    if record is None:
        return path
    names, columns = read_texts(record["features"]), read_texts(record["columns"])
    if sorted(columns) != sorted([*path.columns, *names]) or len(set(columns)) < len(columns):
        raise ValueError("the derived columns do not fit the features")
    if [name for name in columns if name in path.columns] != list(path.columns):
        raise ValueError("the columns of the path are in another order than the features")
    derived = _read_mixed(record, names)
    if len(derived) != len(path):
        raise ValueError("the derived columns do not fit the path")
    return pd.concat([path, derived], axis=1)[list(columns)]


def _read_mixed(record: Mapping[str, Any], features: Sequence[str]) -> pd.DataFrame:
    """Return waypoints that have levels or gaps.

    Raises:
        ValueError: a cell is neither a number nor text nor a truth value, or does not fit.
    """
    rows, kinds = record["path"], read_texts(record["dtypes"])
    if not (isinstance(rows, list) and rows and len(kinds) == len(features)):
        raise ValueError("the path does not fit the features")
    if any(not isinstance(row, list) or len(row) != len(features) for row in rows):
        raise ValueError("the path does not fit the features")
    columns = {}
    for j, (name, kind) in enumerate(zip(features, kinds, strict=True)):
        cells = [row[j] for row in rows]
        if not all(cell is None or isinstance(cell, str | int | float) for cell in cells):
            raise ValueError(f"'{name}' holds neither numbers nor text")
        known = kind if kind == "category" or KNOWN.fullmatch(kind) else "object"
        column = pd.Series(cells, dtype=object)
        try:
            columns[name] = column if known == "object" else column.astype(known)  # type: ignore[call-overload]
        except OverflowError:
            raise ValueError(f"'{name}' holds numbers that do not fit its dtype") from None
        except ImportError:  # pyarrow
            columns[name] = column
    return pd.DataFrame(columns)


def _judges(record: Mapping[str, Any], unsure: bool) -> pd.DataFrame:
    names, decides = read_texts(record["judge"]), record["decides"]
    start, end = (read_numbers(record[name], finite=not unsure) for name in ("start", "end"))
    if not isinstance(decides, list) or not all(isinstance(flag, bool) for flag in decides):
        raise ValueError("'decides' is not true or false")
    if not len(names) == len(decides) == len(start) == len(end):
        raise ValueError("the numbers of judges and of their probabilities differ")
    if not all(((part >= 0) & (part <= 1) | np.isnan(part)).all() for part in (start, end)):
        raise ValueError("a judge's probability is not between 0 and 1")
    return make_views(list(names), decides, start, end) if names else NO_VIEWS.copy()


def _certainty(record: Mapping[str, Any], features: Sequence[str]) -> Certainty:
    nearby = record.get("nearby")
    share = None if nearby is None else read_number(nearby)
    follow = tuple(read_texts(record.get("follow", [])))
    if not (share is None or 0 <= share <= 1) or not set(follow) <= set(features):
        raise ValueError("the certainty is not a share, or is about other features")
    limit = record.get("limit")
    if limit not in (None, *get_args(Limit)):
        raise ValueError("the limit of the end is not known")
    return Certainty(share, follow, limit)


def _notes(records: object) -> tuple[Note, ...]:
    if not isinstance(records, list):
        raise ValueError("the notes are not a list")
    return tuple(Note.from_record(record) for record in records)


def _along(record: Mapping[str, Any], waypoints: int, *, valid: bool, unsure: bool) -> pd.DataFrame:
    """Return the frame of the measures at each waypoint.

    Args:
        record: the columns.
        waypoints: number of waypoints.
        valid: whether the row could be explained; an invalid one has no measures.
        unsure: whether there may be no probability: the row is invalid, or a classifier failed.
    """
    columns = {
        name: read_numbers(record[name], finite=not unsure if name == "posterior" else valid)
        for name in ALONG
    }
    profile = read_texts(record["profile"])
    fits = all(column.shape == (waypoints,) for column in columns.values())
    if not fits or len(profile) != waypoints:
        raise ValueError("the numbers along the path do not fit it")
    for name, most in (("percentile", 100.0), ("posterior", 1.0)):
        if ((columns[name] < 0) | (columns[name] > most * (1 + 1e-9))).any():
            raise ValueError(f"a {name} along the path is not between 0 and {most:g}")
    return pd.DataFrame({**columns, "profile": profile}).rename_axis("waypoint")
