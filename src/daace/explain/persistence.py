"""Model files: a zip of names and settings (JSON) and numbers (safetensors); never pickle.

A model file may come from a stranger. Nothing in it is run; everything is checked before use.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from daace._files import check_exists, write_atomically
from daace._typing import FloatArray
from daace.data.table import LARGEST, Standardizer, quote
from daace.density.base import ConditionalDensity, DrawStatistics, log_sum_exp
from daace.exceptions import InvalidInput, MissingDependency, ModelFileError, PrivacyError
from daace.explain.encoding import dump_json, load_foreign_json, reason
from daace.explain.registry import DENSITIES, density_class
from daace.explain.soundness import check_sizes, try_density

FORMAT = "daace-model"
FORMAT_VERSION = 2

#: Versions that can be read; in the first nothing was known of rows that were held out.
READABLE = (1, 2)

META, ARRAYS = "meta.json", "arrays.safetensors"

#: Largest members that are read, in bytes. Members are stored as they are, not compressed, so
#: that a small file cannot unfold into a large one.
MAX_SIZE = {META: 16 * 2**20, ARRAYS: 2 * 2**30}

DENSITY, STANDARDIZER, DRAWS = "density.", "standardizer.", "draws."


def write_model(
    path: str | os.PathLike[str],
    density: ConditionalDensity,
    settings: Mapping[str, Any],
    *,
    include_rows: bool = False,
) -> None:
    """Write a density and the settings of its explainer.

    Args:
        path: where to; an existing file is replaced as a whole or not at all.
        density: fitted, of a kind that the registry knows.
        settings: what else to keep; must fit into JSON.
        include_rows: write a density that is made of training rows all the same.

    Raises:
        PrivacyError: the file would hold training rows, and `include_rows` is not set.
        InvalidInput: the density is of a kind, or of a size, that no model file can hold.
        OSError: the file cannot be written.
    """
    from safetensors.numpy import save

    from daace import __version__

    name = type(density).__name__
    if density.kind not in DENSITIES:
        raise InvalidInput(f"A model file holds {quote(DENSITIES)} densities. Got a {name}.")
    if density.holds_rows and not include_rows:
        raise PrivacyError(
            f"A {name} is made of its training rows, and the file would hold them: "
            "pass include_rows=True if whoever reads the file may see them."
        )
    arrays, learned = density.to_arrays()
    draws = density.draws_
    numbers = {f"{DENSITY}{key}": array for key, array in arrays.items()}
    numbers[f"{STANDARDIZER}mean"] = density.standardizer_.mean
    numbers[f"{STANDARDIZER}scale"] = density.standardizer_.scale
    numbers[f"{DRAWS}quantiles"] = draws.quantiles
    numbers[f"{DRAWS}moments"] = np.array([draws.mean, draws.sd])
    numbers[f"{DRAWS}lower"] = draws.lower
    numbers[f"{DRAWS}upper"] = draws.upper
    meta = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "package_version": __version__,
        "kind": density.kind,
        "features": density.features_,
        "units": density.units_,
        "whole": density.whole_,
        "nonnegative": density.nonnegative_,
        "left_out": density.left_out_,
        "columns": density.columns_,
        "target": density.target_,
        "classes": density.classes_,
        "density": learned,
        "explainer": settings,
    }
    try:
        _check_sizes(meta, numbers)
        names_and_settings = dump_json(meta, indent=1).encode("utf-8")
    except ValueError as error:  # no file is written that could not be read
        raise InvalidInput(f"A model file cannot hold this {name}: {reason(error)}.") from None
    members = {
        META: names_and_settings,
        ARRAYS: save({key: np.ascontiguousarray(array) for key, array in numbers.items()}),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for member, data in members.items():  # ZipInfo has a fixed date: same model, same bytes
            archive.writestr(zipfile.ZipInfo(member), data)
    write_atomically(path, buffer.getvalue())


def read_model(path: str | os.PathLike[str]) -> tuple[ConditionalDensity, dict[str, Any]]:
    """Read a density and the settings that were written with it.

    Raises:
        ModelFileError: the file is damaged, hostile, or of another version.
        MissingFile: there is no such file.
        OSError: it cannot be opened.
    """
    file = Path(path)
    check_exists(file)
    members = _read_members(file)
    meta = _read_meta(file, members[META])
    arrays = _read_arrays(file, members[ARRAYS])
    try:
        density = _build_density(meta, arrays)
    except MissingDependency:
        raise
    except Exception as error:  # whatever hostile content provokes, it is the file's fault
        raise ModelFileError(
            f"'{file}' does not hold a usable {meta['kind']} density: {reason(error)}."
        ) from None
    return density, meta["explainer"]


def _read_members(file: Path) -> dict[str, bytes]:
    """Return both members of the zip; sizes are checked before anything is read."""
    try:
        with file.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            entries = archive.infolist()
            names = [entry.filename for entry in entries]
            if sorted(names) != sorted([META, ARRAYS]):
                raise ModelFileError(
                    f"'{file}' must hold '{META}' and '{ARRAYS}' only. Got {quote(names)}."
                )
            for entry in entries:
                if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
                    raise ModelFileError(
                        f"'{entry.filename}' in '{file}' must be stored uncompressed."
                    )
                if entry.file_size > min(MAX_SIZE[entry.filename], file.stat().st_size):
                    raise ModelFileError(
                        f"'{entry.filename}' in '{file}' is too large: "
                        f"{entry.file_size:,} bytes are declared."
                    )
            return {entry.filename: _read_bounded(archive, entry) for entry in entries}
    except (ModelFileError, FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except Exception as error:  # zipfile raises many kinds of error on hostile bytes
        raise ModelFileError(
            f"'{file}' is not a model file, or a damaged one: {reason(error)}."
        ) from None


def _read_bounded(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    with archive.open(entry) as handle:
        data = handle.read(entry.file_size + 1)
    if len(data) != entry.file_size:
        raise zipfile.BadZipFile(f"'{entry.filename}' is not as long as declared")
    return data


def _read_meta(file: Path, data: bytes) -> dict[str, Any]:
    """Return the names and settings, each of the type it must have."""
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
    features, classes, units = (meta.get(key) for key in ("features", "classes", "units"))
    if not (_distinct(features, str) and features):
        raise ModelFileError(f"'{file}' must name distinct features.")
    if not (_distinct(classes, str) or _distinct(classes, int) or _distinct(classes, bool)):
        raise ModelFileError(f"'{file}' must name distinct classes.")
    if not (isinstance(units, dict) and set(units) <= set(features)):
        raise ModelFileError(f"'{file}' must give units to its own features only.")
    if not all(isinstance(unit, str) for unit in units.values()):
        raise ModelFileError(f"'{file}' must give units as text.")
    for key in ("whole", "nonnegative"):  # files of earlier versions have neither
        names = meta.setdefault(key, [])
        if not (names == [] or (_distinct(names, str) and set(names) <= set(features))):
            raise ModelFileError(f"'{file}' must name its own features as '{key}'.")
    left_out, columns = meta.setdefault("left_out", {}), meta.setdefault("columns", [])
    if not (isinstance(left_out, dict) and all(isinstance(why, str) for why in left_out.values())):
        raise ModelFileError(f"'{file}' must say why columns are left out.")
    known = {*features, *left_out}
    if len(known) < len(features) + len(left_out) or not (
        columns == [] or (_distinct(columns, str) and set(features) <= set(columns) <= known)
    ):
        raise ModelFileError(f"'{file}' must name features and other columns, each once.")
    if not isinstance(meta.get("target"), str) or meta["target"] in features:
        raise ModelFileError(f"'{file}' must name its target, which is no feature.")
    if not (isinstance(meta.get("density"), dict) and isinstance(meta.get("explainer"), dict)):
        raise ModelFileError(f"'{file}' must hold the settings of its density and explainer.")
    return meta


def _distinct(values: Any, kind: type) -> bool:
    """Whether this is a list of different values, all of exactly this type."""
    return (
        isinstance(values, list)
        and all(type(value) is kind for value in values)
        and len(set(values)) == len(values) > 0
    )


def _read_arrays(file: Path, data: bytes) -> dict[str, FloatArray]:
    """Return the arrays: float64, finite, and small enough to be squared."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = load(data)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise ModelFileError(f"'{ARRAYS}' in '{file}' is damaged: {reason(error)}.") from None
    for name, array in arrays.items():
        if array.dtype != np.float64:
            raise ModelFileError(f"'{name}' in '{file}' must be float64. Got {array.dtype}.")
        if not np.isfinite(array).all():
            raise ModelFileError(f"'{name}' in '{file}' must be finite. It holds NaN or infinity.")
        if (np.abs(array) > LARGEST).any():
            raise ModelFileError(f"'{name}' in '{file}' must be below {LARGEST:g} in size.")
    return {name: np.array(array) for name, array in arrays.items()}  # aligned and writeable


def _check_sizes(meta: Mapping[str, Any], arrays: Mapping[str, FloatArray]) -> None:
    """Raise `ValueError` for names and numbers of them that no reader should have to hold."""
    names = [*meta["features"], *map(str, meta["classes"]), *meta["units"].values()]
    components = np.size(arrays.get(f"{DENSITY}weights", ()))
    check_sizes(meta["classes"], [*names, meta["target"]], len(meta["features"]), components)


def _build_density(meta: Mapping[str, Any], arrays: Mapping[str, FloatArray]) -> ConditionalDensity:
    """Rebuild the density; raises whatever does not fit."""
    n = len(meta["features"])
    _check_sizes(meta, arrays)
    shapes = {
        f"{STANDARDIZER}mean": (n,),
        f"{STANDARDIZER}scale": (n,),
        f"{DRAWS}quantiles": (101,),
        f"{DRAWS}moments": (2,),
        f"{DRAWS}lower": (n,),
        f"{DRAWS}upper": (n,),
    }
    for name, shape in shapes.items():
        if name not in arrays:
            raise ValueError(f"'{name}' is missing")
        if arrays[name].shape != shape:
            raise ValueError(f"'{name}' has shape {arrays[name].shape}, not {shape}")
    mean, sd = map(float, arrays[f"{DRAWS}moments"])
    quantiles, lower, upper = (arrays[f"{DRAWS}{key}"] for key in ("quantiles", "lower", "upper"))
    draws = DrawStatistics(quantiles, mean, sd, lower, upper)
    standardizer = Standardizer(arrays[f"{STANDARDIZER}mean"], arrays[f"{STANDARDIZER}scale"])
    if not (standardizer.scale > 1e-12 * np.abs(standardizer.mean)).all():
        raise ValueError("a standard deviation is not positive, or lost beside its mean")
    if not (
        (np.diff(quantiles) >= 0).all()
        and draws.spread > 0
        and quantiles[0] <= mean <= quantiles[-1]
        and 0 < sd <= quantiles[-1] - quantiles[0]
        and (lower < upper).all()
    ):
        raise ValueError("the statistics of its draws contradict each other")
    own = {
        name.removeprefix(DENSITY): array
        for name, array in arrays.items()
        if name.startswith(DENSITY)
    }
    if "log_prior" in own and abs(log_sum_exp(own["log_prior"].reshape(1, -1))[0]) > 1e-6:
        raise ValueError("the probabilities of its classes do not sum to 1")
    density = density_class(meta["kind"]).from_arrays(own, meta["density"])
    known = {*shapes, *(f"{DENSITY}{name}" for name in density.to_arrays()[0])}
    if set(arrays) != known:
        raise ValueError(f"it has no use for {quote(sorted(set(arrays) - known))}")
    classes = np.array(meta["classes"])
    if np.unique(classes).tolist() != meta["classes"]:
        raise ValueError("its classes are not sorted, or numpy cannot hold them")
    if not np.array_equal(density.__dict__.get("classes_", classes), classes):
        raise ValueError("it has components of other classes")
    density.classes_ = classes
    density.features_ = tuple(meta["features"])
    density.target_ = meta["target"]
    density.units_ = dict(meta["units"])
    density.whole_, density.nonnegative_ = tuple(meta["whole"]), tuple(meta["nonnegative"])
    density.left_out_, density.columns_ = dict(meta["left_out"]), tuple(meta["columns"])
    density.standardizer_ = standardizer
    density.draws_ = draws
    try_density(density)
    return density
