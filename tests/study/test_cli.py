from __future__ import annotations

from pathlib import Path

import pytest

from daace.cli import main


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return int(caught.value.code or 0), capsys.readouterr().err


def test_a_mistake_is_one_sentence_with_its_line(
    tiny_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny_file.write_text(tiny_file.read_text().replace("penalties", "penaltys"))
    code, said = call(capsys, "study", "run", tiny_file, "--out", tmp_path / "out")
    assert code == 2
    assert said == (
        f"Error: '{tiny_file}', line 10: 'penaltys' is no setting here. Did you mean 'penalties'?\n"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--jobs", "0"], "'--jobs' must be an integer of at least 1. Got 0."),
        (["--backend", "slurm"], "'--backend' must be one of 'loky', 'dask', 'ray'. Got 'slurm'."),
        (["--dask-address", "tcp://a:1"], "'--dask-address' must go with the backend 'dask'"),
        (["--table", "iris"], "must be among 'random-2', 'random-3'. Got 'iris'."),
    ],
)
def test_wrong_options_are_one_sentence(
    options: list[str],
    sentence: str,
    tiny_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, said = call(capsys, "study", "run", tiny_file, "--out", tmp_path / "out", *options)
    assert code == 2
    assert sentence in said
    assert said.count("\n") == 1


def test_run_and_export_say_what_they_did(
    tiny_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    code, said = call(capsys, "study", "run", tiny_file, "--out", out, "--table", "random-2")
    assert code == 0
    assert "16 of 16 problems are recorded, 16 of them by this run; 0 failed." in said
    assert "Peak memory of a worker: " in said
    code, said = call(capsys, "study", "export", out, "-o", tmp_path / "small.gz")
    assert code == 0
    assert (tmp_path / "small.gz").exists()
    code, said = call(capsys, "study", "restore", tmp_path / "small.gz", "--out", tmp_path / "new")
    assert code == 0
    assert "17 records added" in said


def test_reports_and_exports_need_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = call(capsys, "study", "report", tmp_path)
    assert code == 2
    assert "records.jsonl' must hold the records of a study. There is no such file." in said
    code, said = call(capsys, "study", "export", tmp_path / "no", "-o", tmp_path / "a.gz")
    assert code == 2
    assert "must be the folder of a run. It does not exist." in said
