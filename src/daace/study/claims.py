"""The paper's claims (a) to (j), each as tests on the records of a study."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from daace.study.checks import (
    ALPHA,
    Check,
    Contest,
    Verdict,
    describe_by_table,
    describe_pair,
    judge,
)
from daace.study.results import PROBLEM, Results
from daace.study.statistics import compare_two

#: "Almost all" settings.
ALMOST_ALL = 0.9


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, by its letter in the protocol.

    Example:
        >>> parts = [Check(what="", verdict="holds"), Check(what="", verdict="not significant")]
        >>> Claim("a", "", (*parts, Check(what=""))).outcome
        '1 of 2 parts hold'
    """

    letter: str
    text: str
    checks: tuple[Check, ...]

    @property
    def tested(self) -> list[Check]:
        """The parts of the paper that there are records for."""
        return [c for c in self.checks if c.of_paper and c.verdict != "not run"]

    @property
    def holding(self) -> int:
        """How many of these hold."""
        return sum(check.verdict == "holds" for check in self.tested)

    @property
    def outcome(self) -> str:
        """How many parts hold, in words."""
        many = len(self.tested)
        if not many:
            return "not run"
        return f"{self.holding} of {many} parts hold" if many > 1 else self.tested[0].verdict


def check_claims(results: Results) -> list[Claim]:
    """Return the claims (a) to (j) with what the records say about each."""
    every = (_a, _b, _c, _d, _e, _f, _g, _h, _i, _j)
    return [check(results) for check in every]


def _a(results: Results) -> Claim:
    frame = results.problems
    checks = []
    for family, many in (("NSGA2 DAACE", 2), ("NSGA2 BayesACE", 1)):
        mine = frame[frame["family"] == family]
        for note, some, best in (
            (f" ({family})", mine, 1),
            (f" ({family}, penalty 1)", mine[mine["penalty"] == 1], 0),
            (f" ({family}, higher penalties)", mine[mine["penalty"] > 1], many),
        ):
            checks.append(Contest(_costs_by_vertices(some), note).lowest(f"v={best}"))
    return Claim(
        "a",
        "1 middle point is best overall, 0 at penalty 1; at higher penalties DAACE needs 2 and "
        "BayesACE stays at 1 (a statement about NSGA-II).",
        tuple(checks),
    )


def _b(results: Results) -> Claim:
    pairs = (("DAACE GT", "FACE GT"), ("DAACE", "FACE-DE"), ("DAACE", "FACE GT"))
    contests = [_at(results, "cost_nll", penalty=p) for p in _penalties(results)]
    return Claim(
        "b",
        "DAACE GT < FACE GT and DAACE < FACE-DE in cost at every penalty; DAACE also beats "
        "FACE GT.",
        (
            *(contest.lower(a, b) for contest in contests for a, b in pairs),
            _integrals(results, "DAACE GT", "FACE GT"),
        ),
    )


def _c(results: Results) -> Claim:
    low, high = _ends(results)
    strictest = float(results.problems["plausibility"].max())
    return Claim(
        "c",
        "BayesACE against FACE-DE in cost: no significant difference overall (medians -0.07 "
        "and 0.08); better at penalty 1 with m = -0.5; worse at high penalties and at the "
        "highest threshold.",
        (
            Contest.of(results, "cost_nll").alike("BayesACE", "FACE-DE"),
            _at(results, "cost_nll", penalty=low, m=-0.5).lower("BayesACE", "FACE-DE"),
            _at(results, "cost_nll", penalty=high).lower("FACE-DE", "BayesACE"),
            _at(results, "cost_nll", m=strictest).lower("FACE-DE", "BayesACE"),
        ),
    )


def _d(results: Results) -> Claim:
    low, high = _ends(results)
    overall = Contest.of(results, "l2")
    cheap = _at(results, "l2", penalty=low)
    return Claim(
        "d",
        "L2: DAACE is closer than FACE GT and FACE-DE, and than Wachter at low penalty; "
        "BayesACE is closer than FACE-DE, than FACE GT only at low penalty; FACE-DE is worst.",
        (
            overall.lower("DAACE", "FACE GT"),
            overall.lower("DAACE", "FACE-DE"),
            cheap.lower("DAACE", "Wachter"),
            overall.lower("BayesACE", "FACE-DE"),
            cheap.lower("BayesACE", "FACE GT"),
            _at(results, "l2", penalty=high).not_lower("BayesACE", "FACE GT"),
            overall.highest("FACE-DE"),
        ),
    )


def _e(results: Results) -> Claim:
    low, high = _ends(results)
    cheap = _at(results, "path_sparsity", penalty=low)
    steep = _at(results, "path_sparsity", penalty=high)
    return Claim(
        "e",
        "Path sparsity: at penalty 1 DAACE is sparsest, BayesACE beats FACE GT and FACE-DE, "
        "and Wachter beats BayesACE; at penalty 15 Wachter and FACE-eps are sparsest, and "
        "FACE GT is sparser than DAACE.",
        (
            cheap.lowest("DAACE"),
            cheap.lower("BayesACE", "FACE GT"),
            cheap.lower("BayesACE", "FACE-DE"),
            cheap.lower("Wachter", "BayesACE"),
            steep.lowest("Wachter", "FACE-eps"),
            steep.lower("FACE GT", "DAACE"),
        ),
    )


def _f(results: Results) -> Claim:
    away = Contest.of(results, "to_face_gt")
    return Claim(
        "f",
        "Distance to FACE GT's counterfactual: DAACE GT is closest; medians DAACE -0.43, "
        "BayesACE 0.08, FACE-DE 0.10, FACE-eps 0.45.",
        (
            away.lowest("DAACE GT"),
            away.lower("DAACE", "BayesACE"),
            away.lower("BayesACE", "FACE-eps"),
            away.lower("FACE-DE", "FACE-eps"),
        ),
    )


def _g(results: Results) -> Claim:
    search, whole = (Contest.of(results, m) for m in ("seconds", "seconds_with_graph"))
    return Claim(
        "g",
        "FACE's search alone is faster than DAACE; with graph building DAACE is faster than "
        "FACE-DE and FACE GT; BayesACE is the most frugal.",
        (
            search.lower("FACE-DE", "DAACE"),
            search.lower("FACE GT", "DAACE GT"),
            whole.lower("DAACE", "FACE-DE"),
            whole.lower("DAACE", "FACE GT"),
            whole.lower("DAACE GT", "FACE GT"),
            whole.lowest("BayesACE"),
        ),
    )


def _h(results: Results) -> Claim:
    return Claim(
        "h",
        "Density fit: the truth > RealNVP > CLGN, all significant.",
        tuple(_densities(results)),
    )


def _i(results: Results) -> Claim:
    return Claim(
        "i",
        "BayesACE, FACE-DE and Wachter beat FACE-eps for almost all settings.",
        tuple(_settings(results, name, "FACE-eps") for name in ("BayesACE", "FACE-DE", "Wachter")),
    )


def _j(results: Results) -> Claim:
    text = "BayesACE sometimes finds nothing, and is better when it finds something (suspected)."
    what = "BayesACE sometimes finds nothing"
    frame = results.problems
    mine = frame[frame["algorithm"] == "BayesACE"]
    if mine.empty:
        return Claim("j", text, (Check(what=what),))
    rate = float(mine["found"].mean())
    sometimes = Check(
        what=what,
        ours=f"found {rate:.1%} of {len(mine)}",
        verdict="holds" if rate < 1 else "does not hold",
    )
    scores = results.scores("cost_nll")
    solved = scores[np.isfinite(scores["BayesACE"].to_numpy())] if "BayesACE" in scores else scores
    contest = Contest(solved, ", where BayesACE finds something")
    return Claim("j", text, (sometimes, contest.lower("BayesACE", "FACE-DE")))


def _at(
    results: Results, measure: str, *, penalty: float | None = None, m: float | None = None
) -> Contest:
    """Return the contest at one penalty, at one threshold of log p, or both."""
    frame = results.problems
    where = pd.Series(True, index=frame.index)
    note = ""
    if penalty is not None:
        where &= frame["penalty"] == penalty
        note += f", penalty {penalty:g}"
    if m is not None:
        where &= frame["plausibility"] == m
        note += f", m = {m:g}"
    return Contest.of(results, measure, where, note)


def _costs_by_vertices(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the cost under the truth, one column per number of vertices."""
    cost = frame["cost_nll"].astype(float).where(frame["found"].astype(bool), np.inf)
    wide = frame.assign(cost=cost).pivot(index=PROBLEM, columns="vertices", values="cost")
    return wide.dropna().rename(columns=lambda v: f"v={v:g}")


def _integrals(results: Results, a: str, b: str) -> Check:
    """Compare two that plan over the truth by their own sums, refined until they converge.

    The paper's rule of 19 midpoints misses narrow ridges of a long segment at high penalties. The
    others sum over densities of their own, so two sets of results are compared, by Wilcoxon.
    """
    what = f"{a} < {b}, by integrals that have converged"
    scores = results.scores("own_cost")
    if not {a, b} <= set(scores.columns) or scores.empty:
        return Check(what=what, of_paper=False)
    test = compare_two(scores[a].tolist(), scores[b].tolist())
    both = scores[np.isfinite(scores[[a, b]].to_numpy()).all(axis=1) & (scores[b] > 0).to_numpy()]
    ratio = f"median ratio {(both[a] / both[b]).median():.2f}" if len(both) else ""
    return Check(
        what=what,
        ours=ratio,
        verdict=judge(test.p_value, test.effect),
        wilcoxon=describe_pair(test),
        by_table=describe_by_table(scores, a, b),
        of_paper=False,
    )


def _densities(results: Results) -> Iterator[Check]:
    """Compare two densities at a time by Wilcoxon, as the paper does."""
    for measure, word in (("nll", "negative log-likelihood"), ("squared_error", "squared error")):
        for a, b in (("truth", "realnvp"), ("realnvp", "clgn")):
            what = f"{word}: {a} < {b}"
            rows = [r for r in results.densities if {a, b} <= set(r[measure])]
            if not rows:
                yield Check(what=what)
                continue
            test = compare_two([r[measure][a] for r in rows], [r[measure][b] for r in rows])
            pairs = [
                p
                for r in rows
                for p in r["pairs"]
                if (p["measure"], p["first"], p["second"]) == (measure, a, b)
            ]
            better = sum(p["p_value"] < ALPHA and p["effect"] < 0 for p in pairs)
            worse = sum(p["p_value"] < ALPHA and p["effect"] > 0 for p in pairs)
            low, high = test.interval
            yield Check(
                what=what,
                ours=f"row by row significantly lower on {better} of {len(pairs)} tables, higher "
                f"on {worse}",
                verdict=judge(test.p_value, test.effect),
                by_table=f"median difference {test.median:.3g} [{low:.3g}, {high:.3g}], "
                f"N = {len(rows)}, p = {test.p_value:.2g}",
            )


def _settings(results: Results, a: str, b: str) -> Check:
    """Compare two in each setting; 'almost all' must be significant."""
    what = f"{a} < {b} in cost, in almost all settings"
    scores = results.scores("cost_nll")
    if not {a, b} <= set(scores.columns) or scores.empty:
        return Check(what=what)
    contests = [
        Contest(some) for _, some in scores.groupby(level=["penalty", "plausibility", "certainty"])
    ]
    many = len(contests)
    lower = sum(bool(c.test.mean_ranks[a] < c.test.mean_ranks[b]) for c in contests)
    found = [contest.lower(a, b).verdict for contest in contests]
    won, lost = found.count("holds"), found.count("does not hold")
    verdict: Verdict = "does not hold"
    if lower >= ALMOST_ALL * many:
        verdict = "holds" if won >= ALMOST_ALL * many else "not significant"
    return Check(
        what=what,
        ours=f"lower mean rank in {lower} of {many} settings; significantly lower in {won}, "
        f"higher in {lost}",
        verdict=verdict,
        wilcoxon=describe_pair(compare_two(scores[a].tolist(), scores[b].tolist())),
        by_table=describe_by_table(scores, a, b),
    )


def _penalties(results: Results) -> list[float]:
    return sorted(float(p) for p in results.problems["penalty"].unique())


def _ends(results: Results) -> tuple[float, float]:
    """Return the lowest and the highest penalty."""
    penalties = _penalties(results)
    return penalties[0], penalties[-1]
