"""Whether terrain and answers depend on the units of columns with atoms: credit_default.

    python -m benchmarks.units [--rows 20]

The amounts of credit_default, many of them exactly 0, in dollars, in thousands of dollars, each in
a unit of its own (a power of ten between 1/1000 and 1000), and each times a power of two (1/64 to
32), which changes no digit. Profiles are fitted on the same 2,000
rows; amounts are numbers in all, since thousands have fractions. `terrain` is the largest
relative difference of the local cost f(u) from that in dollars at 1,000 other rows; `cost` the
largest relative difference of the cost of a path, and `end` that of a value at its end, in standard
deviations; `same` counts answers that change the same features, by the same levels.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.real_tables import Task
from daace import Constraints, Explainer, Explanation, Landscape, LinearGaussianNetwork, Table

SEEN, OTHERS = 2000, 1000


def units(amounts: list[str]) -> dict[str, dict[str, float]]:
    """Return the factor of each amount, by the name of the unit."""
    powers = 10.0 ** (np.arange(len(amounts)) % 7 - 3)
    twos = 2.0 ** (5 * np.arange(len(amounts)) % 12 - 6)
    return {
        "dollars": dict.fromkeys(amounts, 1.0),
        "thousands": dict.fromkeys(amounts, 1e-3),
        "each its own": dict(zip(amounts, powers.tolist(), strict=True)),
        "powers of two": dict(zip(amounts, twos.tolist(), strict=True)),
    }


def in_unit(frame: pd.DataFrame, factors: dict[str, float]) -> pd.DataFrame:
    """Return rows with amounts in other units."""
    return frame.assign(**{name: frame[name] * factor for name, factor in factors.items()})


def ends_in_dollars(
    answers: list[Explanation], factors: dict[str, float]
) -> list[pd.DataFrame | None]:
    """Return start and end of each answer in dollars, None where nothing was found."""
    back = {name: 1 / factor for name, factor in factors.items()}
    return [in_unit(e.path.iloc[[0, -1]], back) if e.found else None for e in answers]


def compare(
    one: pd.DataFrame, other: pd.DataFrame, numbers: dict[str, float]
) -> tuple[bool, float]:
    """Return whether the same features change by the same levels, and how far numbers differ."""
    apart = [abs(one[n].iloc[1] - other[n].iloc[1]) / sd for n, sd in numbers.items()]
    levels = [name for name in one if name not in numbers]
    same = (
        one[levels].astype(str).to_numpy().tolist() == other[levels].astype(str).to_numpy().tolist()
    )
    moved = [
        {n for n, sd in numbers.items() if abs(path[n].iloc[1] - path[n].iloc[0]) > 1e-6 * sd}
        for path in (one, other)
    ]
    return same and moved[0] == moved[1], max(apart)


def main() -> None:
    """Print how far other units are from dollars."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=20)
    rows = parser.parse_args().rows
    warnings.simplefilter("ignore")
    task = Task.read("credit_default")
    amounts = [n for n in task.features if n == "LIMIT_BAL" or "_AMT" in n]
    numbers = {n: float(task.seen[n].std()) for n in amounts}
    asked: pd.DataFrame | None = None
    first: tuple[np.ndarray, list[Explanation], list[pd.DataFrame | None]] | None = None
    lines = []
    with threadpool_limits(1):
        for unit, factors in units(amounts).items():
            frame = in_unit(task.frame, factors)
            kinds = dict.fromkeys(amounts, "number")
            seen, others = frame.iloc[:SEEN], frame.iloc[SEEN : SEEN + OTHERS]
            table = Table.from_frame(seen, target=task.target, kinds=kinds)
            density = LinearGaussianNetwork(profiles="auto").fit(table)
            X = density.to_model(others[task.features])
            terrain = Landscape(density).local_cost(X)
            column = [str(c) for c in density.classes_].index(task.wanted)
            if asked is None:
                asked = task.frame.loc[others.index[density.predict_proba(X)[:, column] < 0.5]]
                asked = asked[task.features].iloc[:rows]
            explainer = Explainer(
                density,
                judge="density",
                round=False,
                constraints=Constraints(fixed=task.fixed),
            )
            source = in_unit(asked, factors)
            answers = [
                explainer.explain(source.iloc[[k]], target=task.wanted) for k in range(len(asked))
            ]
            ends = ends_in_dollars(answers, factors)
            if first is None:
                first = terrain, answers, ends
            costs = [
                abs(b.cost / a.cost - 1)
                for a, b in zip(first[1], answers, strict=True)
                if a.found and b.found and a.cost > 0
            ]
            both = [
                compare(a, b, numbers)
                for a, b in zip(first[2], ends, strict=True)
                if a is not None and b is not None
            ]
            lines.append(
                {
                    "unit": unit,
                    "profiles": np.bincount(density.components_.owner).tolist(),
                    "terrain": float(np.abs(terrain / first[0] - 1).max()),
                    "rows": len(answers),
                    "found": sum(e.found for e in answers),
                    "same": sum(same for same, _ in both),
                    "cost": max(costs),
                    "end": max(apart for _, apart in both),
                }
            )
            print(lines[-1], flush=True)


if __name__ == "__main__":
    main()
