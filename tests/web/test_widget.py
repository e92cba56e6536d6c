from __future__ import annotations

import pytest

from daace import Constraints, InvalidInput


@pytest.fixture
def widget(lender, refused):
    pytest.importorskip("anywidget")
    w = lender.widget(refused)
    w.sent = []
    w.send = w.sent.append
    return w


def hear(w, asked: str, **body) -> dict:
    w._handle_custom_msg({"id": 1, "what": asked, "body": body}, [])
    return w.sent[-1]


def test_its_state_can_be_read_from_python(widget, lender, refused):
    assert widget.explanation.cost == lender.explain(refused).cost
    assert widget.constraints == Constraints()
    question = {**widget.question, "constraints": {"fixed": ["income"]}}
    answer = hear(widget, "explain", **question)["value"]
    assert widget.constraints == Constraints(fixed=["income"])
    assert widget.explanation.cost == answer["cost"]


def test_it_answers_what_the_page_asks(widget, refused):
    assert hear(widget, "get", what="model")["value"]["classes"] == ["granted", "refused"]
    assert hear(widget, "get", what="rows?query=refused&limit=2")["value"]["made_up"]
    assert hear(widget, "get", what="network")["value"]["nodes"]
    answer = hear(widget, "explain", row=refused)["value"]
    assert hear(widget, "pictures", answer=answer["answer"])["value"]["along"]
    file = hear(widget, "export", answer=answer["answer"], format="csv")["value"]
    assert file["name"] == "explanation.csv"


def test_what_is_wrong_is_said(widget, lender):
    assert "have a value" in hear(widget, "explain", row={"age": 3})["error"]
    assert "nothing called" in hear(widget, "save", path="/etc")["error"]
    assert "nothing called" in hear(widget, "get", what="jobs/1")["error"]
    with pytest.raises(InvalidInput):
        lender.widget({"age": 3})
