from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import daace
from daace import __version__, load_table
from daace.cli import DEMO_ROW, main
from daace.explain.explanation import Explanation


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with a table and a model of it."""
    place = tmp_path_factory.mktemp("cli")
    frame = load_table("iris").to_frame()
    two = frame[frame["class"] != "virginica"]
    two.assign(id=[f"p{i}" for i in range(100)]).to_csv(place / "data.csv", index=False)
    arguments = ["fit", str(place / "data.csv"), "--target", "class", "--drop", "id"]
    with pytest.raises(SystemExit) as leaving:
        main([*arguments, "-o", str(place / "model.daace")])
    assert leaving.value.code == 0
    return place


@pytest.fixture
def run(capsys, monkeypatch, folder):
    """Run the command in the folder; return exit code, stdout and stderr."""

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.chdir(folder)
        capsys.readouterr()
        with pytest.raises(SystemExit) as leaving:
            main(list(arguments))
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return leaving.value.code, out, err

    return call


# explain ------------------------------------------------------------------------------------------


def test_explain_prints_the_steps(run):
    code, out, err = run("explain", "model.daace", "data.csv", "--row", "3", "--to", "versicolor")
    assert code == 0
    assert out.startswith("From 'setosa' to 'versicolor' in ")
    assert err == ""


def test_json_alone_is_on_stdout(run):
    code, out, err = run(
        "explain", "model.daace", "data.csv", "--row", "3", "--to", "versicolor",
        "--penalty", "5", "--html", "why.html", "--json", "-",
    )  # fmt: skip
    assert code == 0
    e = Explanation.from_json(out)
    assert (e.target, e.provenance.penalty) == ("versicolor", 5.0)
    assert "why.html" in err
    assert Path("why.html").read_text().startswith("<!DOCTYPE html>")


def test_settings_reach_the_explanation(run):
    code, _, err = run(
        "explain", "model.daace", "data.csv", "--row", "60", "--plausibility", "-30",
        "--min-posterior", "0.9", "--fixed", "sepal width", "--fixed", "petal width",
        "--seed", "4", "--time-limit", "60", "--json", "one.json",
    )  # fmt: skip
    assert code == 0
    assert "JSON: one.json" in err
    e = Explanation.from_json(Path("one.json").read_text())
    assert e.target == "setosa"
    assert (e.provenance.plausibility, e.provenance.min_posterior) == (-30.0, 0.9)
    assert (e.provenance.seed, list(e.provenance.constraints["fixed"])) == (
        4,
        ["sepal width", "petal width"],
    )
    assert "time_limit=60.0" in e.provenance.planner


def test_none_found_is_exit_code_one(run):
    code, out, _ = run("explain", "model.daace", "data.csv", "--plausibility", "40")
    assert code == 1
    assert "No way from 'setosa' to 'versicolor' was found" in out
    assert "lower 'plausibility' to" in out
    code, out, _ = run("explain", "model.daace", "data.csv", "--plausibility", "40", "--json", "-")
    assert code == 1
    assert Explanation.from_json(out).found is False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("model.daace", "data.csv", "--row", "100"), "'--row' must be between 0 and 99. Got 100."),
        (("model.daace", "data.csv", "--row", "-1"), "'--row' must be between 0 and 99. Got -1."),
        (("model.daace", "data.csv", "--to", "rose"), "must be one of 'setosa', 'versicolor'"),
        (
            ("model.daace", "data.csv", "--fixed", "age"),
            "must name features of the model. Got 'age'",
        ),
        (("model.daace", "data.csv", "--penalty", "-1"), "'penalty' must be a finite number"),
        (("nothing.daace", "data.csv"), "'nothing.daace': No such file or directory."),
        (("data.csv", "data.csv"), "'data.csv' is not a model file, or a damaged one"),
        (("model.daace", "nothing.csv"), "'nothing.csv' must be an existing file"),
        (("model.daace", "model.daace"), "must end in .csv"),
        (("model.daace", "data.csv", "--html", "no/where.html"), "'no/where.html': No such file"),
        (("model.daace", "data.csv", "--json", "."), "'.': Is a directory."),
    ],
)
def test_wrong_use_is_one_sentence_on_stderr(run, arguments, message):
    code, _, err = run("explain", *arguments)
    assert code == 2
    assert message in err
    assert err.startswith("Error: ")
    assert err.count("\n") == 1


def test_unknown_options_are_wrong_use(run):
    for arguments in (["explain"], ["explain", "a", "b", "--nonsense"], ["dance"]):
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert "Error" in err


def test_missing_columns_and_bad_values_are_named(run, folder):
    frame = pd.read_csv(folder / "data.csv")
    frame.drop(columns="petal width").to_csv(folder / "less.csv", index=False)
    frame.assign(**{"petal width": np.nan}).to_csv(folder / "nan.csv", index=False)
    (folder / "broken.csv").write_text('a,b\n1,"2\n')
    (folder / "empty.csv").write_text("")
    for name, message in {
        "less.csv": "must have every feature of the model. Missing: 'petal width'",
        "nan.csv": "must not have missing values. Got some in 'petal width'",
        "broken.csv": "could not be read as a table",
        "empty.csv": "could not be read as a table",
    }.items():
        code, _, err = run("explain", "model.daace", name)
        assert code == 2
        assert message in err
        assert err.count("\n") == 1


# fit ----------------------------------------------------------------------------------------------


def test_fit_says_what_it_learned(run):
    code, out, err = run(
        "fit", "data.csv", "--target", "class", "--drop", "id", "-o", "again.daace"
    )
    assert (code, out) == (0, "")
    assert "4 features and the classes 'setosa', 'versicolor' from 100 rows: again.daace" in err
    assert Path("again.daace").read_bytes() == Path("model.daace").read_bytes()


def test_fit_keeps_rows_private(run):
    arguments = ["fit", "data.csv", "--target", "class", "--drop", "id", "--density", "kde"]
    code, _, err = run(*arguments, "-o", "kde.daace")
    assert code == 2
    assert "training rows" in err
    assert not Path("kde.daace").exists()
    code, _, _ = run(*arguments, "-o", "kde.daace", "--include-rows")
    assert code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--target", "colour"), "'target' must be a column of the frame"),
        (("--target", "class"), "Got text in 'id'"),
        (("--target", "class", "--drop", "age"), "'--drop' must name columns of 'data.csv'"),
        (("--target", "class", "--drop", "id", "--density", "x"), "'density' must be one of"),
    ],
)
def test_fit_refuses_what_it_cannot_learn(run, arguments, message):
    code, _, err = run("fit", "data.csv", *arguments, "-o", "new.daace")
    assert code == 2
    assert message in err
    assert not Path("new.daace").exists()


def test_warnings_are_one_line(run, folder):
    frame = pd.read_csv(folder / "data.csv")
    frame.assign(twin=frame["petal width"] * 2).to_csv(folder / "twins.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        code, _, err = run(
            "fit", "twins.csv", "--target", "class", "--drop", "id", "-o", "twins.daace"
        )
    assert code == 0
    assert "Warning: " in err
    assert "warnings.warn" not in err


# demo, help, version ------------------------------------------------------------------------------


def test_demo_explains_a_case_it_has_not_seen(run):
    code, out, err = run("demo", "--html", "demo.html")
    assert code == 0
    assert out.startswith("From 'malignant' to 'benign' in ")
    assert "Step 2" in out
    assert str(Path("demo.html").resolve()) in err
    page = Path("demo.html").read_text(encoding="utf-8")
    assert page.count("<img ") == 2
    assert load_table("breast_cancer").y[DEMO_ROW] == "malignant"


def test_version_and_help(run):
    assert run("--version") == (0, f"daace {__version__}\n", "")
    assert run("--help")[0] == 0
    for command in ("demo", "fit", "explain"):
        code, out, _ = run(command, "--help")
        assert code == 0
        assert f"Example: daace {command}" in out


def test_an_interrupt_is_not_a_result(run, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("daace.explain.explainer.Explainer.explain", interrupt)
    code, out, _ = run("explain", "model.daace", "data.csv")
    assert (code, out) == (130, "")


# Terminals and pipes ------------------------------------------------------------------------------

ENVIRONMENT = {
    **os.environ,
    "TERM": "xterm",
    "PYTHONPATH": str(Path(daace.__file__).parents[1]),
}
COMMAND = [sys.executable, "-m", "daace.cli", "explain", "model.daace", "data.csv", "--json", "-"]


def test_a_pipe_gets_json_and_nothing_else(folder):
    done = subprocess.run(
        COMMAND, cwd=folder, capture_output=True, text=True, env=ENVIRONMENT, check=True
    )
    assert json.loads(done.stdout)["status"] == "found"
    assert done.stderr == ""


@pytest.mark.skipif(os.name != "posix", reason="terminals of this kind are POSIX")
def test_a_terminal_sees_that_something_happens(folder):
    main_end, terminal = pty.openpty()
    done = subprocess.run(
        COMMAND, cwd=folder, stdout=subprocess.PIPE, stderr=terminal, env=ENVIRONMENT, check=True
    )
    os.close(terminal)
    seen = os.read(main_end, 100_000).decode()
    os.close(main_end)
    assert "Looking for a way" in seen
    assert json.loads(done.stdout)["status"] == "found"
