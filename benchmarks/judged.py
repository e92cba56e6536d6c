"""Does every judge accept its own answers? Random problems with whole numbers and other rules.

    python -m benchmarks.judged [PROBLEMS] [SEED]

Each judge gets its share of the problems, and is then asked about `e.path.iloc[[-1]]` and about
`e.counterfactual` as a frame. An answer that is denied is printed; the exit code is then 1.

Judges of simulated people with four numbers: the density, a committee, a rule on the parity of an
age, logistic regression, a forest, LightGBM, a one-hot encoder. Judges of the mixed tables in
`DAACE_DATA` (heart_cleveland, south_german_credit): the density, a committee, and pipelines of a
one-hot encoder with logistic regression and a forest, which see text, truth values and gaps as the
user has them.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import daace
from daace.explain.judging.committee import Committee

WHOLE = ["age", "children"]


def people(rng: np.random.Generator, rows: int = 600) -> pd.DataFrame:
    age, children = rng.integers(20, 70, rows), rng.poisson(1.2, rows)
    income = np.exp(rng.normal(7.5, 0.4, rows)) + 10 * age
    debt = rng.normal(20, 6, rows) - 2 * children
    score = 0.05 * (age - 45) + 0.002 * (income - 2000) - 0.1 * (debt - 20) - 0.3 * children
    granted = np.where(score + rng.normal(0, 0.7, rows) > 0, "yes", "no")
    return pd.DataFrame(
        {"age": age, "children": children, "income": income, "debt": debt, "granted": granted}
    )


def parity(rows: pd.DataFrame) -> np.ndarray:
    return np.where(rows["age"].astype(int) % 2 == 0, 0.9, 0.1)


def judges(frame: pd.DataFrame) -> dict[str, Any]:
    X, y = frame.drop(columns="granted"), frame["granted"]
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), WHOLE), remainder=StandardScaler()
    )
    return {
        "density": None,
        "parity": parity,
        "logistic": make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y),
        "forest": RandomForestClassifier(40, min_samples_leaf=3, random_state=0).fit(X, y),
        "LightGBM": lightgbm.LGBMClassifier(n_estimators=40, verbose=-1, random_state=0).fit(X, y),
        "one-hot": make_pipeline(encoder, LogisticRegression(max_iter=500)).fit(X, y),
    }


def mixed_judges(frame: pd.DataFrame, target: str) -> dict[str, Any]:
    X, y = frame.drop(columns=target), frame[target]
    words = X.select_dtypes(exclude="number").columns.tolist()
    few = [name for name in X.columns if name not in words and X[name].nunique() < 20]

    def pipeline(model: Any) -> Any:
        encoder = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), [*words, *few]), remainder=StandardScaler()
        )
        return make_pipeline(encoder, model).fit(X, y)

    return {
        "density": None,
        "one-hot logistic": pipeline(LogisticRegression(max_iter=2000)),
        "one-hot forest": pipeline(RandomForestClassifier(40, min_samples_leaf=3, random_state=0)),
    }


def people_rules(row: pd.Series, rng: np.random.Generator) -> daace.Constraints:
    chosen: dict[str, Any] = {"integer": WHOLE}
    if rng.random() < 0.4:
        most = float(row["income"] + 20 * row["debt"] + rng.uniform(0, 1000))
        chosen["links"] = [daace.Link({"income": 1, "debt": 20}, at_most=most)]
    if rng.random() < 0.3:
        chosen["max_changed"] = int(rng.integers(1, 4))
    if rng.random() < 0.3:
        chosen["only_up"] = ["age"]
    if rng.random() < 0.3:
        chosen["lower"] = {"children": 0}
    if rng.random() < 0.2:
        chosen["upper"] = {"debt": float(max(row["debt"], 30.0))}
    if rng.random() < 0.2:
        chosen["max_rise"] = {"income": 333.3}
    return daace.Constraints(**chosen)


def mixed_rules(row: pd.Series, table: daace.Table, rng: np.random.Generator) -> daace.Constraints:
    features = table.encoding.features
    values = [f for f in features if not f.coded and f.kind == "whole" and not f.atoms]
    codes = [f for f in features if f.coded]
    chosen: dict[str, Any] = {"integer": [f.name for f in values]}
    if rng.random() < 0.4:
        first, second = rng.choice([f.name for f in values], 2, replace=False).tolist()
        most = float(row[first] + row[second] + rng.uniform(0, 10))
        chosen["links"] = [daace.Link({first: 1, second: 1}, at_most=most)]
    if rng.random() < 0.3:
        chosen["max_changed"] = int(rng.integers(1, 5))
    if rng.random() < 0.3:
        chosen["only_up"] = [values[int(rng.integers(len(values)))].name]
    if rng.random() < 0.3:
        chosen["fixed"] = [codes[int(rng.integers(len(codes)))].name]
    if rng.random() < 0.3:
        feature = codes[int(rng.integers(len(codes)))]
        if feature.name not in chosen.get("fixed", ()) and isinstance(row[feature.name], str):
            allowed = {row[feature.name], *rng.choice(list(feature.levels), 2).tolist()}
            chosen["allowed"] = {feature.name: sorted(allowed)}
    return daace.Constraints(**chosen)


def probability(judge: Any, density: Any, rows: pd.DataFrame, target: str) -> float:
    """Return what a judge says of one row, asked as a user would."""
    k = density.class_index(target)
    if judge is None:
        return float(density.predict_proba(density.to_model(rows))[0, k])
    if isinstance(judge, Committee):
        return float(judge.probabilities(density.to_model(rows), k).min())
    if judge is parity:
        return float(judge(rows)[0] if k == 1 else 1 - judge(rows)[0])
    return float(judge.predict_proba(rows)[0, list(judge.classes_).index(target)])


@dataclass(frozen=True)
class Setting:
    """A table with judges, and how rules are drawn for a row of it."""

    name: str
    frame: pd.DataFrame
    target: str
    density: Any
    judges: dict[str, Any]
    rules: Callable[[pd.Series, np.random.Generator], daace.Constraints]
    whole: list[str]


def settings(rng: np.random.Generator) -> list[Setting]:
    frame = people(rng)
    table = daace.Table.from_frame(frame, target="granted", kinds="number")
    density = daace.LinearGaussianNetwork().fit(table)
    asked = {**judges(frame), "committee": Committee.train(density, table, None)}
    found = [Setting("people", frame, "granted", density, asked, people_rules, WHOLE)]
    for name in ("heart_cleveland", "south_german_credit"):
        try:
            table = daace.load_table(name)
        except daace.InvalidInput:
            print(f"{name} is not in DAACE_DATA: left out")
            continue
        frame = table.to_frame()
        rules = partial(mixed_rules, table=table)
        whole = [f.name for f in table.encoding.features if f.kind == "whole"]
        density = daace.LinearGaussianNetwork(profiles="auto").fit(table)
        committee = Committee.train(density, table, None)
        asked = {**mixed_judges(frame, table.target), "committee": committee}
        found.append(Setting(name, frame, table.target, density, asked, rules, whole))
    return found


def main(problems: int = 1000, seed: int = 0) -> int:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    every = settings(rng)
    share = -(-problems // sum(len(setting.judges) for setting in every))
    denied = sum(ask(setting, name, share, rng) for setting in every for name in setting.judges)
    print(f"{denied} denied")
    return int(denied > 0)


def ask(setting: Setting, name: str, problems: int, rng: np.random.Generator) -> int:
    """Return how many answers of a judge it denies."""
    judge, density, target = setting.judges[name], setting.density, setting.target
    outcomes: Counter[str] = Counter()
    explainer = daace.Explainer(density, plausibility=-1.0)
    if isinstance(judge, Committee):
        explainer = replace(explainer, committee=judge)
    elif judge is not None:
        explainer = replace(explainer, classifier=judge)
    for _ in range(problems):
        row = setting.frame.iloc[int(rng.integers(len(setting.frame)))]
        other = next(label for label in density.classes_.tolist() if label != row[target])
        least = float(rng.choice([0.5, 0.6, 0.8]))
        e = explainer.explain(
            row, target=other, constraints=setting.rules(row, rng=rng), min_posterior=least,
            seed=int(rng.integers(1000)),
        )  # fmt: skip
        outcomes[str(e.status)] += 1
        if not e.found:
            continue
        end = e.path.iloc[[-1]]
        frames = end, pd.DataFrame([e.counterfactual]).astype(end.dtypes)
        said = [probability(judge, density, rows, other) for rows in frames]
        dense = density.log_prob(density.to_model(end))[0] >= e.provenance.min_log_prob
        if min(said) < least or not dense or (end[setting.whole] % 1 != 0).any(axis=None):
            outcomes["denied"] += 1
            print(f"denied: {name} says {said}, asked for {least}: {end.to_dict('records')}")
    print(f"{setting.name}, {name}: {dict(outcomes)}", flush=True)
    return outcomes["denied"]


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
