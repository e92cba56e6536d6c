"""Time of one answer on tables with categories: against numbers alone, and against dice-ml.

    python -m benchmarks.mixed_time [--rows 20] [--tables adult south_german_credit]

`mixed` is a table of `DAACE_DATA/mixed` as it is. It is compared with tables of numbers alone that
have as many rows to fit on, about as many features and the same settings (profiles, changes="few"):
real ones of `DAACE_DATA/benchmark`, and `ranks`, the same table with every column turned into a
number: the rank of its value, ties in random order, mapped to a normal deviate. The first rows of
each that the density refuses are explained in alternation, once with the density and once with the
committee as judge. Immutable columns are fixed in `mixed` and `ranks`. Rows in which nothing has to
change do not count.

dice-ml's random and genetic methods and daace then answer the same rows of the mixed table in
alternation, with a random forest behind a one-hot encoder as judge. dice-ml is left out if it is
not installed. Seconds are CPU time, the first row of each method is not counted.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm
from threadpoolctl import threadpool_limits

import daace
from benchmarks.recourse import Method, Task, classifiers, dice
from daace import Constraints, Explainer, Table
from daace.data.files import read_frame

#: Tables of numbers with about as many features as each table: 20 and 20 for 20, 16 and 11 for 13.
TABLES = {
    "south_german_credit": ("eye_movements", "kdd_ipums_la_97-small"),
    "adult": ("house_16H", "wine"),
}


def as_numbers(task: Task, *, seed: int = 0) -> pd.DataFrame:
    """Return a table whose columns are normal deviates in the order of its values."""
    rng = np.random.default_rng(seed)
    columns = {}
    for name in task.features:
        values = task.frame[name]
        if name not in task.numbers:
            values = values.astype("category").cat.codes
        shuffled = values.iloc[rng.permutation(len(values))]
        ranks = shuffled.rank(method="first").sort_index()
        columns[name] = norm.ppf((ranks - 0.5) / len(ranks))
    return pd.DataFrame(columns, index=task.frame.index).assign(**{"class": task.frame["class"]})


def explainer(frame: pd.DataFrame, fixed: list[str], *, numbers: bool) -> Explainer:
    """Return profiles of a table with a committee, under the rules."""
    frame = frame.assign(**{"class": frame["class"].astype(int).astype(str)})
    kinds = "number" if numbers else None
    fitted = daace.fit(Table.from_frame(frame, target="class", kinds=kinds))
    rules = Constraints(fixed=[n for n in fixed if n in fitted.density.features_])
    return replace(fitted, constraints=rules)


def alternate(methods: dict[str, Callable[[int], bool]], rows: int) -> pd.DataFrame:
    """Return the CPU seconds of each method on each row, NaN where it does not count."""
    lines = []
    for k in range(rows):
        line = {}
        for name, method in methods.items():
            began = time.process_time()
            counts = method(k)
            line[name] = time.process_time() - began if counts else np.nan
        lines.append(line)
    return pd.DataFrame(lines).iloc[1:]


def real_numbers(name: str, rows: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return as many rows of a table of numbers to fit on, and others."""
    path = Path(os.environ["DAACE_DATA"]) / "benchmark" / f"{name}.parquet"
    frame = read_frame(path).sample(frac=1, random_state=0).reset_index(drop=True)
    return frame.iloc[:rows], frame.iloc[rows : 2 * rows]


def against_numbers(task: Task, rows: int) -> None:
    """Print the time of answers on the mixed table, and on tables of numbers of the same size."""
    numbers = as_numbers(task)
    parts = {
        "mixed": (task.seen, task.asked),
        "ranks": (numbers.loc[task.seen.index], numbers.loc[task.asked.index]),
        **{name: real_numbers(name, len(task.seen)) for name in TABLES[task.name]},
    }
    fitted = {}
    for name, (seen, _) in parts.items():
        fixed = task.fixed if name in ("mixed", "ranks") else []
        fitted[name] = explainer(seen, fixed, numbers=name != "mixed")
        density = fitted[name].density
        sizes = np.bincount(density.components_.owner).tolist()
        print(f"{task.name}, {name}: {len(density.features_)} features, profiles {sizes}")
    for judge in ("density", "committee"):
        methods = {}
        for name, (_, others) in parts.items():
            one = replace(fitted[name], judge=judge)
            density, classes = one.density, [str(c) for c in one.density.classes_]
            asked = others.drop(columns="class")
            chance = density.predict_proba(density.to_model(asked))[:, classes.index("1")]
            source = asked[chance < 0.5].head(rows)

            def answer(k: int, one: Explainer = one, source: pd.DataFrame = source) -> bool:
                e = one.explain(source.iloc[[k]], target="1") if k < len(source) else None
                return e is not None and e.found and e.cost > 0

            methods[name] = answer
        report(f"{task.name}, {judge}", alternate(methods, rows), "mixed")


def against_dice(task: Task, rows: int) -> None:
    """Print the time of answers by daace and dice-ml, with the same classifier."""
    model = classifiers(task)["forest"]
    fitted = daace.fit(Table.from_frame(task.seen, target="class"), judge="density")
    rules = Constraints(fixed=[n for n in task.fixed if n in fitted.density.features_])
    own = Explainer(fitted.density, judge="density", classifier=model, constraints=rules)

    def ask(row: pd.DataFrame) -> pd.DataFrame | None:
        e = own.explain(row, target=1)
        return e.path.iloc[[-1]] if e.found else None

    asked: dict[str, Method] = {"daace": ask, **dice(task, model)}
    refused = task.asked[task.features][model.predict(task.asked[task.features]) == 0].head(rows)
    found = dict.fromkeys(asked, 0)
    methods = {}
    for name, method in asked.items():

        def answer(k: int, name: str = name, method: Method = method) -> bool:
            with contextlib.redirect_stderr(io.StringIO()):
                end = method(refused.iloc[[k]])
            found[name] += end is not None
            return True

        methods[name] = answer
    report(f"{task.name}, forest", alternate(methods, len(refused)), "daace")
    print(f"  found of {len(refused)}: {found}", flush=True)


def report(title: str, seconds: pd.DataFrame, base: str) -> None:
    """Print means, medians, and their ratios to those of one method."""
    mean, median = seconds.mean(), seconds.median()
    lines = pd.DataFrame(
        {
            "mean": mean,
            "median": median,
            "rows": seconds.notna().sum(),
            f"mean of {base} / mean": mean[base] / mean,
            f"median of {base} / median": median[base] / median,
        }
    )
    print(f"{title}\n{lines.round(3).to_string()}", flush=True)


def main() -> None:
    """Measure each table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for name in options.tables:
            task = Task.read(name)
            against_numbers(task, options.rows)
            if importlib.util.find_spec("dice_ml") is not None:
                against_dice(task, options.rows)


if __name__ == "__main__":
    main()
