from __future__ import annotations

import gzip
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest

from daace.data.catalog import BUNDLED, OPENML, load_table, read_frame
from daace.exceptions import InvalidInput, MissingDependency


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
        ({"a": ["x", "y", "z", "x"]}, pd.Series([0, 1, 0, 1]), "Got text in 'a'"),
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


def test_files_of_every_kind(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1.5, 2.0], "class": ["x", "y"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "t.csv.gz", index=False)
    frame.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    frame.to_csv(tmp_path / "T.CSV", index=False)
    frame.to_csv(tmp_path / "t.csv.bz2", index=False)
    frame.to_csv(tmp_path / "t.tsv.gz", index=False, sep="\t")
    frame.to_parquet(tmp_path / "t.parquet")
    for name in (
        "t.csv", "t.csv.gz", "t.tsv", "t.parquet", "T.CSV", "t.csv.bz2", "t.tsv.gz",
    ):  # fmt: skip
        pd.testing.assert_frame_equal(read_frame(tmp_path / name), frame, check_dtype=False)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", b"", "could not be read as a table: No columns to parse"),
        ("ragged.csv", b"a,b\n1,2,3\n4,5,6,7\n", "could not be read as a table"),
        ("latin.csv", b"a,b\n\xe9\xff,1\n", "could not be read as a table"),
        ("broken.parquet", b"not parquet", "could not be read as a table"),
        ("broken.gz", b"not gzip", "could not be read as a table"),
        (
            "cut.gz",
            gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-20],
            "could not be read as a table",
        ),
        ("broken.zip", b"not a zip file", "could not be read as a table"),
        ("twice.csv", b"a,b,a\n1,2,3\n", "Got 'a' more than once"),
        ("semicolons.csv", b"a;b\n1;2\n", "Its header has semicolons."),
        ("tabs.csv", b"a\tb\n1\t2\n", "Its header has tabs."),
        ("shifted.csv", b"a,b\n1,2,3\n4,5,6\n", "Its header has 2 names, its rows have more"),
        ("broken.bz2", b"not bzip2", "could not be read as a table"),
        ("sheet.xlsx", b"", "must end in .csv, .tsv or .parquet. Got '.xlsx'."),
    ],
)
def test_files_that_are_no_tables(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidInput) as caught:
        read_frame(path)
    assert message in str(caught.value)
    assert name in str(caught.value)


def test_a_folder_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"must be a file\. It is a folder"):
        read_frame(tmp_path)


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ImportError("pyarrow")

    path = tmp_path / "t.parquet"
    path.write_bytes(b"")
    monkeypatch.setattr("pandas.read_parquet", refuse)
    with pytest.raises(MissingDependency, match=r"needs pyarrow: pip install 'daace\[parquet\]'"):
        read_frame(path)


def test_a_class_may_be_called_none(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,class\n1,NA,None\n,2,NA\n3,3,null\n4,4,\n5,5,nan\n6,6,NaN\n")
    frame = read_frame(path)
    assert frame["class"].tolist()[:3] == ["None", "NA", "null"]
    assert frame["class"].isna().tolist() == [False, False, False, True, True, True]
    assert frame["a"].isna().sum() == frame["b"].isna().sum() == 1
    assert frame["b"].dtype == np.float64


def test_nameless_columns_are_left_to_the_caller(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(",,class\n1,2,x\n")
    assert read_frame(path).columns.tolist() == ["Unnamed: 0", "Unnamed: 1", "class"]
