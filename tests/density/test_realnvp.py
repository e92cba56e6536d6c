from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from daace import Explainer, GaussianMixture, fit, load, load_table
from daace._progress import Bar
from daace._typing import FloatArray
from daace.cli import main
from daace.data.synthetic import draw_table, moons, random_mixture
from daace.data.table import Table
from daace.density import realnvp
from daace.density.flow import checkpoint, training
from daace.density.flow.presets import PRESETS
from daace.density.flow.trainer import Trainer, balanced_orders
from daace.density.realnvp import RealNVP
from daace.density.splits import hold_out
from daace.exceptions import InvalidInput, MissingDependency, NotFitted

torch = pytest.importorskip("torch", reason="a flow is trained with torch")


def small(**changes: Any) -> RealNVP:
    """A flow that is trained in a tenth of a second."""
    settings = {"flows": 3, "layers": 2, "hidden": 3, "epochs": 4, "batches": 5}
    return RealNVP(**{**settings, "learning_rate": 5e-3, **changes})


def table(n: int = 3, *, rows: int = 200, classes: int = 2, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    return draw_table(random_mixture(n, classes=classes, rng=rng), rows, rng=rng)


def same(one: RealNVP, two: RealNVP) -> bool:
    a, b = one.to_arrays()[0], two.to_arrays()[0]
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


@pytest.fixture(scope="module")
def flow() -> RealNVP:
    return small(epochs=10).fit(table())


# What it learns -----------------------------------------------------------------------------------


def test_two_moons_are_learned() -> None:
    rng = np.random.default_rng(0)
    truth = GaussianMixture(*moons())
    density = RealNVP(epochs=40, learning_rate=3e-3, batches=15, noise=0.05)
    density.fit(draw_table(moons(), 2_000, rng=rng))
    test = draw_table(moons(), 4_000, rng=rng)
    y = np.searchsorted(truth.classes_, test.y)
    log_joint = density.log_joint(density.to_model(test.to_frame()))
    log_joint -= np.log(density.standardizer_.scale).sum()  # to the user's units
    gap = truth.log_joint(test.X)[np.arange(len(y)), y] - log_joint[np.arange(len(y)), y]
    assert 0 < gap.mean() < 0.15
    assert (
        density.log_posterior(density.to_model(test.to_frame())).argmax(axis=1) == y
    ).mean() > 0.97


def test_one_feature_is_a_gaussian_per_class_and_says_so() -> None:
    rng = np.random.default_rng(1)
    y = np.repeat(["a", "b", "c"], [100, 200, 300])
    x = rng.normal(size=600) * np.repeat([0.3, 1.0, 0.5], [100, 200, 300])
    x += np.repeat([-2.0, 0.0, 3.0], [100, 200, 300])
    one = Table.from_frame(pd.DataFrame({"x": x, "class": y}), target="class")
    density = RealNVP(
        flows=2, layers=1, hidden=16, learning_rate=0.01, weight_decay=0.0, noise=0.0,
        epochs=150, batches=4, early_stopping=False,
    )  # fmt: skip
    with pytest.warns(UserWarning, match="With one feature a flow is one Gaussian per class"):
        density.fit(one)
    assert np.exp(density.log_prior_) == pytest.approx([1 / 6, 1 / 3, 1 / 2])
    for label in "abc":
        X, _ = density.sample(4_000, rng=rng, label=label)
        users = density.to_user(X)["x"]
        assert users.mean() == pytest.approx(x[y == label].mean(), abs=0.1)
        assert users.std() == pytest.approx(x[y == label].std(), rel=0.15)


def test_training_and_evaluation_are_the_same_function(flow: RealNVP) -> None:
    """Torch's loss in double precision, from the learned weights, is numpy's log p(x | y)."""
    rng = np.random.default_rng(2)
    rows = table(seed=3)
    X = flow.to_model(rows.to_frame())
    y = np.searchsorted(flow.classes_, rows.y)
    trainer = Trainer(flow, X, y, np.zeros(len(y), dtype=bool), flow.flow_.orders, rng)
    weights = zip(flow.flow_.weights, flow.flow_.biases, strict=True)
    flat = np.concatenate([part.ravel() for both in weights for part in both])
    trainer.parameters = torch.from_numpy(flat).requires_grad_()
    expected = flow.flow_.log_density(X)[np.arange(len(y)), y]
    for i in range(20):
        one = torch.from_numpy(np.concatenate([X[i], np.eye(2)[y[i]]])[None]).requires_grad_()
        loss = trainer.loss(one)
        assert -float(loss.detach()) == pytest.approx(expected[i], rel=1e-9, abs=1e-9)
        loss.backward()
        gradient = flow.log_joint_vjp(X[[i]], np.eye(2)[[y[i]]])[0]
        assert -one.grad.numpy()[0, :3] == pytest.approx(gradient, rel=1e-9, abs=1e-9)


def test_weights_survive_the_way_from_torch_to_numpy() -> None:
    rows = table(5, classes=3)
    density = small(noise=0.0, early_stopping=False, epochs=1, batches=1, learning_rate=1e-9)
    density.fit(rows)
    X = density.to_model(rows.to_frame())
    y = np.searchsorted(density.classes_, rows.y)
    likelihood = density.flow_.log_density(X)[np.arange(len(y)), y].mean()
    assert density.history_["train_loss"][0] == pytest.approx(-likelihood, rel=1e-6)


def test_an_epoch_is_that_of_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every training row once, in batches of its own, with noise on the features alone."""
    batches: list[FloatArray] = []

    def record(self: Trainer, rows: Any) -> Any:
        batches.append(rows.numpy().copy())
        return (self.parameters * 0).sum()

    monkeypatch.setattr(Trainer, "loss", record)
    X, y = np.repeat(np.arange(2000.0)[:, None], 3, axis=1), np.repeat([0, 1], 1000)
    held_out = np.arange(2000) % 10 == 0
    settings = small(batches=30, noise=0.05, weight_decay=0.02)
    orders = balanced_orders(3, 3, rng=np.random.default_rng(0))
    trainer = Trainer(settings, X, y, held_out, orders, np.random.default_rng(0))
    assert trainer.adam.param_groups[0]["weight_decay"] == 0.02
    epochs = []
    for number in (0, 1):
        batches.clear()
        trainer.epoch(number, 1e-3)
        assert [len(batch) for batch in batches] == [60] * 30
        epochs.append(np.concatenate(batches))
    noises = []
    for rows in epochs:
        number = rows[:, :3].mean(axis=1).round().astype(np.intp)  # the row before the noise
        assert np.array_equal(np.sort(number), np.flatnonzero(~held_out))
        assert (np.diff(number) > 0).mean() < 0.6  # shuffled
        assert np.array_equal(rows[:, 3:], np.eye(2)[y[number]])
        noises.append((rows[:, :3] - number[:, None])[np.argsort(number)])
        assert noises[-1].std(axis=0) == pytest.approx([0.05] * 3, rel=0.1)
    assert not np.array_equal(*epochs)
    assert np.corrcoef(noises[0].ravel(), noises[1].ravel())[0, 1] == pytest.approx(0, abs=0.1)


# Same seed, same model; nothing lost ------------------------------------------------------------


def test_the_same_seed_gives_the_same_model(flow: RealNVP) -> None:
    before = torch.get_num_threads(), torch.random.get_rng_state()
    again = small(epochs=10).fit(table())
    assert same(flow, again)
    assert flow.history_.equals(again.history_)
    assert not same(flow, small(epochs=10, seed=1).fit(table()))
    assert torch.get_num_threads() == before[0]
    assert torch.equal(torch.random.get_rng_state(), before[1])


def test_what_is_set_in_torch_changes_nothing(flow: RealNVP) -> None:
    torch.set_default_dtype(torch.float64)
    try:
        with torch.inference_mode():
            again = small(epochs=10).fit(table())
    finally:
        torch.set_default_dtype(torch.float32)
    assert same(flow, again)


@pytest.mark.parametrize("flushed", [False, True])
def test_what_is_tiny_is_zero_in_training_only(
    monkeypatch: pytest.MonkeyPatch, flushed: bool
) -> None:
    """A processor takes long over numbers below 1e-38, and all that is let go of gets there."""

    def watched(self: Trainer, number: int, learning_rate: float) -> float:
        assert (tiny * 1).item() == 0
        return epoch(self, number, learning_rate)

    tiny, epoch = torch.tensor(1e-40), Trainer.epoch
    monkeypatch.setattr(Trainer, "epoch", watched)
    torch.set_flush_denormal(flushed)
    try:
        small().fit(table())
        assert ((tiny * 1).item() == 0) == flushed
    finally:
        torch.set_flush_denormal(False)


def test_a_stopped_training_goes_on_to_the_same_model(tmp_path: Path) -> None:
    straight = small(epochs=9).fit(table())
    small(epochs=4).fit(table(), checkpoint=tmp_path / "c")
    resumed = small(epochs=9).fit(table(), checkpoint=tmp_path / "c")
    assert same(straight, resumed)
    assert same(straight, small(epochs=9).fit(table(), checkpoint=tmp_path / "c"))
    with pytest.raises(InvalidInput, match="'checkpoint' must belong to this training"):
        small(flows=2).fit(table(), checkpoint=tmp_path / "c")
    with pytest.raises(InvalidInput, match="'checkpoint' must belong to this training"):
        small().fit(table(seed=1), checkpoint=tmp_path / "c")


def test_a_checkpoint_knows_its_rows_however_they_lie_in_memory(tmp_path: Path) -> None:
    rows = table(rows=1001)
    small(epochs=2).fit(rows, checkpoint=tmp_path / "c")
    turned = Table(np.asfortranarray(rows.X), rows.y, rows.features, rows.classes)
    assert len(small(epochs=4).fit(turned, checkpoint=tmp_path / "c").history_) == 4


def test_a_checkpoint_holds_no_row(tmp_path: Path) -> None:
    rows = table()
    density = small().fit(rows, checkpoint=tmp_path / "c")
    data = (tmp_path / "c").read_bytes()
    for kind in (np.float64, np.float32):
        for matrix in (rows.X, density.to_model(rows.to_frame())):
            assert not any(row.tobytes() in data for row in matrix.astype(kind))


def test_an_interrupt_keeps_the_best_state(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Trainer, number: int, learning_rate: float) -> float:
        if number == 3:
            raise KeyboardInterrupt
        return epoch(self, number, learning_rate)

    epoch: Callable[[Trainer, int, float], float] = Trainer.epoch
    monkeypatch.setattr(Trainer, "epoch", interrupted)
    message = r"The training was interrupted in epoch 4 of 20: the best state so far is kept\."
    with pytest.warns(UserWarning, match=message):
        density = small(epochs=20).fit(table())
    assert density.stopped_ == "interrupted"
    assert len(density.history_) == 3
    monkeypatch.undo()
    assert same(density, small(epochs=3).fit(table()))


def test_an_interrupt_after_the_last_epoch_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def impatient(self: RealNVP) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        describe(self)

    describe: Callable[[RealNVP], None] = RealNVP._describe_draws
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        monkeypatch.setattr(RealNVP, "_describe_draws", impatient)
        density = small().fit(table())
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert density.stopped_ == "epochs"
    assert len(density.history_) == 4


def test_an_interrupt_in_the_last_epoch_of_all_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def impatient(self: Bar, *_: object, **__: object) -> None:
        lines.append(self)
        if len(lines) == 4:
            raise KeyboardInterrupt

    lines: list[Bar] = []
    monkeypatch.setattr(Bar, "advance", impatient)
    density = small().fit(table())
    assert (density.stopped_, len(density.history_)) == ("epochs", 4)


def test_a_training_that_ended_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "PATIENCE", 2)
    rows = table(rows=120)
    settings = {"epochs": 200, "learning_rate": 0.02}
    ended = small(**settings).fit(rows, checkpoint=tmp_path / "c")
    assert ended.stopped_ == "early"
    again = small(**settings).fit(rows, checkpoint=tmp_path / "c")
    assert (again.stopped_, len(again.history_)) == ("early", len(ended.history_))
    assert same(ended, again)


@pytest.mark.filterwarnings("default::UserWarning")  # as in a shell
def test_an_interrupt_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A real signal."""
    epoch = Trainer.epoch

    def interrupted(self: Trainer, number: int, rate: float) -> Any:
        if number == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return epoch(self, number, rate)

    monkeypatch.setattr(Trainer, "epoch", interrupted)
    monkeypatch.chdir(tmp_path)
    table(rows=60).to_frame().to_csv("data.csv", index=False)
    # Whoever runs the tests in the background has them ignore interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit) as leaving:
            main(["fit", "data.csv", "--target", "class", "--density", "realnvp",
                  "-o", "model.daace", "--checkpoint", "c"])  # fmt: skip
    finally:
        signal.signal(signal.SIGINT, before)
    said = capsys.readouterr().err
    assert leaving.value.code == 0, said
    assert "interrupted in epoch 4 of 500: the best state so far is kept." in said
    assert "To resume, fit again with 'c'." in said
    assert "Traceback" not in said
    assert len(load("model.daace").density.history_) == 3


def test_a_full_disk_does_not_cost_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "write_atomically", full)
    with pytest.warns(UserWarning, match="could not be written: No space left on device") as w:
        density = small().fit(table(), checkpoint=tmp_path / "c")
    assert w[0].filename == __file__
    assert same(density, small().fit(table()))
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        small().fit(table(), checkpoint=tmp_path / "folder")


def test_time_limit() -> None:
    density = small(epochs=10_000, time_limit=1e-9).fit(table())
    assert density.stopped_ == "time"
    assert len(density.history_) == 1


def test_a_learning_rate_that_overflows_is_named() -> None:
    with pytest.raises(InvalidInput, match="'learning_rate' must be small enough"):
        small(learning_rate=1e30).fit(table())


def test_a_training_that_diverges_says_so() -> None:
    message = r"Training diverged: the best loss is .* plain Gaussian .* 'learning_rate' \(5\)"
    with pytest.warns(UserWarning, match=message):
        small(learning_rate=5.0).fit(table())


@pytest.mark.parametrize("early_stopping", [True, False])
def test_the_plain_loss_is_that_of_a_standard_gaussian(early_stopping: bool) -> None:
    density = small(early_stopping=early_stopping, noise=0.5).fit(table())
    X = density.to_model(table().to_frame())
    y = np.searchsorted(density.classes_, table().y)
    held_out = hold_out(X, y, rng=np.random.default_rng(0)) & early_stopping
    rng = np.random.default_rng(1)
    trainer = Trainer(density, X, y, held_out, density.flow_.orders, rng)
    counted = X[held_out] if early_stopping else np.repeat(X, 2_000, axis=0)
    counted = counted + (0.0 if early_stopping else rng.normal(scale=0.5, size=counted.shape))
    expected = 0.5 * (np.log(2 * np.pi) + counted**2).sum(axis=1).mean()
    assert trainer.plain_loss() == pytest.approx(expected, rel=1e-6 if early_stopping else 5e-3)


def test_a_fit_that_fails_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    wild = small(learning_rate=1e30)
    with pytest.raises(InvalidInput):
        wild.fit(table())
    with pytest.raises(NotFitted):
        wild.log_prob(np.zeros((1, 3)))
    density = small().fit(table())
    before = density.log_prob(np.zeros((1, 3)))

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Trainer, "epoch", interrupt)
    with pytest.raises(KeyboardInterrupt):
        density.fit(table(4))
    assert len(density.features_) == 3
    assert np.array_equal(density.log_prob(np.zeros((1, 3))), before)


def test_an_epoch_that_overflowed_is_not_in_the_file(tmp_path: Path) -> None:
    density = small().fit(table())
    density.history_.loc[1, "validation_loss"] = np.inf
    fit(table(), density=density).save(tmp_path / "m.daace")
    assert load(tmp_path / "m.daace").density.history_["epoch"].tolist() == [1, 3, 4]


def test_outliers_do_not_overflow() -> None:
    rows = table(rows=300)
    X = rows.X.copy()
    X[0] = 1e12
    density = small().fit(Table(X, rows.y, rows.features, rows.classes))
    assert np.isfinite(density.log_prob(density.to_model(X))).all()


def test_fewer_rows_than_batches() -> None:
    density = RealNVP(flows=2, epochs=2, batches=100, early_stopping=False).fit(table(rows=60))
    assert np.isfinite(density.draws_.mean)


# History, presets, settings ---------------------------------------------------------------------


def test_history(flow: RealNVP) -> None:
    history = flow.history_
    assert list(history.columns) == ["epoch", "train_loss", "validation_loss", "learning_rate"]
    assert history["epoch"].tolist() == list(range(1, 11))
    assert history["train_loss"].iloc[-1] < history["train_loss"].iloc[0]
    assert history["validation_loss"].notna().all()
    alone = small(early_stopping=False).fit(table())
    assert alone.history_["validation_loss"].isna().all()
    assert (alone.history_["learning_rate"] == 5e-3).all()


#: Learning rate, weight decay, hidden, layers, flows, noise, as printed.
PAPER = {
    "credit": (0.00211, 0.00502, 6, 3, 7, 0.08688),
    "california": (0.00079, 0.00871, 6, 4, 6, 0.10064),
    "wine": (0.00221, 0.00162, 10, 5, 10, 0.3),
    "electricity": (0.003, 0.00846, 9, 4, 7, 0.03696),
    "covertype": (0.00179, 0.008, 10, 3, 7, 0.14033),
    "pol": (0.00273, 0.00333, 8, 2, 7, 0.19414),
    "house_16H": (0.00168, 0.00754, 5, 4, 10, 0.17375),
    "kdd_ipums": (0.00321, 0.00995, 7, 3, 5, 0.08337),
    "MagicTelescope": (0.00089, 0.00883, 5, 4, 10, 0.1631),
    "bank-marketing": (0.00079, 0.00871, 6, 4, 6, 0.10064),
    "phoneme": (0.00228, 0.00855, 8, 4, 10, 0.04628),
    "MiniBooNE": (0.00168, 0.00989, 9, 4, 9, 0.10549),
    "Higgs": (0.00119, 0.00393, 9, 3, 7, 0.21522),
    "eye_movements": (0.00019, 0.00361, 9, 3, 7, 0.26408),
    "jannis": (0.00119, 0.00393, 9, 3, 7, 0.21522),
    "EQI": (0.00017, 0.05026, 3, 5, 9, 0.3974),
}


def test_the_presets_are_the_papers() -> None:
    assert len(PRESETS) == 16
    density = RealNVP.preset("EQI", epochs=7, seed=3)
    assert density.get_params() == {
        "flows": 9, "layers": 5, "hidden": 3, "learning_rate": 0.00017, "weight_decay": 0.05026,
        "noise": 0.39740, "epochs": 7, "batches": 30, "early_stopping": False, "time_limit": None,
        "seed": 3,
    }  # fmt: skip
    assert RealNVP.preset("kdd_ipums_la_97-small").hidden == 7
    for name, (rate, decay, hidden, layers, flows, noise) in PAPER.items():
        found = RealNVP.preset(name)
        assert (found.learning_rate, found.weight_decay, found.noise) == (rate, decay, noise)
        assert (found.hidden, found.layers, found.flows) == (hidden, layers, flows)


def test_an_unknown_preset_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"'name' must be one of 'credit', .*'EQI'\. Got 'x'\."):
        RealNVP.preset("x")
    with pytest.raises(InvalidInput, match=r"Got 'Phoneme'\. Did you mean 'phoneme'\?"):
        RealNVP.preset("Phoneme")
    with pytest.raises(InvalidInput, match=r"Got \['phoneme'\]\."):
        RealNVP.preset(["phoneme"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"flows": 0}, r"'flows' must be an integer of at least 1\. Got 0\."),
        ({"layers": 1.5}, r"'layers' must be an integer of at least 1\. Got 1\.5\."),
        ({"hidden": True}, "'hidden' must be an integer"),
        ({"epochs": -1}, "'epochs' must be an integer"),
        ({"batches": 0}, "'batches' must be an integer"),
        ({"learning_rate": 0}, r"'learning_rate' must be a finite number above 0\. Got 0\."),
        ({"weight_decay": -1}, "'weight_decay' must be a finite number of at least 0"),
        ({"noise": np.nan}, "'noise' must be a finite number"),
        ({"early_stopping": "yes"}, "'early_stopping' must be one of True, False"),
        ({"early_stopping": 1}, r"'early_stopping' must be one of True, False\. Got 1\."),
        ({"time_limit": 0}, "'time_limit' must be a finite number above 0"),
        ({"seed": -1}, "'seed' must be an integer of at least 0"),
    ],
)
def test_wrong_settings_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        RealNVP(**changes)


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    odd = small(flows=np.int64(3), noise=np.float32(0.5)).fit(table(), checkpoint=tmp_path / "c")
    assert same(odd, small(noise=0.5).fit(table(), checkpoint=tmp_path / "c"))


def test_settings_are_stored_untouched(flow: RealNVP) -> None:
    assert RealNVP(**flow.get_params()).get_params() == flow.get_params()
    with pytest.raises(NotFitted, match="This RealNVP is not fitted"):
        small().log_prob(np.zeros((1, 3)))


def test_a_flow_is_saved_with_the_settings_that_it_learned_with(tmp_path: Path) -> None:
    density = small().fit(table())
    density.set_params(flows=9, noise=0.3)
    Explainer(density).save(tmp_path / "m.daace")
    loaded = load(tmp_path / "m.daace").density
    assert isinstance(loaded, RealNVP)
    assert (loaded.flows, loaded.noise) == (3, 0.1)
    assert same(density, loaded)


def test_one_coupling_layer_says_what_it_cannot() -> None:
    with pytest.warns(UserWarning, match="half of the features are standard Gaussians"):
        small(flows=1, epochs=1).fit(table())


def test_orders_map_every_feature_as_often_as_any_other() -> None:
    rng = np.random.default_rng(0)
    for n, flows in product((1, 2, 5, 8, 131), (2, 7)):
        orders = balanced_orders(flows, n, rng=rng)
        assert (np.sort(orders, axis=1) == np.arange(n)).all()
        counts = np.bincount(orders[:, n // 2 :].ravel(), minlength=n)
        assert counts.max() - counts.min() <= 1
        assert counts.min() >= 1
    firsts = {tuple(balanced_orders(2, 5, rng=rng)[0]) for _ in range(50)}
    assert len(firsts) > 20


def test_too_few_rows_to_tell_when_to_stop_are_named() -> None:
    few = table().take(np.arange(60))
    with pytest.warns(UserWarning, match="Too few rows for early stopping, which holds out 5"):
        small(epochs=1).fit(few)
    small(epochs=1, early_stopping=False).fit(few)  # nothing to tell


def test_copies_of_rows_do_not_hide_that_they_are_learned_by_heart() -> None:
    rng = np.random.default_rng(0)
    rows = draw_table(random_mixture(2, rng=rng), 120, rng=rng)
    copies = rows.take(np.repeat(np.arange(120), 5))
    settings = {"epochs": 150, "noise": 0.0, "learning_rate": 5e-3, "early_stopping": True}
    density = small(**settings).fit(copies)
    assert density.stopped_ == "early"
    best = density.history_["validation_loss"].min()
    assert density.history_["train_loss"].min() < best - 0.2  # which a leak would hide


# Without torch; model files -----------------------------------------------------------------------


def test_without_torch_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingDependency) as error:
        small().fit(table())
    assert str(error.value) == "RealNVP needs torch: pip install 'daace[flow]'."


def test_a_saved_flow_is_used_without_torch(flow: RealNVP, tmp_path: Path) -> None:
    from daace import Explainer

    Explainer(flow).save(tmp_path / "m")
    X, _ = flow.sample(20, rng=np.random.default_rng(0))
    assert np.array_equal(load(tmp_path / "m").density.log_joint(X), flow.log_joint(X))
    assert isinstance(again := load(tmp_path / "m").density, RealNVP)
    assert again.history_.equals(flow.history_)
    assert (again.stopped_, again.get_params()) == (flow.stopped_, flow.get_params())
    code = (
        "import sys, daace, numpy as np\n"
        f"density = daace.load({str(tmp_path / 'm')!r}).density\n"
        "X, _ = density.sample(5, rng=np.random.default_rng(0))\n"
        "print(density.log_joint_vjp(X, np.ones((5, 2))).shape, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "(5, 3) False", done.stderr


def test_a_model_file_holds_no_training_row(flow: RealNVP, tmp_path: Path) -> None:
    from daace import Explainer

    Explainer(flow).save(tmp_path / "m")
    data = (tmp_path / "m").read_bytes()
    rows = table().X
    for matrix in (rows, flow.standardizer_.transform(rows)):
        assert not any(row.tobytes() in data for row in matrix)
        assert not any(row.astype(np.float32).tobytes() in data for row in matrix)


def _spoil(flow: RealNVP, **changes: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    arrays, settings = flow.to_arrays()
    for name, value in changes.items():
        where = settings if name in settings else arrays
        where[name] = value(where[name]) if callable(value) else value
    return {k: v for k, v in arrays.items() if v is not None}, settings


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"orders": lambda a: a + 0.5}, "'log_prior' or 'orders' is not what it must be"),
        ({"orders": lambda a: a[:, ::-1] * 0}, "an order of features is none"),
        ({"orders": lambda a: a[:2]}, "a linear map has shapes"),
        ({"log_prior": lambda a: a[None]}, "'log_prior' or 'orders' is not what it must be"),
        ({"log_prior": lambda a: np.append(a, 0.0)}, "a linear map has shapes"),
        ({"weight_1": lambda a: a[:, :-1]}, "a linear map has shapes"),
        ({"weight_0": lambda a: a.ravel()}, "the weights three"),
        ({"bias_2": lambda a: a[:, :1]}, "a linear map has shapes"),
        ({"bias_2": None}, "bias_2"),
        ({"history": lambda a: a[:, :2]}, r"'history' has shape \(10, 2\)"),
        ({"flows": 4}, "does not have the size in its settings"),
        ({"hidden": 5}, "does not have the size in its settings"),
        ({"layers": 7}, "weight_3"),
        ({"layers": 1}, "a linear map has shapes"),
        ({"noise": -1}, "'noise' must be"),
        ({"stopped": "never"}, "'stopped' must be one of"),
    ],
)
def test_what_does_not_fit_is_refused(flow: RealNVP, changes: dict[str, Any], message: str) -> None:
    arrays, settings = _spoil(flow, **changes)
    with pytest.raises((ValueError, KeyError), match=message):
        RealNVP.from_arrays(arrays, json.loads(json.dumps(settings)))


def test_a_file_whose_weights_overflow_is_refused(flow: RealNVP, tmp_path: Path) -> None:
    from daace import Explainer, ModelFileError

    arrays, settings = _spoil(flow, weight_1=lambda a: a * 1e90)
    spoiled = RealNVP.from_arrays(arrays, settings)
    for name in ("classes_", "features_", "target_", "units_", "standardizer_", "draws_"):
        setattr(spoiled, name, getattr(flow, name))
    Explainer(spoiled).save(tmp_path / "m")
    with pytest.raises(ModelFileError, match=r"does not hold a usable realnvp density: .*\.$"):
        load(tmp_path / "m")


def test_the_front_door_trains_one(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = fit(load_table("iris"), density=small())
    assert fitted.density.kind == "realnvp"
    monkeypatch.setattr(realnvp, "train", lambda *_, **__: pytest.fail("it was trained again"))
    assert fit(load_table("iris"), density=fitted.density).density is fitted.density


def test_an_explanation_on_a_flow(flow: RealNVP) -> None:
    from daace import Explainer

    explainer = Explainer(flow)
    rows = flow.to_user(flow.sample(3, rng=np.random.default_rng(1), label="c0")[0])
    for explanation in explainer.explain_batch(rows, target="c1"):
        assert explanation.found
        assert explanation.posterior >= 0.5
