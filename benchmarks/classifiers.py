"""Somebody else's classifier: is a way found, and does the classifier agree with its end?

Per table a linear Gaussian network and four classifiers are fitted on the same rows; rows that
neither has seen are explained to the class that the classifier finds less probable. Every answer
is checked by the classifier itself, on the counterfactual as the user gets it.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import daace
from daace import Explainer, LinearGaussianNetwork

TABLES = ("breast_cancer", "phoneme", "MagicTelescope", "credit", "california")
STARTS = 50

#: Rows to fit on: those of the larger tables are cut to these.
ROWS = 6000


def models() -> dict[str, Any]:
    """Return the classifiers, unfitted, by name."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return {  # the slow ones last
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "gradient boosting": HistGradientBoostingClassifier(random_state=0),
        "MLP": make_pipeline(
            StandardScaler(), MLPClassifier(random_state=0, max_iter=300, early_stopping=True)
        ),
        "random forest": RandomForestClassifier(random_state=0),
    }


def rows(record: Path, *, names: tuple[str, ...] = TABLES, starts: int = STARTS) -> pd.DataFrame:
    """Explain `starts` rows for each table and classifier that is not in the record yet."""
    done = pd.read_csv(record) if record.exists() else pd.DataFrame(columns=["table", "model"])
    for name in names:
        waiting = [m for m in models() if not ((done.table == name) & (done.model == m)).any()]
        if not waiting:
            continue
        table = daace.preprocess(daace.load_table(name)).shuffle(rng=np.random.default_rng(0))
        rest = min(starts, len(table) // 4)
        seen, unseen = table.take(np.arange(rest, len(table))[:ROWS]), table.take(np.arange(rest))
        density = LinearGaussianNetwork().fit(seen)
        for model in waiting:
            answers = explain(density, seen, unseen, models()[model])
            answers = answers.assign(table=name, model=model)
            answers.to_csv(record, mode="a", header=not record.exists(), index=False)
    return summarise(pd.read_csv(record))


def explain(
    density: LinearGaussianNetwork,
    seen: daace.Table,
    unseen: daace.Table,
    model: Any,
) -> pd.DataFrame:
    """Return one line per row: how the search ended, what it took, and whether it is right."""
    features, queries = list(seen.features), unseen.to_frame()[list(seen.features)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(seen.to_frame()[features], seen.y)
    explainer = Explainer(density, classifier=model)
    lines = []
    for number in range(len(queries)):
        begin = time.perf_counter()
        e = explainer.explain(queries.iloc[number])
        seconds = time.perf_counter() - begin
        valid = False
        if e.found:
            shares = model.predict_proba(e.counterfactual.to_frame().T)[0]
            valid = bool(shares[list(model.classes_).index(e.target)] >= 0.5)
        plain = Explainer(density)
        begin = time.perf_counter()
        plain.explain(queries.iloc[number], target=e.target)
        lines.append(
            {
                "start": number,
                "status": str(e.status),
                "found": e.found,
                "valid": valid,
                "cost": e.cost,
                "calls": e.provenance.classifier_calls,
                "rows": e.provenance.classifier_rows,
                "seconds": seconds,
                "plain seconds": time.perf_counter() - begin,
            }
        )
    return pd.DataFrame(lines)


def summarise(answers: pd.DataFrame) -> pd.DataFrame:
    """Return found rate, validity among the found, and median effort per table and classifier."""
    ratio = answers["seconds"] / answers["plain seconds"]
    groups = answers.assign(
        valid=answers["valid"].where(answers["found"].astype(bool)).astype(float), ratio=ratio
    ).groupby(["table", "model"], sort=False)
    return groups.agg(
        starts=("start", "size"),
        found=("found", "mean"),
        valid=("valid", "mean"),
        calls=("calls", "median"),
        rows=("rows", "median"),
        ratio=("ratio", "median"),
    ).rename(columns={"ratio": "time / without classifier"})


if __name__ == "__main__":
    print(rows(Path(__file__).with_suffix(".csv")).to_string(float_format="%.3g"))
