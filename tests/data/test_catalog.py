from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest

from daace.data.catalog import BUNDLED, OPENML, load_table
from daace.exceptions import InvalidInput


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [
        ("breast_cancer", (569, 30), ["benign", "malignant"]),
        ("iris", (150, 4), ["setosa", "versicolor", "virginica"]),
        ("wine_cultivars", (178, 13), ["class_0", "class_1", "class_2"]),
    ],
)
def test_bundled_tables(name: str, shape: tuple[int, int], classes: list[str]) -> None:
    table = load_table(name)
    assert table.name == name
    assert table.X.shape == shape
    assert table.classes.tolist() == classes


def test_labels_belong_to_their_rows() -> None:
    table = load_table("breast_cancer")
    radius = table.X[:, table.features.index("mean radius")]
    assert radius[table.y == "malignant"].mean() > radius[table.y == "benign"].mean() + 4
    assert dict(load_table("iris").units)["petal width"] == "cm"


def test_every_bundled_name_loads() -> None:
    assert [load_table(name).name for name in BUNDLED] == list(BUNDLED)


def test_unknown_name() -> None:
    with pytest.raises(InvalidInput, match=r"'name' must be one of 'breast_cancer'.*Got 'titanic'"):
        load_table("titanic")


def test_parquet_in_the_data_folder(data_folder: Path) -> None:
    if not (data_folder / "benchmark" / "phoneme.parquet").exists():
        pytest.skip("needs benchmark/phoneme.parquet in DAACE_DATA")
    table = load_table("phoneme")
    assert table.X.shape == (3172, 5)
    assert table.X.dtype == np.float64
    assert table.classes.tolist() == [0, 1]


def test_the_data_folder_goes_before_openml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "benchmark"
    folder.mkdir()
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "class": [0, 1, 0, 1]})
    frame.to_parquet(folder / "wine.parquet")
    monkeypatch.setenv("DAACE_DATA", str(tmp_path))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", None)
    assert load_table("wine").features == ("a",)


def test_any_name_in_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "benchmark").mkdir()
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "class": [0, 1, 0, 1]})
    frame.to_parquet(tmp_path / "benchmark" / "mine.parquet")
    frame.to_parquet(tmp_path / "outside.parquet")
    frame.to_parquet(tmp_path / "benchmark" / "7.parquet")
    monkeypatch.setenv("DAACE_DATA", str(tmp_path))
    assert load_table("mine").name == "mine"
    assert load_table(7).name == "7"
    with pytest.raises(InvalidInput, match="'name' must be one of"):
        load_table("../outside")


@pytest.mark.parametrize("name", [["iris"], None, True, 1.5])
def test_a_name_is_a_text_or_an_id(name: object) -> None:
    with pytest.raises(InvalidInput, match=r"'name' must be the name of a table or an id.*Got"):
        load_table(name)  # type: ignore[arg-type]


def test_an_id_of_the_list_is_its_name(data_folder: Path) -> None:
    if not (data_folder / "benchmark" / "phoneme.parquet").exists():
        pytest.skip("needs benchmark/phoneme.parquet in DAACE_DATA")
    assert load_table(44127).name == "phoneme"


@pytest.mark.parametrize(
    ("data", "target", "message"),
    [
        ({"a": [1j, 2, 3, 4]}, pd.Series([0, 1, 0, 1]), "Got complex numbers in 'a'"),
        ({"a": [1, 2, 3, 4]}, None, "'99' must have one target on OpenML"),
    ],
)
def test_other_ids_may_hold_anything(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    data: dict[str, list[object]],
    target: pd.Series | None,
    message: str,
) -> None:
    def fetch(**_: object) -> SimpleNamespace:
        return SimpleNamespace(data=pd.DataFrame(data), target=target)

    monkeypatch.setenv("DAACE_DATA", str(tmp_path))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    with pytest.raises(InvalidInput, match=message):
        load_table(99)


def test_a_feature_called_class_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(**_: object) -> SimpleNamespace:
        data = pd.DataFrame({"class": [1, 2, 3, 4]})
        return SimpleNamespace(data=data, target=pd.Series([0, 1, 0, 1], name="outcome"))

    monkeypatch.setenv("DAACE_DATA", str(tmp_path))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    table = load_table(99)
    assert (table.name, table.features, table.target) == ("99", ("class",), "outcome")


def test_openml_by_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def fetch(**arguments: object) -> SimpleNamespace:
        asked.append(arguments["data_id"])
        data = pd.DataFrame({"a": np.arange(4, dtype=np.float32)})
        return SimpleNamespace(data=data, target=pd.Series(["0", "1", "0", "1"], dtype="category"))

    monkeypatch.setenv("DAACE_DATA", str(tmp_path))  # a folder without tables
    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    table = load_table("phoneme")
    assert asked == [OPENML["phoneme"]] == [44127]
    assert table.name == "phoneme"
    assert table.X.dtype == np.float64
    assert table.classes.tolist() == ["0", "1"]
    load_table(12)
    assert asked == [44127, 12]


def test_without_a_network_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(**_: object) -> None:
        raise URLError("no route to host")

    monkeypatch.delenv("DAACE_DATA", raising=False)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    with pytest.raises(InvalidInput) as caught:
        load_table("credit")
    assert str(caught.value) == (
        "'credit' could not be fetched from OpenML (URLError): set DAACE_DATA to a folder that "
        "holds benchmark/credit.parquet, or try again with a network."
    )
