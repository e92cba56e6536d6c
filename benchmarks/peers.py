"""Counterfactuals from us, dice-ml, NICE and alibi in one run: same classifier, same rows.

breast_cancer, malignant rows that the classifier recognises, to benign. Validity is what the
classifier itself says of the answer (without one, the density); how plausible an answer is says an
independent judge, a kernel density on rows that no method has seen. All rows are known at once, so
we are asked for them in one call, and once more row by row, as the others are.

alibi 0.9.6 needs numpy below 2 and pandas below 3, so it has an environment of its own:

    python -m benchmarks.peers --alibi-python /path/to/its/python

Without it, its two methods are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import pickle
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import daace
from daace import Explainer, KernelDensity, LinearGaussianNetwork, Table
from daace.explain.several.batch import Batch

INSTANCES = 50

#: Of a change, in standard deviations, that counts.
CHANGED = 0.1

#: A denser end than by default. Of 0, 0.5, 1, 1.5, 2, 2.1, 2.25, 2.4 the smallest that was ahead of
#: NICE in log-density on each of three splits of the 300 training rows: 180 to fit, 120 for
#: queries and judge. None of the rows that are measured here, nor of their judge's, was among them.
DENSER = 2.25

#: A method takes rows and returns a counterfactual for each, NaN where it finds none.
Method = Callable[[pd.DataFrame], np.ndarray]


def rows(*, instances: int = INSTANCES, alibi_python: str | None = None) -> pd.DataFrame:
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
    lines = [measure("daace, density alone", *timed(alone, queries), queries, alone, judge)]
    methods = {**ours(seen, model), **dice(seen, model), **nice(seen, model)}
    for name, method in methods.items():
        lines.append(measure(name, *timed(method, queries), queries, model, judge))
    for name, ends, seconds in alibi(seen, model, queries, alibi_python):
        lines.append(measure(name, ends, seconds, queries, model, judge))
    result = pd.DataFrame(lines).set_index("method")
    result["time / daace"] = result["seconds"] / result.loc["daace", "seconds"]
    return result


class DensityAlone:
    """Our method without a classifier: the density is the judge of its own answers."""

    def __init__(self, density: LinearGaussianNetwork) -> None:
        self.explainer = Explainer(density)

    def __call__(self, queries: pd.DataFrame) -> np.ndarray:
        return ends_of(self.explainer.explain_batch(queries, target=1))

    def predict(self, frame: pd.DataFrame) -> np.ndarray:
        density = self.explainer.density
        return density.classes_[density.predict_proba(density.to_model(frame)).argmax(axis=1)]


def ours(seen: Table, model: Any) -> dict[str, Method]:
    """Return our method, judged by the classifier: as it is, at a denser end, and row by row."""
    explainer = Explainer(LinearGaussianNetwork().fit(seen), classifier=model)

    def batch(plausibility: float) -> Method:
        return lambda queries: ends_of(
            explainer.explain_batch(queries, target=1, plausibility=plausibility)
        )

    def single(row: pd.DataFrame) -> pd.Series | None:
        return explainer.explain(row, target=1).counterfactual

    return {
        "daace": batch(-0.5),
        f"daace, plausibility={DENSER}": batch(DENSER),
        "daace, row by row": one_by_one(single),
    }


def ends_of(many: Batch) -> np.ndarray:
    """Return the counterfactuals of a batch, in the user's units."""
    return many.to_frame()[list(many.features)].to_numpy()


def one_by_one(method: Callable[[pd.DataFrame], pd.Series | np.ndarray | None]) -> Method:
    """Ask a method that takes one row about each of many."""

    def all_rows(queries: pd.DataFrame) -> np.ndarray:
        answers = [method(queries.iloc[[k]]) for k in range(len(queries))]
        missing = np.full(queries.shape[1], np.nan)
        return np.array([missing if end is None else end for end in answers], dtype=float)

    return all_rows


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

        return one_by_one(one)

    return {f"dice-ml, {kind}": answer(kind) for kind in ("random", "genetic", "kdtree")}


def nice(seen: Table, model: Any) -> dict[str, Method]:
    """Return NICE with each of its objectives, if it is installed.

    For 'plausibility' it wants the error of an autoencoder: a small network of scikit-learn.
    """
    if importlib.util.find_spec("nice") is None:
        print("NICE is left out: pip install NICEx==0.2.3")
        return {}
    from nice import NICE
    from sklearn.neural_network import MLPRegressor

    def predict(X: np.ndarray) -> np.ndarray:
        return model.predict_proba(pd.DataFrame(X, columns=list(seen.features)))

    mean, sd = seen.X.mean(axis=0), seen.X.std(axis=0)
    Z = (seen.X - mean) / sd
    network = MLPRegressor(hidden_layer_sizes=(20, 8, 20), random_state=0, max_iter=2000).fit(Z, Z)

    def error(X: np.ndarray) -> np.ndarray:
        Z = (np.atleast_2d(X) - mean) / sd
        return ((network.predict(Z) - Z) ** 2).mean(axis=1)

    def answer(objective: str) -> Method:
        search = NICE(
            predict_fn=predict,
            X_train=seen.X.copy(),
            cat_feat=[],
            num_feat=list(range(len(seen.features))),
            y_train=seen.y,
            optimization=objective,
            auto_encoder=error if objective == "plausibility" else None,
        )
        return one_by_one(
            lambda row: np.asarray(search.explain(row.to_numpy().copy()), dtype=float)[0]
        )

    kinds = ("none", "sparsity", "proximity", "plausibility")
    return {f"NICE, {kind}": answer(kind) for kind in kinds}


def alibi(
    seen: Table, model: Any, queries: pd.DataFrame, python: str | None
) -> list[tuple[str, np.ndarray, float]]:
    """Return name, answers and CPU seconds per row of alibi's methods, by another interpreter."""
    if python is None:
        print("alibi is left out: give --alibi-python, an interpreter that has alibi[tensorflow].")
        return []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.savez(
            folder / "rows.npz",
            train=seen.X,
            queries=queries.to_numpy(),
            shares=model.predict_proba(queries),
        )
        (folder / "classifier.pickle").write_bytes(pickle.dumps(model))
        script = Path(__file__).with_name("peers_alibi.py")
        subprocess.run([python, str(script), str(folder)], check=True, capture_output=True)
        found = []
        for file in sorted(folder.glob("Counterfactual*.npz")):
            with np.load(file) as said:
                found.append((f"alibi, {file.stem}", said["ends"], float(said["seconds"].mean())))
        return found


def timed(method: Method, queries: pd.DataFrame) -> tuple[np.ndarray, float]:
    """Return answers and CPU seconds per row, after one row to warm up: draws are made once."""
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        method(queries.iloc[[0]])
        begin = time.process_time()
        ends = method(queries)
        return ends, (time.process_time() - begin) / len(queries)


def measure(
    name: str,
    answers: np.ndarray,
    seconds: float,
    queries: pd.DataFrame,
    model: Any,
    judge: KernelDensity,
) -> dict[str, object]:
    """Return the line of one method."""
    ends = pd.DataFrame(answers, columns=queries.columns)
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
        "seconds": seconds,
    }


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--alibi-python", default=None)
    options.add_argument("--instances", type=int, default=INSTANCES)
    given = options.parse_args()
    result = rows(instances=given.instances, alibi_python=given.alibi_python)
    print(result.to_string(float_format="%.3g"))
