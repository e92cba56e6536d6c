from __future__ import annotations

import pytest

from daace.exceptions import InvalidInput
from daace.explain.journal import HEAD, Journal

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
