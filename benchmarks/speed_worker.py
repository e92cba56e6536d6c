"""One version of the code, asked about rows by `benchmarks.speed` over pipes.

It runs under the present code and under older commits, so it knows the public names of both. Each
line of stdin is a question in JSON, each line of stdout its answer, with the CPU seconds it took.
"""

from __future__ import annotations

import inspect
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pandas as pd

import daace


def explainer_of(case: dict[str, Any], folder: Path) -> Any:
    """Return an explainer of the model in the folder, with the behaviour of 0.1 where asked."""
    density = daace.load(folder / f"{case['model']}.daace").density
    known = inspect.signature(daace.Explainer).parameters
    wanted = {"judge": "density", "changes": "all", "round": False}
    settings = {name: value for name, value in wanted.items() if name in known}
    if case.get("sparsity"):
        settings["planner"] = daace.PathOptimizer(sparsity=case["sparsity"])
    rules = dict(case.get("rules", {}))
    plain = {"natural": False, "given": False}
    if not case.get("mixed"):
        there = inspect.signature(daace.Constraints).parameters
        rules |= {name: value for name, value in plain.items() if name in there}
    if case.get("forest"):
        settings["classifier"] = forest(folder / f"{case['model']}.pkl", case["target"])
        settings.pop("judge", None)
    return daace.Explainer(density, constraints=daace.Constraints(**rules), **settings)


def forest(rows: Path, target: str) -> Any:
    """Train the forest that judges: the same in every process."""
    from sklearn.ensemble import RandomForestClassifier

    frame = pd.read_pickle(rows)
    model = RandomForestClassifier(random_state=0)
    return model.fit(frame.drop(columns=target), frame[target])


def fit(case: dict[str, Any], folder: Path) -> None:
    """Fit and save the density of a case."""
    frame = pd.read_pickle(folder / f"{case['model']}.pkl")
    table = daace.Table.from_frame(frame, target=case["target"])
    density: Any
    if "epochs" in case:
        density = daace.RealNVP.preset(case["preset"], epochs=case["epochs"])
    else:
        settings = {"profiles": case["profiles"]} if "profiles" in case else {}
        density = daace.LinearGaussianNetwork(**settings)
    daace.Explainer(density.fit(table)).save(folder / f"{case['model']}.daace")


class Worker:
    """Answers questions about one case after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.explainer: Any = None
        self.rows = pd.DataFrame()
        self.answer: Any = None

    def handle(self, question: dict[str, Any]) -> dict[str, Any]:
        do = question["do"]
        if do == "fit":
            fit(question["case"], self.folder)
            return {}
        if do == "load":
            self.explainer = explainer_of(question["case"], self.folder)
            self.rows = pd.read_pickle(self.folder / f"{question['case']['name']}.rows.pkl")
            return {}
        began, wall = time.process_time(), time.perf_counter()
        found: dict[str, Any] = {}
        if do == "page":
            self.answer.to_html(self.folder / "page.html")
        elif do == "row":
            self.answer = self.explainer.explain(
                self.rows.iloc[question["row"]], target=question["goal"]
            )
            found = {"cost": self.answer.cost, "found": bool(self.answer.found)}
        else:
            batch = self.explainer.explain_batch(
                self.rows, target=question["goal"], n_jobs=question["n_jobs"]
            )
            found = {"cost": [e.cost for e in batch], "found": [bool(e.found) for e in batch]}
        return {
            "seconds": time.process_time() - began,
            "wall": time.perf_counter() - wall,
            **found,
        }


def main() -> None:
    """Answer until stdin ends."""
    warnings.simplefilter("ignore")
    worker, out = Worker(Path(sys.argv[1])), sys.stdout
    sys.stdout = sys.stderr  # what is printed on the way is no answer
    for line in sys.stdin:
        print(json.dumps(worker.handle(json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main()
