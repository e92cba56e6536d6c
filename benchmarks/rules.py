"""Random rules for every table: is a path found, and does it keep to them at every waypoint?

Each set is drawn around a start and a row of the target class that meets the goal, so that this
row keeps the rules. Half of the starts take some values from that row: rows of real numbers share
hardly any, and nothing could be fixed, or left unchanged. Whether a path keeps them is checked
here, on the answer in the user's units, without the planner's own code.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

import daace
from benchmarks.planners import fit
from daace import Constraints, Explainer, Link

TABLES = ("breast_cancer", "phoneme", "MagicTelescope", "credit", "california")

#: How far, in standard deviations of a feature, a number may be from a rule: rounding.
SLIP = 1e-6


def draw_rules(
    x: pd.Series, row: pd.Series, scale: pd.Series, whole: list[str], rng: np.random.Generator
) -> Constraints:
    """Return rules of some kinds that a row of the target class keeps, and the start too."""
    names = np.array(x.index)
    change, rules = row - x, {}
    same = [f for f in names if change[f] == 0]

    def some(most: int = 4) -> list[str]:
        size = rng.integers(1, min(most, len(names)) + 1)
        return list(rng.choice(names, size=size, replace=False))

    def more(feature: str) -> float:
        return float(rng.exponential(0.3) * scale[feature])

    kinds = ["bounds", "relative", "directions", "equation", "inequality", "steps", "weights"]
    kinds += ["whole"] * bool(whole) + ["fixed", "few"] * bool(same)
    kinds = rng.choice(kinds, size=rng.integers(1, 5), replace=False)
    for kind in kinds:
        if kind == "bounds":
            chosen = some()
            rules["lower"] = {f: min(x[f], row[f]) - more(f) for f in chosen}
            rules["upper"] = {f: max(x[f], row[f]) + more(f) for f in chosen}
        elif kind == "relative":
            chosen = some()
            rules["max_rise"] = {f: max(change[f], 0) + more(f) for f in chosen}
            rules["max_fall"] = {f: max(-change[f], 0) + more(f) for f in chosen}
        elif kind == "directions":
            chosen = some(3)
            rules["only_up"] = [f for f in chosen if change[f] >= 0]
            rules["only_down"] = [f for f in chosen if change[f] < 0]
        elif kind == "equation" and len(names) >= 3:
            chosen = list(rng.choice(names, size=3, replace=False))
            weights = rng.normal(size=3) / scale[chosen].to_numpy()
            way = change[chosen].to_numpy()
            weights -= way * (weights @ way) / max(way @ way, 1e-300)
            if np.all(np.abs(weights * scale[chosen].to_numpy()) > 1e-3):
                value = float(weights @ x[chosen].to_numpy())
                link = Link(dict(zip(chosen, weights.tolist(), strict=True)), equals=value)
                rules["links"] = [*rules.get("links", []), link]
        elif kind == "inequality":
            chosen = list(rng.choice(names, size=min(3, len(names)), replace=False))
            weights = rng.normal(size=len(chosen)) / scale[chosen].to_numpy()
            most = max(float(weights @ x[chosen]), float(weights @ row[chosen]))
            terms = dict(zip(chosen, weights.tolist(), strict=True))
            link = Link(terms, at_most=most + rng.exponential(0.1))
            rules["links"] = [*rules.get("links", []), link]
        elif kind == "steps":
            rules["max_step"] = {f: rng.uniform(0.3, 2.0) * scale[f] for f in some(2)}
        elif kind == "weights":
            rules["weights"] = {f: float(rng.uniform(0.3, 3.0)) for f in some()}
        elif kind == "whole":
            rules["integer"] = whole[:3]
        elif kind == "fixed":
            size = rng.integers(1, len(same) + 1)
            rules["fixed"] = list(rng.choice(same, size=size, replace=False))
        elif kind == "few":
            rules["max_changed"] = len(names) - len(same)
    for feature in rules.get("integer", []):  # a step below one would fix it
        if feature in rules.get("max_step", {}):
            rules["max_step"][feature] = max(1.0, rules["max_step"][feature])
    return Constraints(**rules)


def broken(path: pd.DataFrame, rules: Constraints, scale: pd.Series) -> list[str]:
    """Return the rules that a path in the user's units breaks at any waypoint."""
    start, found = path.iloc[0], []
    for f, bound in rules.lower.items():
        found += [f"lower {f}"] * bool((path[f] < bound - SLIP * scale[f]).any())
    for f, bound in rules.upper.items():
        found += [f"upper {f}"] * bool((path[f] > bound + SLIP * scale[f]).any())
    for f, most in rules.max_rise.items():
        found += [f"max_rise {f}"] * bool((path[f] > start[f] + most + SLIP * scale[f]).any())
    for f, most in rules.max_fall.items():
        found += [f"max_fall {f}"] * bool((path[f] < start[f] - most - SLIP * scale[f]).any())
    for f in rules.only_up:
        found += [f"only_up {f}"] * bool((path[f].diff() < 0).any())
    for f in rules.only_down:
        found += [f"only_down {f}"] * bool((path[f].diff() > 0).any())
    for f in rules.fixed:
        found += [f"fixed {f}"] * bool((path[f] != start[f]).any())
    for f, most in rules.max_step.items():
        found += [f"max_step {f}"] * bool((path[f].diff().abs() > most + SLIP * scale[f]).any())
    for f in rules.integer:
        found += [f"integer {f}"] * bool((path[f] != path[f].round()).any())
    for link in rules.links:
        size = sum(abs(weight) * scale[f] for f, weight in link.terms.items())
        sums = sum(weight * path[f] for f, weight in link.terms.items())
        low, high = link.bounds
        found += [f"link {link}"] * bool(
            ((sums < low - SLIP * size) | (sums > high + SLIP * size)).any()
        )
    if rules.max_changed is not None and (path != start).any().sum() > rules.max_changed:
        found.append("max_changed")
    return found


def measure(table: str, sets: int, *, seed: int = 0) -> pd.DataFrame:
    """Return one row per random set of rules."""
    density = fit(table, "clgn")
    frame = daace.load_table(table).to_frame()
    features, scale = frame[list(density.features_)], frame[list(density.features_)].std()
    whole = [f for f in features if (features[f] == features[f].round()).all()]
    explainer, rng = Explainer(density), np.random.default_rng(seed)
    shares = density.predict_proba(density.to_model(features))
    lines = []
    for k in range(sets):
        while True:
            i, j = rng.integers(len(frame), size=2)
            here, there = int(shares[i].argmax()), int(shares[j].argmax())
            target = density.classes_[there]
            x, row = features.iloc[i].copy(), features.iloc[j]
            if rng.random() < 0.5:
                shared = rng.choice(len(x), size=rng.integers(1, len(x)), replace=False)
                x.iloc[shared] = row.iloc[shared]
                here = int(density.predict_proba(density.to_model(x.to_frame().T)).argmax())
            if here != there and meets(explainer, row, target):
                break
        rules = draw_rules(x, row, scale, whole, rng)
        began = time.process_time()
        answer = explainer.explain(x, target=target, constraints=rules)
        lines.append(
            {
                "table": table,
                "set": k,
                "found": answer.found,
                "broken": "; ".join(broken(answer.path, rules, scale)) if answer.found else "",
                "waypoints": len(answer.path),
                "seconds": time.process_time() - began,
                "rules": str({n: v for n, v in vars(rules).items() if v}),
            }
        )
    return pd.DataFrame(lines)


def meets(explainer: Explainer, row: pd.Series, target: object) -> bool:
    """Whether a row is in the goal already."""
    return bool(explainer.explain(row, target=target).status == "already_there")


def rows(tables: Sequence[str] = TABLES, *, full: bool = False) -> pd.DataFrame:
    """Return found rates and broken rules by table."""
    results = pd.concat([measure(table, 100 if full else 10) for table in tables])
    return summarise(results)


def summarise(results: pd.DataFrame) -> pd.DataFrame:
    groups = results.groupby("table", sort=False)
    return groups.agg(
        sets=("set", "size"),
        found=("found", "mean"),
        broken=("broken", lambda text: int((text != "").sum())),
        seconds=("seconds", "median"),
        slowest=("seconds", "max"),
    ).reset_index()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--tables", nargs="*", default=TABLES)
    options = parser.parse_args()
    results = []
    for table in options.tables:
        results.append(measure(table, options.sets))
        pd.concat(results).to_csv(options.output, index=False)
        print(summarise(results[-1]).to_string(), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
