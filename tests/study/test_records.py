from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from daace.exceptions import InvalidInput
from daace.study.records import (
    RecordFile,
    read_compact,
    read_records,
    to_frame,
    write_compact,
)

A = {"key": "a", "kind": "problem", "cost_nll": 0.1 + 0.2, "path": [[1.0]], "run": {"seconds": 1.0}}
B = {"key": "b", "kind": "problem", "cost_nll": float("inf"), "path": [[2.0]], "run": {}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "records.jsonl"
    with RecordFile(place) as records:
        records.append([A, B])
    return place


def test_records_come_back(file: Path) -> None:
    assert read_records(file)["a"] == A
    assert read_records(file)["b"]["cost_nll"] == "inf"
    assert to_frame(read_records(file).values())["cost_nll"].tolist() == [0.1 + 0.2, np.inf]


@pytest.mark.parametrize("torn", [b'{"key": "c", "va', b"\xff\xfe", b"{}", b'{"key": "c"}'])
def test_a_torn_last_line_is_cut_off(file: Path, torn: bytes) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole + torn)
    assert set(read_records(file)) == {"a", "b"}  # a reader leaves the file alone
    assert file.read_bytes() == whole + torn
    with RecordFile(file) as records:
        assert set(records.records) == {"a", "b"}
        records.append([A | {"key": "c"}])
    assert set(read_records(file)) == {"a", "b", "c"}
    assert file.read_bytes().startswith(whole)


def test_a_broken_line_is_named_and_kept(file: Path) -> None:
    whole = file.read_bytes()
    broken = whole.replace(b'{"key": "a"', b'{"key" "a"')
    file.write_bytes(broken)
    with pytest.warns(UserWarning, match=r"1 lines that are no records \(line '1'\)"):
        records = RecordFile(file)
    with records:
        assert set(records.records) == {"b"}
        records.append([A])
    assert file.read_bytes().startswith(broken)


def test_the_last_record_of_a_key_counts(file: Path) -> None:
    with RecordFile(file) as records:
        records.append([A | {"cost_nll": 7.0}])
    assert read_records(file)["a"]["cost_nll"] == 7.0


def test_only_one_writes(file: Path) -> None:
    with (
        RecordFile(file),
        pytest.raises(InvalidInput, match=r"must have one writer. Another"),
    ):
        RecordFile(file)
    RecordFile(file).close()


@pytest.mark.parametrize("content", [b"dear diary", b"dear\ndiary\n", b"[1]\n2"])
def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path, content: bytes) -> None:
    foreign, link = tmp_path / "diary.txt", tmp_path / "records.jsonl"
    foreign.write_bytes(content)
    link.symlink_to(foreign)
    with pytest.raises(InvalidInput, match=r"must hold the records of a study. It holds some"):
        RecordFile(link)
    assert foreign.read_bytes() == content


def test_a_full_disk_loses_nothing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = file.read_bytes()
    real = os.write
    room = [20]

    def write(handle: int, data: bytes) -> int:
        if room[0] == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        size = real(handle, data[: room[0]])
        room[0] -= size
        return size

    with RecordFile(file) as records:
        monkeypatch.setattr(os, "write", write)
        with pytest.raises(OSError, match=r"No space left on device; 2 records are safe") as caught:
            records.append([A | {"key": "c"}])
        monkeypatch.undo()
        assert caught.value.filename == str(file)
        assert file.read_bytes() == whole
        records.append([A | {"key": "c"}])
    assert set(read_records(file)) == {"a", "b", "c"}


def test_a_compact_record_has_no_paths_and_always_the_same_bytes(
    file: Path, tmp_path: Path
) -> None:
    records = list(read_records(file).values())
    write_compact(tmp_path / "one.gz", records)
    write_compact(tmp_path / "two.gz", records[::-1])
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()
    kept = read_compact(tmp_path / "one.gz")
    assert set(kept) == {"a", "b"}
    assert "path" not in kept["a"]
    assert kept["a"]["cost_nll"] == 0.3
    file.with_suffix(".gz").write_text("hello")
    with pytest.raises(InvalidInput, match="must be a compact record"):
        read_compact(file.with_suffix(".gz"))


def test_missing_records_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="There is no such file"):
        read_records(tmp_path / "records.jsonl")
