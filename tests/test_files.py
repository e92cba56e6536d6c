from __future__ import annotations

import contextlib
import errno
import os
import pickle
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from daace import Explainer, GaussianMixture, _files, load
from daace._files import (
    check_writable,
    open_for_one,
    remove_abandoned,
    replacing,
    write_atomically,
)
from daace.data.files import read_frame
from daace.density.tuning.settings import read_settings
from daace.exceptions import DaaceError, InvalidInput, MissingFile


def test_new_and_old_files_are_written_whole(tmp_path):
    path = tmp_path / "a.txt"
    write_atomically(path, "one")
    write_atomically(path, b"two")
    assert path.read_text() == "two"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("broken", ["os.replace", "os.fsync"])
def test_a_failure_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch, broken):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device", "/hidden/name")

    monkeypatch.setattr(broken, fail)
    with pytest.raises(OSError, match="No space left on device") as error:
        write_atomically(path, "new")
    assert error.value.filename == str(path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_an_interrupt_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_errors_name_the_file_that_was_asked_for(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        write_atomically(tmp_path / "no" / "a.txt", "x")
    assert error.value.filename == str(tmp_path / "no" / "a.txt")
    with pytest.raises(IsADirectoryError):
        write_atomically(tmp_path, "x")


def test_permissions_and_links_stay(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    link = tmp_path / "link.txt"
    link.symlink_to(path)
    write_atomically(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_device_is_written_to_not_replaced():
    write_atomically(os.devnull, "x")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_what_cannot_be_written_is_known_before(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    for fine in (path, os.devnull):
        check_writable(fine)
    assert not path.exists()
    path.write_text("old")
    check_writable(path)
    for wrong, kind in {
        tmp_path: IsADirectoryError,
        tmp_path / "no" / "a.txt": FileNotFoundError,
        path / "b.txt": FileNotFoundError,
    }.items():
        with pytest.raises(kind) as error:
            check_writable(wrong)
        assert error.value.filename == str(wrong)
    monkeypatch.setattr("os.access", lambda *_: False)
    for wrong in (path, tmp_path / "new.txt"):
        with pytest.raises(PermissionError):
            check_writable(wrong)


def test_what_is_read_is_not_written_to(tmp_path):
    source, link = tmp_path / "a.csv", tmp_path / "b.csv"
    source.write_text("1")
    link.symlink_to(source)
    check_writable(tmp_path / "c.csv", source, None)
    for path in (source, link, tmp_path / "." / "a.csv"):
        with pytest.raises(InvalidInput, match=r"must not be written to, as it is used here"):
            check_writable(path, None, source)


@pytest.mark.parametrize(
    "use",
    [
        lambda place: load(place / "model.daace"),
        lambda place: read_frame(place / "rows.csv"),
        lambda place: read_settings(place / "best.json"),
        lambda place: write_atomically(place / "no" / "a.txt", "x"),
        lambda place: explain_all(place / "rows.csv", place / "out.csv"),
        lambda place: explain_all(__file__, place / "no" / "out.csv"),
    ],
    ids=["model", "table", "settings", "output", "rows", "answers"],
)
def test_a_missing_path_is_our_error_and_names_it(tmp_path, use):
    with pytest.raises(MissingFile, match=r"does not exist") as error:
        use(tmp_path)
    assert isinstance(error.value, DaaceError)
    assert isinstance(error.value, FileNotFoundError)
    assert error.value.errno == errno.ENOENT
    assert str(tmp_path) in str(error.value)
    assert error.value.filename.startswith(str(tmp_path))
    again = pickle.loads(pickle.dumps(error.value))
    assert (str(again), again.filename) == (str(error.value), error.value.filename)


def explain_all(source, output):
    density = GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["ill", "well"])
    Explainer(density).explain_file(source, output)


# Somebody else's files ----------------------------------------------------------------------------


def test_a_link_in_the_place_of_the_temporary_file_is_not_followed(tmp_path, monkeypatch):
    victim, path = tmp_path / "victim.txt", tmp_path / "a.txt"
    victim.write_text("dear diary")
    monkeypatch.setattr(_files.secrets, "token_hex", lambda _: "0" * 16)  # if it were guessed
    (tmp_path / f".a.txt.{'0' * 16}.tmp").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_atomically(path, "new")
    assert victim.read_text() == "dear diary"
    assert not path.exists()


def test_a_link_to_nothing_yet_is_kept(tmp_path):
    link = tmp_path / "link.txt"
    (tmp_path / "far").mkdir()
    link.symlink_to(tmp_path / "far" / "a.txt")
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert (tmp_path / "far" / "a.txt").read_bytes() == b"new"
    assert [p.name for p in (tmp_path / "far").iterdir()] == ["a.txt"]


def test_an_error_while_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(path) as file:
        file.write(b"new" * (1 // 0))
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_nobody_else_reads_what_is_being_written(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o600)
    with replacing(path):
        modes = {stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
    assert modes == {0o600}


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="needs /dev/stdout")
def test_a_pipe_is_written_to(capfd):
    reading, writing = os.pipe()
    stdout = os.dup(1)
    os.dup2(writing, 1)
    try:
        write_atomically("/dev/stdout", "new")
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)
        os.close(writing)
    with open(reading, "rb") as pipe:
        assert pipe.read() == b"new"


def test_only_what_was_abandoned_is_removed(tmp_path):
    old = time.time() - 2 * _files.ABANDONED
    names = [f".a.txt.{'0' * 16}.tmp", f".b.txt.{'f' * 16}.tmp", ".mine.tmp", "a.txt"]
    for name in names:
        (tmp_path / name).write_text("x")
        if ".b." not in name:
            os.utime(tmp_path / name, (old, old))
    remove_abandoned(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(names[1:])


# One writer ---------------------------------------------------------------------------------------


def test_one_at_a_time(tmp_path):
    path = tmp_path / "a.part"
    with open_for_one(path), pytest.raises(InvalidInput, match=r"must have one writer. Another"):
        open_for_one(path)
    open_for_one(path).close()


def test_a_writer_that_was_killed_blocks_nobody(tmp_path):
    path = tmp_path / "a.part"
    code = "import sys; from pathlib import Path; from daace._files import open_for_one\n"
    code += "file = open_for_one(Path(sys.argv[1])); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(InvalidInput, match=r"must have one writer. Another"):
            open_for_one(path)
        other.kill()
    open_for_one(path).close()


def test_a_file_that_was_removed_meanwhile_is_made_anew(tmp_path, monkeypatch):
    path, real = tmp_path / "a.part", _files.lock
    path.write_text("of the one before")

    def late(handle, name):
        real(handle, name)
        monkeypatch.setattr(_files, "lock", real)
        path.unlink()  # as its writer does at the end

    monkeypatch.setattr(_files, "lock", late)
    with open_for_one(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"


def test_links_devices_and_others_are_refused(tmp_path, monkeypatch):
    victim, path = tmp_path / "victim.txt", tmp_path / "a.part"
    victim.write_text("dear diary")
    path.symlink_to(victim)
    with pytest.raises(InvalidInput, match=r"a.part' must be a plain file. It is a link"):
        open_for_one(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(InvalidInput, match=r"a.part' must be a plain file. It is not"):
        open_for_one(path)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(InvalidInput, match=r"must be a file of yours. It belongs to another user"):
        open_for_one(victim)
    assert victim.read_text() == "dear diary"


def test_an_interrupt_while_a_file_is_opened_stays_one(tmp_path, monkeypatch):
    class Interrupted(contextlib.suppress):
        def __exit__(self, *_: object) -> bool:
            raise KeyboardInterrupt

    monkeypatch.setattr("daace._files.suppress", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        open_for_one(tmp_path / "a.part")
    monkeypatch.undo()
    open_for_one(tmp_path / "a.part").close()  # nobody holds it any more
