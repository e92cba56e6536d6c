"""The prepared table: a summary, and a frame for other tools."""

from __future__ import annotations

from typing import Any

import pandas as pd

from daace.eqi.data.counties import CATEGORIES, RUCC, Counties, index_name


def prepared_frame(counties: Counties) -> pd.DataFrame:
    """Return places, category, indices (high = good) and all variables in EPA's units, by FIPS."""
    words = counties.category.map(dict(enumerate(CATEGORIES)))
    about = counties.places.assign(category=counties.category, quality=words)
    overall = (-counties.overall).rename("Overall index")
    indices = (-counties.indices).rename(columns=index_name)
    return pd.concat([about, overall, indices, counties.values], axis=1)


def summarise(counties: Counties) -> str:
    """Return a summary in a few lines: counties, variables, and the recomputed indices."""
    by_rucc: Any = counties.places["rucc"].value_counts().sort_index()
    kinds = ", ".join(f"{count:,} {RUCC[int(code)]}" for code, count in by_rucc.items())
    lines = [
        f"{len(counties):,} counties with an overall index ({kinds}); "
        f"{len(counties.unranked)} without.",
        f"{len(counties.variables)} variables, {int(counties.variables['logged'].sum())} of them "
        f"as logarithms; {len(counties.dropped)} are dropped as nearly constant or discrete: "
        f"{', '.join(counties.dropped)}.",
        "Each domain index is the first principal component of its variables; correlation with "
        "the published one:",
    ]
    for domain, formula in counties.formulas.domains.items():
        weight = counties.formulas.overall.weights[domain]
        lines.append(
            f"  {domain:<16}  {formula.correlation:.9f}   {len(formula.weights):>3} variables, "
            f"{weight:+.3f} in the overall index"
        )
    lines.append(
        f"  {'overall':<16}  {counties.formulas.overall.correlation:.9f}   of the five indices"
    )
    worse = [str(d) for d, w in counties.formulas.overall.weights.items() if w < 0]
    if worse:
        lines.append(
            f"Note: a better {' and '.join(worse)} index makes the overall index worse, by "
            "EPA's own formula."
        )
    return "\n".join(lines)
