"""The records of a run as one table, in the sense "high = good"."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from daace._typing import FloatArray
from daace.eqi.data.counties import DOMAINS, INDICES, Counties
from daace.eqi.policy.study import ATLAS, PENALTY, RECORDS
from daace.exceptions import InvalidInput
from daace.study.records import read_compact, read_records, write_compact

#: Entries of a record that are not columns of `plans`, where indices are their changes.
LISTS = ("before", "planned", "recomputed", "path", "notes", "fixed")


#: Key and kind of the record of how good the densities are.
PERFORMANCE = "performance"


@dataclass(frozen=True, eq=False)
class CountyResults:
    """Plans of many counties.

    Attributes:
        counties: the data.
        records: as they were written.
    """

    counties: Counties
    records: tuple[Mapping[str, Any], ...]

    @cached_property
    def plans(self) -> pd.DataFrame:
        """One row per plan: the request, the outcome, the place, and the changes of the indices.

        Columns of index changes: the domain for the change as planned, and the domain with
        ' (real)' for the change that the variables give; high = good.
        """
        rows = []
        for record in self.records:
            if record["kind"] != "recourse":
                continue
            row = {name: value for name, value in record.items() if name not in LISTS}
            if record["found"]:
                before = np.array(record["before"])
                for name, after in (("", record["planned"]), (" (real)", record["recomputed"])):
                    better = before - np.array(after)  # published sense: high = bad
                    row |= {f"{d}{name}": x for d, x in zip(DOMAINS, better, strict=True)}
            rows.append(row)
        frame = pd.DataFrame(rows)
        for name in ("cost", "own_cost"):
            frame[name] = pd.to_numeric(frame[name])  # 'inf' was written as text
        places = self.counties.places.loc[frame["fips"]].reset_index(drop=True)
        return pd.concat([frame, places], axis=1)

    def select(
        self, algorithm: str = "BayesACE", mode: str = "free", penalty: float = PENALTY
    ) -> pd.DataFrame:
        """Return the plans that were found, by FIPS code.

        Args:
            algorithm: algorithm of the plans.
            mode: the rules, as in `Ask.mode`.
            penalty: penalty of the plans.
        """
        plans = self.plans
        chosen = plans[
            (plans["algorithm"] == algorithm)
            & (plans["mode"] == mode)
            & (plans["penalty"] == penalty)
            & plans["found"]
        ]
        return chosen.set_index("fips")

    def changes(self, mode: str = "free") -> pd.DataFrame:
        """Return the change of every feature in BayesACE's plans, in standard deviations.

        Indices have the sense "high = good"; variables keep theirs. The index is the FIPS code.

        Args:
            mode: the rules, as in `Ask.mode`.
        """
        found = self.select(mode=mode)["change"]
        features = list(self.counties.table.features)
        frame = pd.DataFrame(found.tolist(), index=found.index, columns=features)
        frame[list(INDICES)] *= -1
        return frame

    def reached(self, mode: str) -> tuple[int, float]:
        """Return how many plans BayesACE has by some rules, and which share is really in the goal.

        That is in the target category or a better one, by EPA's own formulas.
        """
        mine = self.select(mode=mode)
        return len(mine), float((mine["category_recomputed"] <= mine["target"]).mean())

    @cached_property
    def after(self) -> tuple[pd.Series, pd.DataFrame]:
        """Category at the end of consistent plans, and the real change of each index.

        Of the study's counties, and of all others that an atlas has; both as EPA's formulas give
        them from all variables, by FIPS code, high = good.
        """
        plans = {
            int(r["fips"]): r
            for kind in ("atlas", "recourse")
            for r in self.records
            if r["kind"] == kind and r["found"] and r.get("mode", "consistent") == "consistent"
        }
        better = [np.array(r["before"]) - np.array(r["recomputed"]) for r in plans.values()]
        category = [int(r["category_recomputed"]) for r in plans.values()]
        index = pd.Index(list(plans), dtype=np.int64)
        frame = pd.DataFrame(np.reshape(better, (len(plans), len(DOMAINS))), index=index)
        return pd.Series(category, index=index), frame.set_axis(list(DOMAINS), axis=1)

    @property
    def performance(self) -> list[Mapping[str, Any]]:
        """How good the densities are, as `fit_models` measured it; empty if not on record."""
        kept = [record for record in self.records if record["kind"] == PERFORMANCE]
        return list(kept[0]["rows"]) if kept else []

    def with_performance(self, rows: Sequence[Mapping[str, Any]]) -> CountyResults:
        """Return the same results with the performance of the densities, for the compact record."""
        if not rows:
            return self
        others = tuple(record for record in self.records if record["kind"] != PERFORMANCE)
        known = {"key": PERFORMANCE, "kind": PERFORMANCE, "rows": list(rows)}
        return replace(self, records=(*others, known))

    @property
    def vertices(self) -> tuple[int, ...]:
        """Numbers of vertices that BayesACE tried."""
        return tuple(int(v) for v in self._models["vertices"])

    @property
    def thresholds(self) -> tuple[float, float, float]:
        """Smallest log p of flow and network, and probability of the target, that were asked."""
        names = ("min_log_prob", "network_min_log_prob", "min_posterior")
        flow, network, posterior = (float(self._models[name]) for name in names)
        return flow, network, posterior

    @property
    def _models(self) -> Mapping[str, Any]:
        return next(r for r in self.records if r["kind"] == "models")

    def algorithms(self, penalty: float = PENALTY) -> list[str]:
        """Return the algorithms with plans at a penalty, in a fixed order."""
        plans = self.plans
        have = set(
            plans.loc[(plans["penalty"] == penalty) & (plans["mode"] == "free"), "algorithm"]
        )
        return [name for name in ("BayesACE", "DAACE", "FACE", "Wachter") if name in have]

    def penalties(self) -> list[float]:
        """Return the penalties with free plans."""
        plans = self.plans
        return sorted(float(p) for p in plans.loc[plans["mode"] == "free", "penalty"].unique())

    def write_compact(self, path: str | os.PathLike[str]) -> None:
        """Write the records without paths, compressed: all that a report needs.

        Changes are kept to a thousandth of a standard deviation.
        """
        slim = [
            {**r, "change": np.round(r["change"], 3).tolist()} if "change" in r else r
            for r in self.records
        ]
        write_compact(path, slim)


def read_results(counties: Counties, source: str | os.PathLike[str]) -> CountyResults:
    """Read the records of a run: its folder, or the compact record.

    Raises:
        InvalidInput: there are none.
    """
    place = Path(source)
    if place.is_dir():
        records = read_records(place / RECORDS)
        if (place / ATLAS).exists():
            records |= read_records(place / ATLAS)
    elif place.is_file():
        records = read_compact(place)
    else:
        raise InvalidInput(f"'{place}' must be the folder of a run, or its compact record.")
    kinds = [record.get("kind") for record in records.values()]
    if "recourse" not in kinds or "models" not in kinds:
        raise InvalidInput(f"'{place}' must hold plans, from 'daace eqi study'. It has none.")
    unknown = {int(r["fips"]) for r in records.values() if "fips" in r} - set(counties.places.index)
    if unknown:
        raise InvalidInput(
            f"'{place}' must belong to these files. They have no county {sorted(unknown)[0]}."
        )
    return CountyResults(counties, tuple(records.values()))


def paired_ratio(a: pd.Series, b: pd.Series) -> FloatArray:
    """Return a / b over the counties that both have, where both are positive.

    On the paper's scale a cost can be negative, and then its ratio has no meaning.

    Example:
        >>> paired_ratio(pd.Series({1: 2.0, 2: 3.0, 4: 1.0}), pd.Series({2: 6.0, 4: -1.0})).tolist()
        [0.5]
    """
    both = a.index.intersection(b.index)
    one, other = a[both].to_numpy(dtype=np.float64), b[both].to_numpy(dtype=np.float64)
    positive = (one > 0) & (other > 0)
    ratio: FloatArray = one[positive] / other[positive]
    return ratio
