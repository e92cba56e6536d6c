"""The real run: many counties, penalties, algorithms and rules; stopped and resumed at will."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from daace._progress import Bar
from daace._typing import IntArray
from daace._wording import quote
from daace._workers import Workers
from daace.eqi.data import Counties
from daace.eqi.measures import measure
from daace.eqi.model import HELD_OUT, SPLIT_SEED
from daace.eqi.policy import (
    Advisor,
    Ask,
    Recourse,
    category_of,
    recomputed_indices,
    transformed_path,
)
from daace.eqi.straight import StraightOptimizer
from daace.exceptions import InvalidInput
from daace.study.records import RecordFile

#: The counties that the paper looks at: Los Angeles, Conejos, New York.
THREE = (6037, 8021, 36061)

#: The paper's penalties, and the one at which rules are compared.
PENALTIES = (3.0, 5.0, 10.0, 15.0)
PENALTY = 5.0

#: The paper's sample: held-out counties of category 2 or worse.
SAMPLE, WORST_ENOUGH = 150, 2

#: Counties planned together: what a stop costs at most.
CHUNK = 16

RECORDS, ATLAS = "records.jsonl", "atlas.jsonl"

#: How BayesACE plans in the study, as in the paper: the best of 0 to 3 vertices.
STUDY_PLANNER = StraightOptimizer(vertices=(0, 1, 2, 3), vertex_tolerance=0.0)

#: For thousands of counties: one vertex at most, from two straight lines.
ATLAS_PLANNER = StraightOptimizer(vertices=(0, 1), starts=2)


@dataclass(frozen=True)
class Batch:
    """Counties that are planned in one go, in the same way."""

    ask: Ask
    fips: tuple[int, ...]


@dataclass(frozen=True)
class Outcome:
    """How many plans a study has asked for, has on record, and has added."""

    asked: int
    recorded: int
    new: int


def sample_counties(counties: Counties, size: int = SAMPLE, *, improve: int = 2) -> list[int]:
    """Return the counties of the study: the paper's three, then held-out ones at random.

    Args:
        counties: all of them.
        size: how many beside the three; fewer where fewer are held out.
        improve: categories that each must be able to rise.
    """
    held_out: IntArray = counties.split(HELD_OUT, seed=SPLIT_SEED)[1]
    codes = counties.places.index.to_numpy()[held_out]
    able = [
        int(code)
        for code in codes
        if counties.category[code] >= max(WORST_ENOUGH, improve) and code not in THREE
    ]
    known = [code for code in THREE if code in counties.places.index]
    return [code for code in known if counties.category[code] >= improve] + able[:size]


def study_asks(algorithms: tuple[str, ...], *, improve: int = 2) -> list[Ask]:
    """Return what a study asks of every county, the most important first."""
    order = sorted(PENALTIES, key=lambda p: (p != PENALTY, p))
    asks = [
        Ask(algorithm=algorithm, penalty=penalty, improve=improve)  # type: ignore[arg-type]
        for penalty in order
        for algorithm in algorithms
        if algorithm != "DAACE"
    ]
    rules = [(False, True), (True, False), (True, True)]
    asks[3:3] = [
        Ask(penalty=PENALTY, improve=improve, consistent=consistent, equity=equity)
        for consistent, equity in rules
        if "BayesACE" in algorithms
    ]
    return asks


def run_study(
    advisor: Advisor,
    folder: str | os.PathLike[str],
    *,
    fips: list[int],
    algorithms: tuple[str, ...] = ("BayesACE", "FACE", "Wachter"),
    few: int = 0,
    improve: int = 2,
    n_jobs: int = 1,
    progress: bool = False,
) -> Outcome:
    """Plan for every county what is not on record yet.

    Each plan is one line of `records.jsonl`, on the disk before the next counties are planned for:
    after Ctrl-C or a crash, the same call goes on where it stopped.

    Args:
        advisor: with both densities.
        folder: of the records; made when it is not there.
        fips: the counties.
        algorithms: which to compare.
        few: for how many of the counties, the first ones, DAACE plans too, at one penalty: over
            the flow a plan takes ten seconds.
        improve: by how many categories.
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
    advisor = replace(advisor, planner=STUDY_PLANNER)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    asks = [(ask, fips) for ask in study_asks(algorithms, improve=improve)]
    if few:
        asks.append((Ask(algorithm="DAACE", penalty=PENALTY, improve=improve), fips[:few]))
    with RecordFile(place / RECORDS) as file:
        _check_same_models(file, advisor)
        asked = sum(len(codes) for _, codes in asks)
        new = 0
        have = sum(record_key(c, ask) in file.records for ask, codes in asks for c in codes)
        with Bar("Planning", asked, done=have, shown=progress) as bar:
            for records in _answers(advisor, list(_open_batches(asks, file)), n_jobs):
                file.append(records)
                new += len(records)
                bar.advance(f"{records[0]['algorithm']} {records[0]['mode']}", steps=len(records))
    return Outcome(asked, have + new, new)


def _answers(advisor: Advisor, batches: list[Batch], n_jobs: int) -> Iterator[list[dict[str, Any]]]:
    """Yield the records of each batch, those that other processes plan first.

    FACE and Wachter stay in this process: their queries share one graph and one set of rows. They
    come last, as that graph takes minutes, and what others have planned would wait for it.
    """
    here = [b for b in batches if n_jobs == 1 or b.ask.algorithm in ("FACE", "Wachter")]
    away = [b for b in batches if b not in here]
    yield from _map(_answer_batch, advisor, away, n_jobs)
    yield from (_answer_batch(advisor, batch) for batch in here)


def _map(
    plan: Callable[[Advisor, Any], list[dict[str, Any]]],
    advisor: Advisor,
    tasks: Sequence[Any],
    n_jobs: int,
) -> Iterator[list[dict[str, Any]]]:
    """Yield what `plan` makes of each task, as they are done."""
    if n_jobs == 1 or len(tasks) < 2:
        yield from (plan(advisor, task) for task in tasks)
        return
    with Workers(jobs=n_jobs).ready() as crew:
        for _, records in crew.run(partial(plan, advisor), list(tasks)):
            yield records


def run_atlas(
    advisor: Advisor,
    folder: str | os.PathLike[str],
    *,
    improve: int = 2,
    n_jobs: int = 1,
    progress: bool = False,
) -> Outcome:
    """Plan for every county that can improve so much: BayesACE, consistent; for the maps.

    Light records in `atlas.jsonl`: how each ended, and the indices before and after. The same call
    goes on where it stopped.

    Args:
        advisor: with the network.
        folder: of the records; made when it is not there.
        improve: by how many categories.
        n_jobs: processes; the plans are the same for any number.
        progress: show a bar on stderr, or a line a minute in a log.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    quick = replace(advisor, planner=ATLAS_PLANNER, flow=None)  # which is not asked here
    ask = Ask(penalty=PENALTY, improve=improve, consistent=True)
    category = advisor.counties.category
    able = [int(code) for code in category.index[category >= improve]]
    with RecordFile(place / ATLAS) as file:
        waiting = [code for code in able if f"atlas/{record_key(code, ask)}" not in file.records]
        with Bar("Atlas", len(able), done=len(able) - len(waiting), shown=progress) as bar:
            parts = [
                Batch(ask, tuple(waiting[begin : begin + CHUNK]))
                for begin in range(0, len(waiting), CHUNK)
            ]
            for records in _map(_atlas_batch, quick, parts, n_jobs):
                file.append(records)
                bar.advance(advisor.counties.label(records[-1]["fips"]), steps=len(records))
        return Outcome(len(able), len(able), len(waiting))


def _atlas_batch(advisor: Advisor, batch: Batch) -> list[dict[str, Any]]:
    return [_atlas_record(advisor, r) for r in advisor.advise(batch.fips, batch.ask)]


def _atlas_record(advisor: Advisor, recourse: Recourse) -> dict[str, Any]:
    record: dict[str, Any] = {
        "key": f"atlas/{record_key(recourse.fips, recourse.ask)}",
        "kind": "atlas",
        "fips": recourse.fips,
        "target": recourse.target,
        "status": str(recourse.status),
        "found": recourse.found,
    }
    if recourse.found:
        _, variables = transformed_path(advisor.counties, advisor.network, recourse)
        indices = recomputed_indices(advisor.counties, variables)
        record |= {
            "before": indices.iloc[0].tolist(),
            "recomputed": indices.iloc[-1].tolist(),
            "category_recomputed": category_of(advisor.counties, indices.iloc[-1:])[0],
        }
    return record


def record_key(fips: int, ask: Ask) -> str:
    """Return the name of a plan among the records.

    Example:
        >>> record_key(6037, Ask(equity=True))
        '6037/BayesACE/equity/5/2'
    """
    fixed = f"/{','.join(ask.fixed)}" if ask.fixed else ""
    return f"{fips}/{ask.algorithm}/{ask.mode}/{ask.penalty:g}/{ask.improve}{fixed}"


def _open_batches(asks: list[tuple[Ask, list[int]]], file: RecordFile) -> Iterator[Batch]:
    for ask, codes in asks:
        open_codes = [code for code in codes if record_key(code, ask) not in file.records]
        # One by one where nothing is shared: a stop then costs one county, not sixteen.
        size = CHUNK if not ask.consistent and ask.algorithm == "BayesACE" else 1
        for begin in range(0, len(open_codes), size):
            yield Batch(ask, tuple(open_codes[begin : begin + size]))


def _answer_batch(advisor: Advisor, batch: Batch) -> list[dict[str, Any]]:
    return [_answer(advisor, recourse) for recourse in advisor.advise(batch.fips, batch.ask)]


def _answer(advisor: Advisor, recourse: Recourse) -> dict[str, Any]:
    assert advisor.flow is not None
    own = advisor.density(recourse.ask.algorithm)
    record = measure(
        recourse,
        advisor.counties,
        own=own,
        judge=advisor.flow,
        min_log_prob=advisor.threshold(own),
        judge_min_log_prob=advisor.threshold(advisor.flow),
        min_posterior=advisor.min_posterior,
    )
    return {"key": record_key(recourse.fips, recourse.ask), **record}


def _check_same_models(file: RecordFile, advisor: Advisor) -> None:
    """Write what the records depend on, or refuse to mix them with those of other models."""
    assert advisor.flow is not None
    probe = advisor.rows[:5]
    mine = {
        "key": "models",
        "kind": "models",
        "network": advisor.network.log_prob(probe).tolist(),
        "flow": advisor.flow.log_prob(probe).tolist(),
        "min_log_prob": advisor.threshold(advisor.flow),
        "network_min_log_prob": advisor.threshold(advisor.network),
        "min_posterior": advisor.min_posterior,
        "vertices": list(advisor.planner.vertices),
    }
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
