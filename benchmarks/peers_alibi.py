"""The counterfactual methods of alibi, run by the interpreter that has it.

alibi 0.9.6 wants numpy below 2 and tensorflow below 2.15, so it does not live beside us:
`peers.py` writes training rows, queries and the classifier into a folder, starts this file, and
reads the answers. Rows are standardised, as in alibi's own examples; the classifier is asked by its
`predict_proba`, so slopes are alibi's numerical ones.

    python peers_alibi.py FOLDER
"""

from __future__ import annotations

import os
import pickle
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

warnings.simplefilter("ignore")
tf.compat.v1.disable_v2_behavior()
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)

from alibi.explainers import Counterfactual, CounterfactualProto  # noqa: E402

Method = Callable[[np.ndarray], "np.ndarray | None"]


def methods(
    predict: Callable[[np.ndarray], np.ndarray], train: np.ndarray
) -> dict[str, Callable[[], Method]]:
    """Return alibi's methods that need nothing but `predict`, by name; each is made when called."""
    shape, box = (1, train.shape[1]), (train.min(axis=0), train.max(axis=0))

    def answer(found: object) -> np.ndarray | None:
        best = found.cf  # type: ignore[attr-defined]
        return None if best is None else np.asarray(best["X"])[0]

    def wachter() -> Method:
        search = Counterfactual(predict, shape=shape, target_class=1, feature_range=box)
        return lambda row: answer(search.explain(row))

    def prototype() -> Method:  # its default of 10,000 steps takes a minute for a row
        search = CounterfactualProto(
            predict,
            shape=shape,
            use_kdtree=True,
            theta=10.0,
            max_iterations=500,
            c_init=1.0,
            c_steps=3,
            feature_range=box,
        )
        search.fit(train)
        return lambda row: answer(search.explain(row, target_class=[1]))

    return {"Counterfactual": wachter, "CounterfactualProto": prototype}


def main(folder: Path) -> None:
    """Answer every query by every method, and write answers and seconds."""
    with np.load(folder / "rows.npz", allow_pickle=False) as given:
        train, queries, expected = given["train"], given["queries"], given["shares"]
    model = pickle.loads((folder / "classifier.pickle").read_bytes())  # written by our own caller
    mean, sd = train.mean(axis=0), train.std(axis=0)

    def predict(X: np.ndarray) -> np.ndarray:
        return np.asarray(model.predict_proba(X * sd + mean))  # an array is faster than a frame

    rows = (queries - mean) / sd
    assert np.allclose(predict(rows), expected, atol=1e-9), "this is another classifier"
    for name, make in methods(predict, (train - mean) / sd).items():
        search, ends, seconds = make(), [], []
        search(rows[:1])  # the graph is built once
        for row in rows:
            begin = time.process_time()
            end = search(row[None])
            seconds.append(time.process_time() - begin)
            ends.append(np.full(len(mean), np.nan) if end is None else end * sd + mean)
        np.savez(folder / f"{name}.npz", ends=np.array(ends), seconds=np.array(seconds))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
