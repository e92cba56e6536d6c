"""One explanation from us and one from dice-ml's genetic method, on breast_cancer, in one run.

Both explain the same rows to the same class with the same classifier. How plausible an answer is
says an independent judge: a kernel density fitted on rows that neither has seen.
"""

from __future__ import annotations

import contextlib
import io
import time
import warnings

import numpy as np
import pandas as pd

import daace
from daace import Explainer, KernelDensity, LinearGaussianNetwork


def rows(*, instances: int = 10) -> pd.DataFrame:
    """Return one row per method."""
    import dice_ml
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    table = daace.load_table("breast_cancer").shuffle(rng=np.random.default_rng(0))
    seen, unseen = table.take(np.arange(0, 300)), table.take(np.arange(300, len(table)))
    judge = KernelDensity().fit(unseen)
    frame = seen.to_frame()
    features = list(seen.features)
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    classifier.fit(frame[features], frame["class"])
    malignant = unseen.to_frame().query("`class` == 'malignant'")[features]
    wrong = classifier.predict(malignant) == "malignant"
    queries = malignant[wrong].iloc[:instances].reset_index(drop=True)

    explainer = Explainer(LinearGaussianNetwork().fit(seen), classifier=classifier)
    methods = {
        "daace": Explainer(explainer.density),
        "daace, same classifier": explainer,
    }
    found: list[dict[str, object]] = []
    for name, method in methods.items():
        method.explain(queries.iloc[0], target="benign")  # the draws of a density are made once
        answers, seconds, valid = [], [], []
        for _, query in queries.iterrows():
            begin = time.perf_counter()
            explanation = method.explain(query, target="benign")
            seconds.append(time.perf_counter() - begin)
            answers.append(explanation.counterfactual)
            valid.append(explanation.found and explanation.posterior >= 0.5)
        found.append(_line(name, judge, queries, pd.DataFrame(answers), seconds, valid))

    numbered = frame.assign(**{"class": (frame["class"] == "benign").astype(int)})
    numeric = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    numeric.fit(numbered[features], numbered["class"])
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        data = dice_ml.Data(dataframe=numbered, continuous_features=features, outcome_name="class")
        dice = dice_ml.Dice(data, dice_ml.Model(model=numeric, backend="sklearn"), method="genetic")
        answers, seconds, valid = [], [], []
        for k in range(len(queries)):
            begin = time.perf_counter()
            result = dice.generate_counterfactuals(
                queries.iloc[[k]], total_CFs=1, desired_class=1, verbose=False
            )
            seconds.append(time.perf_counter() - begin)
            answer = result.cf_examples_list[0].final_cfs_df[features].iloc[0].astype(float)
            answers.append(answer)
            valid.append(bool(numeric.predict(answer.to_frame().T)[0] == 1))
    found.append(_line("dice-ml, genetic", judge, queries, pd.DataFrame(answers), seconds, valid))
    table_of_methods = pd.DataFrame(found)
    fastest = table_of_methods["seconds"].iloc[0]
    table_of_methods["time ratio to daace"] = table_of_methods["seconds"] / fastest
    return table_of_methods.drop(columns="seconds")


def _line(
    name: str,
    judge: KernelDensity,
    queries: pd.DataFrame,
    answers: pd.DataFrame,
    seconds: list[float],
    valid: list[bool],
) -> dict[str, object]:
    X, start = judge.to_model(answers.reset_index(drop=True)), judge.to_model(queries)
    return {
        "method": name,
        "validity": float(np.mean(valid)),
        "mean log-density (independent KDE)": float(judge.log_prob(X).mean()),
        "mean L2": float(np.linalg.norm(X - start, axis=1).mean()),
        "features changed": float((np.abs(X - start) > 0.1).sum(axis=1).mean()),
        "path": name.startswith("daace"),
        "seconds": float(np.median(seconds)),
    }
