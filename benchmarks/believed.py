"""Do models that never saw ours accept the ends? Defaults against `judge="density"`.

    python -m benchmarks.believed [--tables NAME ...] [--rows 100] [--refits 10] [--peers]

Each table is cut in three: half of it for density and committee, three tenths for four unseen
judges (boosted trees, a neural network, a support vector machine, logistic regression), and a fifth
whose rows that all four refuse are the queries, up to `--rows` over all splits. Columns that give
the answer away are left out; columns that nobody can change are not fixed. Splits have the seeds
`--first`, `--first` + 1, ...: what is reported has 0 to 4, whatever is tuned is tuned on others.

Per table and setting: n, found, the share of ends that each unseen judge accepts, `outside` (share
of ends with a changed feature outside the range, or the levels, of the target's real rows),
`changed` (features, median), `cost` (median) and `ms` (CPU a row, in batches). With `--refits`, for
the defaults: the share of (end, refit) pairs in which a committee, a random forest or a logistic
regression of a bootstrap sample of our half still gives the target. With `--peers`, the same rows
are asked of dice-ml and NICE about a random forest of our half (gaps are filled).
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import daace
from benchmarks.recourse import LEAKING, Task, dice, nice
from daace import Table, load_table

#: Tables with the outcome that people want; of some only as many rows as here.
TABLES = {
    "breast_cancer": "benign",
    "MagicTelescope": "1",
    "california": "1",
    "south_german_credit": "good",
    "adult": ">50K",
    "compas": "no",
    "credit_default": "no",
    "heart_cleveland": "no",
    "bank_marketing": "yes",
}

#: Rows of a table that are used at most.
MOST_ROWS = 6000

#: Settings of the explainer that are compared.
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "density": {"judge": "density"},
    "density, all": {"judge": "density", "changes": "all"},
}


def unseen_judges(table: Table) -> dict[str, Any]:
    """Return four judges fitted on rows that neither density nor committee has seen."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC

    frame = table.to_frame()[list(table.features)]
    models = {
        "trees": HistGradientBoostingClassifier(max_iter=150, random_state=1),
        "mlp": MLPClassifier((50,), alpha=0.1, max_iter=300, random_state=1),
        "svm": SVC(random_state=1),
        "logistic": LogisticRegression(max_iter=2000),
    }
    return {name: on_columns(frame, model).fit(frame, table.y) for name, model in models.items()}


def on_columns(frame: pd.DataFrame, model: Any) -> Any:
    """Return a pipeline of scaled numbers and one-hot categories, and a model."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = [n for n in frame if pd.api.types.is_numeric_dtype(frame[n])]
    others = [n for n in frame if n not in numbers]
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), others),
    )
    return make_pipeline(columns, model)


def refit_judges(table: Table, number: int) -> dict[str, Any]:
    """Return models of a bootstrap sample: functions that predict the class of a frame."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng([number, 7])
    sample = table.take(np.sort(rng.integers(len(table), size=len(table))))
    explainer = daace.fit(sample)
    density, committee = explainer.density, explainer.committee
    assert committee is not None
    frame = sample.to_frame()[list(table.features)]
    forest = on_columns(frame, RandomForestClassifier(200, random_state=number)).fit(
        frame, sample.y
    )
    logistic = on_columns(frame, LogisticRegression(max_iter=2000)).fit(frame, sample.y)

    def agree(rows: pd.DataFrame) -> np.ndarray:
        return density.classes_[committee.log_posterior(density.to_model(rows)).argmax(axis=1)]

    return {"committee": agree, "forest": forest.predict, "logistic regression": logistic.predict}


def is_outside(end: pd.DataFrame, changed: list[str], real: pd.DataFrame) -> bool:
    """Tell whether a feature that changed ends where no real row of the target is.

    Args:
        end: one row.
        changed: features that differ from the start.
        real: rows of the target.
    """
    for name in changed:
        value, known = end[name].iloc[0], real[name]
        if pd.isna(value):
            outside = not known.isna().any()
        elif pd.api.types.is_numeric_dtype(known):
            outside = not known.min() <= value <= known.max()
        else:
            outside = str(value) not in set(known.astype(str))
        if outside:
            return True
    return False


def read(name: str) -> Table:
    """Return a table without columns that give the answer away."""
    table = load_table(name)
    frame = table.to_frame().drop(columns=LEAKING.get(name, []))
    order = {
        f.name: list(f.levels) for f in table.encoding.features
        if f.kind == "ordered" and f.name in frame and isinstance(f.levels[0], str)
    }  # fmt: skip
    frame = frame.sample(frac=1, random_state=0).head(MOST_ROWS).reset_index(drop=True)
    kinds = "number" if name in ("MagicTelescope", "california") else None
    return Table.from_frame(frame, target=table.target, order=order, kinds=kinds)


def ask_peers(
    name: str, ours: Table, queries: pd.DataFrame, target: str, judges: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return what was measured of the ends of other tools, which explain a random forest."""
    from sklearn.ensemble import RandomForestClassifier

    features = list(ours.features)
    rows = ours.to_frame()[features]
    numbers = [n for n in features if pd.api.types.is_numeric_dtype(rows[n])]
    others = [n for n in features if n not in numbers]
    fill = rows[numbers].median().to_dict() | dict.fromkeys(others, "missing")
    types = dict.fromkeys(numbers, float) | dict.fromkeys(others, object)
    seen, queries = (frame.astype(types).fillna(fill) for frame in (rows, queries[features]))
    seen["class"] = (ours.y.astype(str) == target).astype(int)
    real = seen[seen["class"] == 1]
    task = Task(name, seen, seen, seen, seen, numbers, [], [])
    forest = RandomForestClassifier(200, min_samples_leaf=3, random_state=0)
    model = task.pipeline(forest).fit(seen[features], seen["class"])
    records: list[dict[str, Any]] = []
    for method, ask in {**dice(task, model), **nice(task, model)}.items():
        began = time.process_time()
        with contextlib.redirect_stderr(io.StringIO()):
            ends = [ask(queries.iloc[[k]]) for k in range(len(queries))]
        spent = 1000 * (time.process_time() - began) / max(len(queries), 1)
        for k, end in enumerate(ends):
            one: dict[str, Any] = {"table": name, "setting": method, "ms": spent}
            one["found"] = float(end is not None)
            if end is not None:
                end, start = end[features], queries.iloc[k]
                end = end.astype(dict.fromkeys(numbers, float))
                changed = [n for n in features if str(end[n].iloc[0]) != str(start[n])]
                for judge, other in judges.items():
                    one[judge] = float(str(other.predict(end)[0]) == target)
                one["outside"] = float(is_outside(end, changed, real))
                one["changed"] = len(changed)
            records.append(one)
    return records


def run(
    name: str, *, rows: int, split: int, refits: int = 0, peers: bool = False
) -> list[dict[str, Any]]:
    """Return what was measured of every end of a split."""
    table, target = read(name), TABLES[name]
    order = np.random.default_rng(split).permutation(len(table))
    cuts = np.split(order, [len(table) // 2, 4 * len(table) // 5])
    ours, theirs, asked = (table.take(np.sort(cut)) for cut in cuts)
    judges = unseen_judges(theirs)
    frame = asked.to_frame()[list(table.features)]
    refused = np.all([j.predict(frame).astype(str) != target for j in judges.values()], axis=0)
    queries = frame[refused].head(rows)
    label = next(c for c in table.classes.tolist() if str(c) == target)
    real = table.to_frame()[table.y == label]
    fitted = daace.fit(ours)
    refitted = [refit_judges(ours, k) for k in range(refits)]
    records: list[dict[str, Any]] = []
    for setting, arguments in SETTINGS.items():
        explainer = dataclasses.replace(fitted, **arguments)
        explainer.explain_batch(queries.head(2), target=label)  # what is computed once
        began = time.process_time()
        answers = list(explainer.explain_batch(queries, target=label))
        spent = 1000 * (time.process_time() - began) / max(len(queries), 1)
        for e in answers:
            one: dict[str, Any] = {"table": name, "split": split, "setting": setting, "ms": spent}
            one["found"] = float(e.found)
            if e.found:
                end = e.path.iloc[[-1]][list(table.features)]
                for judge, model in judges.items():
                    one[judge] = float(str(model.predict(end)[0]) == target)
                for kind in refitted[0] if refitted and setting == "default" else ():
                    held = [str(models[kind](end)[0]) == target for models in refitted]
                    one[f"{kind} again"] = float(np.mean(held))
                changed = e.changes()["feature"].tolist()
                one["outside"] = float(is_outside(end, changed, real))
                one["changed"] = len(changed)
                one["cost"] = e.cost
                one["asked"] = e.provenance.min_posterior
            records.append(one)
    if peers:
        asked_of_peers = ask_peers(name, ours, queries, target, judges)
        records += [{**one, "split": split} for one in asked_of_peers]
    return records


def summarize(records: list[dict[str, Any]]) -> pd.DataFrame:
    """Return one row for each table and setting, and one for all tables."""
    frame = pd.DataFrame(records)
    pooled = pd.concat([frame, frame.assign(table="all")])
    groups = pooled.groupby(["setting", "table"], sort=False)
    result = groups.mean(numeric_only=True)
    for name in ("changed", "cost"):
        result[name] = groups[name].median()
    result.insert(0, "n", groups.size())
    return result.drop(columns="split").round(3)


def main() -> None:
    """Run and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="seed of the first split")
    parser.add_argument("--refits", type=int, default=0)
    parser.add_argument("--peers", action="store_true", help="ask dice-ml and NICE, too")
    parser.add_argument("--out", type=Path, default=Path("believed.json"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    records: list[dict[str, Any]] = []
    if options.out.exists():
        records = json.loads(options.out.read_text())
    done = {(record["table"], record["split"]) for record in records}
    for name in options.tables:
        for split in range(options.first, options.first + options.splits):
            if (name, split) not in done:  # resumes after a stop
                each = -(-options.rows // options.splits)
                records += run(
                    name, rows=each, split=split, refits=options.refits, peers=options.peers
                )
                options.out.write_text(json.dumps(records))
        print(summarize([r for r in records if r["table"] == name]).to_string(), flush=True)
    print(summarize(records).to_string())


if __name__ == "__main__":
    main()
