from __future__ import annotations

import threading

import pytest

from daace import InvalidInput
from daace.planners.watch import Stopped, report
from daace.web import jobs
from daace.web.jobs import Busy, Tasks


@pytest.fixture
def tasks():
    made = Tasks()
    yield made
    made.close()


def test_work_reports_how_far_it_is(tasks):
    def work(task):
        task.advance(3, 5)
        report(11)
        return {"summary": "all"}

    task = tasks.start("batch", work)
    assert task.future.result(30) == {"summary": "all"}
    record = tasks.find(task.name).to_record()
    told = [record[name] for name in ("state", "done", "total", "evaluations", "summary")]
    assert told == ["done", 3, 5, 11, "all"]


def test_work_that_waits_can_be_stopped(tasks, monkeypatch):
    gate = threading.Event()
    waiting = [tasks.start("slow", lambda _: gate.wait(30), slow=True) for _ in range(jobs.SLOW)]
    last = tasks.start("slow", lambda _: None, slow=True)
    assert last.state == "waiting"
    last.stop()
    assert last.state == "stopped"
    gate.set()
    assert all(task.future.result(30) for task in waiting)


def test_work_ends_at_its_limit(tasks):
    def work(_):
        while True:
            report(1)

    task = tasks.start("explain", work, limit=0.01)
    with pytest.raises(Stopped, match=r"after 0\.01 seconds"):
        task.future.result(30)
    assert task.state == "stopped"


def test_an_error_of_the_inside_is_not_told(tasks):
    def fail(_):
        raise RuntimeError("secret")

    task = tasks.start("batch", fail)
    with pytest.raises(RuntimeError):
        task.future.result(30)
    assert task.to_record()["message"] == "An internal error; see the server's log."


def test_too_much_at_once_is_refused(tasks, monkeypatch):
    monkeypatch.setattr(jobs, "MOST_WAITING", 2)
    gate = threading.Event()
    for _ in range(2):
        tasks.start("slow", lambda _: gate.wait(30))
    with pytest.raises(Busy):
        tasks.start("slow", lambda _: None)
    gate.set()


def test_a_name_is_used_once_at_a_time(tasks):
    gate = threading.Event()
    first = tasks.start("slow", lambda _: gate.wait(30), name="mine")
    with pytest.raises(InvalidInput, match="'job' must not be the name of a running job"):
        tasks.start("slow", lambda _: None, name="mine")
    gate.set()
    first.future.result(30)
    tasks.start("slow", lambda _: None, name="mine").future.result(30)


def test_old_jobs_are_forgotten(tasks):
    names = []
    for _ in range(jobs.BATCHES + 3):
        names.append(tasks.start("batch", lambda _: {}).name)
        tasks.find(names[-1]).future.result(30)
    assert tasks.find(names[0]) is None
    assert tasks.find(names[-1]) is not None
