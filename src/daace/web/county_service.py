"""Counties on a map: facts, and plans for one of them, as plain JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from daace._typing import FloatArray
from daace.eqi.data.counties import CATEGORIES, DOMAINS, RUCC
from daace.eqi.policy.advisor import Advisor
from daace.eqi.policy.recourse import CountyPath, Recourse, category_of
from daace.eqi.policy.request import ALGORITHMS, OVER_ROWS, UNSETTABLE, Ask
from daace.eqi.report.colours import CATEGORY_COLOURS, DOMAIN_COLOURS, EMPTY
from daace.eqi.report.results import CountyResults
from daace.eqi.report.words import (
    CAVEAT,
    SMALL,
    opening,
    refusal,
    sentence,
    variable_changes,
    verdict,
)
from daace.exceptions import InvalidInput
from daace.explain.asking.identity import identify_density

#: The fields of `Ask` in a question.
ASKED = ("algorithm", "penalty", "improve", "consistent", "equity")

#: Changes that are named, of the whole plan and of each step.
NAMED, NAMED_IN_STEP = 10, 3

#: Points of an outline that are closer than this many pixels are one.
CLOSE = 0.35


@dataclass(frozen=True, eq=False)
class CountyService:
    """Answers about counties, for several threads at once.

    Args:
        advisor: the advisor that plans.
        outlines: rings of each county by FIPS code, in pixels.
        results: recorded plans, for the maps of their results; None if there are none.
    """

    advisor: Advisor
    outlines: Mapping[int, list[FloatArray]]
    results: CountyResults | None = None

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The facts for the page: counties, map, colours, and the valid questions."""
        from daace import __version__

        counties = self.advisor.counties
        points = np.concatenate([ring for rings in self.outlines.values() for ring in rings])
        low, high = np.floor(points.min(axis=0)), np.ceil(points.max(axis=0))
        return {
            "version": __version__,
            "hash": identify_density(self.advisor.network),
            "counties": {
                str(fips): [counties.label(fips), int(counties.category[fips])]
                for fips in counties.places.index.tolist()
            },
            "categories": list(CATEGORIES),
            "category_colours": list(CATEGORY_COLOURS),
            "domains": list(DOMAINS),
            "domain_colours": DOMAIN_COLOURS,
            "empty": EMPTY,
            "map": {
                "box": [*low.tolist(), *(high - low).tolist()],
                "shapes": {str(fips): draw(rings) for fips, rings in self.outlines.items()},
            },
            "plans": self._plans,
            "algorithms": list(ALGORITHMS if self.advisor.flow is not None else ALGORITHMS[:1]),
            "caveat": CAVEAT,
        }

    @cached_property
    def _plans(self) -> dict[str, list[Any]] | None:
        """The category that the recorded plan of each county reaches, and the domain to act on."""
        if self.results is None:
            return None
        after, better = self.results.after
        first = better.idxmax(axis=1)
        return {str(fips): [int(after[fips]), str(first[fips])] for fips in after.index.tolist()}

    def plan(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Plan for a county.

        Args:
            record: `fips`, and arguments of `Ask`; `settable` fixes what a county cannot set.

        Raises:
            InvalidInput: there is no such county, or it cannot improve that far.
        """
        counties, fips = self.advisor.counties, record["fips"]
        if fips not in counties.places.index:
            raise InvalidInput(
                argument="fips", expected="be the FIPS code of a county", got=str(fips)
            )
        names = counties.variables.index
        settable = record.get("settable", False)
        ask = Ask(
            algorithm=record.get("algorithm", "BayesACE"),
            penalty=float(record.get("penalty", 5.0)),
            improve=record.get("improve", 2),
            consistent=record.get("consistent", True)
            and record.get("algorithm", "BayesACE") not in OVER_ROWS,
            equity=record.get("equity", False),
            fixed=tuple(name for name in UNSETTABLE if settable and name in names),
        )
        return self._view(self.advisor.advise([fips], ask)[0], settable=settable)

    def _view(self, recourse: Recourse, *, settable: bool) -> dict[str, Any]:
        """Return a plan in words and numbers; indices have the sense "high = good"."""
        counties = self.advisor.counties
        path = CountyPath.of(counties, recourse)
        view: dict[str, Any] = {
            "fips": recourse.fips,
            "county": counties.label(recourse.fips),
            "kind": RUCC[int(counties.places.loc[recourse.fips, "rucc"])],  # type: ignore[arg-type]
            "category": int(counties.category[recourse.fips]),
            "target": recourse.target,
            "found": recourse.found,
            "headline": opening(counties, recourse),
            "ask": {name: getattr(recourse.ask, name) for name in ASKED} | {"settable": settable},
        }
        if not recourse.found:
            reasons = refusal(self.advisor, recourse)[:-1]  # the page has buttons for the rest
            return {**view, "reasons": [str(line) for line in reasons], "remedies": _remedies(view)}
        changes = variable_changes(counties, path)
        large = changes[changes["sd"].abs() >= SMALL]
        steps = [
            [
                sentence(row, sd=False)
                for _, row in variable_changes(counties, path, step=step)
                .iloc[:NAMED_IN_STEP]
                .iterrows()
            ]
            for step in range(1, len(path.variables))
        ]
        domains = [
            {
                "domain": domain,
                "before": -float(path.recomputed[domain].iloc[0]),
                "after": -float(path.recomputed[domain].iloc[-1]),
                "planned": -float(path.planned[domain].iloc[-1]),
            }
            for domain in DOMAINS
        ]
        return {
            **view,
            "steps": steps,
            "changes": [
                {"words": sentence(row, sd=False), "domain": row["domain"], "sd": float(row["sd"])}
                for _, row in large.iloc[:NAMED].iterrows()
            ],
            "smaller": max(0, len(large) - NAMED),
            "domains": domains,
            "reached": category_of(counties, path.recomputed.iloc[-1:])[0],
            "verdict": verdict(counties, path, recourse.target, remedy=""),
            "cost": recourse.cost,
        }


def _remedies(view: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return easier questions, each with its description."""
    ask = view["ask"]
    question = {"fips": view["fips"], **ask}
    found = []
    if ask["improve"] > 1:
        fewer = ask["improve"] - 1
        words = f"Improve by {fewer} {'category' if fewer == 1 else 'categories'}"
        found.append({"words": words, "question": {**question, "improve": fewer}})
    if ask["equity"]:
        words = "Allow a domain to get worse"
        found.append({"words": words, "question": {**question, "equity": False}})
    if ask["settable"]:
        words = "Let everything change"
        found.append({"words": words, "question": {**question, "settable": False}})
    return found


def draw(rings: list[FloatArray]) -> str:
    """Return the outline of a county as an SVG path, to a tenth of a pixel.

    Example:
        >>> draw([np.array([[0.0, 0.0], [0.1, 0.1], [4.0, 0.0], [4.0, 3.0], [0.0, 0.0]])])
        'M0 0L4 0L4 3Z'
    """
    parts = []
    for ring in rings:
        kept = [ring[0]]
        for point in ring[1:-1]:
            if np.abs(point - kept[-1]).max() >= CLOSE:
                kept.append(point)
        if len(kept) > 2:
            parts.append("M" + "L".join(f"{x:.4g} {y:.4g}" for x, y in np.round(kept, 1)) + "Z")
    return "".join(parts)
