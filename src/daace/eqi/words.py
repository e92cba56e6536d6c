"""A plan for a county in plain words and EPA's units."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from daace._json import dump_json
from daace.density.base import ConditionalDensity
from daace.eqi.data import CATEGORIES, DOMAINS, RUCC, Counties
from daace.eqi.policy import (
    Advisor,
    Recourse,
    category_of,
    recomputed_indices,
    transformed_path,
)

#: Smaller changes, in standard deviations of a variable over the counties, are only counted.
SMALL = 0.1

#: Units that say nothing beside a number.
SILENT = ("", "ordinal", "ordinal value", "number", "count")

CAVEAT = (
    "This is not a causal claim. The model describes which states counties are found in, not what "
    "happens when one is changed: whether a measure brings the rest about is for people to judge."
)


def describe(advisor: Advisor, recourse: Recourse, *, most: int = 8) -> str:
    """Return the plan as text: where the county stands, what changes, what it does to the indices.

    Args:
        advisor: who made the plan.
        recourse: the plan.
        most: changes that are named, the largest first; the others are counted.
    """
    counties = advisor.counties
    density = advisor.density(recourse.ask.algorithm)
    lines = [*_opening(counties, recourse), ""]
    if not recourse.found:
        return "\n".join([*lines, *_refusal(advisor, recourse, density), "", CAVEAT])
    if len(recourse.waypoints) == 1:
        return "\n".join(
            [*lines, "The model gives it the target category already: nothing has to change."]
        )
    changes = variable_changes(counties, density, recourse)
    large = changes[changes["sd"].abs() >= SMALL]
    lines += ["What changes, the largest changes first:"]
    lines += [f"  {sentence(row)}" for _, row in large.head(most).iterrows()]
    rest = len(large) - most
    if rest > 0:
        lines.append(
            f"  and {rest} smaller changes, each below {large['sd'].abs().iloc[most]:.1f} sd"
        )
    steps = len(recourse.waypoints) - 1
    if steps > 1:
        lines += ["", f"In {steps} steps, the largest changes of each:"]
        for step in range(1, steps + 1):
            part = variable_changes(counties, density, recourse, step=step)
            named = [sentence(row, sd=False) for _, row in part.head(3).iterrows()]
            lines.append(f"  step {step}: {'; '.join(named)}")
    return "\n".join([*lines, "", *_indices(counties, density, recourse), "", CAVEAT])


def variable_changes(
    counties: Counties, density: ConditionalDensity, recourse: Recourse, *, step: int | None = None
) -> pd.DataFrame:
    """Return what changes from start to end, or in one step, the largest change first.

    Returns:
        by variable: label, unit, domain, before, after (in EPA's units) and sd, the change in
        standard deviations over the counties, of the logarithm where EPA takes it.
    """
    _, variables = transformed_path(counties, density, recourse)
    begin, end = (0, len(variables) - 1) if step is None else (step - 1, step)
    raw = counties.restore(variables)
    spread = counties.transformed[variables.columns].std()
    sd = (variables.iloc[end] - variables.iloc[begin]) / spread.where(spread > 0, np.inf)
    frame = counties.variables.assign(before=raw.iloc[begin], after=raw.iloc[end], sd=sd)
    changed = frame[frame["before"] != frame["after"]]
    return changed.iloc[np.argsort(-changed["sd"].abs().to_numpy(), kind="stable")]


def sentence(row: pd.Series, *, sd: bool = True) -> str:
    """Return one change as an order: 'cut isophorone emissions from 0.013 to 0.004 tons per year'.

    Example:
        >>> row = pd.Series({"label": "Isophorone emissions", "unit": "tons per year",
        ...                  "before": 0.0131, "after": 0.00402, "sd": -1.234})
        >>> sentence(row)
        'cut isophorone emissions from 0.0131 to 0.00402 tons per year (-1.2 sd)'
    """
    verb = "raise" if row["after"] > row["before"] else "cut"
    unit = "percent" if row["unit"] == "percentage" else row["unit"]
    ending = "" if unit in SILENT else f" {unit}" if unit != "proportion" else " (proportion)"
    before, after = numbers(float(row["before"]), float(row["after"]))
    size = f" ({row['sd']:+.1f} sd)" if sd else ""
    return f"{verb} {lower_first(row['label'])} from {before} to {after}{ending}{size}"


def numbers(before: float, after: float) -> tuple[str, str]:
    """Return two numbers with digits enough to tell them apart, at least three.

    Example:
        >>> numbers(12.3456, 12.3478), numbers(1234567.0, 2.0), numbers(-0.00001234, 0.5)
        (('12.346', '12.348'), ('1,234,567', '2'), ('-1.23e-05', '0.5'))
    """
    for digits in range(3, 16):
        pair = (number(before, digits), number(after, digits))
        if pair[0] != pair[1] or before == after:
            return pair
    return pair


def number(value: float, digits: int) -> str:
    """Return a number with so many significant digits, and thousands set apart."""
    if value == 0:
        return "0"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    if places > digits + 3:
        return f"{value:.{digits - 1}e}"
    text = f"{value:,.{max(0, places)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def lower_first(label: str) -> str:
    """Return a label as it stands within a sentence; names and abbreviations keep their capital.

    Example:
        >>> lower_first("Isophorone emissions"), lower_first("PM10")
        ('isophorone emissions', 'PM10')
    """
    return label[0].lower() + label[1:] if label[1:2].islower() else label


def category_name(category: int) -> str:
    """Return a category in words, with its number: 0 is the best.

    Example:
        >>> category_name(1)
        "'very good' (category 1)"
    """
    return f"'{CATEGORIES[category]}' (category {category})"


def _opening(counties: Counties, recourse: Recourse) -> list[str]:
    now = int(counties.category[recourse.fips])
    place: Any = counties.places.loc[recourse.fips]
    kind = RUCC[int(place["rucc"])]
    rules = {
        "free": "",
        "equity": " No domain index may get worse.",
        "consistent": " Indices follow from the variables by EPA's formulas.",
        "consistent equity": " Indices follow from the variables by EPA's formulas, and none may "
        "get worse.",
    }
    return [
        f"{counties.label(recourse.fips)} ({kind}): from {category_name(now)} to "
        f"{category_name(recourse.target)}, by {recourse.ask.algorithm} at penalty "
        f"{recourse.ask.penalty:g}.{rules[recourse.ask.mode]}"
    ]


def _refusal(advisor: Advisor, recourse: Recourse, density: ConditionalDensity) -> list[str]:
    asked = (
        f"Asked for: log p of at least {advisor.threshold(density):.1f} and "
        f"{advisor.min_posterior:.0%} '{CATEGORIES[recourse.target]}'."
    )
    ways = ["improve by fewer categories (--improve)", "lower --min-posterior"]
    if recourse.ask.equity or recourse.ask.fixed:
        ways.append("loosen the rules")
    found = [f"No way was found ({recourse.status})."]
    return [*found, *recourse.notes, asked, f"To find one, {', or '.join(ways)}."]


def _indices(counties: Counties, density: ConditionalDensity, recourse: Recourse) -> list[str]:
    planned, variables = transformed_path(counties, density, recourse)
    again = recomputed_indices(counties, variables)
    lines = ["Indices, in standard deviations over the counties; high is good:"]
    width = max(map(len, DOMAINS))
    for domain in DOMAINS:
        begin, end, real = (
            -planned[domain].iloc[0],
            -planned[domain].iloc[-1],
            -again[domain].iloc[-1],
        )
        note = "" if abs(end - real) < 0.005 else f"   but its variables give {real:+.2f}"
        lines.append(f"  {domain:<{width}}  {begin:+.2f} -> {end:+.2f}  ({end - begin:+.2f}){note}")
    category = category_of(counties, again.iloc[-1:])[0]
    reached = "which is the target" if category == recourse.target else (
        "better than the target" if category < recourse.target
        else "short of the target: the model errs, and a higher --min-posterior leaves more margin"
    )  # fmt: skip
    lines.append(
        f"By EPA's own formulas the end is in category {category_name(category)}, {reached}."
    )
    return lines


def to_json(advisor: Advisor, recourse: Recourse) -> str:
    """Return the plan as JSON: what was asked, how it ended, and the path in EPA's units.

    Indices have the sense "high = good".
    """
    counties = advisor.counties
    density = advisor.density(recourse.ask.algorithm)
    planned, variables = transformed_path(counties, density, recourse)
    again = recomputed_indices(counties, variables)
    content = {
        "format": "daace-eqi-plan-1",
        "county": counties.label(recourse.fips),
        "fips": recourse.fips,
        "ask": asdict(recourse.ask),
        "category": int(counties.category[recourse.fips]),
        "target": recourse.target,
        "status": str(recourse.status),
        "notes": list(recourse.notes),
        "category_by_formula": category_of(counties, again),
        "indices": (-planned).to_dict("list"),
        "indices_by_formula": (-again).to_dict("list"),
        "variables": counties.restore(variables).to_dict("list"),
        "units": counties.variables["unit"].to_dict(),
        "caveat": CAVEAT,
    }
    return dump_json(content, indent=1)
