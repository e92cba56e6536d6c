"""Answers on real tables with categories, checked without any of daace's own checks.

    python -m benchmarks.real_tables [--rows 50] [--tables adult compas] [--judges density forest]

Each table of `DAACE_DATA/mixed` is shuffled and cut into rows to fit on (at most 6,000) and others,
of which the first that a judge refuses are asked about. Judges are the density itself, a random
forest behind a one-hot encoder, and LightGBM with its own categories. Columns that the schema
suggests as immutable are fixed; on Adult education may only rise, in the schema's order.
Columns that give the answer away are left out. Where fewer rows than asked for are refused, the
table is shuffled and cut again, and all is fitted anew.

An answer is valid if the judge accepts the returned row. At every waypoint: `broken` counts values
that cannot be (a level that no row has, a fraction of a count, a negative amount, a value between
an atom and the next value that a row has, a gap that comes or goes, a derived column that does not
fit), and `rules` what was not to change. Answers are lines of `real_tables.json` beside this
module; those that are there are not computed again.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import daace
from daace import Constraints, Explainer, Table

RECORD = Path(__file__).with_suffix(".json")

TABLES = (
    "heart_cleveland", "student_por", "south_german_credit", "compas", "adult", "bank_marketing",
    "credit_default",
)  # fmt: skip

JUDGES = ("density", "forest", "lightgbm")

#: Columns that give the answer away, weights, and the output of another model.
LEAKING = {
    "adult": ["fnlwgt"],
    "compas": ["decile_score", "score_text"],
    "bank_marketing": ["duration"],
    "student_por": ["G1", "G2"],
}

#: Columns of which one is a function of another.
DERIVED = {"adult": [("education", "education_num")], "compas": [("age", "age_cat")]}

#: Most rows to fit on, and their largest share.
MOST_ROWS, SHARE = 6000, 2 / 3

#: Shuffles of a table in which a judge may refuse too few rows.
SHUFFLES = 5

#: A value is an atom for the check if this share of the rows have it, at an end or at 0.
ATOM = 0.05


@dataclass(frozen=True)
class Task:
    """A table in two parts.

    Attributes:
        name: of the table.
        frame: all rows, the class last, shuffled.
        target: name of the class.
        wanted: the favourable class.
        fixed: columns that nobody can change.
        order: levels from low to high of columns that may only rise.
    """

    name: str
    frame: pd.DataFrame
    target: str
    wanted: str
    fixed: list[str]
    order: dict[str, list[str]]

    @classmethod
    def read(cls, name: str, *, seed: int = 0) -> Task:
        folder = Path(os.environ["DAACE_DATA"]) / "mixed"
        schema = json.loads((folder / "schema.json").read_text(encoding="utf-8"))[name]
        frame = pd.read_csv(folder / schema["file"], keep_default_na=False, na_values=[""])
        frame = frame.drop(columns=LEAKING.get(name, [])).sample(frac=1, random_state=seed)
        fixed = [n for n in schema["suggested_immutable"] if n in frame.columns]
        order = {"education": schema["ordinal"]["education"]} if name == "adult" else {}
        return cls(
            name,
            frame.reset_index(drop=True),
            schema["target"],
            schema["favourable"],
            fixed,
            order,
        )

    @property
    def features(self) -> list[str]:
        return [n for n in self.frame.columns if n != self.target]

    @property
    def numbers(self) -> list[str]:
        return [n for n in self.features if pd.api.types.is_numeric_dtype(self.frame[n])]

    @cached_property
    def cut(self) -> int:
        """Number of rows to fit on."""
        return min(MOST_ROWS, round(SHARE * len(self.frame)))

    @property
    def seen(self) -> pd.DataFrame:
        return self.frame.iloc[: self.cut]

    @property
    def held_out(self) -> pd.DataFrame:
        """The other rows, but for those with a gap where none was seen: models refuse them."""
        rows, full = self.frame.iloc[self.cut :], self.seen.notna().all()
        return rows[rows.loc[:, full].notna().all(axis=1)]

    def typed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return rows with text as pandas categories, whose levels are those of the seen rows."""
        levels = {n: sorted(self.seen[n].dropna().unique()) for n in self.features}
        levels |= self.order
        return frame.assign(
            **{
                n: pd.Categorical(frame[n], levels[n], ordered=n in self.order)
                for n in self.features
                if n not in self.numbers
            }
        )


# Judges -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judged:
    """An explainer, and who says whether a row is accepted.

    Attributes:
        explainer: with the rules.
        chance: probability of the favourable class of rows in the user's columns.
        form: puts raw rows into the dtypes that explainer and judge expect.
    """

    explainer: Explainer
    chance: Callable[[pd.DataFrame], np.ndarray]
    form: Callable[[pd.DataFrame], pd.DataFrame]


def judges(task: Task, names: list[str]) -> Iterator[tuple[str, Judged]]:
    """Yield the judges of a table, fitted on the seen rows."""
    bases: dict[bool, Explainer] = {}
    for name in names:
        typed = name == "lightgbm"
        form = task.typed if typed else pd.DataFrame.copy
        if typed not in bases:
            order = {} if typed else task.order
            table = Table.from_frame(form(task.seen), target=task.target, order=order)
            bases[typed] = daace.fit(table, judge="density")
        density = bases[typed].density
        rules = Constraints(
            fixed=[n for n in task.fixed if n in density.features_], only_up=list(task.order)
        )
        model = None if name == "density" else classifier(task, name)
        explainer = Explainer(density, judge="density", classifier=model, constraints=rules)
        own = density if model is None else model
        given = density.to_model if model is None else itemgetter(task.features)
        column = [str(c) for c in own.classes_].index(task.wanted)

        yield name, Judged(explainer, partial(ask, own, column, given), form)


def ask(
    judge: Any, column: int, given: Callable[[pd.DataFrame], Any], rows: pd.DataFrame
) -> np.ndarray:
    """Return the probability of a class that a judge gives rows."""
    answer: np.ndarray = judge.predict_proba(given(rows))[:, column]
    return answer


def classifier(task: Task, name: str) -> Any:
    """Return a classifier on raw columns."""
    X, y = task.seen[task.features], task.seen[task.target]
    if name == "lightgbm":
        from lightgbm import LGBMClassifier

        model = LGBMClassifier(n_estimators=100, random_state=0, n_jobs=1, verbose=-1)
        return model.fit(task.typed(X), y)
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    texts = [n for n in task.features if n not in task.numbers]
    columns = make_column_transformer(
        (SimpleImputer(), task.numbers), (OneHotEncoder(handle_unknown="ignore"), texts)
    )
    forest = RandomForestClassifier(100, min_samples_leaf=3, random_state=0, n_jobs=1)
    return make_pipeline(columns, forest).fit(X, y)


# The check ----------------------------------------------------------------------------------------


def impossible(task: Task, start: pd.Series, row: pd.Series) -> list[str]:
    """Return what cannot be in a row of a path, read off the raw rows that were fitted on."""
    found = []
    for name in task.features:
        known, value, before = task.seen[name].dropna(), row[name], start[name]
        if pd.isna(value) or pd.isna(before):
            if pd.isna(value) != pd.isna(before) and name in task.numbers:
                found.append(f"{name}: {before} -> {value}")
            continue
        if str(value) == str(before):
            continue
        if name not in task.numbers:
            if str(value) not in set(known.astype(str)):
                found.append(f"{name}: no row has '{value}'")
            continue
        number = float(value)
        if number == float(before):
            continue
        if (known == known.round()).all() and number != round(number):
            found.append(f"{name}: {number} is a fraction")
        if number < 0 <= known.min():
            found.append(f"{name}: {number} is negative")
        found += [f"{name}: {number} is beside {atom}" for atom in beside(known, number)]
    for source, derived in DERIVED.get(task.name, []):
        pairs = task.frame[[source, derived]].drop_duplicates().astype(str)
        if (str(row[source]), str(row[derived])) not in set(pairs.itertuples(index=False)):
            found.append(f"{derived}: {row[derived]} for {row[source]}")
    return found


def beside(known: pd.Series, number: float) -> list[float]:
    """Return the atoms between which and the next value of a row a number stands."""
    values, counts = np.unique(known.to_numpy(dtype=float), return_counts=True)
    atoms = []
    for atom in {0.0, values[0], values[-1]}:
        k = int(np.searchsorted(values, atom))
        if k == len(values) or values[k] != atom or counts[k] < ATOM * len(known):
            continue
        above = values[k + 1] if k + 1 < len(values) else np.inf
        below = values[k - 1] if k else -np.inf
        if below < number < atom or atom < number < above:
            atoms.append(float(atom))
    return atoms


def broken_rules(task: Task, path: pd.DataFrame) -> list[str]:
    """Return the rules that some waypoint of a path breaks."""
    found = [f"{name} changes" for name in task.fixed if len(set(path[name].astype(str))) > 1]
    for name, levels in task.order.items():
        ranks = [levels.index(str(value)) for value in path[name]]
        if ranks != sorted(ranks):
            found.append(f"{name} falls")
    return found


def out_of_range(task: Task, row: pd.Series, start: pd.Series) -> list[str]:
    """Return numbers beyond all rows that were fitted on, and beyond the start."""
    return [
        f"{n}: {row[n]}"
        for n in task.numbers
        if not pd.isna(row[n])
        and not pd.isna(start[n])
        and not min(task.seen[n].min(), start[n]) <= row[n] <= max(task.seen[n].max(), start[n])
    ]


def answer(task: Task, judged: Judged, rows: pd.DataFrame) -> dict[str, Any]:
    """Explain one row and check the answer."""
    began = time.process_time()
    e = judged.explainer.explain(rows, target=task.wanted)
    line: dict[str, Any] = {
        "seconds": round(time.process_time() - began, 3),
        "found": e.found,
        "status": str(e.status),
        "notes": [note.code for note in e.notes],
    }
    if not e.found:
        return line | {"words": [str(note) for note in e.notes]}
    path, start = e.path, rows.iloc[0]
    end = path.iloc[[-1]]
    steps = [path.iloc[k] for k in range(1, len(path))]
    changed = {n: [start[n], end[n].iloc[0]] for n in task.features}
    return line | {
        "chance": float(judged.chance(end)[0]),
        "valid": bool(judged.chance(end)[0] >= 0.5),
        "broken": sorted({text for step in steps for text in impossible(task, start, step)}),
        "rules": broken_rules(task, path),
        "outside": out_of_range(task, end.iloc[0], start),
        "steps": len(steps),
        "cost": e.cost,
        "changes": {
            n: [str(a), str(b)]
            for n, (a, b) in changed.items()
            if str(a) != str(b) and not (n in task.numbers and float(a) == float(b))
        },
    }


def run(name: str, wanted: list[str], rows: int, done: list[dict[str, Any]]) -> Iterator[Any]:
    """Yield the line of each row that is not done yet."""
    known = {(line["table"], line["judge"], line["row"], line.get("shuffle", 0)) for line in done}
    for shuffle in range(SHUFFLES):
        open_ = [j for j in wanted if sum(k[:2] == (name, j) for k in known) < rows]
        if not open_:
            return
        task = Task.read(name, seed=shuffle)
        for judge, judged in judges(task, open_):
            held_out = judged.form(task.held_out)
            left = rows - sum(k[:2] == (name, judge) and k[3] < shuffle for k in known)
            refused = np.flatnonzero(judged.chance(held_out[task.features]) < 0.5)[:left]
            for place in refused:
                key = {"table": name, "judge": judge, "row": int(place), "shuffle": shuffle}
                if tuple(key.values()) not in known:
                    known.add(tuple(key.values()))  # type: ignore[arg-type]
                    yield key | answer(task, judged, held_out[task.features].iloc[[place]])


def summary(lines: list[dict[str, Any]]) -> pd.DataFrame:
    """Return how many answers there are of each kind, by table and judge."""
    frame = pd.DataFrame(lines)
    found = frame["found"]
    frame["valid"] = frame["valid"].fillna(True) & found if "valid" in frame else found
    for name in ("broken", "rules", "outside"):
        frame[name] = [bool(x) if isinstance(x, list) else False for x in frame[name]]
    frame["L0"] = [len(x) if isinstance(x, dict) else np.nan for x in frame["changes"]]
    groups = frame.groupby(["table", "judge"], sort=False)
    return groups.agg(
        rows=("found", "size"),
        found=("found", "sum"),
        valid=("valid", "sum"),
        broken=("broken", "sum"),
        rules=("rules", "sum"),
        outside=("outside", "sum"),
        changed=("L0", "mean"),
        seconds=("seconds", "median"),
    ).round(2)


def main() -> None:
    """Answer what is missing in the record, and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=50)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--judges", nargs="+", default=list(JUDGES), choices=JUDGES)
    parser.add_argument("--record", type=Path, default=RECORD)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    done = json.loads(options.record.read_text()) if options.record.exists() else []
    with threadpool_limits(1):
        for name in options.tables:
            for line in run(name, options.judges, options.rows, done):
                done.append(line)
                text = ",\n ".join(json.dumps(one) for one in done)
                options.record.write_text(f"[\n {text}\n]\n", encoding="utf-8")
            print(summary([x for x in done if x["table"] == name]).to_string(), flush=True)


if __name__ == "__main__":
    main()
