"""A seeded fuzzer of model files and JSON explanations, as a script: nothing of ours is mocked.

`python mutants.py models 0 300` damages files of every kind of density in 300 ways, loads each and
uses what loads; `json` does the same with explanations. It writes how many were refused and used,
what was raised that is not documented, and the largest amount of memory that the process held.
"""

from __future__ import annotations

import copy
import io
import json
import sys
import tempfile
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

import daace
from daace.exceptions import DaaceError, InvalidInput, ModelFileError
from daace.explain.judging.committee import Committee

META, ARRAYS = "meta.json", "arrays.safetensors"

#: Beyond so many classes a mutant is not asked for an explanation, which would take minutes.
FEW = 50

#: Numbers that break what comes near them.
ODD = (0.0, -1.0, 1e-300, 1e-9, 1e6, 1e20, 1e99, -1e99, 1e150, 1e308, np.nan, np.inf, -np.inf)

#: Values that no reader expects; the marks stand for what `json.dumps` cannot write.
WEIRD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 0.5, 10**400, -(10**400), 2**63, 10**9, 1e300, 5e-324, -0.0,
    "", "inf", "-inf", "nan", "1", "class", "\ud800", "\0", "a" * 5000, "\n<script>", "*nan*",
    "*inf*", "*1e999*", [], {}, [[]], [1, 2], ["a"], {"a": 1}, {"": None}, [None], [[1.0], []],
)  # fmt: skip
MARKS = {'"*nan*"': "NaN", '"*inf*"': "Infinity", '"*1e999*"': "1e999"}


def mutate_text(text: str, rng: np.random.Generator) -> str:
    """Change a JSON text at one to three places of its tree; now and then the text itself."""
    tree = json.loads(text)
    for _ in range(rng.integers(1, 4)):
        tree = _mutate_tree(tree, rng)
    text = json.dumps(tree)
    for mark, raw in MARKS.items():
        text = text.replace(mark, raw)
    if rng.random() < 0.1:
        place = int(rng.integers(len(text)))
        inserted = ("[" * 100_000, '{"a":' * 5000, "\\ud800", '"', ",", "", "\ufeff", "1" * 5000)
        text = text[:place] + inserted[rng.integers(len(inserted))] + text[place + 1 :]
    return text


def _mutate_tree(tree: Any, rng: np.random.Generator) -> Any:
    places = list(_places(tree))
    path = places[rng.integers(len(places))]
    if not path:
        return WEIRD[rng.integers(len(WEIRD))] if rng.random() < 0.2 else tree
    holder = tree
    for key in path[:-1]:
        holder = holder[key]
    key, value = path[-1], holder[path[-1]]
    match rng.integers(9):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, list):
            holder.insert(key, copy.deepcopy(value))
        case 2 if isinstance(holder, dict):
            holder[str(WEIRD[rng.integers(len(WEIRD))])] = holder.pop(key)
        case 3:
            holder[key] = [value]
        case 4:
            holder[key] = str(value)
        case 5 if isinstance(value, int | float):
            holder[key] = value * float(rng.choice([-1, 0, 10, 1e-99, 1e20, 1e99, 1e300]))
        case 6 if isinstance(value, list):
            holder[key] = value[::-1] if rng.random() < 0.5 else value * int(rng.integers(2, 300))
        case 7:
            for _ in range(int(rng.integers(2, 400))):
                value = [value]
            holder[key] = value
        case _:
            holder[key] = copy.deepcopy(WEIRD[rng.integers(len(WEIRD))])
    return tree


def _places(tree: Any, path: tuple[Any, ...] = ()) -> Any:
    yield path
    if isinstance(tree, dict | list):
        keys = list(tree) if isinstance(tree, dict) else range(len(tree))
        for key in keys:
            yield from _places(tree[key], (*path, key))


def mutate_arrays(arrays: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Change one to three arrays: numbers, shape, dtype, name."""
    arrays = {name: array.copy() for name, array in arrays.items()}
    for _ in range(rng.integers(1, 4)):
        name = sorted(arrays)[rng.integers(len(arrays))]
        array = arrays[name]
        flat = array.reshape(-1)
        odd = float(ODD[rng.integers(len(ODD))])
        match rng.integers(14):
            case 0 | 1 if flat.size and array.dtype == np.float64:
                flat[rng.integers(flat.size)] = odd
            case 2:
                arrays[name] = np.full_like(array, odd)
            case 3 | 4:
                with np.errstate(all="ignore"):
                    arrays[name] = array * 10.0 ** rng.integers(-100, 101)
            case 5:
                arrays[name] = -array
            case 6:
                arrays[name] = array + 10.0 ** rng.integers(-3, 100)
            case 7:
                arrays[name] = array.T
            case 8:
                arrays[name] = array[:-1] if array.ndim else array.reshape(1)
            case 9:
                arrays[name] = np.concatenate([array, array]) if array.ndim else array
            case 10:
                shapes = [(-1,), (1, *array.shape), (*array.shape, 1)]
                arrays[name] = array.reshape(shapes[rng.integers(3)])
            case 11:
                arrays[name] = array.astype([np.float32, np.int64, np.float16][rng.integers(3)])
            case 12:
                arrays[name] = array[:0] if array.ndim else array
            case _:
                del arrays[name]
                if rng.random() < 0.5 or not arrays:
                    arrays[f"{name}x"] = array
    return arrays


def inflate(meta: dict[str, Any], arrays: dict[str, Any], rng: np.random.Generator) -> None:
    """Make the same model of many more classes: a small file that asks for much."""
    k, times = len(meta["classes"]), int(rng.integers(2, 1500))
    meta["classes"] = [f"c{j:06d}" for j in range(k * times)]
    for name, array in arrays.items():
        if name.startswith("density.") and array.ndim and len(array) == k:
            arrays[name] = np.concatenate([array] * times)
    if "density.log_prior" in arrays:
        arrays["density.log_prior"] -= np.log(times)
    if "labels" in meta["density"]:
        arrays["density.weights"] = np.concatenate([arrays["density.weights"][:k]] * times)
        for part in ("means", "covariances"):
            first = arrays[f"density.{part}"][:k]
            arrays[f"density.{part}"] = np.concatenate([first] * times)[: k * times]
        meta["density"]["labels"] = meta["classes"]
        arrays["density.weights"] = np.full(k * times, 1 / (k * times))


def mutate_model(data: bytes, rng: np.random.Generator) -> bytes:
    """Change a model file: bytes, members, names and settings, arrays, or sizes."""
    kind = rng.random()
    if kind < 0.08:
        return _mutate_bytes(data, rng)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    if kind < 0.15:
        member = [META, ARRAYS][rng.integers(2)]
        parts[member] = _mutate_bytes(parts[member], rng)
    elif kind < 0.55:
        text = mutate_text(parts[META].decode(), rng)
        parts[META] = text.encode("utf-8", "surrogatepass")
    elif kind < 0.98:
        arrays = mutate_arrays(load_tensors(parts[ARRAYS]), rng)
        parts[ARRAYS] = _save(arrays)
        if kind > 0.9:
            parts[META] = mutate_text(parts[META].decode(), rng).encode("utf-8", "surrogatepass")
    else:
        meta, arrays = json.loads(parts[META]), load_tensors(parts[ARRAYS])
        inflate(meta, arrays, rng)
        parts[META], parts[ARRAYS] = json.dumps(meta).encode(), _save(arrays)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _save(arrays: dict[str, Any]) -> bytes:
    return bytes(save_tensors({name: np.ascontiguousarray(a) for name, a in arrays.items()}))


def _mutate_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    spoiled = bytearray(data)
    place = int(rng.integers(len(spoiled)))
    match rng.integers(4):
        case 0:
            return bytes(spoiled[:place])
        case 1:
            spoiled[place : place + 8] = rng.bytes(8)
        case 2:
            del spoiled[place : place + int(rng.integers(1, 100))]
        case _:
            for at in rng.integers(len(spoiled), size=int(rng.integers(1, 9))):
                spoiled[at] ^= int(rng.integers(1, 256))
    return bytes(spoiled)


# What is done with a mutant -----------------------------------------------------------------------


def use_model(data: bytes, path: Path) -> str:
    """Load a file and use it as anybody would; return 'refused' or 'used'."""
    path.write_bytes(data)
    try:
        explainer = daace.load(path)
    except ModelFileError as error:
        str(error).encode()
        return "refused"
    density = explainer.density
    X, _ = density.sample(20, rng=np.random.default_rng(0))
    if not np.isfinite(density.log_prob(X)).all():
        raise AssertionError("log p of a draw is not finite")
    if len(density.classes_) > FEW:
        return "used"
    try:
        row = density.to_user(np.zeros((1, density.encoding_.width))).iloc[0]
        e = explainer.explain(row, target=density.classes_[-1], time_limit=2.0)
        use_explanation(e.to_json(), pages=False)
        explainer.save(path, include_rows=True)
    except DaaceError:
        return "used, then refused"
    return "used"


def use_explanation(text: str, *, pages: bool) -> str:
    """Read an explanation and use it as anybody would; return 'refused' or 'used'."""
    try:
        e = daace.Explanation.from_json(text)
    except InvalidInput as error:
        str(error).encode()
        return "refused"
    for words in (str(e), repr(e), *e.steps(), e.changes().to_string(), str(e.counterfactual)):
        words.encode()
    for kind in ("steps", "along"):
        e.plot_data(kind)
    again = daace.Explanation.from_json(e.to_json())
    assert again.to_json() == e.to_json()
    if pages:
        e.to_html().encode()
    return "used"


def model_files() -> dict[str, bytes]:
    """One small model file of each kind of density, of tables with categories, of committees."""
    iris = daace.load_table("iris")
    rules = daace.Constraints(
        upper={"petal length": np.inf},
        weights={"sepal width": 2.0},
        max_rise={"sepal length": 9.0},
        links=[daace.Link({"petal length": 1.0, "petal width": -1.0}, at_least=-90.0)],
    )
    mixture = daace.GaussianMixture(
        [1, 1, 1], [[0.0, 0.0], [4.0, 1.0], [2.0, 5.0]], [np.eye(2)] * 3, ["ill", "well", "well"]
    )
    network, mixed = daace.LinearGaussianNetwork(max_parents=2).fit(iris), mixed_table()
    densities: dict[str, Any] = {
        "linear-gaussian": network,
        "profiles": daace.LinearGaussianNetwork(max_parents=2, profiles=2).fit(iris),
        "mixed": daace.LinearGaussianNetwork(profiles=2).fit(mixed),
        "mixed kde": daace.KernelDensity(bandwidth=0.3).fit(mixed),
        "kde": daace.KernelDensity(bandwidth=0.3).fit(iris.take(np.arange(0, 150, 3))),
        "gaussian-mixture": mixture,
        "realnvp": random_flow(network),
    }
    mixed_network = densities["mixed"]
    committees = {
        "committee of three classes": Committee.train(network, iris, None),
        "mixed committee": Committee.train(mixed_network, mixed, None),
    }
    files = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m"
        for kind, density in densities.items():
            known = kind != "gaussian-mixture" and "mixed" not in kind
            planner = daace.PathOptimizer(vertices=(0, 1), starts=2)
            daace.Explainer(density, planner=planner, constraints=rules if known else None).save(
                path, include_rows=True
            )
            files[kind] = path.read_bytes()
        for kind, committee in committees.items():
            daace.Explainer(committee.density, committee=committee).save(path)
            files[kind] = path.read_bytes()
    return files


def mixed_table() -> daace.Table:
    """Numbers, one with atoms, codes of every kind, and a derived column."""
    rng = np.random.default_rng(0)
    good = rng.uniform(size=200) < 0.5
    age = rng.integers(20, 60, 200)
    frame = pd.DataFrame(
        {
            "age": age,
            "young": np.where(age < 40, "yes", "no"),
            "saved": np.where(rng.uniform(size=200) < 0.4, 0.0, rng.gamma(3, 1 + good)),
            "job": rng.choice(["cook", "smith", None], 200),
            "size": pd.Categorical(rng.choice(["s", "m"], 200), ["s", "m", "l"], ordered=True),
            "kids": rng.integers(0, 3, 200) + good,
            "class": np.where(good, "well", "ill"),
        }
    )
    frame.loc[:20, "saved"] = np.nan
    return daace.Table.from_frame(frame, target="class")


def random_flow(like: Any) -> Any:
    """A flow with random weights and the names of another density: torch takes 300 MB itself."""
    rng = np.random.default_rng(0)
    settings = daace.RealNVP(flows=2, layers=1, hidden=2).get_params() | {"stopped": "epochs"}
    arrays = {
        "log_prior": like.log_prior_,
        "orders": np.array([[0.0, 1, 2, 3], [2, 3, 0, 1]]),
        "history": np.array([[1.0, 6.0, 6.0, 1e-3], [2.0, 5.0, 5.0, 1e-3]]),
        "weight_0": rng.normal(size=(2, 8, 5)),
        "bias_0": rng.normal(size=(2, 8)),
        "weight_1": 0.3 * rng.normal(size=(2, 4, 8)),
        "bias_1": 0.3 * rng.normal(size=(2, 4)),
    }
    flow = daace.RealNVP.from_arrays(arrays, settings)
    for name in ("classes_", "features_", "target_", "units_", "standardizer_"):
        setattr(flow, name, getattr(like, name))
    flow._describe_draws()
    return flow


def explanations() -> dict[str, str]:
    """Explanations of every sort: found with alternatives, not found, judged by a function."""
    density = daace.GaussianMixture(
        [1, 1], [[0.0, 0.0], [4.0, 1.0]], [np.eye(2), np.eye(2)], ["ill", "well"]
    )
    rules = daace.Constraints(upper={"x2": np.inf}, lower={"x1": -3.0}, only_up=["x2"])
    explainer = daace.Explainer(density, constraints=rules)
    judged = daace.Explainer(density, classifier=lambda X: 1 / (1 + np.exp(2 - X["x1"])))
    table = mixed_table()
    network = daace.LinearGaussianNetwork(profiles=2).fit(table)
    mixed = daace.Explainer(network)
    sure = daace.Explainer(network, committee=Committee.train(network, table, None))
    ill = {"age": 30, "saved": 0.0, "job": None, "size": "m", "kids": 0}
    answers = {
        "mixed": mixed.explain(ill, target="well", alternatives=1),
        "committee": sure.explain(ill, target="well"),
        "found": explainer.explain([0.0, 0.0], target="well", alternatives=2),
        "not found": explainer.explain([0.0, 0.0], target="well", plausibility=50),
        "judged": judged.explain([0.0, 0.0], target="well"),
    }
    return {name: e.to_json() for name, e in answers.items()}


def campaign(what: str, first: int, count: int) -> dict[str, Any]:
    """Try `count` mutants, from seed `first` on, and report."""
    outcomes: Counter[str] = Counter()
    failures: list[dict[str, Any]] = []
    bases: dict[str, Any] = model_files() if what == "models" else explanations()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutant"
        for kind, base in bases.items():  # what was not damaged must work
            assert _attempt(what, base, path, pages=True) == "used", kind
        for seed in range(first, first + count):
            rng = np.random.default_rng([9, seed])
            kind = sorted(bases)[seed % len(bases)]
            mutate: Callable[..., Any] = mutate_model if what == "models" else mutate_text
            mutant = mutate(bases[kind], rng)
            try:
                outcomes[_attempt(what, mutant, path, pages=seed % 50 == 0)] += 1
            except Exception as error:
                trace = traceback.format_exc().splitlines()[-12:]
                failures.append({"seed": seed, "kind": kind, "error": repr(error), "trace": trace})
    return {"outcomes": outcomes, "failures": failures, "peak_bytes": peak_memory()}


def _attempt(what: str, mutant: Any, path: Path, *, pages: bool) -> str:
    if what == "models":
        return use_model(mutant, path)
    return use_explanation(mutant, pages=pages)


def peak_memory() -> int:
    """Return the most memory that this process has held, in bytes."""
    try:  # of this process alone: getrusage also counts the one that it was forked from
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return 1024 * int(status.split("VmHWM:")[1].split()[0])
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else 1024 * peak


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    report = campaign(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    sys.stdout.write(json.dumps(report) + "\n")
