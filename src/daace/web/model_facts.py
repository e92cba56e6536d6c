"""The facts of a model for the page: features with their kinds and ranges, rules, settings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from daace._json import plain
from daace.data.kinds import Feature
from daace.density.base import ConditionalDensity
from daace.explain.explainer import Explainer
from daace.explain.judging.committee import Committee
from daace.explain.trust.network import lay_out, strong_arcs
from daace.landscape.rules.reading import options
from daace.web.questions import known_settings
from daace.web.wording import LABELS

#: Number of slider steps per standard deviation.
PARTS = 50

#: Maximum number of features and arcs of the network in its picture.
MOST_NODES, MOST_ARCS = 30, 90


def model_facts(explainer: Explainer, *, digest: str, name: str) -> dict[str, Any]:
    """Return the facts of a model, ready for JSON.

    Args:
        explainer: the model.
        digest: digest of its file, or of what it has learned.
        name: name of the model.
    """
    from daace import __version__

    density = explainer.density
    rules = explainer.constraints
    held_out = explainer.held_out
    facts = {
        "name": name,
        "hash": digest,
        "version": __version__,
        "density": density.kind or type(density).__name__,
        "judge": _judge(explainer),
        "sure": _thresholds(explainer),
        "target": density.target_,
        "classes": density.classes_.tolist(),
        "features": [feature_facts(density, j) for j in range(len(density.features_))],
        "derived": [column.name for column in density.encoding_.derived],
        "left_out": dict(density.left_out_),
        "rules": [
            {"name": rule.name, "help": rule.help, "kinds": list(rule.kind.kinds)}
            for rule in options()
        ],
        "own_rules": "" if rules is None else rules.describe(),
        "settings": own_settings(explainer),
        "labels": LABELS,
        "profiles": _profiles(density),
        "held_out": None if held_out is None else str(held_out),
    }
    return dict(plain(facts))


def feature_facts(density: ConditionalDensity, j: int) -> dict[str, Any]:
    """Return kind, levels, range and step of a feature."""
    feature = density.encoding_.features[j]
    facts: dict[str, Any] = {
        "name": feature.name,
        "kind": feature.kind,
        "unit": feature.unit,
        "perhaps_immutable": feature.perhaps_immutable,
        "missing": feature.gap_code is not None,
    }
    if feature.coded:
        return {**facts, "levels": list(feature.levels), "pooled": bool(feature.pooled)}
    standardizer, draws = density.standardizer_, density.draws_
    mean, scale = standardizer.mean[j], standardizer.scale[j]
    low, high, step = _range(
        feature, draws.lower[j] * scale + mean, draws.upper[j] * scale + mean, float(scale)
    )
    atoms = [atom for atom in feature.atoms if not math.isnan(atom)]
    return {**facts, "low": low, "high": high, "step": step, "sd": float(scale), "atoms": atoms}


def _range(feature: Feature, low: float, high: float, sd: float) -> tuple[float, float, float]:
    """Return the ends of a slider and its step, all round numbers, within the natural bounds."""
    step = 10.0 ** math.floor(math.log10(sd / PARTS * 2))
    if feature.kind == "whole":
        step = max(1.0, step)
    low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    if feature.lower is not None:
        low = max(low, feature.lower)
    if feature.upper is not None:
        high = min(high, feature.upper)
    return float(f"{low:.10g}"), float(f"{high:.10g}"), float(f"{step:.10g}")


def own_settings(explainer: Explainer) -> dict[str, Any]:
    """Return all settings of questions, with the explainer's own values."""
    planner: Any = explainer.planner
    own: dict[str, Any] = {}
    for name in known_settings():
        holder = explainer if hasattr(explainer, name) else planner
        value = getattr(holder, name, None)
        own[name] = value if isinstance(value, int | float | str | bool | tuple) else None
    return own


def _judge(explainer: Explainer) -> str:
    """Return the judge of the class, in words."""
    judge = explainer.classifier
    if judge is not None:
        return str(getattr(judge, "__name__", type(judge).__name__))
    committee = _committee(explainer)
    return "density" if committee is None else f"a committee of {len(committee.names)} models"


def _thresholds(explainer: Explainer) -> list[float]:
    """Return the default of `min_posterior` for each class."""
    committee = _committee(explainer)
    if explainer.min_posterior is None and committee is not None:
        return [float(p) for p in committee.defaults]
    asked = 0.5 if explainer.min_posterior is None else float(explainer.min_posterior)
    return [asked] * len(explainer.density.classes_)


def _committee(explainer: Explainer) -> Committee | None:
    """Return the committee if it decides the class."""
    if explainer.classifier is not None or explainer.judge == "density":
        return None
    return explainer.committee


def _profiles(density: ConditionalDensity) -> list[dict[str, Any]]:
    """Return class, share and description of each profile; none if the density has no profiles."""
    frame = getattr(density, "profiles_", None)
    if frame is None:
        return []
    columns = [density.target_, "profile", "share", "description"]
    rows = zip(*(frame[column].tolist() for column in columns), strict=True)
    found = [dict(zip(["class", *columns[1:]], row, strict=True)) for row in rows]
    return found if len(found) > len(density.classes_) else []


def network_facts(explainer: Explainer) -> dict[str, Any]:
    """Return the nodes of the network on a circle and its arcs with their signs.

    Raises:
        InvalidInput: the density is not a network.
    """
    network = explainer.network(most=MOST_NODES)
    angles = lay_out(network)
    arcs = strong_arcs(network, most=MOST_ARCS)
    return {
        "nodes": [
            {
                "feature": name,
                "x": round(float(np.cos(angle)), 4),
                "y": round(float(np.sin(angle)), 4),
                "of_class": name in network.of_class,
            }
            for name, angle in angles.items()
        ],
        "arcs": [
            {
                "parent": row["parent"],
                "child": row["child"],
                "sign": int(row["sign"]),
                "coefficient": round(float(row["coefficient"]), 4),
            }
            for row in arcs.to_dict("records")
        ],
        "of": len(network.arcs),
        "left_out": network.left_out,
    }
