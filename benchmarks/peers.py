"""Counterfactuals from us, dice-ml and NICE in one run: same classifier, same rows.

breast_cancer, malignant rows that the classifier recognises, to benign. Validity is what the
classifier itself says of the answer (without one, the density); how plausible an answer is says an
independent judge, a kernel density on rows that no method has seen. alibi is left out, untried: by
its metadata it needs numpy below 2 and pandas below 3, and its counterfactual methods tensorflow
below 2.15.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import daace
from daace import Explainer, KernelDensity, LinearGaussianNetwork, Table

INSTANCES = 50

#: Of a change, in standard deviations, that counts.
CHANGED = 0.1

#: A method takes one row and returns a counterfactual, or None.
Method = Callable[[pd.DataFrame], "pd.Series | np.ndarray | None"]


def rows(*, instances: int = INSTANCES) -> pd.DataFrame:
    """Return one line per method."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    table = daace.load_table("breast_cancer").shuffle(rng=np.random.default_rng(0))
    frame = table.to_frame()  # numbers for the class: dice-ml knows no names
    frame["class"] = (frame["class"] == "benign").astype(int)
    table = Table.from_frame(frame, target="class")
    seen, unseen = table.take(np.arange(0, 300)), table.take(np.arange(300, len(table)))
    features = list(table.features)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    model.fit(seen.to_frame()[features], seen.y)
    left = unseen.to_frame()
    left = left[(left["class"] == 0) & (model.predict(left[features]) == 0)][features]
    queries = left.iloc[:instances].reset_index(drop=True)
    judge = KernelDensity().fit(unseen)

    alone = DensityAlone(LinearGaussianNetwork().fit(seen))
    lines = [measure("daace, density alone", alone, queries, alone, judge)]
    methods = {**ours(seen, model), **dice(seen, model), **nice(seen, model)}
    lines += [measure(name, method, queries, model, judge) for name, method in methods.items()]
    result = pd.DataFrame(lines).set_index("method")
    result["time / daace"] = result["seconds"] / result.loc["daace", "seconds"]
    return result


class DensityAlone:
    """Our method without a classifier: the density is the judge of its own answers."""

    def __init__(self, density: LinearGaussianNetwork) -> None:
        self.explainer = Explainer(density)

    def __call__(self, row: pd.DataFrame) -> pd.Series | None:
        return self.explainer.explain(row, target=1).counterfactual

    def predict(self, frame: pd.DataFrame) -> np.ndarray:
        density = self.explainer.density
        return density.classes_[density.predict_proba(density.to_model(frame)).argmax(axis=1)]


def ours(seen: Table, model: Any) -> dict[str, Method]:
    """Return our method, judged by the classifier, at the usual plausibility and at more."""
    explainer = Explainer(LinearGaussianNetwork().fit(seen), classifier=model)

    def answer(plausibility: float) -> Method:
        return lambda row: (
            explainer.explain(row, target=1, plausibility=plausibility).counterfactual
        )

    return {"daace": answer(-0.5), "daace, plausibility=0.5": answer(0.5)}


def dice(seen: Table, model: Any) -> dict[str, Method]:
    """Return dice-ml's methods that need no gradients."""
    import dice_ml

    features = list(seen.features)
    data = dice_ml.Data(
        dataframe=seen.to_frame(), continuous_features=features, outcome_name="class"
    )

    def answer(kind: str) -> Method:
        search = dice_ml.Dice(data, dice_ml.Model(model=model, backend="sklearn"), method=kind)
        seed = {"random_seed": 0} if kind == "random" else {}

        def one(row: pd.DataFrame) -> pd.Series | None:
            try:
                found = search.generate_counterfactuals(
                    row, total_CFs=1, desired_class=1, verbose=False, **seed
                )
            except Exception as error:  # its own way to say that there is none
                if "No counterfactuals" in str(error):
                    return None
                raise
            table = found.cf_examples_list[0].final_cfs_df
            if table is None or not len(table):
                return None
            return table[features].iloc[0].astype(float)

        return one

    return {f"dice-ml, {kind}": answer(kind) for kind in ("random", "genetic")}


def nice(seen: Table, model: Any) -> dict[str, Method]:
    """Return NICE with each of its objectives that needs no autoencoder, if it is installed."""
    if importlib.util.find_spec("nice") is None:
        return {}
    from nice import NICE

    def predict(X: np.ndarray) -> np.ndarray:
        return model.predict_proba(pd.DataFrame(X, columns=list(seen.features)))

    def answer(objective: str) -> Method:
        search = NICE(
            predict_fn=predict,
            X_train=seen.X.copy(),
            cat_feat=[],
            num_feat=list(range(len(seen.features))),
            y_train=seen.y,
            optimization=objective,
        )
        return lambda row: np.asarray(search.explain(row.to_numpy().copy()), dtype=float)[0]

    return {f"NICE, {kind}": answer(kind) for kind in ("none", "sparsity", "proximity")}


def measure(
    name: str, method: Method, queries: pd.DataFrame, model: Any, judge: KernelDensity
) -> dict[str, object]:
    """Return the line of one method; the first row is asked twice, as draws are made once."""
    answers, seconds = [], []
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        method(queries.iloc[[0]])
        for k in range(len(queries)):
            begin = time.perf_counter()
            answer = method(queries.iloc[[k]])
            seconds.append(time.perf_counter() - begin)
            answers.append(np.full(queries.shape[1], np.nan) if answer is None else answer)
    ends = pd.DataFrame(np.array(answers, dtype=float), columns=queries.columns)
    found = ends.notna().all(axis=1).to_numpy()
    X, start = judge.to_model(ends[found]), judge.to_model(queries[found])
    return {
        "method": name,
        "found": float(found.mean()),
        "validity": float((model.predict(ends[found]) == 1).mean()),
        "log-density": float(judge.log_prob(X).mean()),
        "L2": float(np.linalg.norm(X - start, axis=1).mean()),
        "features changed": float((np.abs(X - start) > CHANGED).sum(axis=1).mean()),
        "path": name.startswith("daace"),
        "seconds": float(np.median(seconds)),
    }


if __name__ == "__main__":
    print(rows().to_string(float_format="%.3g"))
