"""The names and settings in a model file: each of the type that it must have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from daace._json import load_foreign_json
from daace._wording import quote
from daace.density.model_archive import META
from daace.density.registry import DENSITIES
from daace.exceptions import ModelFileError

FORMAT = "daace-model"
FORMAT_VERSION = 2

#: Versions that can be read; the first has no record of a check on held-out rows.
READABLE = (1, 2)


def read_meta(file: Path, data: bytes) -> dict[str, Any]:
    """Return the names and settings, each of the type that it must have.

    Args:
        file: the model file, for messages.
        data: the member `META`.

    Raises:
        ModelFileError: it is not JSON, of another version, or something is missing or wrong.
    """
    try:
        meta = load_foreign_json(data.decode("utf-8"))
    except ValueError as error:
        raise ModelFileError(f"'{META}' in '{file}' is not JSON: {error}.") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise ModelFileError(f"'{file}' is not a model file of daace.")
    version = meta.get("format_version")
    if type(version) is not int or version not in READABLE:
        raise ModelFileError(
            f"'{file}' must be of format version {' or '.join(map(str, READABLE))}. Got "
            f"{version!r}, written by daace {meta.get('package_version')}: "
            "use that version, or fit and save again."
        )
    if not (isinstance(meta.get("kind"), str) and meta["kind"] in DENSITIES):
        raise ModelFileError(
            f"'{file}' must hold one of {quote(DENSITIES)}. Got {meta.get('kind')!r}."
        )
    wrong = _wrong_names(meta)
    if wrong:
        raise ModelFileError(f"'{file}' must {wrong}.")
    return meta


def _wrong_names(meta: dict[str, Any]) -> str:
    """Return what the names and settings must be, if they are not; add optional ones."""
    features, classes, units = (meta.get(key) for key in ("features", "classes", "units"))
    if not (_distinct(features, str) and features):
        return "name distinct features"
    if not (_distinct(classes, str) or _distinct(classes, int) or _distinct(classes, bool)):
        return "name distinct classes"
    if not (isinstance(units, dict) and set(units) <= set(features)):
        return "give units to its own features only"
    if not all(isinstance(unit, str) for unit in units.values()):
        return "give units as text"
    for key in ("whole", "nonnegative"):  # files of earlier versions have neither
        names = meta.setdefault(key, [])
        if not (names == [] or (_distinct(names, str) and set(names) <= set(features))):
            return f"name its own features as '{key}'"
    left_out, columns = meta.setdefault("left_out", {}), meta.setdefault("columns", [])
    if not (isinstance(left_out, dict) and all(isinstance(why, str) for why in left_out.values())):
        return "give the reason for each left-out column"
    known = {*features, *left_out}
    others = known | _derived_names(meta.get("encoding"))
    if len(known) < len(features) + len(left_out) or not (
        columns == [] or (_distinct(columns, str) and set(features) <= set(columns) <= others)
    ):
        return "name features and other columns, each once"
    if not isinstance(meta.get("target"), str) or meta["target"] in features:
        return "name its target, which is no feature"
    if not (isinstance(meta.get("density"), dict) and isinstance(meta.get("explainer"), dict)):
        return "hold the settings of its density and explainer"
    return ""


def _derived_names(encoding: object) -> set[str]:
    """Return the names of columns that are recomputed, as far as an encoding can be read."""
    derived = encoding.get("derived") if isinstance(encoding, dict) else None
    derived = derived if isinstance(derived, list) else []
    parts = (
        [part for part in derived if isinstance(part, dict)] if isinstance(derived, list) else []
    )
    return {part["name"] for part in parts if type(part.get("name")) is str}


def _distinct(values: Any, kind: type) -> bool:
    """Whether this is a list of different values, all of exactly this type."""
    return (
        isinstance(values, list)
        and all(type(value) is kind for value in values)
        and len(set(values)) == len(values) > 0
    )
