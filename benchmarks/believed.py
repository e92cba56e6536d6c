"""Do models that never saw ours accept the ends? Defaults against `judge="density"`.

    python -m benchmarks.believed [--tables breast_cancer adult] [--rows 100] [--splits 5]

Each table is cut in three: half of it for density and committee, three tenths for four unseen
judges (boosted trees, a neural network, a support vector machine, logistic regression), and a fifth
whose rows that all four refuse are the queries, up to `--rows` over all splits. Columns that give
the answer away are left out; columns that nobody can change are not fixed.

Per table and setting: n, found, the share of ends that each unseen judge accepts, `outside` (share
of ends with a changed feature outside the range, or the levels, of the target's real rows),
`changed` (features, median), `cost` (median) and `ms` (CPU a row, in batches).
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import daace
from benchmarks.recourse import LEAKING
from daace import Explanation, Table, load_table

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

#: Settings that are compared: arguments of `fit`, and of the explainer.
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "density": {"judge": "density"},
}


def unseen_judges(table: Table) -> dict[str, Any]:
    """Return four judges fitted on rows that neither density nor committee has seen."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.svm import SVC

    frame = table.to_frame()[list(table.features)]
    numbers = [n for n in frame if pd.api.types.is_numeric_dtype(frame[n])]
    others = [n for n in frame if n not in numbers]
    models = {
        "trees": HistGradientBoostingClassifier(max_iter=150, random_state=1),
        "mlp": MLPClassifier((50,), alpha=0.1, max_iter=300, random_state=1),
        "svm": SVC(random_state=1),
        "logistic": LogisticRegression(max_iter=2000),
    }
    judges = {}
    for name, model in models.items():
        columns = make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), others),
        )
        judges[name] = make_pipeline(columns, model).fit(frame, table.y)
    return judges


def is_outside(e: Explanation, real: pd.DataFrame) -> bool:
    """Tell whether a feature that changed ends where no real row of the target is."""
    for name in e.changes()["feature"]:
        value, known = e.path[name].iloc[-1], real[name]
        if pd.isna(value):
            outside = not known.isna().any()
        elif pd.api.types.is_numeric_dtype(known):
            outside = not known.min() <= value <= known.max()
        else:
            outside = value not in set(known)
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


def run(name: str, *, rows: int, splits: int) -> list[dict[str, Any]]:
    """Return what was measured of every end."""
    table, target = read(name), TABLES[name]
    records: list[dict[str, Any]] = []
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(table))
        cuts = np.split(order, [len(table) // 2, 4 * len(table) // 5])
        ours, theirs, asked = (table.take(np.sort(cut)) for cut in cuts)
        judges = unseen_judges(theirs)
        frame = asked.to_frame()[list(table.features)]
        refused = np.all([j.predict(frame).astype(str) != target for j in judges.values()], axis=0)
        queries = frame[refused].head(-(-rows // splits))
        label = next(c for c in table.classes.tolist() if str(c) == target)
        real = table.to_frame()[table.y == label]
        for setting, arguments in SETTINGS.items():
            explainer = daace.fit(ours, **arguments)
            explainer.explain_batch(queries.head(2), target=label)  # what is computed once
            began = time.process_time()
            answers = list(explainer.explain_batch(queries, target=label))
            spent = 1000 * (time.process_time() - began) / len(queries)
            for e in answers:
                one: dict[str, Any] = {"table": name, "setting": setting, "ms": spent}
                one["found"] = float(e.found)
                if e.found:
                    end = e.path.iloc[[-1]][list(table.features)]
                    for judge, model in judges.items():
                        one[judge] = float(str(model.predict(end)[0]) == target)
                    one["outside"] = float(is_outside(e, real))
                    one["changed"] = len(e.changes())
                    one["cost"] = e.cost
                    one["asked"] = e.provenance.min_posterior
                records.append(one)
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
    return result.round(3)


def main() -> None:
    """Run and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("believed.json"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    records: list[dict[str, Any]] = []
    if options.out.exists():
        records = json.loads(options.out.read_text())
    for name in options.tables:
        if not any(record["table"] == name for record in records):  # resumes after a stop
            records += run(name, rows=options.rows, splits=options.splits)
            options.out.write_text(json.dumps(records))
            print(summarize([r for r in records if r["table"] == name]).to_string(), flush=True)
    print(summarize(records).to_string())


if __name__ == "__main__":
    main()
