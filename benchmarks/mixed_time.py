"""Time of one answer on tables with categories: against numbers alone, and against dice-ml.

    python -m benchmarks.mixed_time [--rows 20] [--tables adult south_german_credit]

`mixed` is a table of `DAACE_DATA/mixed` as it is. `numbers` is the same table with every column
turned into a number: the rank of its value, ties in random order, mapped to a normal deviate. Both
have the same rows, number of features, immutable columns and settings (profiles, changes="few").
Each row is explained by both, in alternation, once with the density and once with the committee as
judge; it is one that the judge of the mixed table refuses (the other judge may accept it already,
and then costs nothing: such rows do not count).

dice-ml's random and genetic methods and daace then answer the same rows of the mixed table in
alternation, with a random forest behind a one-hot encoder as judge. dice-ml is left out if it is
not installed. Seconds are CPU time, the first row of each method is not counted.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import time
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.stats import norm
from threadpoolctl import threadpool_limits

import daace
from benchmarks.recourse import Method, Task, classifiers, dice
from daace import Constraints, Explainer, Table

TABLES = ("south_german_credit", "adult")


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


def explainer(frame: pd.DataFrame, fixed: list[str]) -> Explainer:
    """Return profiles of a table with a committee, under the rules."""
    fitted = daace.fit(Table.from_frame(frame, target="class"))
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


def against_numbers(task: Task, rows: int) -> None:
    """Print the time of answers on the mixed table, and on one of numbers of the same size."""
    numbers = as_numbers(task)
    both = {
        "mixed": (explainer(task.seen, task.fixed), task.asked),
        "numbers": (explainer(numbers.loc[task.seen.index], task.fixed), numbers),
    }
    for name, (fitted, _) in both.items():
        sizes = np.bincount(fitted.density.components_.owner).tolist()
        print(f"{task.name}, {name}: {len(fitted.density.features_)} features, profiles {sizes}")
    for judge in ("density", "committee"):
        methods = {}
        asked = {name: replace(fitted, judge=judge) for name, (fitted, _) in both.items()}
        own, frame = asked["mixed"], both["mixed"][1]
        density = own.density
        chance = density.predict_proba(density.to_model(frame[task.features]))[:, 1]
        index = frame.index[chance < 0.5][:rows]
        for name, one in asked.items():
            source = both[name][1].loc[index, task.features]

            def answer(k: int, one: Explainer = one, source: pd.DataFrame = source) -> bool:
                e = one.explain(source.iloc[[k]], target=1)
                return bool(e.found and e.cost > 0)

            methods[name] = answer
        report(f"{task.name}, {judge}", alternate(methods, len(index)), "numbers")


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
    """Print means, medians, and ratios of means and of medians."""
    complete = seconds.dropna()
    mean, median = complete.mean(), complete.median()
    lines = pd.DataFrame(
        {
            "mean": mean,
            "median": median,
            "ratio of means": mean / mean[base],
            "ratio of medians": median / median[base],
        }
    )
    print(f"{title}, {len(complete)} rows\n{lines.round(3).to_string()}", flush=True)


def main() -> None:
    """Measure each table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
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
