"""Recourse on real tables with categories: us, dice-ml and NICE, same classifiers, same rows.

    python -m benchmarks.recourse [--rows 50] [--tables heart_cleveland compas]

Each table is cut into three parts: one that classifiers and methods are fitted on; one that no
method sees, for four unseen judges and for the distance to real rows of the target; and one whose
refused rows are the queries. Immutable columns of the schema are fixed where a method can do that.
NICE is optional: pip install --no-deps NICEx==0.2.3.

Per method, pooled over tables and classifiers: valid (the classifier accepts the returned row), L0
(columns that differ), L1 and L2 (range-scaled, a switch is 1), near (mean Gower distance to the 5
nearest unseen rows of the target), broken (a value of another type or level than any row has),
immutable (a fixed column changed), unseen (share of pairs of an end and an unseen judge that
accept), ms (CPU per row).
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import daace
from daace import Constraints, Table

TABLES = (
    "south_german_credit", "adult", "compas", "credit_default", "heart_cleveland", "bank_marketing",
)  # fmt: skip

#: Columns that are left out: they give the answer away, are weights, or another model's output.
LEAKING = {
    "adult": ["fnlwgt"],
    "compas": ["decile_score", "score_text"],
    "bank_marketing": ["duration"],
}

#: Rows of a table that are used at most.
MOST_ROWS = 6000

#: Takes one refused row and returns a row with the target, or None.
Method = Callable[[pd.DataFrame], pd.DataFrame | None]


@dataclass(frozen=True, eq=False)
class Task:
    """A table in three parts.

    Attributes:
        name: of the table.
        frame: all rows; the class is 1 where the outcome is favourable, else 0.
        seen: rows that methods and classifiers may use.
        unseen: rows for judges and distances.
        asked: rows to choose queries from.
        numbers: columns that are numbers.
        whole: columns that are whole numbers.
        fixed: columns that nobody can change.
    """

    name: str
    frame: pd.DataFrame
    seen: pd.DataFrame
    unseen: pd.DataFrame
    asked: pd.DataFrame
    numbers: list[str]
    whole: list[str]
    fixed: list[str]

    @classmethod
    def read(cls, name: str, *, seed: int = 0) -> Task:
        """Read a table of `$DAACE_DATA/mixed`; rows with gaps are dropped, as peers need."""
        folder = Path(os.environ["DAACE_DATA"]) / "mixed"
        schema = json.loads((folder / "schema.json").read_text())[name]
        frame = pd.read_csv(folder / schema["file"]).drop(columns=LEAKING.get(name, []))
        target = schema["target"]
        frame = frame.dropna().sample(frac=1, random_state=seed).head(MOST_ROWS)
        frame["class"] = (frame.pop(target).astype(str) == str(schema["favourable"])).astype(int)
        frame = frame.reset_index(drop=True)
        features = frame.columns[:-1]
        numbers = [n for n in features if pd.api.types.is_numeric_dtype(frame[n])]
        whole = [n for n in numbers if (frame[n] == frame[n].round()).all()]
        fixed = [n for n in schema["suggested_immutable"] if n in features]
        first, second = int(0.4 * len(frame)), int(0.8 * len(frame))
        parts = frame.iloc[:first], frame.iloc[first:second], frame.iloc[second:]
        return cls(name, frame, *parts, numbers, whole, fixed)

    @property
    def features(self) -> list[str]:
        """Names of the columns without the class."""
        return list(self.frame.columns[:-1])

    def pipeline(self, model: Any) -> Any:
        """Return a classifier on raw columns."""
        from sklearn.compose import make_column_transformer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        others = [n for n in self.features if n not in self.numbers]
        columns = make_column_transformer(
            (StandardScaler(), self.numbers),
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), others),
        )
        return make_pipeline(columns, model)


def classifiers(task: Task) -> dict[str, Any]:
    """Return the two classifiers that decide, fitted on the seen rows."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neural_network import MLPClassifier

    models = {
        "forest": RandomForestClassifier(200, min_samples_leaf=3, random_state=0, n_jobs=1),
        "mlp": MLPClassifier((32,), alpha=0.1, max_iter=300, random_state=0),
    }
    X, y = task.seen[task.features], task.seen["class"]
    return {name: task.pipeline(model).fit(X, y) for name, model in models.items()}


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


def ours(task: Task, model: Any) -> dict[str, Method]:
    """Return our default, judged by the classifier, and FACE over the same density."""
    table = Table.from_frame(task.seen, target="class")
    explainer = daace.fit(table)
    rules = Constraints(fixed=[n for n in task.fixed if n in explainer.density.features_])
    judged = daace.Explainer(
        explainer.density,
        committee=explainer.committee,
        judge=explainer.judge,
        classifier=model,
        constraints=rules,
    )

    def ask(row: pd.DataFrame, **settings: Any) -> pd.DataFrame | None:
        e = judged.explain(row, target=1, **settings)
        return e.path.iloc[[-1]] if e.found else None

    face = daace.Face(explainer.density.to_model(task.seen), graph="density", nodes=500)
    return {
        "daace": ask,
        "daace, min_posterior 0.7": partial(ask, min_posterior=0.7),
        "daace, FACE": partial(ask, planner=face),
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


# What came out ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ruler:
    """Measures ends on one table.

    Attributes:
        task: the table.
        model: the classifier that decides.
        judges: those that no method has seen.
    """

    task: Task
    model: Any
    judges: list[Any]

    def measure(self, row: pd.DataFrame, end: pd.DataFrame | None) -> dict[str, float]:
        """Return the measurements of one answer; only `found` if there is none."""
        if end is None:
            return {"found": 0.0, "valid": 0.0}
        task = self.task
        end = end[task.features]
        moves = self._moves(end, row)[0]
        target = task.unseen[task.unseen["class"] == 1][task.features]
        near = np.sort(self._moves(end, target).mean(axis=1))[:5].mean()
        accepted = [float(judge.predict(end)[0] == 1) for judge in self.judges]
        return {
            "found": 1.0,
            "valid": float(self.model.predict_proba(end)[0, 1] >= 0.5),
            "L0": float((moves > 1e-9).sum()),
            "L1": float(moves.sum()),
            "L2": float(np.sqrt((moves**2).sum())),
            "near": float(near),
            "broken": float(self._broken(end)),
            "immutable": float(any(moves[task.features.index(name)] > 1e-9 for name in task.fixed)),
            "unseen": float(np.mean(accepted)),
        }

    def _moves(self, end: pd.DataFrame, rows: pd.DataFrame) -> np.ndarray:
        parts = []
        for name in self.task.features:
            old, new = rows[name], end[name].iloc[0]
            if name in self.task.numbers:
                span = float(np.ptp(self.task.frame[name])) or 1.0
                parts.append(np.abs(old.astype(float).to_numpy() - float(new)) / span)
            else:
                parts.append((old.astype(str) != str(new)).to_numpy(dtype=float))
        return np.column_stack(parts)

    def _broken(self, end: pd.DataFrame) -> bool:
        for name in self.task.features:
            known, value = self.task.frame[name], end[name].iloc[0]
            if name not in self.task.numbers:
                if str(value) not in set(known.astype(str)):
                    return True
                continue
            number = float(value)
            fraction = name in self.task.whole and number != round(number)
            if fraction or (number < 0 <= known.min()):
                return True
        return False


def run(name: str, *, rows: int) -> list[dict[str, Any]]:
    """Return the measurements of every answer on one table."""
    task = Task.read(name)
    judges = unseen_judges(task)
    records = []
    for kind, model in classifiers(task).items():
        refused = task.asked[task.features][model.predict(task.asked[task.features]) == 0]
        queries = refused.head(rows)
        ruler = Ruler(task, model, judges)
        for label, method in {
            **ours(task, model),
            **dice(task, model),
            **nice(task, model),
        }.items():
            started, measured = time.process_time(), []
            ends = []
            for k in range(len(queries)):
                with contextlib.redirect_stderr(io.StringIO()):
                    ends.append(method(queries.iloc[[k]]))
            spent = (time.process_time() - started) / max(len(queries), 1)
            for k, end in enumerate(ends):
                measured.append(ruler.measure(queries.iloc[[k]], end))
            records += [
                {"table": name, "classifier": kind, "method": label, "ms": 1000 * spent, **one}
                for one in measured
            ]
            mean = pd.DataFrame(measured).mean().round(3).to_dict()
            print(f"{name}, {kind}, {label}: {1000 * spent:.0f} ms, {mean}", flush=True)
    return records


def main() -> None:
    """Run and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=50)
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    parser.add_argument("--out", type=Path, default=Path("recourse.json"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    records: list[dict[str, Any]] = []
    if options.out.exists():
        records = json.loads(options.out.read_text())
    for name in options.tables:
        if not any(record["table"] == name for record in records):  # resumes after a stop
            records += run(name, rows=options.rows)
            options.out.write_text(json.dumps(records))
    frame = pd.DataFrame(records)
    by_table = frame.groupby(["method", "table", "classifier"]).mean(numeric_only=True)
    print(by_table.groupby("method").mean().round(3).to_string())


if __name__ == "__main__":
    main()
