from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from daace import Constraints, Explanation, GaussianMixture, PathOptimizer, Wachter, load
from daace.data.encoding import Encoding
from daace.exceptions import InvalidInput
from daace.explain.explainer import Explainer
from daace.explain.files import stream
from daace.planners.base import CUT_SHORT

#: Rows that are read and written at once: a fifth of what is usual, in parts of 32 rows.
BLOCK = 128


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch) -> None:
    monkeypatch.setattr(stream, "BLOCK", BLOCK)


@pytest.fixture
def table(tmp_path) -> Path:
    """Three hundred rows, with a column that the model does not know."""
    rows = np.random.default_rng(3).normal(size=(300, 2))
    frame = pd.DataFrame(rows, columns=["x2", "x1"]).assign(name="p")
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


@pytest.fixture
def few(table) -> Path:
    """The first twelve of them."""
    pd.read_csv(table).head(12).to_csv(table, index=False)
    return table


def batch_frame(explainer, table) -> pd.DataFrame:
    rows = pd.read_csv(table)[["x1", "x2"]]
    return explainer.explain_batch(rows, target="well").to_frame()


def test_the_answers_are_those_of_a_batch(simple, table):
    out = table.with_name("answers.csv")
    summary = simple.explain_file(table, out, target="well")
    frame = pd.read_csv(out, keep_default_na=False)
    assert frame.columns.tolist()[:3] == ["name", "row", "status"]
    assert frame["row"].tolist() == list(range(300))
    expected = batch_frame(simple, table)
    rounded = ["cost", "log_prob", "posterior"]
    pd.testing.assert_frame_equal(
        frame[list(expected)].drop(columns=rounded),
        expected.drop(columns=rounded),
        check_exact=True,
        check_dtype=False,
    )
    np.testing.assert_allclose(frame[rounded], expected[rounded], rtol=5e-6)
    source = pd.read_csv(table)
    assert frame["name"].equals(source["name"])
    assert frame["x1_start"].equals(source["x1"])
    change = (frame["x1"] - frame["x1_start"]).replace(0.0, np.nan)
    np.testing.assert_allclose(pd.read_csv(out)["x1_change"], change, rtol=1e-5)
    assert (summary.rows, summary.found) == (300, 300)
    assert (
        summary == simple.explain_batch(pd.read_csv(table)[["x1", "x2"]], target="well").summary()
    )
    assert sorted(p.name for p in table.parent.iterdir()) == ["answers.csv", "data.csv"]


def test_parquet_in_and_out(simple, table):
    pytest.importorskip("pyarrow")
    source, out = table.with_suffix(".parquet"), table.with_name("answers.parquet")
    pd.read_csv(table).to_parquet(source, row_group_size=30)
    simple.explain_file(source, out, target="well")
    expected = batch_frame(simple, table)
    pd.testing.assert_frame_equal(
        pd.read_parquet(out)[list(expected)], expected, check_exact=True, check_dtype=False
    )


def test_json_lines_are_whole_explanations(simple, table):
    out = table.with_name("answers.jsonl")
    summary = simple.explain_file(table, out, target="well")
    lines = out.read_text().splitlines()
    assert len(lines) == 300
    alone = simple.explain_batch(pd.read_csv(table)[["x1", "x2"]].iloc[:3], target="well")
    for line, e in zip(lines, alone, strict=False):
        assert Explanation.from_json(line).path.equals(e.path)
    assert summary.found == 300


@pytest.mark.parametrize("suffix", stream.FORMATS)
def test_answers_that_were_cut_off_say_so_in_every_format(simple, tmp_path, suffix):
    source, out = tmp_path / "d.csv", tmp_path / f"a{suffix}"
    source.write_text("x1,x2\n0,0\n4,1\n1,0\n")
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    summary = simple.explain_file(source, out, target="well", time_limit=1e-9)
    assert summary.cut_off == 2
    assert "; 2 of them were cut off by the time limit; " in str(summary)
    if suffix == ".jsonl":
        notes = [
            " ".join(Explanation.from_json(line).notes) for line in out.read_text().splitlines()
        ]
    elif suffix == ".csv":
        frame = pd.read_csv(out)  # an empty text is read as a gap
        notes = frame["notes"].fillna("").tolist()
    else:
        notes = pd.read_parquet(out)["notes"].tolist()
    assert notes == [CUT_SHORT, "", CUT_SHORT]


# One process keeps its answers part by part, more keep them block by block.
@pytest.mark.parametrize(("n_jobs", "calls", "kept"), [(1, 2, 32), (1, 6, 160), (2, 1, 96)])
def test_a_stopped_run_goes_on(simple, table, monkeypatch, n_jobs, calls, kept):
    out = table.with_name("answers.csv")
    simple.explain_file(table, out, target="well")
    expected = out.read_bytes()
    out.unlink()
    solved = []
    answer_all = stream.answer_all

    def stop(query, jobs, **settings):
        if len(solved) == most:
            raise KeyboardInterrupt
        solved.append(query.first)
        return answer_all(query, jobs, **settings)

    monkeypatch.setattr(stream, "answer_all", stop)
    most = calls
    with pytest.raises(KeyboardInterrupt):
        simple.explain_file(table, out, target="well", n_jobs=n_jobs)
    part = Path(f"{out}.part")
    assert not out.exists()
    part.write_bytes(part.read_bytes()[:-10])  # and the last line is torn
    solved.clear()
    most = 100
    simple.explain_file(table, out, target="well", n_jobs=1)
    assert solved[0] == kept  # all of the last part are solved again, as they were
    assert out.read_bytes() == expected
    assert not part.exists()


#: Explains a file, and kills itself after the first rows beyond the first block.
DYING = f"""
import os, signal, sys
from daace import load
from daace.explain.files import stream

stream.BLOCK = {BLOCK}
append = stream.Journal.append

def append_and_die(journal, lines):
    append(journal, lines)
    if journal.rows > {BLOCK}:
        os.kill(os.getpid(), signal.SIGKILL)

stream.Journal.append = append_and_die
model, table, out = sys.argv[1:]
load(model).explain_file(table, out, target="well")
"""


def test_kill_and_resume_loses_nothing(mixture, tmp_path, table, monkeypatch):
    model, out = tmp_path / "model.daace", tmp_path / "out.csv"
    part = Path(f"{out}.part")
    Explainer(mixture, planner=PathOptimizer(vertices=0, starts=1)).save(model)
    explainer = load(model)
    command = [sys.executable, "-c", DYING, str(model), str(table), str(out)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert part.read_bytes().count(b"\n") == 1 + BLOCK + 32
    explainer.explain_file(table, tmp_path / "whole.csv", target="well")
    solved, answer_all = [], stream.answer_all
    monkeypatch.setattr(
        stream, "answer_all", lambda q, *a, **k: solved.append(q.first) or answer_all(q, *a, **k)
    )
    explainer.explain_file(table, out, target="well")
    assert solved[0] == BLOCK + 32
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert not part.exists()


def test_another_question_does_not_go_on(simple, table, monkeypatch):
    out = table.with_name("answers.csv")
    stop_at_the_end(simple, table, out, monkeypatch)
    with pytest.raises(InvalidInput, match=r"same question. It differs in 'target'"):
        simple.explain_file(table, out, target="ill")
    assert simple.explain_file(table, out, target="ill", resume=False).rows == 300


def test_a_run_with_other_columns_does_not_go_on(simple, table, monkeypatch):
    out = table.with_name("answers.csv")
    with monkeypatch.context() as patch:
        patch.setattr(stream, "OUTCOME", stream.OUTCOME[:-1])
        stop_at_the_end(simple, table, out, patch)
    with pytest.raises(InvalidInput, match=r"same question. It differs in 'columns'"):
        simple.explain_file(table, out, target="well")


def test_a_changed_file_does_not_go_on(simple, table, monkeypatch):
    out = table.with_name("answers.csv")
    stop_at_the_end(simple, table, out, monkeypatch)
    head, first, second, *rest = table.read_text().splitlines()
    table.write_text("\n".join([head, second, first, *rest]) + "\n")  # of the same size
    with pytest.raises(InvalidInput, match=r"same question. It differs in 'content'"):
        simple.explain_file(table, out, target="well")


def stop_at_the_end(explainer, table, out, patch) -> None:
    """Leave unfinished work behind."""
    with patch.context() as broken:
        broken.setattr(stream, "_finish", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            explainer.explain_file(table, out, target="well")


def rule(offset):
    """A function that always has the same name."""

    def judge(rows):
        return 1 / (1 + np.exp(-2 * (rows["x1"] - offset)))

    return judge


def test_another_model_does_not_go_on(simple, few, monkeypatch):
    out = few.with_name("answers.csv")
    stop_at_the_end(simple, few, out, monkeypatch)
    eyes = [np.eye(2)] * 2  # log p(x) is the same, and so are its mean and standard deviation
    swapped = GaussianMixture([1, 1], [[0.0, 0.0], [4.0, 1.0]], eyes, ["well", "ill"])
    with pytest.raises(InvalidInput, match=r"same question. It differs in 'model': ask as before"):
        replace(simple, density=swapped).explain_file(few, out, target="well")


def test_a_model_from_its_file_goes_on(simple, few, monkeypatch):
    out, file = few.with_name("answers.csv"), few.with_name("model.daace")
    other = replace(simple, planner=None)
    stop_at_the_end(other, few, out, monkeypatch)
    other.save(file)
    monkeypatch.setattr(stream, "answer_all", lambda *_, **__: pytest.fail("it searched"))
    assert load(file).explain_file(few, out, target="well").rows == 12


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"classifier": rule(2.1)}, "answers of the classifier"),
        ({"classifier_budget": 5}, "answers of the classifier"),
        ({"classifier": None}, "classifier', 'answers of the classifier"),
        ({"planner": Wachter(np.ones((3, 2)))}, "planner', 'rows of the planner"),
    ],
)
def test_another_classifier_does_not_go_on(simple, few, monkeypatch, change, named):
    out = few.with_name("answers.csv")
    judged = replace(simple, classifier=rule(2.0))
    stop_at_the_end(judged, few, out, monkeypatch)
    with pytest.raises(InvalidInput, match=rf"same question. It differs in '{named}': ask as"):
        replace(judged, **change).explain_file(few, out, target="well")
    assert judged.explain_file(few, out, target="well").rows == 12


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_an_output_that_is_a_link_stays_one(simple, few, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    far, link, plain = (few.with_name(f"{name}{suffix}") for name in ("far", "link", "plain"))
    link.symlink_to(far)
    simple.explain_file(few, plain, target="well")
    simple.explain_file(few, link, target="well")
    assert link.is_symlink()
    if suffix == ".jsonl":  # whole explanations have the seconds that they took
        assert far.read_bytes().count(b"\n") == plain.read_bytes().count(b"\n") == 12
    else:
        assert far.read_bytes() == plain.read_bytes()
    assert len(list(few.parent.iterdir())) == 4


def test_an_output_that_is_a_link_has_one_writer(simple, few, monkeypatch):
    far, link = few.with_name("far.csv"), few.with_name("link.csv")
    link.symlink_to(far)
    finish, refused = stream._finish, []

    def meanwhile(*arguments):
        for other in (link, far):
            with pytest.raises(InvalidInput, match=r"far.csv.part' must have one writer"):
                simple.explain_file(few, other, target="well")
            refused.append(other)
        return finish(*arguments)

    monkeypatch.setattr(stream, "_finish", meanwhile)
    assert simple.explain_file(few, link, target="well").rows == 12
    assert len(refused) == 2


def test_a_device_takes_answers_and_stays_one(simple, few):
    link = few.with_name("null.csv")
    link.symlink_to(os.devnull)
    assert simple.explain_file(few, link, target="well").rows == 12
    assert link.is_char_device()
    assert sorted(p.name for p in few.parent.iterdir()) == ["data.csv", "null.csv"]


@pytest.mark.parametrize("planted", [".answers.csv.tmp", "answers.csv.part"])
def test_planted_links_are_not_followed(simple, few, planted):
    victim = few.with_name("victim.txt")
    victim.write_text("dear diary")
    few.with_name(planted).symlink_to(victim)
    try:
        simple.explain_file(few, few.with_name("answers.csv"), target="well")
    except InvalidInput as error:
        assert "must be a plain file. It is a link" in str(error)  # noqa: PT017
    assert victim.read_text() == "dear diary"
    assert few.with_name(planted).is_symlink()


@pytest.mark.parametrize("resume", [True, False])
def test_a_foreign_part_is_left_alone(simple, few, resume):
    part = few.with_name("answers.csv.part")
    part.write_text("dear diary")
    with pytest.raises(InvalidInput, match="must be unfinished work of this program"):
        simple.explain_file(few, few.with_name("answers.csv"), target="well", resume=resume)
    assert part.read_text() == "dear diary"


@pytest.mark.parametrize(
    ("suffix", "long"),
    [(".csv", False), (".csv", True), (".parquet", False), (".parquet", True), (".jsonl", False)],
)
@pytest.mark.parametrize(
    "line",
    ["1", "null", "[]", '"row"', "{}", '{"status": "found"}', '{"row": 0, "notes": []}', "dear"],
)
def test_lines_that_are_not_ours_are_refused(simple, few, suffix, long, line, monkeypatch):
    out = few.with_name(f"answers{suffix}")
    part = Path(f"{out}.part")

    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stream, "_finish", stop)
        with pytest.raises(KeyboardInterrupt):
            simple.explain_file(few, out, target="well", long=long)
    content = part.read_text().splitlines()
    assert len(content) == 13
    part.write_text("\n".join([*content[:6], line, *content[7:], ""]))
    before = part.read_bytes()
    with pytest.raises(InvalidInput, match=r"answers\S+\.part' (must hold answers of|is damaged)"):
        simple.explain_file(few, out, target="well", long=long)
    assert part.read_bytes() == before
    part.write_text("\n".join([*content, ""]))
    simple.explain_file(few, out, target="well", long=long)


def test_an_interrupt_that_a_library_swallows_is_not_lost(simple, table, monkeypatch):
    out = table.with_name("answers.csv")
    real = stream.read_rows

    def swallow(*args):
        with contextlib.suppress(KeyboardInterrupt):  # as numpy does while it indexes text
            signal.raise_signal(signal.SIGINT)
        return real(*args)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(stream, "read_rows", swallow)
            with pytest.raises(KeyboardInterrupt):
                simple.explain_file(table, out, target="well", n_jobs=1)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert not out.exists()
    assert Path(f"{out}.part").read_bytes().count(b"\n") > 1  # what was done is kept
    assert simple.explain_file(table, out, target="well").rows == 300


def test_the_source_is_not_written_over(simple, table):
    before = table.read_bytes()
    with pytest.raises(InvalidInput, match=r"data.csv' must not be written to, as it is used"):
        simple.explain_file(table, table, target="well")
    assert table.read_bytes() == before


def test_a_bad_row_is_told_before_the_work_begins_if_asked_to(simple, table):
    frame = pd.read_csv(table)
    frame.loc[280, "x1"] = np.nan
    frame.to_csv(table, index=False)
    out = table.with_name("answers.csv")
    expected = r"data.csv', rows counted from 0: Row 280: .* 'x1' is missing"
    with pytest.raises(InvalidInput, match=expected):
        simple.explain_file(table, out, target="well", strict=True)
    frame.astype({"x2": object}).assign(x2=frame["x2"].where(frame.index != 140, "many")).to_csv(
        table, index=False
    )
    expected = r"data.csv', rows counted from 0: Row 140: .* 'x2' is 'many'\."
    with pytest.raises(InvalidInput, match=expected):
        simple.explain_file(table, out, target="well", strict=True)
    assert not Path(f"{out}.part").exists()


def test_all_rows_that_break_a_constraint_are_told_at_once_if_asked_to(simple, table):
    frame = pd.read_csv(table)
    frame["x1"] = frame["x1"].clip(upper=1.0)
    frame.loc[[4, 140, 280], "x1"] = 2.0
    frame.to_csv(table, index=False)
    out = table.with_name("answers.csv")
    bound = replace(simple, constraints=Constraints(upper={"x1": 1.0}))
    with pytest.raises(
        InvalidInput,
        match=r"data.csv', rows counted from 0: Row 4: 'upper' must allow the start. .* "
        r"3 rows cannot be explained: 4, 140, 280\.$",
    ):
        bound.explain_file(table, out, target="well", strict=True)
    assert not Path(f"{out}.part").exists()
    summary = bound.explain_file(table, out, target="well")
    assert (summary.rows, summary.statuses["invalid_row"]) == (300, 3)


@pytest.mark.parametrize("suffix", [".csv.gz", ".tsv.bz2", ".csv.zip", ".csv.xz"])
def test_compressed_files_are_explained_like_plain_ones(simple, tmp_path, suffix):
    rows = pd.DataFrame({"x2": [0.0, 1.0], "x1": [0.0, 0.5]})
    rows.to_csv(tmp_path / "d.csv", index=False)
    rows.to_csv(tmp_path / f"d{suffix}", index=False, sep="\t" if "tsv" in suffix else ",")
    for source, output in (("d.csv", "a.csv"), (f"d{suffix}", "b.csv")):
        simple.explain_file(tmp_path / source, tmp_path / output, target="well")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


@pytest.mark.parametrize(
    ("source", "output", "message"),
    [
        ("data.csv", "a.txt", "'output' must end in '.csv', '.parquet', '.jsonl'. Got 'a.txt'"),
        ("data.txt", "a.csv", "must end in .csv, .tsv or .parquet. Got '.txt'"),
        ("other.csv", "a.csv", "must have every feature of the model. Missing: 'x2'"),
        ("empty.csv", "a.csv", "could not be read as a table"),
        ("r.csv", "a.csv", "Its header has 2 names, its rows have more fields"),
        ("long.csv", "a.csv", "row 1, counted from 0, has 3 fields"),
        ("short.csv", "a.csv", "row 1, counted from 0, has 1 fields"),
        ("twice.csv", "a.csv", "must have distinct column names. Got 'x1' more than once"),
    ],
)
def test_wrong_files_are_refused(simple, table, source, output, message):
    folder = table.parent
    (folder / "data.txt").write_text("x1,x2\n0,0\n")
    (folder / "other.csv").write_text("x1\n0\n")
    (folder / "empty.csv").write_text("")
    (folder / "r.csv").write_text('"x1","x2"\n"1",0,0\n"2",1,0\n')  # as R's write.table has it
    (folder / "long.csv").write_text("x1,x2\n0,0\n0,0,7\n")
    (folder / "short.csv").write_text("x1,x2\n0,0\n0\n")
    (folder / "twice.csv").write_text("x1,x2,x1\n0,0,1\n")
    with pytest.raises(InvalidInput, match=message):
        simple.explain_file(folder / source, folder / output, target="well")
    assert not list(folder.glob("*.part"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target": "rose"}, "The class must be one of 'ill', 'well'. Got 'rose'"),
        ({"backend": "threads"}, "'backend' must be one of"),
        ({"n_jobs": 0}, "'n_jobs' must be an integer other than 0"),
        ({"seed": -1}, "'seed' must be an integer of at least 0"),
    ],
)
def test_a_question_that_cannot_be_is_refused_at_once(simple, table, settings, message):
    with pytest.raises(InvalidInput, match=f"^{message}"):
        simple.explain_file(table, table.with_name("a.csv"), **settings)
    assert not list(table.parent.glob("a.csv*"))


def test_a_table_without_rows(simple, tmp_path):
    (tmp_path / "none.csv").write_text("x1,x2\n")
    summary = simple.explain_file(tmp_path / "none.csv", tmp_path / "a.csv", target="well")
    assert (summary.rows, str(summary)) == (0, "0 of 0 rows have a path.")


def test_a_feature_called_row_keeps_its_name(straight, tmp_path):
    density = GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["ill", "well"])
    density.features_, density.encoding_ = ("row",), Encoding.of_numbers(["row"])
    (tmp_path / "d.csv").write_text("row\n0\n")
    Explainer(density, planner=straight).explain_file(tmp_path / "d.csv", tmp_path / "a.csv")
    frame = pd.read_csv(tmp_path / "a.csv")
    assert frame["explanation_row"].tolist() == [0]
    assert frame["row"].iloc[0] > 1
