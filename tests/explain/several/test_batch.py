from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from daace import Constraints, _workers
from daace.exceptions import InvalidInput, MissingDependency
from daace.explain.asking.query import Query, refuse
from daace.explain.asking.rows import Rows
from daace.explain.explainer import Explainer
from daace.explain.several import jobs
from daace.explain.several.batch import Batch
from daace.notes import Note
from daace.planners.base import CUT_SHORT


@pytest.fixture
def rows() -> pd.DataFrame:
    grid = np.random.default_rng(3).normal(size=(70, 2))
    return pd.DataFrame(grid, columns=["x1", "x2"], index=[f"p{i}" for i in range(70)])


def records(many) -> list[str]:
    """JSON without what the clock says."""
    return [
        dataclasses.replace(e, provenance=dataclasses.replace(e.provenance, seconds=0.0)).to_json()
        for e in many
    ]


def test_order_and_index_are_kept(simple, rows):
    many = simple.explain_batch(rows, target="well")
    assert len(many) == 70
    assert many.index.equals(rows.index)
    for e, (_, row) in zip(many, rows.iterrows(), strict=True):
        assert e.path.iloc[0].to_dict() == row.to_dict()
    assert many[3].path.iloc[0].to_dict() == rows.iloc[3].to_dict()
    assert [e.cost for e in many[2:5]] == [many[2].cost, many[3].cost, many[4].cost]
    assert many[2:5].index.tolist() == ["p2", "p3", "p4"]
    assert repr(many) == "Batch(rows=70, found=70)"


def test_serial_is_parallel(mixture, rows):
    explainer, rows = Explainer(mixture), rows.head(40)
    serial = explainer.explain_batch(rows, target="well", seed=5)
    parallel = explainer.explain_batch(rows, target="well", seed=5, n_jobs=2)
    assert records(serial) == records(parallel)


def test_chunks_do_not_depend_on_the_number_of_processes(simple, rows, monkeypatch):
    sizes = []
    answer_chunk = jobs.answer_chunk

    def spy(query):
        sizes.append(len(query))
        return answer_chunk(query)

    monkeypatch.setattr(jobs, "answer_chunk", spy)
    simple.explain_batch(rows, target="well")
    assert sizes == [35, 35]


def test_every_row_is_in_one_chunk_and_chunks_of_a_block_are_equal():
    for count in (0, 1, 31, 64, 100, 569, 640, 641, 2000):
        parts = jobs.share_out(count)
        assert [row for part in parts for row in range(count)[part]] == list(range(count))
        for block in range(0, count, jobs.BLOCK):
            sizes = [p.stop - p.start for p in parts if block <= p.start < block + jobs.BLOCK]
            assert len(sizes) <= jobs.CHUNKS
            assert max(sizes) - min(sizes) <= 1
            assert len(sizes) == 1 or min(sizes) >= jobs.SMALLEST_CHUNK


def test_each_row_has_its_own_generator(mixture, straight, rows):
    seen = []

    @dataclasses.dataclass(frozen=True)
    class Recorder(type(straight)):
        def solve(self, problem, *, rng):
            seen.append(rng.random())
            return super().solve(problem, rng=rng)

    Explainer(mixture, planner=Recorder()).explain_batch(rows, target="well", seed=1)
    expected = [rng.random() for rng in np.random.default_rng(1).spawn(70)]
    assert seen == expected


def test_one_target_per_row(simple):
    many = simple.explain_batch([[0.0, 0.0], [4.0, 1.0], [0.0, 0.0]], target=["well", "ill", "ill"])
    assert [e.target for e in many] == ["well", "ill", "ill"]
    assert [str(e.status) for e in many] == ["found", "found", "already_there"]
    with pytest.raises(InvalidInput, match=r"one per row \(1\). Got 2"):
        simple.explain_batch([[0.0, 0.0]], target=["well", "ill"])


def test_without_target_each_row_goes_to_the_other_class(simple):
    many = simple.explain_batch([[0.0, 0.0], [4.0, 1.0]])
    assert [e.target for e in many] == ["well", "ill"]


def test_to_frame_has_outcome_and_counterfactual(simple, rows):
    many = simple.explain_batch(rows.head(3), target="well", plausibility=0.2)
    frame = many.to_frame()
    assert list(frame.columns) == [
        "status", "found", "current", "target", "cost", "log_prob", "posterior", "steps", "notes",
        "x1", "x2",
    ]  # fmt: skip
    assert frame.index.tolist() == ["p0", "p1", "p2"]
    assert frame["x1"].tolist() == [e.counterfactual["x1"] for e in many]
    none = simple.explain_batch(rows.head(2), target="well", plausibility=50).to_frame()
    assert none["status"].tolist() == ["goal_unreachable"] * 2
    assert none[["x1", "x2"]].isna().all(axis=None)
    assert np.isinf(none["cost"]).all()


@pytest.mark.parametrize(("name", "outcome"), [("status", "found"), ("notes", CUT_SHORT)])
def test_a_feature_called_as_an_outcome_keeps_its_name(straight, name, outcome):
    from daace import LinearGaussianNetwork, Table

    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    frame = pd.DataFrame({name: rng.normal(size=100) + 3 * y, "class": y})
    density = LinearGaussianNetwork().fit(Table.from_frame(frame, target="class"))
    explainer = Explainer(density, planner=straight)
    many = explainer.explain_batch(frame.head(2), time_limit=1e-9)
    result = many.to_frame()
    assert result[f"explanation_{name}"].tolist() == [outcome, outcome]
    assert result[name].tolist() == [e.counterfactual[name] for e in many]
    assert many.summary().cut_off == 2


def test_answers_that_were_cut_off_say_so(simple):
    rows = [[0.0, 0.0], [4.0, 1.0], [1.0, 0.0]]
    many = simple.explain_batch(rows, target="well", time_limit=1e-9)
    assert many.to_frame()["notes"].tolist() == [CUT_SHORT, "", CUT_SHORT]
    assert many.summary().cut_off == 2
    assert (
        "rows have a path (found 2, already_there 1); 2 of them were cut off by the time limit; "
        in (str(many.summary()))
    )
    assert "; 1 of them was cut off by" in str(many[:2].summary())
    whole = simple.explain_batch(rows, target="well")
    assert whole.to_frame()["notes"].tolist() == ["", "", ""]
    assert whole.summary().cut_off == 0
    assert "cut off" not in str(whole.summary())


def test_all_notes_of_an_answer_are_in_its_row(simple):
    (e,) = simple.explain_batch([[0.0, 0.0]], target="well")
    notes = (Note.of("invalid_row", reason="One."), Note.of("invalid_row", reason="Two."))
    many = Batch((dataclasses.replace(e, notes=notes),), pd.RangeIndex(1), ("x1", "x2"))
    assert many.to_frame()["notes"].tolist() == ["One. Two."]


def test_no_rows_give_an_empty_batch(simple):
    many = simple.explain_batch(pd.DataFrame({"x1": [], "x2": []}, dtype=float), target="well")
    assert len(many) == 0
    assert len(many.to_frame()) == 0
    assert list(many.to_frame().columns[-3:]) == ["notes", "x1", "x2"]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"x1": [0.0]}), "Missing: 'x2'"),
        (pd.DataFrame({"x1": [0.0, np.nan], "x2": [0.0, 1.0]}), "'x1' is missing"),
    ],
)
def test_bad_frames_are_refused_before_the_search(simple, frame, message):
    with pytest.raises(InvalidInput, match=message):
        simple.explain_batch(frame, target="well", strict=True)


def test_the_row_that_breaks_a_constraint_is_named(simple):
    with pytest.raises(InvalidInput, match="Row 1: 'upper' must allow the start"):
        simple.explain_batch(
            [[0.0, 0.0], [2.0, 0.0]],
            target="well",
            constraints=Constraints(upper={"x1": 1.0}),
            strict=True,
        )


def test_all_rows_that_break_a_constraint_are_named(mixture):
    rules = Constraints(upper={"x1": 1.0}, integer=["x2"])
    values = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 0.5], [3.0, 1.0]])
    excluded = Explainer(mixture, constraints=rules)._settings().excluded(Rows(values))
    assert list(excluded) == [1, 2, 3]
    assert excluded[2].startswith("'integer' must allow the start. Got 'x2', which is 0.5 now")
    with pytest.raises(
        InvalidInput,
        match=r"^Row 1: 'upper' must allow the start. Got upper=1 for 'x1', which is 2 now: .* "
        r"3 rows cannot be explained: 1, 2, 3\.$",
    ):
        refuse(excluded, 4)
    with pytest.raises(
        InvalidInput, match=r"^Here: Row 0: no. 8 rows .*: 0, 1, 2, 3, 4 and 3 more"
    ):
        refuse(dict.fromkeys(range(8), "no."), 8, place="Here: ")
    with pytest.raises(InvalidInput, match=r"^'integer' .*leave it out\.$"):
        refuse({0: excluded[2]}, 1)
    refuse({}, 4)


def test_a_batch_names_all_rows_that_break_a_constraint(simple):
    with pytest.raises(
        InvalidInput, match=r"^Row 1: 'upper' .* 2 rows cannot be explained: 1, 2\.$"
    ):
        simple.explain_batch(
            [[0.0, 0.0], [2.0, 0.0], [3.0, 0.0]],
            target="well",
            constraints=Constraints(upper={"x1": 1.0}),
            strict=True,
        )


def test_rows_with_gaps_are_named(simple):
    frame = pd.DataFrame({"x1": [0.0, np.nan, 1.0, np.nan], "x2": 0.0, "class": None})
    expected = r"^Row 1: .* 'x1' is missing. 2 rows cannot be explained: 1, 3\.$"
    for rows in (frame, frame[["x1", "x2"]].to_numpy()):
        with pytest.raises(InvalidInput, match=expected):
            simple.explain_batch(rows, target="well", strict=True)
    with pytest.raises(InvalidInput, match=r"^The row must .*Missing: 'x2'"):
        simple.explain_batch(frame.drop(columns="x2"), target="well", strict=True)
    with pytest.raises(InvalidInput, match=r"^Row 1: .* 'x1' is inf"):
        simple.explain_batch(frame.fillna({"x1": np.inf}), target="well", strict=True)


def test_no_number_of_processes_is_one(simple):
    assert simple.explain_batch([[0.0, 0.0]], target="well", n_jobs=None)[0].found


def test_targets_may_be_categories(simple):
    many = simple.explain_batch(
        [[0.0, 0.0], [4.0, 1.0]], target=pd.Categorical(["well", "ill"], ["well", "ill"])
    )
    assert [e.target for e in many] == ["well", "ill"]


@pytest.mark.parametrize("n_jobs", [0, 1.5, True])
def test_n_jobs_is_checked(simple, n_jobs):
    with pytest.raises(InvalidInput, match="'n_jobs' must be an integer other than 0"):
        simple.explain_batch([[0.0, 0.0]], target="well", n_jobs=n_jobs)


def test_progress_is_silent_in_a_pipe(simple, rows, capsys):
    simple.explain_batch(rows, target="well", progress=True)
    assert capsys.readouterr() == ("", "")


def test_progress_shows_on_a_terminal(simple, rows, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    simple.explain_batch(rows, target="well", progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "Explaining" in err


def test_an_interrupt_goes_through_and_leaves_the_explainer_whole(simple, rows, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(jobs, "answer_chunk", interrupt)
        with pytest.raises(KeyboardInterrupt):
            simple.explain_batch(rows, target="well", progress=True)
    assert simple.explain_batch(rows.head(2), target="well")[0].found


def test_polars_frames_are_explained_like_pandas_ones(simple):
    polars = pytest.importorskip("polars")
    columns = {"x2": [0.0, 1.0], "x1": [0.0, 0.5]}
    frame = pd.DataFrame(columns)
    many = simple.explain_batch(polars.DataFrame(columns), target="well")
    expected = simple.explain_batch(frame, target="well").to_frame()
    pd.testing.assert_frame_equal(many.to_frame(), expected)
    one = simple.explain(polars.DataFrame(columns)[:1], target="well")
    assert one.counterfactual.equals(many[0].counterfactual)
    with pytest.raises(InvalidInput, match=r"must have every feature. Missing: 'x1'"):
        simple.explain_batch(polars.DataFrame({"x2": [0.0]}), target="well")


# Other backends -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("backend", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_a_missing_backend_says_how_to_get_it(simple, monkeypatch, backend, package):
    def refuse(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(_workers, "import_module", refuse)
    rows = np.zeros((70, 2))
    with pytest.raises(MissingDependency, match=rf"pip install 'daace\[{backend}\]'"):
        simple.explain_batch(rows, target="well", n_jobs=2, backend=backend)


def test_an_unknown_backend_is_refused(simple):
    with pytest.raises(InvalidInput, match="'backend' must be one of 'loky', 'dask', 'ray'"):
        simple.explain_batch([[0.0, 0.0]], target="well", backend="threads")


def test_the_generator_of_a_row_is_the_spawned_one(simple):
    spawned = np.random.default_rng(7).spawn(40)
    query = Query.of(
        simple._settings(seed=7), Rows(np.zeros((10, 2))), "well", strict=True, first=30
    )
    assert query.generator(3).random() == query.take(slice(3, 4)).generator(0).random()
    assert query.generator(3).random() == spawned[33].random()
