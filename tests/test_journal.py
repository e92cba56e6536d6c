from __future__ import annotations

import errno
import os

import pytest

from daace._journal import HEAD, Journal
from daace.exceptions import InvalidInput

ASKED = {"seed": 1, "target": "well"}


def fill(path, lines=("1", "2", "3")) -> None:
    with Journal(path, ASKED) as journal:
        journal.append(list(lines))


def rows(path) -> list:
    with Journal(path, ASKED) as journal:
        return [row for block in journal.blocks(2) for row in block]


def test_what_was_appended_is_there(tmp_path):
    path = tmp_path / "a.part"
    fill(path)
    fill(path, ["4"])
    assert rows(path) == [1, 2, 3, 4]


@pytest.mark.parametrize("lost", range(1, 40))
def test_a_torn_end_is_cut_off(tmp_path, lost):
    path = tmp_path / "a.part"
    fill(path, ["10", "20", "30"])
    data = path.read_bytes()
    path.write_bytes(data[:-lost])
    kept = data[:-lost].count(b"\n") - 1
    expected = [10, 20, 30][: max(kept, 0)]
    with Journal(path, ASKED) as journal:
        assert journal.rows == len(expected)
        journal.append(["99"])
    assert rows(path) == [*expected, 99]


def test_rows_can_be_cut(tmp_path):
    path = tmp_path / "a.part"
    fill(path)
    with Journal(path, ASKED) as journal:
        journal.cut(2)
        journal.append(["7"])
        assert journal.rows == 3
    assert rows(path) == [1, 2, 7]


def test_another_question_is_refused(tmp_path):
    path = tmp_path / "a.part"
    fill(path)
    with pytest.raises(InvalidInput, match=r"same question. It differs in 'seed'"):
        Journal(path, {**ASKED, "seed": 2})
    with Journal(path, {**ASKED, "seed": 2}, resume=False) as journal:
        assert journal.rows == 0


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize(
    "content", ["dear diary\n", "dear diary", '{"asked": 1}\n', '{"asked": {}}\n', "\n", "{}"]
)
def test_another_file_is_left_alone(tmp_path, content, resume):
    path = tmp_path / "a.part"
    path.write_text(content)
    with pytest.raises(InvalidInput, match="must be unfinished work of this program"):
        Journal(path, ASKED, resume=resume)
    assert path.read_text() == content


def test_a_damaged_head_is_another_question(tmp_path):
    path = tmp_path / "a.part"
    path.write_text(HEAD + '[1, 2]}\n"row"\n')
    with pytest.raises(InvalidInput, match=r"same question. It differs in 'seed', 'target'"):
        Journal(path, ASKED)


def test_two_do_not_write_at_once(tmp_path):
    path = tmp_path / "a.part"
    with Journal(path, ASKED) as journal:
        for resume in (True, False):
            with pytest.raises(InvalidInput, match=r"a.part' must have one writer. Another"):
                Journal(path, ASKED, resume=resume)
        journal.append(["1"])
    assert rows(path) == [1]


@pytest.mark.parametrize("line", [b'{"a": 1', b"\xff"])
def test_a_damaged_line_is_named(tmp_path, line):
    path = tmp_path / "a.part"
    with Journal(path, {"seed": 1}) as journal:
        journal.append(['{"a": 1}', '{"a": 2}'])
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([lines[0], line, lines[2], b""]))
    with (
        Journal(path, {"seed": 1}) as journal,
        pytest.raises(InvalidInput, match=r"a\.part' is damaged"),
    ):
        list(journal.blocks(10))


def test_rows_are_read_while_others_are_appended(tmp_path, monkeypatch):
    monkeypatch.setattr("daace._journal.CHUNK", 3)  # so that lines are longer than what is read
    path = tmp_path / "a.part"
    with Journal(path, ASKED) as journal:
        journal.append(["10", "20"])
        seen = []
        for block in journal.blocks(1):
            seen += block
            if len(seen) < 3:
                journal.append(["3000"])
        assert seen == [10, 20, 3000, 3000]


def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    path = tmp_path / "a.part"
    fill(path)
    before, real, room = path.read_bytes(), os.write, [2]

    def write(handle, data):
        if room[0] == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        size = real(handle, data[: room[0]])
        room[0] -= size
        return size

    with Journal(path, ASKED) as journal:
        monkeypatch.setattr(os, "write", write)
        with pytest.raises(OSError, match=r"No space left on device; 3 records are safe") as caught:
            journal.append(["4000"])
        monkeypatch.undo()
        assert caught.value.filename == str(path)
        assert path.read_bytes() == before
        journal.append(["5"])
    assert rows(path) == [1, 2, 3, 5]


def test_without_a_fingerprint_every_line_identifies_itself(tmp_path):
    path = tmp_path / "records.jsonl"
    for number in (1, 2):
        with Journal(path, begins='{"k', must="hold records") as journal:
            journal.append([f'{{"key": {number}}}'])
    assert path.read_text() == '{"key": 1}\n{"key": 2}\n'
    path.write_bytes(b"damaged\n" + path.read_bytes() + b'{"key"')
    with Journal(path, begins='{"k', must="hold records") as journal:
        assert journal.rows == 3
        assert list(journal.lines()) == [b"damaged", b'{"key": 1}', b'{"key": 2}']


@pytest.mark.parametrize("content", [b"dear diary", b"dear\ndiary\n", b"[1]\n2", b"\n"])
def test_lines_of_somebody_else_are_left_alone(tmp_path, content):
    path = tmp_path / "records.jsonl"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"must hold records. It holds something else: move it"):
        Journal(path, begins='{"k', must="hold records")
    assert path.read_bytes() == content


def test_only_a_lasting_record_may_be_a_link(tmp_path):
    path, link = tmp_path / "records.jsonl", tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(InvalidInput, match=r"must be a plain file. It is a link"):
        Journal(link, ASKED)
    with Journal(link, begins='{"k') as journal:
        journal.append(['{"key": 1}'])
    assert path.read_text() == '{"key": 1}\n'
