from __future__ import annotations

import contextlib
import errno
import json
import os
import pty
import runpy
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer.main

import daace
from daace import ConditionalDensity, Constraints, LinearGaussianNetwork, __version__, load_table
from daace.cli import app, main
from daace.density.registry import learned_kinds
from daace.explain.explanation import Explanation


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with a table and a model of it, which has the name that models have by default."""
    place = tmp_path_factory.mktemp("cli")
    frame = load_table("iris").to_frame()
    two = frame[frame["class"] != "virginica"]
    two = two.assign(id=[f"p{i}" for i in range(100)])
    two.to_csv(place / "data.csv", index=False)
    two.iloc[42:58].to_csv(place / "some.csv", index=False)
    with contextlib.chdir(place), pytest.raises(SystemExit) as leaving:
        main(["fit", "data.csv", "--target", "class", "--drop", "id"])
    assert leaving.value.code == 0
    assert (place / "model.daace").exists()
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


# reasons ------------------------------------------------------------------------------------------


def test_reasons_are_printed_as_a_list(run):
    code, out, _ = run("reasons", "model.daace", "data.csv", "--row", "3", "--most", "2")
    assert code == 0
    head, first, second = out.splitlines()
    assert head.startswith("The model gives 'versicolor' a probability of")
    assert first.startswith("  1. 'petal ")
    assert second.startswith("  2. ")


def test_reasons_for_a_row_that_is_not_there(run):
    code, _, err = run("reasons", "model.daace", "data.csv", "--row", "300")
    assert code == 2
    assert "'--row' must be between 0 and 99. Got 300." in err


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
        "--min-posterior", "0.6", "--fixed", "sepal width",
        "--seed", "4", "--time-limit", "60", "--json", "one.json",
    )  # fmt: skip
    assert code == 0
    assert "JSON: one.json" in err
    e = Explanation.from_json(Path("one.json").read_text())
    assert e.target == "setosa"
    assert (e.provenance.plausibility, e.provenance.min_posterior) == (-30.0, 0.6)
    assert (e.provenance.seed, list(e.provenance.constraints["fixed"])) == (
        4,
        ["sepal width"],
    )
    assert "time_limit=60.0" in e.provenance.planner


def test_rules_in_a_shell(run, folder):
    feature = "petal length"
    rules = (
        "--upper", f"{feature}=4.5", "--lower", f"{feature}=1", "--only-up", "sepal length",
        "--only-down", "sepal width",
    )  # fmt: skip
    code, out, err = run(
        "explain", "model.daace", "data.csv", "--to", "versicolor", *rules, "--json", "-"
    )
    assert code == 0, err
    path = Explanation.from_json(out).path
    assert path[feature].between(1, 4.5).all()
    assert path["sepal length"].is_monotonic_increasing
    assert path["sepal width"].is_monotonic_decreasing
    for wrong, expected in (
        (feature, f"be like age=30. Got '{feature}'."),
        (
            f"{feature}=long",
            "map features to numbers; only ordered ones have levels. Got 'long' for",
        ),
    ):
        code, _, err = run("explain", "model.daace", "data.csv", "--upper", wrong)
        assert code == 2
        assert err.startswith(f"Error: '--upper' must {expected}")


def test_the_rules_of_a_model_stay_unless_others_are_given(run, folder):
    explainer = daace.load(folder / "model.daace")
    rules = Constraints(fixed=["sepal width"])
    replace(explainer, constraints=rules).save(folder / "ruled.daace")
    _, out, _ = run("explain", "ruled.daace", "data.csv", "--to", "versicolor", "--json", "-")
    assert Explanation.from_json(out).path["sepal width"].nunique() == 1


def test_none_found_is_exit_code_one(run):
    code, out, _ = run("explain", "model.daace", "data.csv", "--plausibility", "40")
    assert code == 1
    assert "No path from 'setosa' to 'versicolor' was found" in out
    assert "lower --plausibility to" in out
    code, out, _ = run("explain", "model.daace", "data.csv", "--plausibility", "40", "--json", "-")
    assert code == 1
    assert Explanation.from_json(out).found is False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("model.daace", "data.csv", "--row", "100"), "'--row' must be between 0 and 99. Got 100."),
        (("model.daace", "data.csv", "--row", "-1"), "'--row' must be between 0 and 99. Got -1."),
        (("model.daace", "data.csv", "--to", "rose"), "'--to' must be one of 'setosa', 'ver"),
        (
            ("model.daace", "data.csv", "--fixed", "age"),
            "Rules must name features of the model. Got 'age'",
        ),
        (("model.daace", "data.csv", "--penalty", "-1"), "'--penalty' must be a finite number"),
        (("model.daace", "data.csv", "--min-posterior", "2"), "'--min-posterior' must be at"),
        (("model.daace", "data.csv", "--time-limit", "0"), "'--time-limit' must be"),
        (("nothing.daace", "data.csv"), "'nothing.daace' does not exist."),
        (("data.csv", "data.csv"), "'data.csv' is damaged or not a model file"),
        (("model.daace", "nothing.csv"), "'nothing.csv' does not exist"),
        (("model.daace", "model.daace"), "must end in .csv"),
        (
            ("model.daace", "data.csv", "--html", "no/where.html"),
            "'no/where.html' must be in an existing",
        ),
        (("model.daace", "data.csv", "--json", "."), "'.': Is a directory."),
        (("model.daace", "data.csv", "--json", ""), "'--json' must name a file. Got ''."),
        (("model.daace", "data.csv", "--html", "-"), "'--html' must name a file. Got '-'."),
    ],
)
def test_wrong_use_is_one_sentence_on_stderr(run, arguments, message):
    code, _, err = run("explain", *arguments)
    assert code == 2
    assert message in err
    assert err.startswith("Error: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain"], "Missing argument 'MODEL'"),
        (["explain", "a", "b", "--nonsense"], "No such option: --nonsense"),
        (["explain", "a", "b", "--row", "x"], "Invalid value for '--row'"),
        (["explain", "a", "b", "--seed", "-1"], "Invalid value for '--seed'"),
        (["fit", "data.csv"], "Missing option '--"),
        (["dance"], "No such command 'dance'"),
    ],
)
def test_what_typer_refuses_is_one_sentence_too(run, arguments, message):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"Error: {message}")
    assert err.endswith(".\n")
    assert err.count("\n") == 1


def test_an_error_of_ours_is_not_taken_for_an_answer(run, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("float division\nby zero.")

    monkeypatch.setattr("daace.explain.explainer.Explainer.explain", fail)
    code, out, err = run("explain", "model.daace", "data.csv")
    assert (code, out) == (2, "")
    assert err == (
        "Error: Internal error: ZeroDivisionError: float division by zero; please report it.\n"
    )


def test_a_closed_pipe_is_not_taken_for_an_answer(run, monkeypatch):
    def closed(*_, **__):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr("daace.explain.explanation.Explanation.describe", closed)
    monkeypatch.setattr("sys.stdout", sys.stdout)  # typer replaces both
    monkeypatch.setattr("sys.stderr", sys.stderr)
    assert run("explain", "model.daace", "data.csv")[0] == 2


def test_outputs_are_tried_before_the_search(run, monkeypatch):
    monkeypatch.setattr(
        "daace.explain.explainer.Explainer.explain", lambda *_, **__: pytest.fail("it searched")
    )
    for option in ("--html", "--json"):
        code, out, err = run("explain", "model.daace", "data.csv", option, "no/where")
        assert (code, out) == (2, "")
        assert err == (
            "Error: 'no/where' must be in an existing folder. 'no' does not exist: create it "
            "first.\n"
        )


def test_a_file_that_fails_after_the_result_is_told_apart(run, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "one.json")

    monkeypatch.setattr("daace.cli.explain.write_atomically", full)
    code, out, err = run("explain", "model.daace", "data.csv", "--json", "one.json")
    assert code == 2
    assert out.startswith("From 'setosa' to 'versicolor'")
    assert err == (
        "Error: The result is complete, but a file could not be written: "
        "'one.json': No space left on device.\n"
    )


def test_rows_are_counted_whatever_the_index_says(run, folder):
    frame = pd.read_csv(folder / "data.csv").iloc[[0, 60]].set_axis([7, 7])
    frame.to_parquet(folder / "repeated.parquet")
    code, out, _ = run("explain", "model.daace", "repeated.parquet", "--row", "1", "--json", "-")
    assert code == 0
    start = Explanation.from_json(out).path.iloc[0]
    assert start["petal length"] == frame["petal length"].iloc[1]
    frame.head(0).to_parquet(folder / "none.parquet")
    code, _, err = run("explain", "model.daace", "none.parquet")
    assert (code, err) == (2, "Error: 'none.parquet' must have rows. It has none.\n")


def test_missing_columns_and_bad_values_are_named(run, folder):
    frame = pd.read_csv(folder / "data.csv")
    frame.drop(columns="petal width").to_csv(folder / "less.csv", index=False)
    frame.assign(**{"petal width": np.nan}).to_csv(folder / "nan.csv", index=False)
    (folder / "broken.csv").write_text('a,b\n1,"2\n')
    (folder / "empty.csv").write_text("")
    for name, message in {
        "less.csv": "must have every feature of the model. Missing: 'petal width'",
        "nan.csv": (
            "'nan.csv', rows counted from 0: Row 0: Every feature must be a finite number, but "
            "'petal width' is missing.\n"
        ),
        "broken.csv": "could not be read as a table",
        "empty.csv": "could not be read as a table",
    }.items():
        code, _, err = run("explain", "model.daace", name)
        assert code == 2
        assert message in err
        assert err.count("\n") == 1


def test_one_row_is_read_as_among_all(run, folder):
    """A word in another row turns a whole column into text; this row is as good as before."""
    head, *lines = (folder / "data.csv").read_text().splitlines()
    word = ",".join(["tall", *lines[1].split(",")[1:]])
    (folder / "word.csv").write_text("\n".join([head, lines[0], word, lines[2]]) + "\n")
    (folder / "first.csv").write_text("\n".join([head, lines[0]]) + "\n")
    code, out, err = run("explain", "model.daace", "word.csv", "--row", "0")
    assert (code, err) == (0, "")
    assert out == run("explain", "model.daace", "first.csv")[1]
    code, _, err = run("explain", "model.daace", "word.csv", "--row", "1")
    assert code == 2
    assert err == (
        "Error: 'word.csv', rows counted from 0: Row 1: Every feature must be a finite number, but "
        "'sepal length' is 'tall'.\n"
    )


# explain --all, check -----------------------------------------------------------------------------


def test_all_rows_go_to_a_file(run):
    code, out, err = run("explain", "model.daace", "some.csv", "--all", "-o", "answers.csv")
    assert code == 0
    assert out.startswith("16 of 16 rows have a path (found 16")
    assert err == "Answers: answers.csv\n"
    frame = pd.read_csv("answers.csv")
    assert frame["row"].tolist() == list(range(16))
    assert set(frame["target"].head(8)) == {"versicolor"}
    assert not Path("answers.csv.part").exists()


def test_settings_reach_all_rows(run, folder):
    lines = (folder / "data.csv").read_text().splitlines(keepends=True)
    (folder / "two.csv").write_text("".join(lines[:3]))
    code, _, _ = run(
        "explain", "model.daace", "two.csv", "--all", "-o", "two.jsonl", "--to", "versicolor",
        "--penalty", "3", "--min-posterior", "0.9", "--plausibility", "-1",
        "--fixed", "sepal width",
        "--seed", "2", "--jobs", "1",
    )  # fmt: skip
    assert code == 0
    e = Explanation.from_json(Path("two.jsonl").read_text().splitlines()[1])
    source = e.provenance
    assert (source.penalty, source.min_posterior, source.plausibility) == (3.0, 0.9, -1.0)
    assert (source.seed, list(source.constraints["fixed"])) == (2, ["sepal width"])
    code, out, _ = run(
        "explain", "model.daace", "two.csv", "--all", "-o", "two.csv2.csv", "--plausibility", "40"
    )
    assert code == 1
    assert out == "0 of 2 rows have a path (goal_unreachable 2).\n"


def test_one_bad_row_does_not_stop_the_others(run, folder):
    head, *lines = (folder / "data.csv").read_text().splitlines()
    gap = ",".join(["", *lines[1].split(",")[1:]])
    (folder / "bad.csv").write_text("\n".join([head, lines[0], gap, lines[2]]) + "\n")
    code, out, err = run("explain", "model.daace", "bad.csv", "--all", "-o", "bad_out.csv")
    assert (code, err) == (0, "Answers: bad_out.csv\n")
    assert out.startswith("2 of 3 rows have a path (found 2, invalid_row 1); mean cost ")
    frame = pd.read_csv("bad_out.csv")
    assert frame["id"].tolist() == ["p0", "p1", "p2"]
    assert frame["status"].tolist() == ["found", "invalid_row", "found"]
    assert frame["notes"].fillna("")[1].endswith("but 'sepal length' is missing.")
    code, _, err = run("explain", "model.daace", "bad.csv", "--all", "-o", "b.csv", "--strict")
    assert code == 2
    assert "'bad.csv', rows counted from 0: Row 1: Every feature must be a finite number" in err
    assert "but 'sepal length' is missing." in err
    assert not Path("b.csv").exists()
    (folder / "head.csv").write_text(f"{head}\n")
    code, out, _ = run("explain", "model.daace", "head.csv", "--all", "-o", "none.csv")
    assert (code, out) == (0, "0 of 0 rows have a path.\n")
    assert Path("none.csv").read_text().startswith("id,row,status,found,current,target,cost,")


def test_one_row_a_change(run, folder):
    (folder / "few.csv").write_text("\n".join((folder / "data.csv").read_text().splitlines()[:4]))
    code, _, _ = run("explain", "model.daace", "few.csv", "--all", "--long", "-o", "long.csv")
    assert code == 0
    frame = pd.read_csv("long.csv")
    assert frame.columns.tolist() == [
        "id", "row", "status", "target", "cost", "posterior", "notes",
        "feature", "from", "to", "change", "change_sd",
    ]  # fmt: skip
    assert set(frame["id"]) == {"p0", "p1", "p2"}
    np.testing.assert_allclose(frame["to"] - frame["from"], frame["change"], rtol=1e-4)


def test_alternatives_are_told_and_in_the_json(run):
    _, alone, _ = run("explain", "model.daace", "data.csv")
    code, out, _ = run(
        "explain", "model.daace", "data.csv", "--alternatives", "2", "--json", "several.json"
    )
    assert code == 0
    do, _, numbers = alone.partition("\n\nFor analysts: ")
    assert out.startswith(do)
    assert out.endswith(numbers)
    assert "\n\nAlternative 1 (" in out
    assert Explanation.from_json(Path("several.json").read_text()).alternatives


def test_a_stopped_command_says_how_to_go_on(run, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("daace.explain.files.stream._finish", stop)
        code, out, err = run("explain", "model.daace", "some.csv", "--all", "-o", "stop.csv")
    assert (code, out) == (130, "")
    assert err.endswith(
        "Stopped. The answers are in 'stop.csv.part': the same command resumes from there.\n"
    )
    assert run("explain", "model.daace", "some.csv", "--all", "-o", "stop.csv")[0] == 0
    assert not Path("stop.csv.part").exists()
    with monkeypatch.context() as patch:
        patch.setattr("daace.explain.files.stream.open_table", stop)
        code, _, err = run("explain", "model.daace", "some.csv", "--all", "-o", "stop.csv")
    assert (code, err) == (130, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--all",), "'--all' must go with --output"),
        (("--all", "-o", "a.csv", "--row", "1"), "'--all' must go without '--row'"),
        (("--all", "-o", "a.csv", "--html", "b"), "'--all' must go without '--html'"),
        (("--all", "-o", "a.csv", "--alternatives", "1"), "must go without '--alternatives'"),
        (("--all", "-o", "data.csv"), "'data.csv' must not be written to, as it is used here"),
        (("--json", "model.daace"), "'model.daace' must not be written to, as it is used here"),
        (("--html", "a.x", "--json", "a.x"), "'a.x' must not be written to"),
        (("--all", "-o", "a.doc"), "'--output' must end in '.csv', '.parquet', '.jsonl'"),
        (("--all", "-o", "no/a.csv"), "'no/a.csv' must be in an existing"),
        (("--all", "-o", "a.csv", "--jobs", "0"), "'--jobs' must be an integer other than 0"),
        (("--all", "-o", "a.csv", "--backend", "x"), "'--backend' must be one of 'loky'"),
        (("-o", "a.csv"), "'--output' must go with --all"),
        (("--strict",), "'--strict' must go with --all"),
        (("--long",), "'--long' must go with --all"),
        (("--jobs", "2"), "'--jobs' must go with --all"),
        (("--all", "--long", "-o", "a.jsonl"), "'--long' must go with .csv or .parquet"),
        (("--alternatives", "-1"), "'--alternatives' must be an integer of at least 0"),
    ],
)
def test_wrong_use_of_all_is_one_sentence(run, arguments, message):
    code, _, err = run("explain", "model.daace", "data.csv", *arguments)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1
    Path("a.csv.part").unlink(missing_ok=True)


def test_check_says_how_good_a_model_is(run):
    code, out, err = run("check", "model.daace", "data.csv", "--training", "data.csv",
                         "--plot", "check.png")  # fmt: skip
    assert code == 0
    assert out.startswith("100 rows\nmean log p ")
    assert "membership AUC    0.500 (0.5: cannot be told apart)" in out
    assert err == "Plot: check.png\n"
    assert Path("check.png").read_bytes().startswith(b"\x89PNG")


def test_check_reads_tables_with_categories(run, folder):
    frame = pd.read_csv(folder / "data.csv").drop(columns="id")
    frame["size"] = np.resize(["small", "large", None, "medium"], len(frame))
    frame.to_csv(folder / "sized.csv", index=False)
    arguments = ["fit", "sized.csv", "--target", "class", "--judge", "density", "-o", "m.daace"]
    assert run(*arguments, "--order", "size=small,medium,large", "--drop", "sepal width")[0] == 0
    assert "size" in daace.load("m.daace").density.features_
    code, out, err = run("check", "m.daace", "sized.csv", "--training", "sized.csv")
    assert (code, err) == (0, "")
    assert "membership AUC    0.500" in out
    code, _, err = run(*arguments, "--kind", "size=ordered")
    assert code == 2
    assert "pass --order 'size=LOW,...,HIGH'." in err


@pytest.mark.filterwarnings("default")  # as in a shell
def test_check_warns_of_other_rows(run, folder):
    frame = pd.read_csv(folder / "data.csv")
    frame["petal length"] += 1.0
    frame.to_csv(folder / "other.csv", index=False)
    code, out, err = run("check", "model.daace", "other.csv")
    assert code == 0
    assert "rare rows" in out
    assert err.startswith("Warning: ")
    assert "less plausible than 99% of the density's samples" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("model.daace", "data.csv", "--target", "id"), "must be a class, which rows share"),
        (("model.daace", "data.csv", "--target", "rose"), "and the class. Missing: 'rose'"),
        (("model.daace", "data.csv", "--plot", "a.doc"), "'--plot' must end in .png, .svg or .pdf"),
        (("model.daace", "nothing.csv"), "'nothing.csv' does not exist"),
    ],
)
def test_wrong_use_of_check_is_one_sentence(run, arguments, message):
    code, _, err = run("check", *arguments)
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
    assert "pass --include-rows if" in err
    assert not Path("kde.daace").exists()
    code, _, _ = run(*arguments, "-o", "kde.daace", "--include-rows")
    assert code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--target", "colour"), "'--target' must be a column of 'data.csv'"),
        (("--target", "Class", "--drop", "id"), "Got 'Class'. Did you mean 'class'?"),
        (("--target", "class", "--drop", "age"), "'--drop' must name columns of 'data.csv'"),
        (("--target", "class", "--keep", "age"), "'--keep' must name columns of 'data.csv'"),
        (
            ("--target", "class", "--keep", "id"),
            "'id' cannot be a feature. Fewer than two of its levels have 10 rows. Drop it, or "
            "merge levels.\n",
        ),
        (("--target", "class", "--kind", "id"), "'--kind' must be like income=number. Got 'id'."),
        (("--target", "class", "--kind", "age=whole"), "'--kind' must name columns of the frame."),
        (
            ("--target", "class", "--drop", "id", "--order", "petal width=1,2"),
            "The order of 'petal width' must name every level.",
        ),
        (("--target", "class", "--drop", "id", "--density", "x"), "'--density' must be one of"),
        (("--target", "class", "--drop", "id", "-o", "no/x"), "'no/x' must be in an existing"),
        (("--target", "class", "--drop", "id", "-o", "."), "'.': Is a directory."),
    ],
)
def test_fit_refuses_what_it_cannot_learn(run, monkeypatch, arguments, message):
    monkeypatch.setattr("daace.explain.fitting.fit", lambda *_, **__: pytest.fail("it learned"))
    code, _, err = run("fit", "data.csv", "-o", "new.daace", *arguments)
    assert code == 2
    assert err.count("\n") == 1
    assert message in err
    assert not Path("new.daace").exists()


@pytest.mark.filterwarnings("default:Left out of the model")
def test_ids_are_left_out_with_a_note(run, folder):
    frame = pd.read_csv(folder / "data.csv").assign(customer_id=range(23638, 23638 + 200, 2))
    frame.to_csv(folder / "ids.csv", index=False)
    code, _, err = run("fit", "ids.csv", "--target", "class", "-o", "ids.daace")
    assert code == 0
    assert err.splitlines()[:3] == [
        "Warning: Left out of the model: 'id'. Looks like an id: text without repetitions.",
        "Warning: Left out of the model: 'customer_id'. Looks like an id: integers without "
        "repetitions.",
        "To model what looks like an id, pass --keep NAME.",
    ]
    with_ids, without = (daace.load(name).density for name in ("ids.daace", "model.daace"))
    assert with_ids.features_ == without.features_
    assert with_ids.draws_.mean == without.draws_.mean
    frame.head(3).to_csv(folder / "three.csv", index=False)
    assert run("explain", "ids.daace", "three.csv", "--all", "-o", "three_out.csv")[0] == 0
    assert pd.read_csv("three_out.csv")["customer_id"].tolist() == [23638, 23640, 23642]
    assert run("explain", "ids.daace", "three.csv", "--row", "2")[0] == 0
    code, _, err = run(
        "fit", "ids.csv", "--target", "class", "--drop", "id", "--keep", "customer_id",
        "-o", "kept.daace",
    )  # fmt: skip
    assert "customer_id" in daace.load("kept.daace").density.features_


def test_row_numbers_are_no_feature(run, folder):
    frame = pd.read_csv(folder / "data.csv").drop(columns="id")
    frame.to_csv(folder / "numbered.csv")
    arguments = ["fit", "numbered.csv", "--target", "class", "-o", "numbered.daace"]
    code, _, err = run(*arguments)
    assert code == 2
    assert "'Unnamed: 0' has none and may hold row numbers: pass --drop \"Unnamed: 0\"" in err
    assert run(*arguments, "--drop", "Unnamed: 0")[0] == 0


@pytest.mark.filterwarnings("default:Left out of the model")
def test_constant_columns_are_left_out_and_said(run, folder):
    pd.read_csv(folder / "data.csv").assign(id=1).to_csv(folder / "constant.csv", index=False)
    code, _, err = run("fit", "constant.csv", "--target", "class", "-o", "constant.daace")
    assert code == 0
    assert "Warning: Left out of the model: 'id'. The values do not vary.\n" in err
    assert "Learned 4 features" in err
    assert run("explain", "constant.daace", "constant.csv", "--to", "versicolor")[0] == 0


def test_fit_shows_how_columns_were_read(run, folder):
    frame = load_table("loans").to_frame().head(400)
    frame["purpose"] = frame["purpose"].where(frame.index != 3, "boat")
    frame.to_csv(folder / "loans.csv", index=False)
    code, _, err = run("fit", "loans.csv", "--target", "decision", "-o", "l.daace")
    assert code == 0
    assert "  categories: education, housing, purpose (rare levels apart)\n" in err
    assert "  numbers: savings (0 apart)\n" in err
    assert "  whole numbers: age, employed_years, income, " in err
    assert "credit_score (missing apart)" in err
    assert "--kind NAME=KIND" in err


def test_fit_says_what_held_out_rows_are_like(run, folder):
    code, _, err = run("fit", "data.csv", "--target", "class", "--drop", "id", "-o", "m.daace")
    assert code == 0
    assert "Checked on 20 held-out rows: no warnings.\n" in err
    few = pd.read_csv(folder / "data.csv").drop(columns="id").iloc[::3]
    few.to_csv(folder / "few.csv", index=False)
    code, _, err = run("fit", "few.csv", "--target", "class", "-o", "few.daace")
    assert "Not checked on held-out rows: there are too few of them.\n" in err


def test_fit_says_if_a_density_has_no_check(run, monkeypatch):
    monkeypatch.setattr(LinearGaussianNetwork, "held_out", ConditionalDensity.held_out)
    arguments = ["--target", "class", "--drop", "id", "--judge", "density", "-o", "m.daace"]
    code, _, err = run("fit", "data.csv", "--density", "linear-gaussian", *arguments)
    assert code == 0
    assert "Not checked on held-out rows: the density has no 'held_out' of its own.\n" in err


def test_a_measurement_is_no_target(run, folder):
    code, _, err = run("fit", "data.csv", "--target", "petal length", "-o", "x.daace")
    assert code == 2
    assert "must be a class, not a measurement" in err
    assert "distinct numbers in 100 rows: cut it into classes first, or, if" in err


def test_only_densities_that_exist_are_offered(run):
    text = " ".join(run("fit", "--help")[1].split()).replace("- ", "-")  # lines are wrapped
    assert "one of 'profiles', 'linear-gaussian', 'kde'" in text
    assert ("realnvp" in text) == ("realnvp" in learned_kinds())


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


def test_the_demo_tries_its_output_first(run, monkeypatch):
    monkeypatch.setattr("daace.data.catalog.load_table", lambda _: pytest.fail("it began"))
    for path, message in {
        "-": "'--html' must name a file",
        "no/x": "'no/x' must be in an existing",
    }.items():
        code, out, err = run("demo", "--html", path)
        assert (code, out) == (2, "")
        assert message in err


def test_version_and_help(run):
    assert run("--version") == (0, f"daace {__version__}\n", "")
    assert run("--help")[0] == 0
    assert run() == run("--help")
    assert run("study") == run("study", "--help")
    for command in ("demo", "fit", "explain"):
        code, out, _ = run(command, "--help")
        assert code == 0
        assert f"Example: daace {command}" in out


def commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


@pytest.mark.parametrize(("path", "command"), list(commands(typer.main.get_group(app), "daace")))
def test_every_command_has_an_example_and_documents_each_option(path, command):
    assert command.epilog.startswith(f"Example: {path}")
    for parameter in command.params:
        if parameter.name != "help":
            assert parameter.help.rstrip(".").strip(), parameter.name
            assert parameter.metavar or not parameter.multiple, f"{parameter.name}: not a list"


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
COMMAND = [sys.executable, "-m", "daace", "explain", "model.daace", "data.csv", "--json", "-"]


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
    assert "Looking for a path" in seen
    assert json.loads(done.stdout)["status"] == "found"


def test_the_package_is_the_command_too(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["daace", "--version"])
    with pytest.raises(SystemExit) as leaving:
        runpy.run_module("daace", run_name="__main__")
    assert (leaving.value.code, capsys.readouterr().out) == (0, f"daace {__version__}\n")


# flows --------------------------------------------------------------------------------------------


def test_tune_then_fit_then_explain(run, folder):
    pytest.importorskip("torch", reason="a flow is trained with torch")
    pytest.importorskip("optuna", reason="settings are searched with optuna")
    code, out, err = run(
        "tune", "data.csv", "--target", "class", "--drop", "id", "--trials", "2", "--folds", "2",
        "--epochs", "2", "--storage", "tune.db", "-o", "best.json",
    )  # fmt: skip
    assert code == 0, err
    assert out.split()[:3] == ["trial", "score", "seconds"]
    assert "noise" in out.split()
    assert err.startswith("Mean held-out log p(x, class) ")
    assert "the best of 2 trials: best.json." in err
    assert err.endswith(
        "To fit with these settings and at most 2 epochs: daace fit data.csv --target class "
        "--drop id --density realnvp --settings best.json -o model.daace\n"
    )
    found = json.loads((folder / "best.json").read_text())
    assert (found["trials"], found["settings"]["epochs"]) == (2, 2)
    code, out, err = run(
        "fit", "data.csv", "--target", "class", "--drop", "id", "--density", "realnvp",
        "--settings", "best.json", "--checkpoint", "flow.checkpoint", "-o", "flow.daace",
    )  # fmt: skip
    assert (code, out) == (0, "")
    trained, learned, checked = err.splitlines()
    assert trained.startswith("Trained for 2 epochs, the maximum. Mean log p(x | class)")
    assert learned.startswith("Learned 4 features")
    assert checked.startswith(("Checked on 10 held-out rows", "The model is weak on 10 held-out"))
    assert (folder / "flow.checkpoint").exists()
    density = daace.load(folder / "flow.daace").density
    assert density.get_params() == found["settings"]
    code, out, _ = run("explain", "flow.daace", "data.csv", "--row", "3", "--plausibility", "-9")
    assert out.startswith("From 'setosa' to 'versicolor'")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--trials", "0"), "'--trials' must be an integer of at least 1. Got 0."),
        (("--folds", "1"), "'--folds' must be an integer of at least 2. Got 1."),
        (("--epochs", "0"), "'--epochs' must be an integer of at least 1. Got 0."),
        (("--jobs", "0"), "'--jobs' must be an integer of at least 1. Got 0."),
        (("--time-limit", "0"), "'--time-limit' must be a finite number above 0. Got 0.0."),
        (("--storage", "data.csv"), "'data.csv' must not be written to, as it is used here"),
        (
            ("--storage", "model.daace"),
            "'--storage' must be a file of Optuna's trials, or a new one.",
        ),
        (("-o", "no/where.json"), "'no/where.json' must be in an existing"),
        (("--drop", "size"), "'--drop' must name columns of 'data.csv'. Got 'size'."),
    ],
)
def test_wrong_use_of_tune_is_one_sentence(run, arguments, message):
    pytest.importorskip("torch", reason="a flow is trained with torch")
    pytest.importorskip("optuna", reason="settings are searched with optuna")
    given = ["tune", "data.csv", "--target", "class", "--drop", "id", "-o", "wrong.json"]
    code, out, err = run(*given, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_settings_one_by_one(run, folder):
    pytest.importorskip("torch", reason="a flow is trained with torch")
    start = ("fit", "data.csv", "--target", "class", "--drop", "id", "-o", "set.daace")
    code, _, err = run(
        *start, "--density", "realnvp", "--set", "epochs=2", "--set", "early_stopping=False",
        "--set", "time_limit=None",
    )  # fmt: skip
    assert code == 0, err
    density = daace.load(folder / "set.daace").density
    assert (density.epochs, density.early_stopping, density.flows) == (2, False, 7)
    code, _, err = run(*start, "--set", "start=empty", "--set", "max_parents=2")
    assert code == 0, err
    assert daace.load(folder / "set.daace").density.max_parents == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "epochs"), "'--set' must be like epochs=100. Got 'epochs'."),
        (
            ("--set", "epochs=3"),
            "'--set epochs=3' is invalid: 'epochs' must be an argument of LinearGaussianNetwork:",
        ),
        (
            ("--density", "realnvp", "--set", "epochs=0"),
            "'--set epochs=0' is invalid: 'epochs' must be an integer of at least 1. Got 0.",
        ),
        (
            ("--settings", "best.json"),
            "'--settings' must go with --density realnvp. Got 'profiles'",
        ),
        (("--checkpoint", "c"), "'--checkpoint' must go with --density realnvp."),
        (("--density", "realnvp", "--settings", "data.csv"), "must hold the settings of a realnvp"),
        (("--density", "realnvp", "--settings", "no.json"), "'no.json' does not exist"),
    ],
)
def test_wrong_settings_of_a_flow(run, arguments, message):
    code, _, err = run(
        "fit", "data.csv", "--target", "class", "--drop", "id", "-o", "x", *arguments
    )
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


# Rules and settings -------------------------------------------------------------------------------


def test_every_rule_is_an_option(run, folder):
    (folder / "rules.toml").write_text('fixed = ["petal width"]\nmax_changed = 3\n')
    code, out, err = run(
        "explain", "model.daace", "data.csv", "--row", "0", "--rules", "rules.toml",
        "--only-up", "petal length", "--weight", "sepal width=2", "--max-rise", "petal length=9",
        "--link", "petal length - sepal length <= 9", "--sparsity", "0.1", "--vertices", "1",
        "--json", "-",
    )  # fmt: skip
    assert code in (0, 1), err
    asked = json.loads(out)["provenance"]
    assert asked["constraints"]["fixed"] == ["petal width"]
    assert asked["constraints"]["max_changed"] == 3
    assert asked["constraints"]["only_up"] == ["petal length"]
    assert asked["constraints"]["weights"] == {"sepal width": 2.0}
    assert asked["constraints"]["max_rise"] == {"petal length": 9.0}
    assert len(asked["constraints"]["links"]) == 1
    assert "sparsity=0.1" in asked["planner"]
    assert "vertices=(1,)" in asked["planner"]


def test_a_classifier_is_imported_by_name(run, folder):
    (folder / "house_rule.py").write_text(
        "def judge(rows):\n    return (rows['petal length'] > 3.0) * 0.98 + 0.01\n"
    )
    arguments = ("explain", "model.daace", "data.csv", "--row", "0", "--json", "-", "--to")
    code, out, err = run(*arguments, "versicolor", "--classifier", "house_rule:judge")
    assert code == 0, err
    assert json.loads(out)["provenance"]["classifier"] == "judge"
    for wrong in ("house_rule", "house_rule:nobody", "no_such_module:judge"):
        code, _, err = run(*arguments, "versicolor", "--classifier", wrong)
        assert code == 2
        assert err.startswith("Error: '--classifier' must ")
