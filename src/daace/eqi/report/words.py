"""A plan for a county in plain words and EPA's units, and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from daace._formats import format_number, format_sd
from daace._json import dump_json
from daace.eqi.data.counties import CATEGORIES, DOMAINS, RUCC, Counties
from daace.eqi.policy.advisor import Advisor
from daace.eqi.policy.recourse import CountyPath, Recourse, category_of

#: Smaller changes, in standard deviations of a variable over the counties, are only counted.
SMALL = 0.1

#: Units that are not worth printing beside a number.
SILENT = ("", "ordinal", "ordinal value", "number", "count")

#: The sentence about the rules of each mode.
RULES = {
    "free": "",
    "equity": " No domain index may get worse.",
    "consistent": " Indices follow from the variables by EPA's formulas.",
    "consistent equity": " Indices follow from the variables by EPA's formulas, and none may get "
    "worse.",
}

CAVEAT = (
    "This is not a causal claim. The model describes the states in which counties are found, not "
    "what happens if one variable is changed: whether a measure would bring about the other "
    "changes is for experts to judge."
)


def describe(advisor: Advisor, recourse: Recourse, *, most: int = 8) -> str:
    """Return the plan as text: the present category, the changes, and the indices.

    Args:
        advisor: who made the plan.
        recourse: the plan.
        most: changes that are named, the largest first; the others are counted.
    """
    counties = advisor.counties
    lines = [opening(counties, recourse), ""]
    if not recourse.found:
        return "\n".join([*lines, *refusal(advisor, recourse), "", CAVEAT])
    path = CountyPath.of(counties, recourse)
    steps = len(path.variables) - 1
    if steps == 0:
        return "\n".join(
            [*lines, "The model gives it the target category already: nothing has to change."]
        )
    changes = variable_changes(counties, path)
    large = changes[changes["sd"].abs() >= SMALL]
    lines += ["What changes, the largest changes first:"]
    lines += [f"  {sentence(row)}" for _, row in large.head(most).iterrows()]
    rest = len(large) - most
    if rest > 0:
        lines.append(
            f"  and {rest} smaller changes, each below {large['sd'].abs().iloc[most]:.1f} sd"
        )
    if steps > 1:
        lines += ["", f"In {steps} steps, the largest changes of each:"]
        for step in range(1, steps + 1):
            part = variable_changes(counties, path, step=step).head(3)
            named = [sentence(row, sd=False) for _, row in part.iterrows()]
            lines.append(f"  step {step}: {'; '.join(named)}")
    return "\n".join([*lines, "", *_indices(counties, path, recourse.target), "", CAVEAT])


def variable_changes(
    counties: Counties, path: CountyPath, *, step: int | None = None
) -> pd.DataFrame:
    """Return what changes from start to end, or in one step, the largest change first.

    Args:
        counties: which give labels and units.
        path: the path of a plan.
        step: number of a step, from 1; None for the whole path.

    Returns:
        by variable: label, unit, domain, before, after (in EPA's units) and sd, the change in
        standard deviations over the counties, of the logarithm where EPA takes it.
    """
    variables = path.variables
    begin, end = (0, len(variables) - 1) if step is None else (step - 1, step)
    raw = counties.restore(variables)
    spread = counties.transformed[variables.columns].std()
    sd = (variables.iloc[end] - variables.iloc[begin]) / spread.where(spread > 0, np.inf)
    frame = counties.variables.assign(before=raw.iloc[begin], after=raw.iloc[end], sd=sd)
    changed = frame[frame["before"] != frame["after"]]
    return changed.iloc[np.argsort(-changed["sd"].abs().to_numpy(), kind="stable")]


def sentence(row: pd.Series, *, sd: bool = True) -> str:
    """Return one change as an order: 'cut isophorone emissions from 0.013 to 0.004 tons per year'.

    Args:
        row: a row of `variable_changes`.
        sd: whether to add the change in standard deviations.

    Example:
        >>> row = pd.Series({"label": "Isophorone emissions", "unit": "tons per year",
        ...                  "before": 0.0131, "after": 0.00402, "sd": -1.234})
        >>> sentence(row)
        'cut isophorone emissions from 0.0131 to 0.0040 tons per year (-1.2 sd)'
    """
    before, after = float(row["before"]), float(row["after"])
    step, size = abs(after - before), max(abs(before), abs(after))
    # To a small part of the change, whatever the spread: logarithms span many orders.
    old, new = (format_number(value, 3 * step, size) for value in (before, after))
    verb = "raise" if after > before else "cut"
    unit = "percent" if row["unit"] == "percentage" else row["unit"]
    ending = "" if unit in SILENT else f" {unit}" if unit != "proportion" else " (proportion)"
    size_in_sd = f" ({format_sd(row['sd'])})" if sd else ""
    return f"{verb} {lower_first(row['label'])} from {old} to {new}{ending}{size_in_sd}"


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


def opening(counties: Counties, recourse: Recourse) -> str:
    """Return which county is to get from where to where, and by which rules."""
    ask, now = recourse.ask, int(counties.category[recourse.fips])
    place: Any = counties.places.loc[recourse.fips]
    return (
        f"{counties.label(recourse.fips)} ({RUCC[int(place['rucc'])]}): from "
        f"{category_name(now)} to {category_name(recourse.target)}, by {ask.algorithm} at penalty "
        f"{ask.penalty:g}.{RULES[ask.mode]}"
    )


def refusal(advisor: Advisor, recourse: Recourse) -> list[str]:
    """Return why no path was found, and what would help."""
    ask, answer = recourse.ask, recourse.explanation
    asked = (
        f"Asked for: log p of at least {advisor.threshold(ask.algorithm):.1f} and "
        f"{advisor.min_posterior:.0%} '{CATEGORIES[recourse.target]}'."
    )
    ways = ["improve by fewer categories (--improve)", "lower --min-posterior"]
    if ask.equity or ask.fixed:
        ways.append("loosen the rules")
    found = f"No path was found ({answer.status})."
    return [found, *answer.notes, asked, f"To find one, {', or '.join(ways)}."]


def _indices(counties: Counties, path: CountyPath, target: int) -> list[str]:
    lines = ["Indices, in standard deviations over the counties; high is good:"]
    width = max(map(len, DOMAINS))
    for domain in DOMAINS:
        begin, end = -path.planned[domain].iloc[0], -path.planned[domain].iloc[-1]
        real = -path.recomputed[domain].iloc[-1]
        note = "" if abs(end - real) < 0.005 else f"   but its variables give {real:+.2f}"
        lines.append(f"  {domain:<{width}}  {begin:+.2f} -> {end:+.2f}  ({end - begin:+.2f}){note}")
    return [*lines, verdict(counties, path, target)]


def verdict(
    counties: Counties,
    path: CountyPath,
    target: int,
    *,
    remedy: str = ", and a higher --min-posterior leaves more margin",
) -> str:
    """Return the category of the end by EPA's own formulas, independent of the model.

    Args:
        counties: with EPA's formulas.
        path: the path of the county.
        target: category to reach.
        remedy: what to do about a model that errs.
    """
    category = category_of(counties, path.recomputed.iloc[-1:])[0]
    reached = "which is the target" if category == target else (
        "better than the target" if category < target
        else f"short of the target: the model errs{remedy}"
    )  # fmt: skip
    return f"By EPA's own formulas the end is in category {category_name(category)}, {reached}."


def to_json(advisor: Advisor, recourse: Recourse) -> str:
    """Return the plan as JSON: the request, the outcome, and the path in EPA's units.

    Indices have the sense "high = good".
    """
    counties = advisor.counties
    path = CountyPath.of(counties, recourse)
    content = {
        "format": "daace-eqi-plan-1",
        "county": counties.label(recourse.fips),
        "fips": recourse.fips,
        "ask": asdict(recourse.ask),
        "category": int(counties.category[recourse.fips]),
        "target": recourse.target,
        "status": str(recourse.explanation.status),
        "notes": list(recourse.explanation.notes),
        "category_by_formula": category_of(counties, path.recomputed),
        "indices": (-path.planned).to_dict("list"),
        "indices_by_formula": (-path.recomputed).to_dict("list"),
        "variables": counties.restore(path.variables).to_dict("list"),
        "units": counties.variables["unit"].to_dict(),
        "caveat": CAVEAT,
    }
    return dump_json(content, indent=1)
