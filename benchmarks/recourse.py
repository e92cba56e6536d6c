"""Recourse on real tables with categories: us, dice-ml and NICE, same classifiers, same rows.

    python -m benchmarks.recourse [--rows 50] [--tables heart_cleveland compas]

Each table is cut into three parts: one that classifiers and methods are fitted on; one that no
method sees, for four unseen judges and for the distance to real rows of the target; and one whose
refused rows are the queries. Immutable columns of the schema are fixed where a method can do that.
NICE is optional: pip install --no-deps NICEx==0.2.3.

Per method: valid (share of the rows for which the classifier accepts the row that was returned).
Of the rows that were returned: L0 (columns that differ), L1 and L2 (range-scaled, a switch is 1),
near (mean Gower distance to the 5 nearest unseen rows of the target), broken (a value of another
type or level than any row has, or a derived column that does not fit), immutable (a fixed column
changed), unseen (share of pairs of an end and an unseen judge that accept). ms is CPU time of a
row. L0 and ms are medians of a table and classifier, all others means; the summary is the mean over
tables and classifiers, each counting once.

Answers are lines of `recourse.json` beside this module; those that are there are not computed
again, so that more rows can be asked about later.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib.util
import io
import json
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import daace
from benchmarks.mixed_task import LEAKING as LEAKING
from benchmarks.mixed_task import Ruler
from benchmarks.mixed_task import Task as Task
from daace import Constraints, Table

RECORD = Path(__file__).with_suffix(".json")

TABLES = (
    "south_german_credit", "adult", "compas", "credit_default", "heart_cleveland", "bank_marketing",
)  # fmt: skip

#: Classifiers that decide.
CLASSIFIERS = ("forest", "mlp")

#: Takes one refused row and returns a row with the target, or None.
Method = Callable[[pd.DataFrame], pd.DataFrame | None]


def classifiers(task: Task) -> dict[str, Any]:
    """Return the two classifiers that decide, fitted on the seen rows."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neural_network import MLPClassifier

    models = {
        "forest": RandomForestClassifier(200, min_samples_leaf=3, random_state=0, n_jobs=1),
        "mlp": MLPClassifier((32,), alpha=0.1, max_iter=300, random_state=0),
    }
    X, y = task.seen[task.features], task.seen["class"]
    return {name: task.pipeline(models[name]).fit(X, y) for name in CLASSIFIERS}


def unseen_judges(task: Task) -> list[Any]:
    """Return four judges of other kinds, fitted on rows that no method sees."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC

    models = [
        HistGradientBoostingClassifier(max_iter=150, random_state=1),
        MLPClassifier((50,), alpha=0.1, max_iter=300, random_state=1),
        SVC(class_weight=None, random_state=1),
        LogisticRegression(max_iter=2000),
    ]
    X, y = task.unseen[task.features], task.unseen["class"]
    return [task.pipeline(model).fit(X, y) for model in models]


# Methods ------------------------------------------------------------------------------------------


class Both:
    """A classifier that asks another one and the committee, for columns as the other one has them.

    Args:
        model: the other one.
        committee: its probability counts half of what it asks for by default, so that 0.5 and more
            is said where the other one says so, and every judge gives its default.
    """

    def __init__(self, model: Any, committee: Any) -> None:
        self.classes_, self.feature_names_in_ = model.classes_, model.feature_names_in_
        self._model, self._committee = model, committee

    def predict_proba(self, rows: pd.DataFrame) -> np.ndarray:
        committee = self._committee
        X = committee.density.to_model(rows)
        others = 0.5 * np.exp(committee.log_posterior(X)[:, 1]) / committee.defaults[1]
        accepted = np.minimum(self._model.predict_proba(rows)[:, 1], others)
        return np.column_stack([1 - accepted, accepted])


def ours(task: Task, model: Any) -> dict[str, Method]:
    """Return our methods: who decides is the classifier alone, or the committee as well."""
    explainer = daace.fit(Table.from_frame(task.seen, target="class"))
    density, committee = explainer.density, explainer.committee
    rules = Constraints(fixed=[n for n in task.fixed if n in density.features_])
    assert committee is not None

    def ask(judged: daace.Explainer, row: pd.DataFrame, **settings: Any) -> pd.DataFrame | None:
        e = judged.explain(row, target=1, **settings)
        return e.path.iloc[[-1]] if e.found else None

    def judged_by(classifier: Any) -> daace.Explainer:
        return dataclasses.replace(explainer, classifier=classifier, constraints=rules)

    face = daace.Face(density.to_model(task.seen), graph="density", nodes=500)
    alone = judged_by(model)
    return {
        "daace": partial(ask, alone),
        "daace, min_posterior 0.7": partial(ask, alone, min_posterior=0.7),
        "daace, with committee": partial(ask, judged_by(Both(model, committee))),
        "daace, FACE": partial(ask, alone, planner=face),
    }


def dice(task: Task, model: Any) -> dict[str, Method]:
    """Return dice-ml's methods that need no gradients, told what cannot change."""
    import dice_ml

    data = dice_ml.Data(dataframe=task.seen, continuous_features=task.numbers, outcome_name="class")
    free = [n for n in task.features if n not in task.fixed]

    def ask(search: Any, row: pd.DataFrame, **settings: Any) -> pd.DataFrame | None:
        try:
            found = search.generate_counterfactuals(
                row, total_CFs=1, desired_class=1, features_to_vary=free, verbose=False, **settings
            )
        except Exception:  # its way to say that there is none, and what it cannot handle
            return None
        end = found.cf_examples_list[0].final_cfs_df
        return None if end is None or not len(end) else end[task.features].iloc[[0]]

    methods: dict[str, Method] = {}
    for kind in ("random", "genetic"):
        search = dice_ml.Dice(data, dice_ml.Model(model=model, backend="sklearn"), method=kind)
        seed = {"random_seed": 0} if kind == "random" else {}
        methods[f"dice-ml, {kind}"] = partial(ask, search, **seed)
    return methods


def nice(task: Task, model: Any) -> dict[str, Method]:
    """Return NICE, if it is installed; it cannot be told what cannot change."""
    if importlib.util.find_spec("nice") is None:
        print("NICE is left out: pip install --no-deps NICEx==0.2.3")
        return {}
    from nice import NICE

    features = task.features
    levels = {n: sorted(task.frame[n].unique()) for n in features if n not in task.numbers}

    def encode(frame: pd.DataFrame) -> np.ndarray:
        codes = {n: frame[n].map({v: k for k, v in enumerate(levels[n])}) for n in levels}
        return frame[features].assign(**codes).to_numpy(dtype=float)

    def decode(X: np.ndarray) -> pd.DataFrame:
        frame = pd.DataFrame(np.atleast_2d(X), columns=features)
        for n, known in levels.items():
            frame[n] = [known[int(code)] for code in frame[n]]
        return frame

    def ask(search: Any, row: pd.DataFrame) -> pd.DataFrame | None:
        return decode(np.asarray(search.explain(encode(row)), dtype=float))

    methods: dict[str, Method] = {}
    for kind in ("none", "sparsity", "proximity"):
        search = NICE(
            predict_fn=lambda X: model.predict_proba(decode(X)),
            X_train=encode(task.seen),
            cat_feat=[features.index(n) for n in levels],
            num_feat=[features.index(n) for n in task.numbers],
            y_train=task.seen["class"].to_numpy(),
            optimization=kind,
        )
        methods[f"NICE, {kind}"] = partial(ask, search)
    return methods


def methods_of(task: Task, model: Any) -> dict[str, Method]:
    """Return all methods that are installed, by name."""
    return {**ours(task, model), **dice(task, model), **nice(task, model)}


def run(name: str, kind: str, rows: int, done: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the line of each answer that is not there yet.

    Args:
        name: of the table.
        kind: of the classifier.
        rows: refused rows to ask about.
        done: lines that are there.
    """
    here = [line for line in done if (line["table"], line["classifier"]) == (name, kind)]
    task = Task.read(name)
    model = classifiers(task)[kind]
    ruler = Ruler(task, model, unseen_judges(task))
    asked = task.asked[task.features]
    refused = asked[model.predict(asked) == 0].head(rows)
    for label, method in methods_of(task, model).items():
        known = {line["row"] for line in here if line["method"] == label}
        for k in sorted({*range(len(refused))} - known):
            row = refused.iloc[[k]]
            began = time.process_time()
            end = answer(method, row)
            spent = 1000 * (time.process_time() - began)
            measured = {n: round(value, 5) for n, value in ruler.measure(row, end).items()}
            key = {"table": name, "classifier": kind, "method": label, "row": k}
            yield key | {"ms": round(spent)} | measured


def answer(method: Method, row: pd.DataFrame) -> pd.DataFrame | None:
    """Return what a method says of a row, without its progress bars."""
    with contextlib.redirect_stderr(io.StringIO()):
        return method(row)


def summary(lines: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the mean over tables and classifiers of each method, over rows that all answered."""
    frame = pd.DataFrame(lines)
    asked = frame.groupby(["table", "classifier", "row"])["method"].transform("nunique")
    frame = frame[asked == frame["method"].nunique()]
    groups = frame.groupby(["method", "table", "classifier"], sort=False)
    each = groups.mean(numeric_only=True).drop(columns=["row", "found"])
    each["L0"], each["ms"] = groups["L0"].median(), groups["ms"].median()
    result = each.groupby("method", sort=False).mean()
    result.insert(0, "n", frame.groupby("method").size())
    return result.round(3)


def main() -> None:
    """Answer what is missing in the record, and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=50)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--classifiers", nargs="+", default=list(CLASSIFIERS), choices=CLASSIFIERS)
    parser.add_argument("--record", type=Path, default=RECORD)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    done = json.loads(options.record.read_text()) if options.record.exists() else []
    with threadpool_limits(1):
        for name in options.tables:
            for kind in options.classifiers:
                for line in run(name, kind, options.rows, done):
                    done.append(line)
                    text = ",\n ".join(json.dumps(one) for one in done)
                    options.record.write_text(f"[\n {text}\n]\n", encoding="utf-8")
            here = [line for line in done if line["table"] == name]
            print(name, summary(here).to_string(), sep="\n", flush=True)
    print("all", summary(done).to_string(), sep="\n")


if __name__ == "__main__":
    main()
