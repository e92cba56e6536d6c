"""Model files: a zip of names and settings (JSON) and numbers (safetensors); never pickle.

A model file may come from an untrusted source. Nothing in it is executed; everything is checked
before use.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from daace._files import check_exists
from daace._json import dump_json, reason
from daace._typing import FloatArray
from daace._wording import quote
from daace.data.encoding import Encoding
from daace.data.standardizer import Standardizer
from daace.density.base import ConditionalDensity
from daace.density.bayes import log_sum_exp
from daace.density.draws import DrawStatistics
from daace.density.model_archive import ARRAYS, META, read_archive, read_arrays, write_archive
from daace.density.model_meta import FORMAT, FORMAT_VERSION, read_meta
from daace.density.registry import DENSITIES, density_class
from daace.density.soundness import check_sizes, try_density
from daace.exceptions import InvalidInput, MissingDependency, ModelFileError, PrivacyError

#: Prefixes of the names of arrays.
DENSITY, STANDARDIZER, DRAWS, EXPLAINER = "density.", "standardizer.", "draws.", "explainer."


def write_model(
    path: str | os.PathLike[str],
    density: ConditionalDensity,
    settings: Mapping[str, Any],
    *,
    include_rows: bool = False,
) -> None:
    """Write a density and the settings of its explainer.

    Args:
        path: the file; an existing one is replaced as a whole or not at all.
        density: a fitted density of a kind that the registry knows.
        settings: further settings in JSON's types, except for arrays by name under 'arrays'.
        include_rows: whether a density that consists of training rows may be written.

    Raises:
        PrivacyError: the file would hold training rows, and `include_rows` is not set.
        InvalidInput: the density is of a kind, or of a size, that no model file can hold.
        OSError: the file cannot be written.
    """
    name = type(density).__name__
    if density.kind not in DENSITIES:
        raise InvalidInput(f"A model file holds {quote(DENSITIES)} densities. Got a {name}.")
    if density.holds_rows and not include_rows:
        raise PrivacyError(
            f"A {name} is made of its training rows, and the file would hold them: "
            "pass include_rows=True if its readers may see them."
        )
    meta, arrays = to_parts(density)
    meta["explainer"] = {name: part for name, part in settings.items() if name != "arrays"}
    extra = settings.get("arrays", {})
    arrays |= {f"{EXPLAINER}{name}": array for name, array in extra.items()}
    try:
        _check_sizes(meta, arrays)
        text = dump_json(meta, indent=1).encode("utf-8")
    except ValueError as error:  # no file is written that could not be read
        raise InvalidInput(f"A model file cannot hold this {name}: {reason(error)}.") from None
    write_archive(path, text, arrays)


def read_model(path: str | os.PathLike[str]) -> tuple[ConditionalDensity, dict[str, Any]]:
    """Read a density and the settings that were written with it.

    Args:
        path: the file.

    Raises:
        ModelFileError: the file is damaged, hostile, or of another version.
        MissingFile: there is no such file.
        OSError: it cannot be opened.
    """
    file = Path(path)
    check_exists(file)
    members = read_archive(file)
    meta = read_meta(file, members[META])
    arrays = read_arrays(file, members[ARRAYS])
    extra = {name: arrays.pop(name) for name in list(arrays) if name.startswith(EXPLAINER)}
    try:
        density = from_parts(meta, arrays)
    except MissingDependency:
        raise
    except Exception as error:  # hostile content may raise any exception
        raise ModelFileError(
            f"'{file}' does not hold a usable {meta['kind']} density: {reason(error)}."
        ) from None
    settings = dict(meta["explainer"])
    if extra:
        settings["arrays"] = {name.removeprefix(EXPLAINER): a for name, a in extra.items()}
    return density, settings


def to_parts(density: ConditionalDensity) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    """Return a density as names and settings in JSON's types, and arrays by name."""
    from daace import __version__

    own, learned = density.to_arrays()
    draws = density.draws_
    arrays = {f"{DENSITY}{key}": array for key, array in own.items()}
    arrays[f"{STANDARDIZER}mean"] = density.standardizer_.mean
    arrays[f"{STANDARDIZER}scale"] = density.standardizer_.scale
    arrays[f"{DRAWS}quantiles"] = draws.quantiles
    arrays[f"{DRAWS}moments"] = np.array([draws.mean, draws.sd])
    arrays[f"{DRAWS}lower"] = draws.lower
    arrays[f"{DRAWS}upper"] = draws.upper
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
        "encoding": density.encoding_.to_json(),
    }
    return meta, arrays


def from_parts(meta: Mapping[str, Any], arrays: Mapping[str, FloatArray]) -> ConditionalDensity:
    """Rebuild a density from `to_parts`, and try it.

    Args:
        meta: names and settings, each of the type that it must have.
        arrays: finite arrays by name.

    Raises:
        Exception: of any kind, for content that does not fit.
    """
    _check_sizes(meta, arrays)
    encoding = _read_encoding(meta)
    n = encoding.width
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
    standardizer, draws = _read_standardizer(arrays), _read_draws(arrays)
    own = {
        name.removeprefix(DENSITY): array
        for name, array in arrays.items()
        if name.startswith(DENSITY)
    }
    if "log_prior" in own and abs(log_sum_exp(own["log_prior"].reshape(1, -1))[0]) > 1e-6:
        raise ValueError("the probabilities of its classes do not sum to 1")
    settings = dict(meta["density"])
    if encoding.code_sizes:
        settings["encoding"] = encoding
    density = density_class(meta["kind"]).from_arrays(own, settings)
    known = {*shapes, *(f"{DENSITY}{name}" for name in density.to_arrays()[0])}
    if set(arrays) != known:
        raise ValueError(f"it has no use for {quote(sorted(set(arrays) - known))}")
    classes = np.array(meta["classes"])
    if np.unique(classes).tolist() != meta["classes"]:
        raise ValueError("its classes are not sorted, or numpy cannot hold them")
    if not np.array_equal(density.__dict__.get("classes_", classes), classes):
        raise ValueError("it has components of other classes")
    density.classes_ = classes
    density.features_, density.encoding_ = tuple(meta["features"]), encoding
    density.target_ = meta["target"]
    density.units_ = dict(meta["units"])
    density.whole_, density.nonnegative_ = tuple(meta["whole"]), tuple(meta["nonnegative"])
    density.left_out_, density.columns_ = dict(meta["left_out"]), tuple(meta["columns"])
    density.standardizer_ = standardizer
    density.draws_ = draws
    try_density(density)
    return density


def _read_encoding(meta: Mapping[str, Any]) -> Encoding:
    """Return the encoding of the columns; files of earlier versions have numbers only."""
    if "encoding" not in meta:
        return Encoding.of_numbers(
            meta["features"],
            units=meta["units"],
            left_out=meta["left_out"],
            columns=meta["columns"],
        )
    encoding = Encoding.from_json(meta["encoding"])
    if list(encoding.names) != list(meta["features"]) or meta["target"] in encoding.names:
        raise ValueError("its encoding has other features")
    return encoding


def _read_standardizer(arrays: Mapping[str, FloatArray]) -> Standardizer:
    standardizer = Standardizer(arrays[f"{STANDARDIZER}mean"], arrays[f"{STANDARDIZER}scale"])
    if not (standardizer.scale > 1e-12 * np.abs(standardizer.mean)).all():
        raise ValueError("a standard deviation is not positive, or lost beside its mean")
    return standardizer


def _read_draws(arrays: Mapping[str, FloatArray]) -> DrawStatistics:
    mean, sd = map(float, arrays[f"{DRAWS}moments"])
    quantiles, lower, upper = (arrays[f"{DRAWS}{key}"] for key in ("quantiles", "lower", "upper"))
    draws = DrawStatistics(quantiles, mean, sd, lower, upper)
    if not (
        (np.diff(quantiles) >= 0).all()
        and draws.spread > 0
        and quantiles[0] <= mean <= quantiles[-1]
        and 0 < sd <= quantiles[-1] - quantiles[0]
        and (lower < upper).all()
    ):
        raise ValueError("the statistics of its draws contradict each other")
    return draws


def _check_sizes(meta: Mapping[str, Any], arrays: Mapping[str, FloatArray]) -> None:
    """Raise `ValueError` for names, or numbers of them, that are too large."""
    names = [*meta["features"], *map(str, meta["classes"]), *meta["units"].values()]
    components = np.size(arrays.get(f"{DENSITY}weights", ()))
    check_sizes(meta["classes"], [*names, meta["target"]], len(meta["features"]), components)
