"""One reader: whole or in blocks, the same table; or a sentence that says what is wrong."""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from daace.data.files import open_table, read_frame
from daace.exceptions import DaaceError, InvalidInput, MissingDependency

KINDS = (".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zip", ".tsv", ".tsv.gz", ".parquet")


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def assert_blocks_are_the_whole(path: Path) -> pd.DataFrame:
    whole = read_frame(path)
    assert tuple(whole.columns) == open_table(path).columns
    assert whole.index.equals(pd.RangeIndex(len(whole)))
    for size in (1, 2, 3, 7, 1000):
        blocks = list(open_table(path).blocks(size))
        assert [len(block) for block in blocks[:-1]] == [size] * (len(blocks) - 1)
        assert all(block.dtypes.equals(whole.dtypes) for block in blocks)
        if blocks:
            pd.testing.assert_frame_equal(pd.concat(blocks), whole, check_exact=True)
    return whole


@pytest.mark.parametrize("kind", KINDS)
def test_files_of_every_kind(tmp_path: Path, kind: str) -> None:
    frame = pd.DataFrame({"a": [1.5, 2.0, np.nan], "n": [1, 2, 3], "class": ["x", "y", "NA"]})
    path = tmp_path / f"T{kind.upper()}"
    if kind == ".parquet":
        frame.to_parquet(path, row_group_size=2)
    else:
        frame.to_csv(tmp_path / f"t{kind}", index=False, sep="\t" if ".tsv" in kind else ",")
        (tmp_path / f"t{kind}").rename(path)
    pd.testing.assert_frame_equal(
        assert_blocks_are_the_whole(path), frame, check_dtype=False, check_exact=True
    )
    (block,) = open_table(path).blocks(9, columns=["class", "a"])
    assert block.columns.tolist() == ["class", "a"]


CELLS = (
    "1", "-2", "3.5", "1e-3", "", "NA", "nan", "None", "True", "false", "text", "a,b", 'say "hi"',
    "two\nlines", "two\r\nlines", " 7 ", "007", "18446744073709551615", "99999999999999999999",
    "inf", "=1+1", "'", '"', "\u00e9", "2020-01-01", "  ", "0x1F", "1_000", "\t",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(80))
def test_blocks_are_the_whole_whatever_the_file_holds(tmp_path: Path, seed: int) -> None:
    """Odd cells, quotes, byte-order marks, blank lines, any line end, any compression."""
    rng = np.random.default_rng(seed)
    columns, rows = int(rng.integers(2, 5)), int(rng.integers(0, 12))
    some = [rng.choice(CELLS, size=int(rng.integers(1, 5))) for _ in range(columns)]
    cells = [[str(rng.choice(some[j])) for j in range(columns)] for _ in range(rows)]
    end, tabs, packed, marked, quoted, unended = (bool(rng.integers(2)) for _ in range(6))
    text = io.StringIO(newline="")
    writer = csv.writer(
        text,
        delimiter="\t" if tabs else ",",
        lineterminator="\r\n" if end else "\n",
        quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL,
    )
    writer.writerow([f"c{j}" for j in range(columns)])
    for row in cells:
        text.write("\n" * (rng.random() < 0.1))
        writer.writerow(row)
    content = text.getvalue().encode("utf-8-sig" if marked else "utf-8")
    content = content[: -1 - end] if unended else content
    path = tmp_path / f"t{'.tsv' if tabs else '.csv'}{'.gz' * packed}"
    path.write_bytes(gzip.compress(content) if packed else content)
    assert len(assert_blocks_are_the_whole(path)) == rows
    raw = open_table(path).blocks(5, verbatim=True)
    assert [row for block in raw for row in block.to_numpy().tolist()] == cells


def test_blank_lines_of_a_single_column_are_skipped_as_pandas_does(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", 'a\n1\n\n2\n   \n""\n3\n')
    expected = pd.read_csv(path)
    pd.testing.assert_frame_equal(assert_blocks_are_the_whole(path), expected)


def test_what_a_column_holds_does_not_depend_on_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = {
        "late_text": [*range(20), "x"],
        "late_gap": [*range(20), ""],
        "late_fraction": [*range(20), 0.5],
        "late_flag_gap": [*([True] * 20), ""],
        "late_word": [*([True] * 20), "maybe"],
        "late_large": [*range(20), 2**64 - 1],
        "late_sign": [2**64 - 1, *range(19), -1],
        "late_number": [*([""] * 20), 3],
        "missing": [*(["NA"] * 20), ""],
    }
    pd.DataFrame(columns, dtype=object).to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.setattr("daace.data.files.text.SCANNED", 9 * 4)
    whole = assert_blocks_are_the_whole(tmp_path / "t.csv")
    kinds = {name: str(kind).replace("object", "str") for name, kind in whole.dtypes.items()}
    assert kinds == {
        "late_text": "str", "late_gap": "float64", "late_fraction": "float64",
        "late_flag_gap": "boolean", "late_word": "str", "late_large": "uint64",
        "late_sign": "str", "late_number": "float64", "missing": "str",
    }  # fmt: skip
    assert whole["late_text"].tolist() == [*map(str, range(20)), "x"]


def test_parquet_columns_do_not_depend_on_the_block_either(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, 2, None, 4], dtype="Int64"),
            "flag": pd.array([True, False, True, None], dtype="boolean"),
            "level": pd.Categorical(["low", "high", "low", "top"]),
            "n": [1, 2, 3, 4],
        },
        index=pd.Index(["p", "q", "r", "s"], name="who"),
    )
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=1)
    whole = assert_blocks_are_the_whole(tmp_path / "t.parquet")
    assert whole["who"].tolist() == ["p", "q", "r", "s"]
    assert whole["whole"].isna().tolist() == [False, False, True, False]
    assert whole["level"].tolist() == ["low", "high", "low", "top"]
    frame.reset_index(drop=True).set_axis([3, 3, 9, 1]).to_parquet(tmp_path / "u.parquet")
    assert open_table(tmp_path / "u.parquet").columns == ("whole", "flag", "level", "n")
    frame.head(0).to_parquet(tmp_path / "none.parquet")
    assert len(assert_blocks_are_the_whole(tmp_path / "none.parquet")) == 0


def test_text_may_be_read_as_it_is_written(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,b\n007,NA\n,1.50\n")
    (block,) = open_table(path).blocks(9, verbatim=True)
    assert block.to_numpy().tolist() == [["007", "NA"], ["", "1.50"]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.csv", None, "does not exist."),
        ("empty.csv", b"", "could not be read as a table: No columns to parse"),
        (
            "ragged.csv",
            b"a,b\n1,2\n1,2,3\n4,5,6,7\n",
            "could not be read as a table: row 1, counted from 0, has 3 fields (it ends in line "
            "3), the header has 2",
        ),
        ("ragged_at_once.csv", b"a,b\n1,2,3\n4,5,6,7\n", "row 0, counted from 0, has 3 fields"),
        ("short.csv", b'a,b\n"1\n2",2\n\n3\n', "row 1, counted from 0, has 1 fields (it ends in"),
        ("latin.csv", b"a,b\n\xe9\xff,1\n", "could not be read as a table"),
        ("broken.parquet", b"not parquet", "could not be read as a table"),
        ("broken.gz", b"not gzip", "could not be read as a table"),
        (
            "cut.gz",
            gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-20],
            "could not be read as a table",
        ),
        ("broken.zip", b"not a zip file", "could not be read as a table"),
        ("broken.xz", b"not xz", "could not be read as a table"),
        ("twice.csv", b"a,b,a\n1,2,3\n", "Got 'a' more than once"),
        ("semicolons.csv", b"a;b\n1;2\n", "Its header has semicolons."),
        ("tabs.csv", b"a\tb\n1\t2\n", "Its header has tabs."),
        ("shifted.csv", b"a,b\n1,2,3\n4,5,6\n", "Its header has 2 names, its rows have more"),
        ("counted.csv", b"a,b\n0,2,3\n1,5,6\n", "Its header has 2 names, its rows have more"),
        ("trailing.csv", b"a,b\n2,3,\n5,6,\n", "Its header has 2 names, its rows have more"),
        ("open.csv", b'a,b\n1,"2\n', "could not be read as a table"),
        ("broken.bz2", b"not bzip2", "could not be read as a table"),
        ("sheet.xlsx", b"", "must end in .csv, .tsv or .parquet. Got '.xlsx'."),
        ("list.txt", b"a,b\n1,2\n", "must end in .csv, .tsv or .parquet. Got '.txt'."),
    ],
)
def test_files_that_are_no_tables(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    for read in (read_frame, lambda path: list(open_table(path).blocks(1))):
        with pytest.raises(DaaceError) as caught:
            read(path)
        assert message in str(caught.value)
        assert name in str(caught.value)


def test_an_archive_of_several_files_is_no_table(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("a.csv", "a\n1\n")
        archive.writestr("b.csv", "a\n1\n")
    with pytest.raises(InvalidInput, match="must hold one file, it holds 2"):
        read_frame(tmp_path / "t.zip")


def test_a_folder_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="It is a folder"):
        read_frame(tmp_path)


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
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


def test_a_table_without_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,b\n")
    assert (list(read_frame(path).columns), len(read_frame(path))) == (["a", "b"], 0)
    assert list(open_table(path).blocks(3)) == []
