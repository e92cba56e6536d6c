from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from daace.cli import main
from daace.eqi.data.counties import Counties


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["eqi", *map(str, arguments)])
    out, err = capsys.readouterr()
    return int(caught.value.code or 0), out, err


def test_prepare(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "counties.csv"
    code, out, _ = run(capsys, "prepare", "--data", files, "-o", table)
    assert code == 0
    assert "619 counties with an overall index" in out
    assert "Sociodemographic" in out
    assert "Note: a better Sociodemographic index makes the overall index worse" in out
    frame = pd.read_csv(table, index_col=0)
    assert frame.loc[6037, "county"] == "Los Angeles County"
    best = frame[frame["category"] == 0]
    assert best["Overall index"].min() > frame[frame["category"] > 0]["Overall index"].max()


def test_explain(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.json"
    code, out, err = run(capsys, "explain", "Los Angeles", "--data", files, "--json", plan)
    assert code == 0, err
    assert "from 'middling' (category 3) to 'very good' (category 1)" in out
    assert json.loads(plan.read_text())["fips"] == 6037
    code, out, _ = run(
        capsys, "explain", "6037", "--improve", "1", "--equity", "--settable", "--fixed", "a1",
        "--data", files, "--json", "-",
    )  # fmt: skip
    assert code == 0
    content = json.loads(out)
    assert content["target"] == 2
    assert len(set(content["variables"]["a1"])) == 1
    assert all(way[-1] >= way[0] - 1e-9 for way in content["indices"].values())  # high = good


def test_fit_and_explain_with_models(
    fit_command: tuple[Path, str],
    files: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, printed = fit_command
    assert "network, at most 3 parents" in printed
    assert "held out" in printed
    models = ("--models", folder, "--data", files)
    code, _, _ = run(capsys, "explain", "Conejos", "--free", *models)
    assert code == 0
    code, _, err = run(capsys, "explain", "Conejos", "--algorithm", "FACE", *models)
    assert code == 2
    assert "FACE needs the RealNVP" in err
    code, _, err = run(capsys, "study", "--out", tmp_path / "run", *models)
    assert code == 2
    assert "A study needs the RealNVP" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain", "Washington"], "3 counties are called 'Washington': Washington County, "),
        (["explain", "Atlantis"], "No county is called 'Atlantis'."),
        (["explain", "Los Angeles", "--improve", "4"], "can improve by at most 3. Got 4"),
        (
            ["explain", "Los Angeles", "--improve", "0"],
            "'--improve' must be an integer of at least",
        ),
        (["explain", "Los Angeles", "--algorithm", "X"], "'--algorithm' must be one of"),
        (["explain", "Los Angeles", "--fixed", "smog"], "'--fixed' must name EPA's variables"),
        (["explain", "Los Angeles", "--models", "nowhere"], "'nowhere' has no network.daace"),
        (["report", "nowhere", "--models", "m", "--out", "r"], "'nowhere' must be the folder"),
    ],
)
def test_wrong_use_is_one_sentence(
    arguments: list[str], message: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, *arguments, "--data", files)
    assert code == 2
    assert out == ""
    assert message in err
    assert len(err.splitlines()) == 1


def test_the_best_cannot_improve(
    files: Path, counties: Counties, capsys: pytest.CaptureFixture[str]
) -> None:
    best = counties.category.index[counties.category == 0][0]
    code, _, err = run(capsys, "explain", best, "--data", files)
    assert code == 2
    assert "is in the best category already: nothing to improve" in err


def test_a_wrong_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "prepare", "--data", tmp_path)
    assert code == 2
    assert "must hold EPA's files. Missing: 'variables.csv'" in err
    assert "https://www.epa.gov" in err
