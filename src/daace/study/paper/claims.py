"""The paper's claims (a) to (j), each as statements that the records of a study are tested on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from daace.study.contest import (
    Contest,
    Statement,
    Verdict,
    describe_by_table,
    describe_outcome,
    describe_pair,
    format_p,
    judge,
)
from daace.study.results import PROBLEM, StudyResults
from daace.study.statistics import compare_two

#: "Almost all" settings.
ALMOST_ALL = 0.9


@dataclass(frozen=True)
class Claim:
    """A claim of the paper.

    Attributes:
        letter: in the protocol.
        text: the claim.
        parts: what it states, one by one.

    Example:
        >>> parts = [Statement(what="", verdict=v) for v in ("holds", "not significant")]
        >>> Claim("a", "", (*parts, Statement(what=""))).outcome
        '1 of 2 parts hold'
    """

    letter: str
    text: str
    parts: tuple[Statement, ...]

    @property
    def tested(self) -> list[Statement]:
        """The paper's parts that there are records for."""
        return [part for part in self.parts if part.counted and part.verdict != "not run"]

    @property
    def holding(self) -> int:
        """How many of these hold."""
        return sum(part.verdict == "holds" for part in self.tested)

    @property
    def outcome(self) -> str:
        """How many of these hold, in words."""
        return describe_outcome([part.verdict for part in self.tested])


def check_claims(results: StudyResults) -> list[Claim]:
    """Return the claims (a) to (j) with the verdict of the records on each.

    Args:
        results: the results of a study whose algorithms have the paper's names; parts about
            others are 'not run'.
    """
    return [Claim(letter, text, tuple(state(results))) for letter, (text, state) in CLAIMS.items()]


def _best_vertices(results: StudyResults) -> Iterator[Statement]:
    frame = results.problems
    for family, many in (("NSGA2 DAACE", 2), ("NSGA2 BayesACE", 1)):
        mine = frame[frame["family"] == family]
        for note, some, best in (
            (f" ({family})", mine, 1),
            (f" ({family}, penalty 1)", mine[mine["penalty"] == 1], 0),
            (f" ({family}, higher penalties)", mine[mine["penalty"] > 1], many),
        ):
            yield Contest(_costs_by_vertices(some), note).lowest(f"v={best}")


def _cost(results: StudyResults) -> Iterator[Statement]:
    pairs = (("DAACE GT", "FACE GT"), ("DAACE", "FACE-DE"), ("DAACE", "FACE GT"))
    for penalty in _penalties(results):
        contest = _at(results, "cost_nll", penalty=penalty)
        yield from (contest.lower(a, b) for a, b in pairs)
    yield _by_integrals(results, "DAACE GT", "FACE GT")


def _cost_of_bayesace(results: StudyResults) -> Iterator[Statement]:
    low, high = _ends(results)
    strictest = float(results.problems["plausibility"].max())
    yield Contest.of(results, "cost_nll").alike("BayesACE", "FACE-DE")
    yield _at(results, "cost_nll", penalty=low, m=-0.5).lower("BayesACE", "FACE-DE")
    yield _at(results, "cost_nll", penalty=high).lower("FACE-DE", "BayesACE")
    yield _at(results, "cost_nll", m=strictest).lower("FACE-DE", "BayesACE")


def _distance(results: StudyResults) -> Iterator[Statement]:
    low, high = _ends(results)
    overall = Contest.of(results, "l2")
    cheap = _at(results, "l2", penalty=low)
    yield overall.lower("DAACE", "FACE GT")
    yield overall.lower("DAACE", "FACE-DE")
    yield cheap.lower("DAACE", "Wachter")
    yield overall.lower("BayesACE", "FACE-DE")
    yield cheap.lower("BayesACE", "FACE GT")
    yield _at(results, "l2", penalty=high).not_lower("BayesACE", "FACE GT")
    yield overall.highest("FACE-DE")


def _sparsity(results: StudyResults) -> Iterator[Statement]:
    low, high = _ends(results)
    cheap = _at(results, "path_sparsity", penalty=low)
    steep = _at(results, "path_sparsity", penalty=high)
    yield cheap.lowest("DAACE")
    yield cheap.lower("BayesACE", "FACE GT")
    yield cheap.lower("BayesACE", "FACE-DE")
    yield cheap.lower("Wachter", "BayesACE")
    yield steep.lowest("Wachter", "FACE-eps")
    yield steep.lower("FACE GT", "DAACE")


def _distance_to_face_gt(results: StudyResults) -> Iterator[Statement]:
    away = Contest.of(results, "to_face_gt")
    yield away.lowest("DAACE GT")
    yield away.lower("DAACE", "BayesACE")
    yield away.lower("BayesACE", "FACE-eps")
    yield away.lower("FACE-DE", "FACE-eps")


def _time(results: StudyResults) -> Iterator[Statement]:
    search = Contest.of(results, "seconds")
    yield search.lower("FACE-DE", "DAACE")
    yield search.lower("FACE GT", "DAACE GT")
    whole = Contest.of(results, "seconds_with_graph")
    yield whole.lower("DAACE", "FACE-DE")
    yield whole.lower("DAACE", "FACE GT")
    yield whole.lower("DAACE GT", "FACE GT")
    yield whole.lowest("BayesACE")


def _density_fit(results: StudyResults) -> Iterator[Statement]:
    """Compare two densities at a time by Wilcoxon, as the paper does."""
    for measure, word in (("nll", "negative log-likelihood"), ("squared_error", "squared error")):
        for a, b in (("truth", "realnvp"), ("realnvp", "clgn")):
            what = f"{word}: {a} < {b}"
            rows = [r for r in results.densities if {a, b} <= set(r[measure])]
            if not rows:
                yield Statement(what=what)
                continue
            test = compare_two([r[measure][a] for r in rows], [r[measure][b] for r in rows])
            pairs = [
                p
                for r in rows
                for p in r["pairs"]
                if (p["measure"], p["first"], p["second"]) == (measure, a, b)
            ]
            verdicts = [judge(p["p_value"], p["effect"]) for p in pairs]
            better, worse = verdicts.count("holds"), verdicts.count("does not hold")
            low, high = test.interval
            yield Statement(
                what=what,
                ours=f"row by row significantly lower on {better} of {len(pairs)} tables, higher "
                f"on {worse}",
                verdict=judge(test.p_value, test.effect),
                by_table=f"median difference {test.median:.3g} [{low:.3g}, {high:.3g}], "
                f"N = {len(rows)}, {format_p(test.p_value)}",
            )


def _against_face_eps(results: StudyResults) -> Iterator[Statement]:
    scores = results.scores("cost_nll")
    settings = [
        Contest(some) for _, some in scores.groupby(level=["penalty", "plausibility", "certainty"])
    ]
    for name in ("BayesACE", "FACE-DE", "Wachter"):
        yield _in_almost_all(settings, Contest(scores), name, "FACE-eps")


def _found_by_bayesace(results: StudyResults) -> Iterator[Statement]:
    sometimes = Statement(what="BayesACE sometimes finds nothing")
    frame = results.problems
    mine = frame[frame["algorithm"] == "BayesACE"]
    if mine.empty:
        yield sometimes
        return
    rate = float(mine["found"].mean())
    yield replace(
        sometimes,
        ours=f"found {rate:.1%} of {len(mine)}",
        verdict="holds" if rate < 1 else "does not hold",
    )
    scores = results.scores("cost_nll")
    solved = scores[np.isfinite(scores["BayesACE"].to_numpy())] if "BayesACE" in scores else scores
    yield Contest(solved, ", where BayesACE finds something").lower("BayesACE", "FACE-DE")


#: Text of each claim, and what makes its statements, by letter.
CLAIMS: dict[str, tuple[str, Callable[[StudyResults], Iterator[Statement]]]] = {
    "a": (
        "1 middle point is best overall, 0 at penalty 1; at higher penalties DAACE needs 2 and "
        "BayesACE stays at 1 (a statement about NSGA-II).",
        _best_vertices,
    ),
    "b": (
        "DAACE GT < FACE GT and DAACE < FACE-DE in cost at every penalty; DAACE also beats "
        "FACE GT.",
        _cost,
    ),
    "c": (
        "BayesACE against FACE-DE in cost: no significant difference overall (medians -0.07 "
        "and 0.08); better at penalty 1 with m = -0.5; worse at high penalties and at the "
        "highest threshold.",
        _cost_of_bayesace,
    ),
    "d": (
        "L2: DAACE is closer than FACE GT and FACE-DE, and than Wachter at low penalty; "
        "BayesACE is closer than FACE-DE, than FACE GT only at low penalty; FACE-DE is worst.",
        _distance,
    ),
    "e": (
        "Path sparsity: at penalty 1 DAACE is sparsest, BayesACE beats FACE GT and FACE-DE, "
        "and Wachter beats BayesACE; at penalty 15 Wachter and FACE-eps are sparsest, and "
        "FACE GT is sparser than DAACE.",
        _sparsity,
    ),
    "f": (
        "Distance to FACE GT's counterfactual: DAACE GT is closest; medians DAACE -0.43, "
        "BayesACE 0.08, FACE-DE 0.10, FACE-eps 0.45.",
        _distance_to_face_gt,
    ),
    "g": (
        "FACE's search alone is faster than DAACE; with graph building DAACE is faster than "
        "FACE-DE and FACE GT; BayesACE is the most frugal.",
        _time,
    ),
    "h": ("Density fit: the truth > RealNVP > CLGN, all significant.", _density_fit),
    "i": (
        "BayesACE, FACE-DE and Wachter beat FACE-eps for almost all settings.",
        _against_face_eps,
    ),
    "j": (
        "BayesACE sometimes finds nothing, and is better when it finds something (suspected).",
        _found_by_bayesace,
    ),
}


def _at(
    results: StudyResults, measure: str, *, penalty: float | None = None, m: float | None = None
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


def _by_integrals(results: StudyResults, a: str, b: str) -> Statement:
    """Compare two that plan over the truth by their own sums, refined until they converge.

    The paper's rule of 19 midpoints misses narrow ridges of a long segment at high penalties. The
    others sum over densities of their own, so two sets of results are compared, by Wilcoxon.
    """
    statement = Statement(what=f"{a} < {b}, by integrals that have converged", counted=False)
    contest = Contest.of(results, "own_cost")
    if not contest.has(a, b):
        return statement
    scores, test = contest.scores, contest.compare_two(a, b)
    both = scores[np.isfinite(scores[[a, b]].to_numpy()).all(axis=1) & (scores[b] > 0).to_numpy()]
    return replace(
        statement,
        ours=f"median ratio {(both[a] / both[b]).median():.2f}" if len(both) else "",
        verdict=judge(test.p_value, test.effect),
        wilcoxon=describe_pair(test),
        by_table=describe_by_table(scores, a, b),
    )


def _in_almost_all(settings: list[Contest], overall: Contest, a: str, b: str) -> Statement:
    """Compare two in each setting; 'almost all' must be significant."""
    statement = Statement(what=f"{a} < {b} in cost, in almost all settings")
    if not overall.has(a, b):
        return statement
    many = len(settings)
    lower = sum(bool(c.test.mean_ranks[a] < c.test.mean_ranks[b]) for c in settings)
    found = [contest.verdict_lower(a, b) for contest in settings]
    won, lost = found.count("holds"), found.count("does not hold")
    verdict: Verdict = "does not hold"
    if lower >= ALMOST_ALL * many:
        verdict = "holds" if won >= ALMOST_ALL * many else "not significant"
    return replace(
        statement,
        ours=f"lower mean rank in {lower} of {many} settings; significantly lower in {won}, "
        f"higher in {lost}",
        verdict=verdict,
        wilcoxon=describe_pair(overall.compare_two(a, b)),
        by_table=describe_by_table(overall.scores, a, b),
    )


def _penalties(results: StudyResults) -> list[float]:
    return sorted(float(p) for p in results.problems["penalty"].unique())


def _ends(results: StudyResults) -> tuple[float, float]:
    """Return the lowest and the highest penalty."""
    penalties = _penalties(results)
    return penalties[0], penalties[-1]
