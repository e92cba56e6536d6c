"""Record answers, and compare them with those of another version of the code, bit by bit.

    python -m benchmarks.recorder write before.json   # on the old code
    python -m benchmarks.recorder check before.json   # on the new one

Only public names are used, so that the same script runs before and after a redesign. What depends
on the clock (seconds, versions) is left out; everything else must be equal to the last bit.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import daace

#: Entries of the JSON of an explanation that are not the answer itself.
IGNORED = {"seconds", "version", "versions", "schema_version", "profile", "along", "key", "run"}

STUDY = """
name = "small"
seed = 0
tables = [
  { name = "iris", classes = ["versicolor", "virginica"] },
  { name = "moons", mixture = "moons" },
]
rows = [300]
instances = 2
penalties = [1, 5]
plausibility = [0]
certainty = [-0.5]
scale = "nll"
samples = 200
truth = { kind = "kde", bandwidth = 0.3 }
densities = { clgn = { kind = "linear-gaussian" } }

[algorithms]
"DAACE GT" = { planner = "PathOptimizer", density = "truth", vertex_tolerance = 0 }
BayesACE = { planner = "PathOptimizer", density = "clgn", vertex_tolerance = 0 }
"FACE GT" = { planner = "Face", density = "truth", nodes = 100, rule = "midpoint", pieces = 19 }
FACE-DE = { planner = "Face", density = "clgn", graph = "density", nodes = 100 }
Wachter = { planner = "Wachter", density = "truth", rows = "target" }
"""

Answers = Iterator[tuple[str, object]]


def tables() -> dict[str, daace.Table]:
    """Six tables: three that are bundled, three that are drawn."""
    from daace.data.synthetic import draw_table, moons, random_mixture

    rng = np.random.default_rng(0)
    loans = _loans(rng)
    mixture = daace.GaussianMixture(*random_mixture(5, classes=3, rng=rng))
    return {
        "breast_cancer": daace.load_table("breast_cancer"),
        "iris": daace.load_table("iris"),
        "wine": daace.load_table("wine_cultivars"),
        "moons": draw_table(moons(), 300, rng=rng, name="moons"),
        "mixture": _table_of(mixture, rng),
        "loans": daace.Table.from_frame(loans, target="granted", units={"income": "EUR"}),
    }


def _loans(rng: np.random.Generator) -> pd.DataFrame:
    n = 400
    age, children = rng.integers(20, 70, n), rng.poisson(1.2, n)
    income = np.exp(rng.normal(7.5, 0.4, n)) + 10 * age
    debt = rng.normal(20, 6, n) - 2 * children
    score = 0.05 * (age - 45) + 0.002 * (income - 2000) - 0.1 * (debt - 20) + rng.normal(0, 0.7, n)
    granted = np.where(score > 0, "yes", "no")
    return pd.DataFrame(
        {"age": age, "children": children, "income": income, "debt": debt, "granted": granted}
    )


def _table_of(density: daace.GaussianMixture, rng: np.random.Generator) -> daace.Table:
    X, y = density.sample(300, rng=rng)
    frame = pd.DataFrame(X, columns=list(density.features_)).assign(group=y)
    return daace.Table.from_frame(frame, target="group")


def densities(name: str, table: daace.Table) -> Iterator[tuple[str, Any]]:
    yield "network", daace.LinearGaussianNetwork().fit(table)
    if name in ("iris", "moons", "loans"):
        yield "kde", daace.KernelDensity(bandwidth=0.3).fit(table)
    if name == "moons":
        yield "flow", daace.RealNVP(epochs=15, seed=1).fit(table)


def answers() -> Answers:
    """Yield a name and a value for everything that is recorded."""
    for name, table in tables().items():
        for kind, density in densities(name, table):
            yield from _of_density(f"{name}/{kind}", table, density)
    yield from _rules()
    yield from _mixed()
    yield from _classifiers()
    yield from _files()
    yield from _study()
    yield from _counties()


def _of_density(name: str, table: daace.Table, density: Any) -> Answers:
    frame = table.to_frame()
    rows = frame.groupby(table.target).head(6)
    target = table.classes[-1].item()
    yield f"{name}/log_prob", density.log_prob(density.to_model(frame.iloc[:20]))
    explainer = daace.Explainer(density)
    for penalty in (0.0, 1.0, 5.0):
        batch = explainer.explain_batch(rows, target=target, penalty=penalty)
        for row, e in enumerate(batch):
            yield f"{name}/batch/{penalty}/{row}", e
    yield f"{name}/frame", batch.to_frame()
    e = explainer.explain(rows.iloc[0], target=target, alternatives=2, seed=3)
    yield f"{name}/alternatives", e
    yield f"{name}/words", [str(e), *e.steps()]
    yield f"{name}/tradeoff", list(explainer.tradeoff(rows.iloc[0], target=target))
    paper = daace.Explainer(density, scale="nll", penalty=3.0)
    yield f"{name}/nll", paper.explain(rows.iloc[0], target=target)
    yield f"{name}/audit", explainer.audit(rows, by=table.target, target=target).to_frame()
    impossible = explainer.explain(rows.iloc[0], target=target, plausibility=9.0)
    yield f"{name}/impossible", [impossible, str(impossible)]
    planners: tuple[Any, ...] = (
        daace.Roadmap(samples=200),
        daace.Wachter(density.to_model(frame)),
        daace.Face(density.to_model(frame), nodes=100),
        daace.PathOptimizer(vertices=2, l1=0.5),
    )
    for planner in planners:
        kind = f"{name}/{type(planner).__name__}"
        for row in (0, 7):
            yield f"{kind}/{row}", explainer.explain(rows.iloc[row], target=target, planner=planner)


def _rules() -> Answers:
    table = tables()["loans"]
    frame = table.to_frame()
    explainer = daace.fit(table, "linear-gaussian")
    link = daace.Link({"income": 1, "debt": -30}, at_least=0)
    rules: dict[str, dict[str, Any]] = {
        "fixed": {"fixed": ["age", "children"]},
        "bounds": {"upper": {"income": 9000.0}, "lower": {"children": 0}},
        "directions": {"only_up": ["age"], "only_down": ["debt"]},
        "changes": {"max_rise": {"income": 400.0}, "max_fall": {"debt": 3.0}},
        "step": {"max_step": {"income": 300.0}},
        "integer": {"integer": ["age", "children"]},
        "few": {"max_changed": 2},
        "few integers": {"max_changed": 2, "integer": ["age", "children"]},
        "link": {"links": [link]},
        "weights": {"weights": {"income": 3.0}},
    }
    refused = frame[(frame[table.target] == "no") & (frame["income"] > 30 * frame["debt"])]
    for name, rule in rules.items():
        constraints = daace.Constraints(**rule)
        batch = explainer.explain_batch(
            refused.head(12), target="yes", constraints=constraints, plausibility=-1.0
        )
        for row, e in enumerate(batch):
            yield f"rules/{name}/{row}", [e, str(e)]
    tight = daace.Constraints(fixed=["age", "income"], upper={"debt": 60.0}, integer=["children"])
    for row in range(4):
        e = explainer.explain(refused.iloc[row], target="yes", constraints=tight)
        yield f"rules/reasons/{row}", [e, e.notes]


def _mixed() -> Answers:
    """Answers of `daace.fit` as it is, with a committee, about categories, atoms and numbers."""
    table = daace.load_table("loans")
    frame, target = table.to_frame(), table.classes[-1].item()
    refused = frame[frame[table.target] != target].head(6)
    explainer = daace.fit(table)
    category = next(name for name in frame if frame[name].dtype.kind not in "iuf")
    number = next(name for name in frame if frame[name].dtype.kind == "f")
    rules: dict[str, dict[str, Any]] = {
        "none": {},
        "fixed": {"fixed": [category, number]},
        "few": {"max_changed": 5},
        "bounds": {"upper": {number: float(frame[number].quantile(0.9))}},
        "only up": {"only_up": [number]},
        "not natural": {"natural": False},
    }
    for name, rule in rules.items():
        constraints = daace.Constraints(**rule)
        batch = explainer.explain_batch(refused, target=target, constraints=constraints)
        for row, e in enumerate(batch):
            yield f"mixed/{name}/{row}", [e, str(e)]
        e = explainer.explain(refused.iloc[1], target=target, constraints=constraints)
        yield f"mixed/{name}/alone", [e, str(e)]
    e = explainer.explain(refused.iloc[0], target=target, alternatives=2)
    yield "mixed/alternatives", e
    yield "mixed/tradeoff", list(explainer.tradeoff(refused.iloc[2], target=target))
    plain = daace.Explainer(explainer.density, changes="all", round=False, judge="density")
    for row in range(3):
        yield f"mixed/plain/{row}", plain.explain(refused.iloc[row], target=target)


def _classifiers() -> Answers:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    table = tables()["loans"]
    frame = table.to_frame()
    X, y = frame.drop(columns=table.target), frame[table.target]
    models = {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
        "forest": RandomForestClassifier(20, min_samples_leaf=5, random_state=0),
    }
    density = daace.LinearGaussianNetwork().fit(table)
    for name, model in models.items():
        explainer = daace.Explainer(density, classifier=model.fit(X, y), min_posterior=0.6)
        batch = explainer.explain_batch(frame[y == "no"].head(8), target="yes")
        for row, e in enumerate(batch):
            yield f"classifiers/{name}/{row}", e
        whole = daace.Constraints(integer=["age", "children"])
        yield (
            f"classifiers/{name}/integer",
            explainer.explain(frame[y == "no"].iloc[0], target="yes", constraints=whole),
        )


def _files() -> Answers:
    explainer = daace.fit(daace.load_table("iris"), "linear-gaussian")
    rows = daace.load_table("iris").to_frame().iloc[::4].assign(id=range(38))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "rows.csv"
        rows.to_csv(source, index=False)
        for suffix in ("csv", "jsonl"):
            output = Path(folder) / f"answers.{suffix}"
            explainer.explain_file(source, output, target="virginica", n_jobs=2)
            if suffix == "csv":
                yield "file/csv", output.read_text()
            else:
                yield "file/jsonl", [json.loads(line) for line in output.read_text().splitlines()]
        explainer.save(Path(folder) / "model.daace")
        again = daace.load(Path(folder) / "model.daace")
        yield "file/model", again.explain(rows.iloc[0].drop(["id"]), target="virginica")


def _study() -> Answers:
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "small.toml"
        spec.write_text(STUDY)
        _run("study", "run", str(spec), "--out", folder)
        for line in (Path(folder) / "records.jsonl").read_text().splitlines():
            record = json.loads(line)
            if record["kind"] == "problem":
                asked = ("table", "algorithm", "instance", "penalty", "plausibility")
                yield "/".join(["study", *(str(record[name]) for name in asked)]), record


def _counties() -> Answers:
    if "DAACE_DATA" not in os.environ:
        return
    for name in ("Los Angeles", "Conejos"):
        yield f"counties/{name}", _run("eqi", "explain", name, "--improve", "2", "--json", "-")


def _run(*arguments: str) -> str:
    """Return what a command prints."""
    done = subprocess.run(
        [sys.executable, "-m", "daace", *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


def plain(value: Any) -> Any:
    """Return a value as JSON has it, without what depends on the clock."""
    if isinstance(value, daace.Explanation):
        along = getattr(value, "along", None)
        along = value.profile if along is None else along
        kept = plain(json.loads(value.to_json()))
        numbers = {str(n): along[n].tolist() for n in along if along[n].dtype.kind == "f"}
        return {**kept, "along": plain(numbers)}
    if isinstance(value, pd.DataFrame):
        return plain(value.reset_index().to_dict("list"))
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, dict):
        if set(value) == {"code", "fields", "text"}:  # a note; it was its sentence once
            return plain(value["text"])
        return {str(k): plain(v) for k, v in value.items() if k not in IGNORED}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, float):
        return value.hex()
    return value if isinstance(value, str | int | None) else str(value)


def main(do: str, path: str) -> int:
    """Write a record, or compare with one; the exit code says whether all is equal."""
    warnings.simplefilter("ignore")
    if do == "write":
        record: dict[str, Any] = {}
        for name, value in answers():
            record[name] = plain(value)
        Path(path).write_text(json.dumps(record, indent=0, sort_keys=True))
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()[:12]
        print(f"{len(record)} answers, {digest}")
        return 0
    before, seen, other = json.loads(Path(path).read_text()), set[str](), 0
    for name, value in answers():
        seen.add(name)
        now = json.loads(json.dumps(plain(value)))
        if before.get(name) != now:
            other += 1
            print(f"{name}: {_first_difference(before.get(name), now)}")
    missing = set(before) - seen
    print(f"{len(seen)} answers, {other} differ, {len(missing)} missing {sorted(missing)[:5]}")
    return int(bool(other or missing))


def _first_difference(before: Any, now: Any, place: str = "") -> str:
    pairs: list[tuple[Any, Any, Any]] = []
    if isinstance(before, dict) and isinstance(now, dict):
        pairs = [(k, before.get(k), now.get(k)) for k in sorted({*before, *now})]
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        pairs = list(zip(range(len(now)), before, now, strict=True))
    for k, old, new in pairs:
        if old != new:
            return _first_difference(old, new, f"{place}/{k}")
    return f"{place} was {str(before)[:90]}, is {str(now)[:90]}"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
