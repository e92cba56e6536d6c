"""The study: many counties, penalties, algorithms and rules; stopped and resumed at will."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from daace._progress import Bar
from daace._wording import quote
from daace._workers import Workers
from daace.eqi.data.counties import Counties
from daace.eqi.models.planners import StraightOptimizer
from daace.eqi.policy.advisor import Advisor
from daace.eqi.policy.record import GENETIC, record_key, to_atlas_record, to_record
from daace.eqi.policy.recourse import Recourse
from daace.eqi.policy.request import OVER_ROWS, Algorithm, Ask
from daace.exceptions import InvalidInput
from daace.study.records import RecordFile

#: The counties that the paper looks at.
LOS_ANGELES, CONEJOS, NEW_YORK = THREE = (6037, 8021, 36061)

#: The paper's penalties, and the one at which rules are compared.
PENALTIES = (3.0, 5.0, 10.0, 15.0)
PENALTY = 5.0

#: By how many categories every county of the study is to improve; worse ones can.
IMPROVE = 2

#: Size of the paper's sample.
SAMPLE = 150

#: The algorithms that the paper compares on the counties.
COMPARED: tuple[Algorithm, ...] = ("BayesACE", "FACE", "Wachter")

#: Counties that are planned together; an interruption loses one such batch at most.
CHUNK = 16

RECORDS, ATLAS = "records.jsonl", "atlas.jsonl"

#: How BayesACE plans in the study, as in the paper: the best of 0 to 3 vertices.
STUDY_PLANNER = StraightOptimizer(vertices=(0, 1, 2, 3), vertex_tolerance=0.0)

#: For thousands of counties: one vertex at most, from two straight lines.
ATLAS_PLANNER = StraightOptimizer(vertices=(0, 1), starts=2)

#: Makes the record of a plan.
Recorder = Callable[[Advisor, Recourse], dict[str, Any]]


@dataclass(frozen=True)
class CountyBatch:
    """Counties that are planned in one call, in the same way."""

    ask: Ask
    fips: tuple[int, ...]


@dataclass(frozen=True)
class PlanCount:
    """How many plans a study has asked for, has on record, and has added."""

    asked: int
    recorded: int
    new: int


def sample_counties(counties: Counties, size: int = SAMPLE) -> list[int]:
    """Return the counties of the study: the paper's three, then held-out ones at random.

    Args:
        counties: all of them.
        size: how many beside the three; fewer where fewer are held out.
    """
    category = counties.category
    held_out = counties.places.index.to_numpy()[counties.split[1]]
    known = [code for code in THREE if code in counties.places.index]
    able = [int(code) for code in held_out if category[code] >= IMPROVE and code not in THREE]
    return [code for code in known if category[code] >= IMPROVE] + able[:size]


def study_asks(algorithms: Sequence[Algorithm]) -> list[Ask]:
    """Return the requests of a study for every county, the most important first."""
    order = sorted(PENALTIES, key=lambda p: (p != PENALTY, p))
    asks = [
        Ask(algorithm=algorithm, penalty=penalty, improve=IMPROVE)
        for penalty in order
        for algorithm in algorithms
    ]
    rules = [(False, True), (True, False), (True, True)]
    asks[3:3] = [
        Ask(penalty=PENALTY, improve=IMPROVE, consistent=consistent, equity=equity)
        for consistent, equity in rules
        if "BayesACE" in algorithms
    ]
    return asks


def paper_asks(seeds: int) -> list[Ask]:
    """Return the requests of the paper for every county: three algorithms, and BayesACE by NSGA-II.

    Args:
        seeds: how often NSGA-II searches, each time with another seed.
    """
    algorithms = ("FACE", "Wachter", "BayesACE")
    order = sorted(PENALTIES, key=lambda p: (p != PENALTY, p))
    plain = [Ask(algorithm=a, penalty=p, improve=IMPROVE) for p in order for a in algorithms]  # type: ignore[arg-type]
    genetic = [
        Ask(algorithm=GENETIC, penalty=p, improve=IMPROVE, seed=seed)
        for seed in range(seeds)
        for p in order
    ]
    return plain + genetic


def run_study(
    advisor: Advisor,
    folder: str | os.PathLike[str],
    *,
    fips: list[int],
    algorithms: Sequence[Algorithm] = COMPARED,
    seeds: int = 0,
    few: int = 0,
    n_jobs: int = 1,
    progress: bool = False,
) -> PlanCount:
    """Make the plans that have no record yet.

    Each plan is one line of `records.jsonl`, on the disk before the next counties are planned for:
    after Ctrl-C or a crash, the same call continues where it stopped.

    Args:
        advisor: with both densities.
        folder: the folder of the records; created if missing.
        fips: the counties.
        algorithms: which to compare.
        seeds: if any, the study is the paper's: one threshold of log p for all algorithms, no
            rules, and BayesACE also by NSGA-II, this many times.
        few: for how many of the counties, the first ones, DAACE plans too, at one penalty: over
            the flow a plan takes ten seconds.
        n_jobs: processes; the plans are the same for any number.
        progress: show a bar on stderr, or a line a minute in a log.

    Raises:
        InvalidInput: there is no flow to judge by, or the records belong to other models.
    """
    if advisor.flow is None:
        raise InvalidInput(
            "A study needs the RealNVP, under which costs are measured: train it with "
            "'daace eqi fit --flow' and pass its folder with --models."
        )
    advisor = replace(advisor, planner=STUDY_PLANNER, one_threshold=seeds > 0)
    asks = [(ask, fips) for ask in (paper_asks(seeds) if seeds else study_asks(algorithms))]
    if few:
        asks.append((Ask(algorithm="DAACE", penalty=PENALTY, improve=IMPROVE), fips[:few]))
    with _open_records(folder, RECORDS) as file:
        _check_same_models(file, advisor)
        asked = sum(len(codes) for _, codes in asks)
        batches = list(_open_batches(asks, file))
        have = asked - sum(len(batch.fips) for batch in batches)
        with Bar("Planning", asked, done=have, shown=progress) as bar:
            for records in _plan_batches(advisor, batches, n_jobs):
                file.append(records)
                bar.advance(f"{records[0]['algorithm']} {records[0]['mode']}", steps=len(records))
    return PlanCount(asked, asked, asked - have)


def run_atlas(
    advisor: Advisor,
    folder: str | os.PathLike[str],
    *,
    improve: int = IMPROVE,
    n_jobs: int = 1,
    progress: bool = False,
) -> PlanCount:
    """Plan for every county that can improve so much: BayesACE, consistent; for the maps.

    Light records in `atlas.jsonl`: how each ended, and the indices before and after. The same call
    continues where it stopped.

    Args:
        advisor: with the network.
        folder: the folder of the records; created if missing.
        improve: by how many categories.
        n_jobs: processes; the plans are the same for any number.
        progress: show a bar on stderr, or a line a minute in a log.
    """
    quick = replace(advisor, planner=ATLAS_PLANNER, flow=None)  # which is not asked here
    ask = Ask(penalty=PENALTY, improve=improve, consistent=True)
    category = advisor.counties.category
    able = [int(code) for code in category.index[category >= improve]]
    with _open_records(folder, ATLAS) as file:
        waiting = [code for code in able if f"atlas/{record_key(code, ask)}" not in file.records]
        with Bar("Atlas", len(able), done=len(able) - len(waiting), shown=progress) as bar:
            for records in _map(to_atlas_record, quick, _divide(ask, waiting, CHUNK), n_jobs):
                file.append(records)
                bar.advance(advisor.counties.label(records[-1]["fips"]), steps=len(records))
        return PlanCount(len(able), len(able), len(waiting))


def _open_records(folder: str | os.PathLike[str], name: str) -> RecordFile:
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    return RecordFile(place / name)


def _open_batches(asks: Iterable[tuple[Ask, list[int]]], file: RecordFile) -> Iterator[CountyBatch]:
    """Yield batches of plans without a record; single plans if they share no work."""
    for ask, codes in asks:
        waiting = [code for code in codes if record_key(code, ask) not in file.records]
        together = not ask.consistent and ask.algorithm == "BayesACE"
        yield from _divide(ask, waiting, CHUNK if together else 1)


def _divide(ask: Ask, fips: Sequence[int], size: int) -> list[CountyBatch]:
    begins = range(0, len(fips), size)
    return [CountyBatch(ask, tuple(fips[begin : begin + size])) for begin in begins]


def _plan_batches(
    advisor: Advisor, batches: list[CountyBatch], n_jobs: int
) -> Iterator[list[dict[str, Any]]]:
    """Yield the records of each batch, those that other processes plan first.

    FACE and Wachter stay in this process: their queries share one graph and one set of rows. They
    come last, as that graph takes minutes, and what others have planned would wait for it.
    """
    here = [b for b in batches if n_jobs == 1 or b.ask.algorithm in OVER_ROWS]
    away = [b for b in batches if b not in here]
    yield from _map(to_record, advisor, away, n_jobs)
    yield from _map(to_record, advisor, here, 1)


def _map(
    record: Recorder, advisor: Advisor, batches: Sequence[CountyBatch], n_jobs: int
) -> Iterator[list[dict[str, Any]]]:
    """Yield the records of each batch, as they are done."""
    plan = partial(_plan_batch, record, advisor)
    if n_jobs == 1 or len(batches) < 2:
        yield from map(plan, batches)
        return
    with Workers(jobs=n_jobs).ready() as crew:
        for _, records in crew.run(plan, list(batches)):
            yield records


def _plan_batch(record: Recorder, advisor: Advisor, batch: CountyBatch) -> list[dict[str, Any]]:
    return [record(advisor, recourse) for recourse in advisor.advise(batch.fips, batch.ask)]


def _check_same_models(file: RecordFile, advisor: Advisor) -> None:
    """Write what the records depend on, or raise if the folder holds those of other models."""
    assert advisor.flow is not None
    probe = advisor.rows[:5]
    mine: dict[str, Any] = {
        "key": "models",
        "kind": "models",
        "network": advisor.network.log_prob(probe).tolist(),
        "flow": advisor.flow.log_prob(probe).tolist(),
        "min_log_prob": advisor.threshold("DAACE"),
        "network_min_log_prob": advisor.threshold("BayesACE"),
        "min_posterior": advisor.min_posterior,
        "vertices": list(advisor.planner.vertices),
    }
    if advisor.one_threshold:  # the paper's study
        mine["genetic"] = [advisor.genetic.population, advisor.genetic.generations]
    there = file.records.get("models")
    if there is None:
        file.append([mine])
        return
    differ = [
        name
        for name in mine
        if name not in ("key", "kind") and not _equal(there.get(name), mine[name])
    ]
    if differ:
        raise InvalidInput(
            f"The records in '{file.path}' belong to other models (they differ in "
            f"{quote(differ)}): choose another --out, or the models they were made with."
        )


def _equal(one: Any, other: Any) -> bool:
    return np.shape(one) == np.shape(other) and np.allclose(one, other, rtol=1e-6)
