"""Unusual people who cannot change what makes them unusual: breast_cancer, a forest as judge.

`python -m benchmarks.unusual` takes a few CPU minutes. Two features of a row are fixed, in three
readings: of 20 malignant rows, chosen because they stand out in two of the features that have
hardly to do with the class; of 20 malignant rows drawn at random, the two in which each stands out
most; and of the 20 malignant rows that stand out most, the same. Where nothing is found, it is
looked for by sampling: many draws that have what is fixed, all rows of the table moved there, and
the last plausible point on the line from the middle of the plausible draws to each of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from threadpoolctl import threadpool_limits

from daace import Constraints, Explainer, Goal, Landscape, Problem
from daace._typing import FloatArray, IntArray
from daace.data.catalog import load_table
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.explain.judging.classifier import ClassifierPosterior

#: Rows of each reading; correlation with the class below which a feature hardly has to do with it.
ROWS, HARDLY = 20, 0.1

#: Draws of a sampled search: of the target, and of all classes.
SAMPLED = 20_000

#: Halvings that find where a line leaves what is plausible.
HALVINGS = 12


class Unusual:
    """The table, its density, its forest, and which features of which rows are fixed."""

    def __init__(self) -> None:
        table = load_table("breast_cancer")
        self.frame = table.to_frame()
        self.labels = self.frame.pop(table.target)
        self.forest = RandomForestClassifier(random_state=0).fit(self.frame, self.labels)
        self.density = LinearGaussianNetwork(profiles="auto").fit(table)
        self.posterior = ClassifierPosterior(self.forest, self.density)
        self.z = ((self.frame - self.frame.mean()) / self.frame.std()).to_numpy()
        predicted = self.forest.predict(self.frame)
        self.ill = np.flatnonzero((self.labels == "malignant") & (predicted == "malignant"))

    def readings(self) -> Iterator[tuple[str, list[tuple[int, IntArray]]]]:
        """Yield what a reading is, and rows with the columns that are fixed."""
        ill = (self.labels == "malignant").to_numpy().astype(float)
        related = np.abs([np.corrcoef(column, ill)[0, 1] for column in self.z.T])
        hardly = np.flatnonzero(related < HARDLY)
        yield "features that hardly have to do with the class", self._most_unusual(hardly)
        every = np.arange(self.z.shape[1])
        some = np.random.default_rng(0).choice(self.ill, ROWS, replace=False)
        yield "rows at random, their most extreme features", self._pairs(some, every)
        yield "most extreme rows, their most extreme features", self._most_unusual(every)

    def _pairs(self, rows: IntArray, columns: IntArray) -> list[tuple[int, IntArray]]:
        order = np.argsort(-np.abs(self.z[np.ix_(rows, columns)]), axis=1, kind="stable")
        return [(int(row), columns[best[:2]]) for row, best in zip(rows, order, strict=True)]

    def _most_unusual(self, columns: IntArray) -> list[tuple[int, IntArray]]:
        pairs = self._pairs(self.ill, columns)
        return sorted(pairs, key=lambda pair: -float(np.abs(self.z[pair]).sum()))[:ROWS]

    def explain(self, row: int, columns: IntArray, *, given: bool) -> tuple[bool, bool]:
        """Return whether a path is found, and whether it keeps the rules and convinces."""
        names = list(self.frame.columns[columns])
        rules = Constraints(fixed=names, given=given)
        explainer = Explainer(self.density, classifier=self.forest, constraints=rules)
        e = explainer.explain(self.frame.iloc[row], target="benign")
        if not e.found:
            return False, True
        kept = (e.path[names] == self.frame.iloc[row][names]).all(axis=None)
        end = e.path.iloc[[-1]][list(self.frame.columns)]
        return True, bool(kept and self.forest.predict(end)[0] == "benign")

    def sampled(self, row: int, columns: IntArray) -> tuple[int, float, float]:
        """Return where sampling meets the goal, and the forest's largest probability of it.

        Returns:
            number of points in the goal; the largest probability at a plausible point; and at any
            point that has what is fixed.
        """
        rules = Constraints(fixed=list(self.frame.columns[columns]), given=True)
        problem = Problem(
            self.frame.iloc[row],
            Landscape(self.density),
            Goal("benign"),
            rules,
            posterior=self.posterior,
        )
        nearest = problem.feasible.nearest
        parts = [
            nearest(self.density.draw_given(columns, problem.x, SAMPLED, label=label))
            for label in ("benign", None)
        ]
        X = np.concatenate([*parts, nearest(self.density.to_model(self.frame))])
        X = np.concatenate([X, _last_plausible(problem, X)])
        slack = problem.region.slack(X)
        share = np.exp(slack[:, 1]) * problem.goal.min_posterior
        plausible = slack[:, 0] >= 0
        meets = int((slack >= 0).all(axis=1).sum())
        return meets, float(share[plausible].max(initial=0.0)), float(share.max())


def _last_plausible(problem: Problem, X: FloatArray) -> FloatArray:
    """Return the last plausible points on lines from the middle of the plausible points."""
    density = problem.landscape.density
    logs = density.log_prob(X) - problem.threshold
    if not (logs >= 0).any():
        return X[:0]
    middle = X[logs >= 0].mean(axis=0)
    if density.log_prob(middle[None])[0] < logs.max() + problem.threshold:
        middle = X[np.argmax(logs)]
    inside, outside = np.zeros(len(X)), np.ones(len(X))
    for _ in range(HALVINGS):
        half = (inside + outside) / 2
        good = density.log_prob(middle + half[:, None] * (X - middle)) >= problem.threshold
        inside, outside = np.where(good, half, inside), np.where(good, outside, half)
    found: FloatArray = problem.feasible.nearest(middle + inside[:, None] * (X - middle))
    return found


def main() -> None:
    unusual = Unusual()
    lines = []
    for reading, rows in unusual.readings():
        began = time.process_time()
        found = [unusual.explain(*row, given=True) for row in rows]
        seconds = time.process_time() - began
        before = [unusual.explain(*row, given=False) for row in rows]
        extremes = [np.abs(unusual.z[row]).max() for row in rows]
        line = {
            "reading": reading,
            "least and most extreme": f"{min(extremes):.1f}, {max(extremes):.1f}",
            "found": sum(ok for ok, _ in found),
            "rules kept": all(kept for _, kept in found),
            "found, given=False": sum(ok for ok, _ in before),
            "seconds": seconds,
        }
        lines.append(line)
        print(line, flush=True)
        for row, (ok, _) in zip(rows, found, strict=True):
            if not ok:
                meets, plausible, anywhere = unusual.sampled(*row)
                names = ", ".join(unusual.frame.columns[row[1]])
                print(
                    f"row {row[0]} ({names}): {meets} points in the goal, largest probability "
                    f"{plausible:.2f} where plausible, {anywhere:.2f} anywhere",
                    flush=True,
                )
    print(pd.DataFrame(lines).to_string())


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
