from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from daace import load_table, tune_realnvp
from daace.data.synthetic import draw_table, random_mixture
from daace.data.table import Table
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.density.realnvp import RealNVP
from daace.density.tuning import cross_validation, tune
from daace.density.tuning.cross_validation import CrossValidation, mean_log_joint
from daace.density.tuning.settings import read_settings, write_settings
from daace.density.tuning.space import SPACE, TUNED
from daace.exceptions import InvalidInput, MissingDependency

pytest.importorskip("torch", reason="a flow is trained with torch")
optuna = pytest.importorskip("optuna", reason="settings are searched with optuna")


def small() -> Table:
    rng = np.random.default_rng(0)
    return draw_table(random_mixture(2, rng=rng), 60, rng=rng)


def quick(table: Table | None = None, **changes: Any) -> tune.Tuning:
    settings: dict[str, Any] = {"trials": 3, "folds": 2, "epochs": 1}
    return tune_realnvp(small() if table is None else table, **{**settings, **changes})


@pytest.fixture
def by_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Score a flow by its noise, without training: the search itself is on trial."""

    def fit(self: RealNVP, table: Table) -> RealNVP:
        self.stopped_ = "epochs"
        return self

    monkeypatch.setattr(RealNVP, "fit", fit)
    monkeypatch.setattr(
        cross_validation, "mean_log_joint", lambda density, *_: -abs(np.log(density.noise / 0.05))
    )


def test_it_returns_the_best_settings_and_all_trials() -> None:
    found = quick()
    trials = found.trials
    assert list(trials.columns) == ["trial", "state", "score", "folds", "seconds", *TUNED]
    assert trials["trial"].tolist() == [0, 1, 2]
    assert (trials["state"] == "complete").all()
    assert found.score == trials["score"].max()
    best = trials.loc[trials["score"].idxmax()]
    assert all(getattr(found.best, name) == best[name] for name in TUNED)
    assert (found.best.epochs, found.best.early_stopping) == (1, True)
    first = trials.iloc[0]
    assert all(first[name] == getattr(RealNVP(), name) for name in TUNED)


@pytest.mark.usefixtures("by_noise")
def test_the_search_stays_in_the_papers_space_and_gets_better() -> None:
    found = quick(trials=60, space={"noise": (0.01, 0.5)})
    trials = found.trials
    assert trials["learning_rate"].between(1e-4, 5e-3).all()
    assert trials["weight_decay"].between(1e-4, 1e-2).all()
    assert trials["hidden"].between(2, 10).all()
    assert trials["layers"].between(1, 5).all()
    assert trials["flows"].between(1, 10).all()
    assert trials["noise"].between(0.01, 0.5).all()
    assert found.best.noise == pytest.approx(0.05, rel=0.05)
    later = trials[trials["trial"] >= 30]
    assert later["noise"].sub(0.05).abs().median() < 0.03


@pytest.mark.usefixtures("by_noise")
def test_another_space() -> None:
    space = {"hidden": (1, 2), "flows": (3, 3), "noise": (0.2, 0.4)}
    trials = quick(trials=20, space=space).trials
    assert set(trials["hidden"]) == {1, 2}
    assert set(trials["flows"]) == {3}
    assert trials["noise"].between(0.2, 0.4).all()
    assert trials["layers"].max() > 3  # the paper's, where nothing else is said
    first = trials.iloc[0]  # the default settings, moved into the space
    assert (first["hidden"], first["flows"], first["layers"], first["noise"]) == (2, 3, 3, 0.2)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({"width": (1, 2)}, r"'space' must name settings among 'learning_rate'.*Got 'width'\."),
        ({"hidden": (1.5, 2)}, r"give 'hidden' two positive whole numbers, the smaller first"),
        ({"noise": (0.4, 0.2)}, r"give 'noise' two positive numbers.*Got \(0.4, 0.2\)\."),
        ({"noise": 0.4}, r"give 'noise' two positive numbers.*Got 0.4\."),
    ],
)
def test_a_space_that_is_none(space: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        quick(space=space)


@pytest.mark.usefixtures("by_noise")
def test_the_same_seed_gives_the_same_trials() -> None:
    one, two, other = quick(trials=5), quick(trials=5), quick(trials=5, seed=1)
    columns = list(TUNED)
    assert one.trials[columns].equals(two.trials[columns])
    assert not one.trials[columns].equals(other.trials[columns])


@pytest.mark.usefixtures("by_noise")
def test_a_stopped_search_goes_on(tmp_path: Path) -> None:
    storage = tmp_path / "tune.db"
    first = quick(trials=4, storage=storage)
    both = quick(trials=9, storage=storage)
    whole = quick(trials=9)
    columns = ["trial", "score", *TUNED]
    assert len(first.trials) == 4
    assert both.trials[columns].equals(whole.trials[columns])
    assert len(quick(trials=2, storage=storage).trials) == 9
    with pytest.raises(InvalidInput, match=r"'storage' must belong to this search.*delete it\.$"):
        quick(folds=3, storage=storage)


@pytest.mark.usefixtures("by_noise")
def test_poor_trials_are_given_up() -> None:
    trials = quick(trials=40, folds=5).trials
    pruned = trials[trials["state"] == "pruned"]
    assert len(pruned) > 3
    assert (pruned["folds"] < 5).all()
    assert (trials.loc[trials["state"] == "complete", "folds"] == 5).all()


@pytest.mark.usefixtures("by_noise")
@pytest.mark.parametrize("easier", [-3.0, 3.0])
def test_an_easy_first_fold_shields_nobody(monkeypatch: pytest.MonkeyPatch, easier: float) -> None:
    def score(density: RealNVP, test: Table, _: Table) -> float:
        first = np.array_equal(test.X, folds[0].X)
        return easier if first else -abs(np.log(density.noise / 0.05))

    base = RealNVP(epochs=1)
    folds = [test for _, test in CrossValidation(small(), 5, base, SPACE, 0).splits()]
    monkeypatch.setattr(cross_validation, "mean_log_joint", score)
    trials = quick(trials=40, folds=5).trials
    assert (trials["state"] == "pruned").sum() > 10


def test_a_training_that_overflows_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: RealNVP, table: Table) -> RealNVP:
        raise InvalidInput("overflow")

    monkeypatch.setattr(RealNVP, "fit", fail)
    with pytest.raises(InvalidInput, match="No trial gave a score"):
        quick()


def test_an_interrupt_returns_what_was_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    optuna_logger = logging.getLogger("optuna")
    monkeypatch.setattr(optuna_logger, "handlers", [caplog.handler])
    fits: list[int] = []

    def fit(self: RealNVP, table: Table) -> RealNVP:
        fits.append(1)
        self.stopped_ = "interrupted" if len(fits) > 4 else "epochs"
        return self

    monkeypatch.setattr(RealNVP, "fit", fit)
    monkeypatch.setattr(cross_validation, "mean_log_joint", lambda *_: 1.0)
    storage = tmp_path / "tune.db"
    message = r"The search was interrupted after 2 of 3 trials: .* search again with '.*tune\.db'\."
    with pytest.warns(UserWarning, match=message):
        assert len(quick(storage=storage).trials) == 2
    assert caplog.records == []  # no traceback of Optuna's
    with pytest.raises(KeyboardInterrupt):
        quick()


@pytest.mark.usefixtures("by_noise")
def test_a_time_limit() -> None:
    assert len(quick(time_limit=1e-9).trials) == 1


def test_a_time_limit_cuts_no_trial_off(tmp_path: Path) -> None:
    storage = tmp_path / "tune.db"
    assert len(quick(trials=6, time_limit=1e-9, storage=storage).trials) == 1
    place = f"sqlite:///{storage}"
    base = RealNVP(epochs=1)
    search = CrossValidation(small(), 2, base, SPACE, 0)
    for task in ((1, 0.0), (2, 1.0)):  # what a process does with a deadline that is over
        tune._run_elsewhere(search, place, task)
    study = optuna.load_study(study_name=cross_validation.STUDY, storage=place)
    assert [trial.state.name for trial in study.trials] == ["COMPLETE"]


@pytest.mark.usefixtures("by_noise")
def test_a_search_that_goes_on_repeats_no_trial(tmp_path: Path) -> None:
    """As when trial 0 was cut off while trial 1, in another process, came to its end."""
    storage = tmp_path / "tune.db"
    search = CrossValidation(small(), 2, RealNVP(epochs=1), SPACE, 0)
    study = search.open(f"sqlite:///{storage}")
    study.ask()
    tune._run_one(search, study, 1)
    trials = quick(trials=3, storage=storage).trials
    assert len(trials) == 3
    assert trials["noise"].nunique() == 3
    assert (trials["noise"] == RealNVP().noise).sum() == 1  # the defaults are among them


def test_trials_in_processes(tmp_path: Path) -> None:
    found = quick(trials=2, n_jobs=2, time_limit=600)
    assert sorted(found.trials["trial"]) == [0, 1]
    assert found.score == found.trials["score"].max()


def test_scores_are_in_the_units_of_the_standardised_table() -> None:
    table = load_table("iris")
    network = LinearGaussianNetwork().fit(table)
    y = np.searchsorted(network.classes_, table.y)
    joint = network.log_joint(network.to_model(table.to_frame()))[np.arange(150), y]
    assert mean_log_joint(network, table, table) == pytest.approx(joint.mean(), rel=1e-12)
    stretched = Table(table.X * 7, table.y, table.features, table.classes)
    again = LinearGaussianNetwork().fit(stretched)
    assert mean_log_joint(again, stretched, stretched) == pytest.approx(joint.mean(), rel=1e-9)


@pytest.mark.usefixtures("by_noise")
def test_what_was_given_up_has_no_score() -> None:
    found = quick(trials=30, folds=3)
    given_up = found.trials["state"] == "pruned"
    assert given_up.any()
    assert found.trials["score"].isna().equals(given_up)
    assert found.score == found.trials["score"].max()


def test_a_feature_that_is_constant_in_a_fold_is_named() -> None:
    table = small()
    X = table.X.copy()
    X[:, 1] = 0.0
    with pytest.raises(InvalidInput, match=r"^Features must vary\. Got constant"):
        quick(Table(X, table.y, table.features, table.classes))
    X[7, 1] = 1.0
    with pytest.raises(
        InvalidInput, match=r"^Without fold . of 2: Features must vary\. Got constant"
    ):
        quick(Table(X, table.y, table.features, table.classes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trials": 0}, r"'trials' must be an integer of at least 1\. Got 0\."),
        ({"folds": 1}, r"'folds' must be an integer of at least 2\. Got 1\."),
        ({"folds": 61}, r"'folds' must be at most 60, the different rows\. Got 61\."),
        ({"epochs": 0}, "'epochs' must be"),
        ({"n_jobs": 0}, "'n_jobs' must be"),
        ({"time_limit": -1}, "'time_limit' must be"),
        ({"progress": "yes"}, "'progress' must be one of True, False"),
        ({"seed": -1}, "'seed' must be"),
        ({"table": "iris"}, "'table' must be a daace.Table. Got str"),
        ({"storage": 3}, "'storage' must be a file name. Got int"),
        (
            {"storage": "no/where.db"},
            "'storage' must be in a folder that exists. Got 'no/w",
        ),
    ],
)
def test_wrong_arguments_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        quick(**changes)


def test_what_is_no_storage_is_named(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"hello, this is no database at all" * 10)
    with pytest.raises(InvalidInput, match="'storage' must be a file of Optuna's trials"):
        quick(storage=tmp_path / "x")


@pytest.mark.usefixtures("by_noise")
@pytest.mark.parametrize("name", ["a?b.db", "run%31.db", "ä b.db"])
def test_any_name_of_a_file_is_a_storage(tmp_path: Path, name: str) -> None:
    first = quick(storage=tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert len(quick(storage=tmp_path / name).trials) == len(first.trials)


@pytest.mark.usefixtures("by_noise")
def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    found = quick(epochs=np.int64(1), space={"hidden": (np.int64(1), np.int64(2))})
    write_settings(tmp_path / "best.json", found)
    assert read_settings(tmp_path / "best.json").epochs == 1


def test_without_optuna_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingDependency) as error:
        quick()
    assert str(error.value) == "tune_realnvp needs optuna: pip install 'daace[tune]'."


@pytest.mark.usefixtures("by_noise")
def test_settings_in_a_file(tmp_path: Path) -> None:
    found = quick()
    write_settings(tmp_path / "best.json", found)
    assert read_settings(tmp_path / "best.json").get_params() == found.best.get_params()
    for content, why in (
        ("", "line 1 column 1"),
        ("[]", ""),
        ("{}", "no 'settings' inside"),
        ('{"settings": 3}', ""),
        ('{"settings": {"flows": 3,}}', "line 1"),
        ('{"density": "kde", "settings": {}}', "they are those of another density"),
    ):
        (tmp_path / "wrong.json").write_text(content)
        with pytest.raises(InvalidInput, match=f"must hold the settings of a realnvp.*{why}"):
            read_settings(tmp_path / "wrong.json")
    (tmp_path / "wrong.json").write_text('{"settings": {"size": 3}}')
    with pytest.raises(
        InvalidInput, match=r"wrong settings: 'size' must be an argument of RealNVP"
    ):
        read_settings(tmp_path / "wrong.json")
    (tmp_path / "wrong.json").write_text(json.dumps({"settings": {"flows": 0}}))
    with pytest.raises(InvalidInput, match=r"holds wrong settings: 'flows' must be an integer"):
        read_settings(tmp_path / "wrong.json")
