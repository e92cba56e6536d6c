"""RealNVP: speed against zuko, likelihood against the KDE, the network and the truth.

`rows()` measures speed in a minute, with flows as they are before training; `python -m
benchmarks.flow OUTPUT --speed 9` does so in nine fresh processes, because zuko's time hangs on how
the memory of its process happens to be laid out, for trained flows too (some minutes once, kept in
OUTPUT), and writes OUTPUT/speed.csv. The likelihoods need an hour of training:
`python -m benchmarks.flow OUTPUT` appends one line per training to OUTPUT/likelihood-500.csv, skips
what stands there, and goes on with a training that was stopped; `--epochs 50` for a first look.
`--tune SECONDS` searches settings for EQI instead, on the counties that are not held out; its
trials stand in OUTPUT/eqi-trials.db, from which it goes on, and in OUTPUT/eqi-trials.csv.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.clgn import Row, row
from daace._typing import FloatArray
from daace.data.catalog import load_table
from daace.data.preprocess import preprocess
from daace.data.synthetic import draw_table, moons, random_mixture
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.flow.trainer import Trainer
from daace.density.kde import KernelDensity
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.density.mixture import GaussianMixture
from daace.density.realnvp import RealNVP
from daace.density.tuning.settings import write_settings
from daace.density.tuning.tune import tune_realnvp
from daace.eqi.data import read_counties
from daace.eqi.models import eqi_flow
from daace.explain.explainer import Explainer
from daace.explain.loading import load

# Speed --------------------------------------------------------------------------------------------


class Size(NamedTuple):
    """Settings of a flow, and the table of two classes that it is trained on."""

    name: str
    settings: str
    table: str
    features: int


SIZES = (
    Size("default, 5 features", "default", "phoneme", 5),
    Size("preset phoneme", "preset", "phoneme", 5),
    Size("preset MagicTelescope", "preset", "MagicTelescope", 10),
)

CLASSES, BATCH = 2, 400


def untrained(size: Size) -> tuple[RealNVP, Table]:
    """Return a flow after one epoch, which uses all its units, and the rows of thirty batches."""
    rng = np.random.default_rng(0)
    mixture = random_mixture(size.features, classes=CLASSES, rng=rng)
    table = draw_table(mixture, 30 * BATCH, rng=rng)
    return flow_of(Task(size.table, "original", size.settings), 1).fit(table), table


def trained(size: Size, folder: Path) -> RealNVP:
    """Return the flow that all rows of the table give in 500 epochs; it is kept in the folder."""
    path = folder / f"{size.settings}-{size.table}.daace"
    if not path.exists():
        task = Task(size.table, "original", size.settings)
        density = flow_of(task, 500).fit(prepare(task)[0], progress=True)
        Explainer(density).save(path)
    density = load(path).density
    assert isinstance(density, RealNVP)
    return density


def cpu_seconds(works: list[Callable[[], object]], *, repeats: int) -> list[float]:
    """Return the median CPU time of each work; they take turns, so that all see the same noise."""
    for work in works:
        work()
    times = np.empty((repeats, len(works)))
    for line in times:
        for j, work in enumerate(works):
            began = time.process_time()
            work()
            line[j] = time.process_time() - began
    return [float(median) for median in np.median(times, axis=0)]


def peer_of(density: RealNVP) -> Any:
    """Return zuko's flow of the same size, as it is before training."""
    import zuko

    n = len(density.features_)
    units = [density.hidden * n] * density.layers
    return zuko.flows.RealNVP(n, CLASSES, transforms=density.flows, hidden_features=units)


def speed(name: str, density: RealNVP, *, repeats: int) -> list[Row]:
    """Compare log p of 20 and 2000 rows under all classes, and its gradient."""
    import torch

    peers = {kind: peer_of(density).to(kind) for kind in (torch.float64, torch.float32)}
    lines = []
    for count in (20, 2000):
        X, _ = density.sample(count, rng=np.random.default_rng(0))
        W = np.ones((count, CLASSES))

        def zuko_log_prob(kind: torch.dtype, X: FloatArray = X) -> Callable[[], object]:
            x = torch.from_numpy(X).to(kind).repeat(CLASSES, 1)
            context = torch.eye(CLASSES, dtype=kind).repeat_interleave(len(X), 0)

            def work() -> object:
                with torch.no_grad():
                    return peers[kind](context).log_prob(x)

            return work

        def zuko_gradient(X: FloatArray = X) -> object:
            x = torch.from_numpy(X).requires_grad_()
            context = torch.eye(CLASSES, dtype=x.dtype).repeat_interleave(len(X), 0)
            peers[torch.float64](context).log_prob(x.repeat(CLASSES, 1)).sum().backward()
            return x.grad

        times = cpu_seconds(
            [
                lambda X=X: density.log_joint(X),  # type: ignore[misc]
                zuko_log_prob(torch.float64),
                zuko_log_prob(torch.float32),
                lambda X=X, W=W: density.log_joint_vjp(X, W),  # type: ignore[misc]
                zuko_gradient,
            ],
            repeats=repeats * (10 if count == 20 else 1),
        )
        what = f"{name}: log_joint of {count} rows"
        lines += [
            row(f"{what}, zuko in float64", times[0], times[1]),
            row(f"{what}, zuko in float32", times[0], times[2]),
            row(f"{name}: with gradient, {count} rows, zuko in float64", times[3], times[4]),
        ]
    return lines


def training_step(name: str, density: RealNVP, table: Table, *, repeats: int) -> Row:
    """Compare one epoch of 30 steps: noise, loss, gradient, Adam; both in float32."""
    import torch

    X = density.to_model(table.to_frame())
    y = np.searchsorted(density.classes_, table.y)
    rng = np.random.default_rng(0)
    everyone = np.zeros(len(y), dtype=bool)
    trainer = Trainer(density, X, y, everyone, density.flow_.orders, rng)
    peer = peer_of(density)
    adam = torch.optim.Adam(
        peer.parameters(), lr=1e-3, weight_decay=density.weight_decay, fused=True
    )
    x = torch.from_numpy(X.astype(np.float32))
    context = torch.eye(CLASSES)[torch.from_numpy(y)]

    def zuko_epoch() -> None:
        order = torch.randperm(len(x))
        for batch in order.tensor_split(30):
            adam.zero_grad()
            noisy = x[batch] + density.noise * torch.randn(len(batch), X.shape[1])
            loss = -peer(context[batch]).log_prob(noisy).mean()
            loss.backward()
            adam.step()

    ours, theirs = cpu_seconds(
        [lambda: trainer.epoch(0, 1e-3), zuko_epoch], repeats=max(3, repeats // 4)
    )
    return row(f"{name}: training step of {BATCH} rows", ours / 30, theirs / 30)


def rows(*, full: bool = False, folder: Path | None = None) -> list[Row]:
    """Return the table of speeds.

    Args:
        full: repeat more often, add a size.
        folder: where trained flows are; None measures only untrained ones.
    """
    import torch

    torch.set_num_threads(1)
    repeats, lines = 40 if full else 12, []
    with threadpool_limits(1):
        for size in SIZES if full else SIZES[:2]:
            density, table = untrained(size)
            lines += speed(f"{size.name}, untrained", density, repeats=repeats)
            if folder is not None:
                lines += speed(f"{size.name}, trained", trained(size, folder), repeats=repeats)
            lines.append(training_step(size.name, density, table, repeats=repeats))
    return lines


def fresh_rows(processes: int, folder: Path) -> pd.DataFrame:
    """Return the median, lowest and highest ratio over several processes, one after the other."""
    for size in SIZES:
        widths = trained(size, folder).flow_.widths
        print(f"{size.name}, trained: {widths.mean():.1f} units matter in a hidden layer")
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn, max_tasks_per_child=1) as pool:
        tasks = [pool.submit(rows, full=True, folder=folder) for _ in range(processes)]
        lines = pd.concat([pd.DataFrame(task.result()) for task in tasks])
    return lines.groupby("what", sort=False)["ratio"].agg(["median", "min", "max"])


# Likelihood ---------------------------------------------------------------------------------------


class Task(NamedTuple):
    """One training: on which rows, and with which settings."""

    table: str
    data: str  # 'resampled', 'original', 'moons' or 'eqi'
    settings: str = "preset"


TASKS = (
    Task("phoneme", "resampled"),
    Task("wine", "resampled"),
    Task("phoneme", "original"),
    Task("wine", "original"),
    Task("moons", "moons", "default"),
    Task("EQI", "eqi", "tuned"),
    Task("MagicTelescope", "resampled"),
    Task("california", "resampled"),
    Task("EQI", "eqi"),
    Task("electricity", "resampled"),
    Task("MagicTelescope", "original"),
    Task("california", "original"),
    Task("electricity", "original"),
)


def prepare(task: Task) -> tuple[Table, ConditionalDensity | None]:
    """Return standardised rows, and the density that they were drawn from where it is known."""
    rng = np.random.default_rng(0)
    if task.data == "moons":
        return draw_table(moons(), 20_000, rng=rng, name="moons"), GaussianMixture(*moons())
    eqi = task.data == "eqi"
    table = read_counties().table if eqi else preprocess(load_table(task.table))
    if task.data == "resampled":
        truth = KernelDensity().fit(table)
        X, y = truth.sample(int(np.clip(len(table), 15_000, 50_000)), rng=rng)
        return Table(X, y, table.features, table.classes, name=table.name), truth
    X = (table.X - table.X.mean(axis=0)) / table.X.std(axis=0)
    return Table(X, table.y, table.features, table.classes, name=table.name), None


def log_joint(density: ConditionalDensity, table: Table) -> FloatArray:
    """Return log p(x, y) of each row under its own class, in the units of the table."""
    joint = density.log_joint(density.standardizer_.transform(table.X))
    joint = joint - np.log(density.standardizer_.scale).sum()
    return np.asarray(joint[np.arange(len(table)), np.searchsorted(density.classes_, table.y)])


def flow_of(task: Task, epochs: int) -> RealNVP:
    """Return the unfitted flow of a task."""
    if task.settings == "default":
        return RealNVP(epochs=epochs)
    if task.settings == "preset":
        return RealNVP.preset(task.table, epochs=epochs)
    return RealNVP(**{**eqi_flow().get_params(), "epochs": epochs})


def likelihood(task: Task, *, epochs: int, folder: Path) -> dict[str, object]:
    """Train on 80% of the rows (EQI: 90%) and compare on the others."""
    table, truth = prepare(task)
    share = 0.1 if task.data == "eqi" else 0.2
    train, test = table.split(share, rng=np.random.default_rng(1))
    began = time.process_time()
    state = folder / f"{'-'.join(task)}-{epochs}.checkpoint"
    resumed = state.exists()  # then the time is that of a part
    density = flow_of(task, epochs).fit(train, progress=True, checkpoint=state)
    seconds = time.process_time() - began
    network = LinearGaussianNetwork().fit(train)
    ours, peer = log_joint(density, test), log_joint(network, test)
    gain = ours - peer
    own = np.arange(len(test)), np.searchsorted(network.classes_, test.y)
    return {
        "table": task.table,
        "data": task.data,
        "settings": task.settings,
        "rows": len(table),
        "features": len(table.features),
        "epochs": len(density.history_),
        "stopped": density.stopped_,
        "truth": np.nan if truth is None else truth.log_joint(test.X)[own].mean(),
        "realnvp": ours.mean(),
        "clgn": peer.mean(),
        "realnvp_train": log_joint(density, train).mean(),
        "clgn_train": log_joint(network, train).mean(),
        "gain_over_clgn": gain.mean(),
        "standard_error": gain.std() / np.sqrt(len(gain)),
        "cpu_seconds": np.nan if resumed else seconds,
    }


def tune_eqi(folder: Path, *, seconds: float, n_jobs: int = 1) -> None:
    """Search settings for EQI by cross-validation on the counties that `daace eqi fit` learns from.

    The held-out tenth is not seen. Networks are kept small, and trainings short: with 2,828 rows
    and 131 features a large network learns the rows by heart, and takes ten times as long.
    """
    counties = read_counties()
    known, _ = counties.split
    found = tune_realnvp(
        counties.table.take(known),
        trials=100,
        folds=3,
        epochs=60,
        space={"hidden": (1, 2), "layers": (1, 3), "flows": (3, 10), "noise": (0.05, 0.5)},
        storage=folder / "eqi-trials.db",
        n_jobs=n_jobs,
        time_limit=seconds,
        progress=True,
    )
    found.trials.to_csv(folder / "eqi-trials.csv", index=False)
    write_settings(folder / "eqi-settings.json", found)
    print(found.trials.sort_values("score", ascending=False).head(10).to_string(index=False))


def remaining(done: pd.DataFrame, wanted: str) -> Iterator[Task]:
    """Yield the tasks that have no line yet."""
    lines = {tuple(line) for line in done.reindex(columns=list(Task._fields)).to_numpy().tolist()}
    return (task for task in TASKS if task not in lines and wanted in " ".join(task))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, help="folder for likelihoods and checkpoints")
    parser.add_argument("--epochs", type=int, default=500)
    parser.add_argument("--only", default="", help="tasks that contain this text")
    parser.add_argument("--tune", type=float, metavar="SECONDS", help="search settings for EQI")
    parser.add_argument("--speed", type=int, metavar="N", help="times in N fresh processes instead")
    parser.add_argument("--jobs", type=int, default=1, help="trials at the same time")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    path = options.output / f"likelihood-{options.epochs}.csv"
    if options.speed is not None:
        found = fresh_rows(options.speed, options.output)
        found.to_csv(options.output / "speed.csv")
        print(found.round(2).to_string())
        return
    if options.tune is not None:
        tune_eqi(options.output, seconds=options.tune, n_jobs=options.jobs)
        return
    with threadpool_limits(1):
        done = pd.read_csv(path) if path.exists() else pd.DataFrame()
        for task in remaining(done, options.only):
            line = likelihood(task, epochs=options.epochs, folder=options.output)
            pd.DataFrame([line]).to_csv(path, mode="a", header=not path.exists(), index=False)
            print(pd.Series(line).to_string(), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
