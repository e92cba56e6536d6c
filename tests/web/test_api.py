from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from io import StringIO

import httpx
import numpy as np
import pandas as pd
import pytest

from daace import Constraints, Explainer, GaussianMixture
from daace.explain.explanation import Explanation
from daace.planners.watch import report
from daace.web.guard import MOST_BYTES
from daace.web.service import Service


def ask(api: httpx.Client, what: str, **body) -> dict:
    response = api.post(f"/api/{what}", json=body)
    assert response.status_code == 200, response.text
    return response.json()


# The model and its rows ---------------------------------------------------------------------------


def test_the_model_tells_kinds_rules_and_settings(api, service):
    facts = api.get("/api/model").json()
    kinds = {feature["name"]: feature["kind"] for feature in facts["features"]}
    assert kinds["income"] == "whole"
    assert kinds["education"] == "ordered"
    assert kinds["housing"] == "category"
    assert facts["classes"] == ["granted", "refused"]
    assert {"fixed", "links", "forbidden"} <= {rule["name"] for rule in facts["rules"]}
    assert {"penalty", "min_posterior", "scale"} <= set(facts["settings"])
    assert facts["hash"] == service.digest


def test_rows_are_found_by_every_word(api, loans):
    everyone = api.get("/api/rows", params={"limit": 3}).json()
    assert (everyone["found"], everyone["of"], len(everyone["rows"])) == (500, 500, 3)
    some = api.get("/api/rows", params={"query": "UNIVERSITY refused", "limit": 200}).json()
    frame = loans.to_frame()
    same = frame[(frame["education"] == "university") & (frame["decision"] == "refused")]
    assert [row["number"] for row in some["rows"]] == same.index.tolist()
    assert api.get("/api/rows/4").json()["row"]["age"] == frame["age"].iloc[4]


def test_there_is_no_row_beyond_the_last(api):
    response = api.get("/api/rows/500")
    assert response.status_code == 404
    assert "500 rows" in response.json()["error"]["message"]


def test_people_are_made_up_where_no_file_is_given(lender):
    page = Service(lender).people.page(limit=100)
    assert page["made_up"]
    assert set(page["rows"][0]["row"]) == set(lender.density.features_)
    assert min(person["row"]["savings"] for person in page["rows"]) >= 0


# Questions ----------------------------------------------------------------------------------------


def test_an_answer_is_that_of_python(api, lender, refused):
    view = ask(api, "explain", row=refused)
    e = lender.explain(refused)
    told = Explanation.from_json(json.dumps(view["record"]))
    pd.testing.assert_frame_equal(told.path, Explanation.from_json(e.to_json()).path)
    assert [step["words"] for step in view["steps"]] == e.steps()
    assert view["target"] == "granted"


def test_rules_hold_at_every_waypoint(api, refused):
    rules = {"fixed": ["income", "housing"], "only_down": ["amount"], "upper": {"savings": 9e5}}
    view = ask(api, "explain", row=refused, constraints=rules)
    path = pd.DataFrame(waypoint["row"] for waypoint in view["waypoints"])
    assert view["found"]
    assert path["income"].nunique() == path["housing"].nunique() == 1
    assert (path["amount"].diff().dropna() <= 0).all()
    assert Constraints(**view["question"]["constraints"]) == Constraints(**rules)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({"min_posterior": 0.8}, 0.8), ({"scale": "nll"}, 0.5), ({"sparsity": 0.3}, 0.5)],
)
def test_settings_reach_the_explainer(api, refused, settings, expected):
    view = ask(api, "explain", row=refused, settings=settings)
    assert view["posterior"] >= expected
    asked = view["record"]["provenance"]
    told = {**asked, "sparsity": 0.3 if "sparsity=0.3" in asked["planner"] else 0.0}
    assert {name: told[name] for name in settings} == settings


@pytest.mark.parametrize(
    ("body", "argument"),
    [
        ({"row": {"age": 3}}, "row"),
        ({"row": {"income": False}}, "row"),
        ({"row": {"education": False}}, "row"),
        ({"row": {"income": "1000"}}, "row"),
        ({"settings": {"speed": 3}}, "settings"),
        ({"settings": {"min_posterior": 2}}, "min_posterior"),
        ({"settings": {"vertices": [99]}}, "vertices"),
        ({"constraints": {"fix": ["age"]}}, "constraints"),
        ({"constraints": {"fixed": ["shoe size"]}}, "fixed"),
        ({"constraints": {"lower": {"income": "high"}}}, "lower"),
        ({"target": "lent"}, "target"),
    ],
)
def test_what_is_wrong_is_said_in_parts(api, refused, body, argument):
    row = body.pop("row", {})
    whole = row if "age" in row else {**refused, **row}
    response = api.post("/api/explain", json={"row": whole, **body})
    assert response.status_code == 422
    error = response.json()["error"]
    assert error["message"]
    assert error.get("argument", argument) in (argument, "The class")


@pytest.mark.parametrize(
    ("constraints", "argument"),
    [
        ({"lower": {"income": 3000}, "upper": {"income": 2000}}, "lower"),
        ({"links": [{"terms": {"income": 1}}]}, None),
    ],
)
def test_rules_that_contradict_each_other_are_a_conflict(api, refused, constraints, argument):
    response = api.post("/api/explain", json={"row": refused, "constraints": constraints})
    assert response.status_code == 409
    assert response.json()["error"].get("argument") == argument


def test_whole_numbers_may_have_a_point(api, refused):
    """JSON does not tell 2 from 2.0."""
    some = {"settings": {"seed": 1.0, "vertices": 2.0}, "constraints": {"max_changed": 3.0}}
    same = {"settings": {"seed": 1, "vertices": 2}, "constraints": {"max_changed": 3}}
    views = [ask(api, "explain", row=refused, **body) for body in (some, same)]
    assert views[0]["record"] == views[1]["record"]
    assert ask(api, "alternatives", row=refused, count=1.0)["best"]["found"]


def test_a_goal_out_of_reach_comes_with_remedies_that_help(api, service, refused):
    features = list(service.explainer.density.features_)
    rules = {"fixed": [name for name in features if name != "months"]}
    settings = {"min_posterior": 0.95}
    view = ask(api, "explain", row=refused, constraints=rules, settings=settings)
    assert not view["found"]
    assert view["advice"]
    remedies = view["remedies"]
    assert remedies
    better = [ask(api, "explain", **remedy["question"]) for remedy in remedies]
    assert any(one["found"] for one in better)


def test_alternatives_are_kept_and_shown(api, refused, lender):
    found = ask(api, "alternatives", row=refused, count=2)
    assert found["best"]["cost"] == pytest.approx(lender.explain(refused).cost)
    for view in found["alternatives"]:
        again = ask(api, "view", answer=view["answer"])
        assert again["cost"] == view["cost"] >= found["best"]["cost"] / 1.25


def test_the_tradeoff_ascends(api, refused):
    points = ask(api, "tradeoff", row=refused)["points"]
    lengths = [point["length"] for point in points if point["found"]]
    assert lengths == sorted(lengths)
    assert [point["penalty"] for point in points] == sorted(point["penalty"] for point in points)


def test_reasons_are_those_of_python(api, refused, lender):
    found = ask(api, "reasons", row=refused)
    assert [r["sentence"] for r in found["reasons"]] == [
        r.sentence for r in lender.reasons(refused)
    ]


def test_pictures_follow_the_path(api, refused):
    view = ask(api, "explain", row=refused)
    pictures = ask(api, "pictures", answer=view["answer"])
    assert pictures["along"]["posterior"][-1] == pytest.approx(view["posterior"], abs=1e-3)
    moved = {feature["feature"] for feature in pictures["features"]}
    assert {change["feature"] for change in view["changes"]} <= moved
    ground = ask(api, "terrain", answer=view["answer"], features=["income", "savings"])
    assert ground["features"] == ["income", "savings"]
    assert ground["path"][0] == [refused["income"], refused["savings"]]
    assert np.shape(ground["plausibility"]) == np.shape(ground["goal"]) == (41, 41)


@pytest.mark.parametrize("features", [["income", "housing"], ["income", "nothing"], ["a", "a"]])
def test_a_terrain_needs_two_numbers(api, refused, features):
    view = ask(api, "explain", row=refused)
    body = {"answer": view["answer"], "features": features}
    response = api.post("/api/terrain", json=body)
    assert response.status_code == 422
    assert response.json()["error"]["argument"] == "features"


def test_an_answer_that_is_not_kept_is_asked_for_again(api):
    response = api.post("/api/pictures", json={"answer": "long-ago"})
    assert response.status_code == 409
    assert "ask the question again" in response.json()["error"]["message"]


# Files --------------------------------------------------------------------------------------------


def test_an_exported_answer_is_read_again(api, refused):
    rules = {"fixed": ["age"]}
    view = ask(api, "explain", row=refused, constraints=rules, settings={"changes": "all"})
    text = api.post("/api/export/json", json={"answer": view["answer"]}).text
    again = ask(api, "view", record=json.loads(text))
    assert again["record"] == view["record"]
    assert again["question"]["row"] == view["question"]["row"]
    assert again["question"]["constraints"] == rules
    assert again["question"]["settings"]["changes"] == "all"
    asked = ask(api, "explain", **again["question"])
    assert asked["record"]["path"] == view["record"]["path"]


def test_files_hold_the_answer(api, refused, service):
    view = ask(api, "explain", row=refused)
    changes = api.post("/api/export/csv", json={"answer": view["answer"]})
    assert changes.headers["content-disposition"] == 'attachment; filename="explanation.csv"'
    rows = pd.read_csv(StringIO(changes.text))
    assert rows["feature"].tolist() == [change["feature"] for change in view["changes"]]
    page = api.post("/api/export/html", json={"answer": view["answer"]}).text
    assert view["headline"].replace("'", "&#x27;") in page
    receipt = api.post("/api/export/receipt", json={"answer": view["answer"]}).text
    assert service.digest in receipt
    assert "Signature" in receipt


def test_a_foreign_file_is_refused(api, refused):
    record = ask(api, "explain", row=refused)["record"]
    for damaged, status in (
        ({}, 422),
        ({**record, "path": "x"}, 409),
        ({**record, "schema_version": 99}, 409),
    ):
        response = api.post("/api/view", json={"record": damaged})
        assert response.status_code == status


# Batches ------------------------------------------------------------------------------------------


def finished(api: httpx.Client, name: str) -> dict:
    for _ in range(3000):
        job = api.get(f"/api/jobs/{name}").json()
        if job["state"] not in ("waiting", "running"):
            return job
        threading.Event().wait(0.05)
    raise AssertionError("the job does not end")


def test_a_batch_is_that_of_python(api, lender, loans):
    frame = loans.to_frame().drop(columns="decision").head(6).assign(who=list("abcdef"))
    body = {"text": frame.to_csv(index=False), "target": "granted"}
    started = api.post("/api/batches", json=body)
    assert started.status_code == 202
    job = finished(api, started.json()["job"])
    assert (job["state"], job["done"], job["total"]) == ("done", 6, 6)
    told = pd.read_csv(StringIO(api.get(f"/api/jobs/{job['job']}/csv").text))
    same = lender.explain_batch(frame, target="granted").to_frame(detail=True)
    assert told["who"].tolist() == list("abcdef")
    np.testing.assert_allclose(told["cost"], same["cost"])
    lines = api.get(f"/api/jobs/{job['job']}/jsonl").text.splitlines()
    assert [Explanation.from_json(line).status for line in lines] == told["status"].tolist()


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        ("", 422, "at least 1 character"),
        ("age,income\n1,2\n", 409, "every feature"),
        ("a,a\n1,2\n", 409, "upload.csv"),
        ('"', 409, "upload.csv"),
    ],
)
def test_what_is_no_table_is_refused(api, text, status, words):
    response = api.post("/api/batches", json={"text": text})
    assert response.status_code == status
    assert words in response.json()["error"]["message"]
    assert "/tmp" not in response.text


def test_an_unfinished_job_has_no_result(api):
    assert api.get("/api/jobs/nobody").status_code == 404
    assert api.delete("/api/jobs/nobody").status_code == 404
    assert api.get("/api/jobs/nobody/csv").status_code == 404


# Several at once, and searches that end early -----------------------------------------------------


class Waiting:
    """A service whose searches go on until they are stopped."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.began, self.ended = threading.Event(), threading.Event()

    def explain(self, record):
        self.began.set()
        try:
            while True:
                report(7)
                threading.Event().wait(0.005)
        finally:
            self.ended.set()


@pytest.fixture
def slow(service, monkeypatch):
    waiting = Waiting(service)
    monkeypatch.setattr(service, "tradeoff", waiting.explain)
    return waiting


def test_a_search_is_stopped_by_its_name(serve, service, slow, refused):
    served = serve(service)
    with ThreadPoolExecutor(1) as pool:
        body = {"row": refused, "job": "mine"}
        waiting = pool.submit(served.client.post, "/api/tradeoff", json=body)
        assert slow.began.wait(30)
        job = served.client.get("/api/jobs/mine").json()
        assert (job["state"], job["evaluations"]) == ("running", 7)
        served.client.delete("/api/jobs/mine")
        response = waiting.result(timeout=30)
    assert response.status_code == 409
    assert slow.ended.is_set()
    assert served.client.get("/api/jobs/mine").json()["state"] == "stopped"


def test_a_search_is_stopped_when_nobody_waits(serve, service, slow, refused):
    served = serve(service)
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(
            f"{served.url}/api/tradeoff", json={"row": refused}, timeout=0.5, trust_env=False
        )
    assert slow.ended.wait(30)


def test_a_slow_search_holds_nobody_up(serve, service, slow, refused):
    served = serve(service)
    with ThreadPoolExecutor(4) as pool:
        jobs = [
            pool.submit(
                served.client.post, "/api/tradeoff", json={"row": refused, "job": f"slow{k}"}
            )
            for k in range(4)
        ]
        assert slow.began.wait(30)
        assert ask(served.client, "explain", row=refused)["found"]
        for k in range(4):
            while served.client.delete(f"/api/jobs/slow{k}").status_code == 404:
                time.sleep(0.01)
        assert {job.result(timeout=30).status_code for job in jobs} == {409}


def test_many_clients_get_their_own_answers(serve, service, lender):
    rows = [service.people.row(number)["row"] for number in range(6)]
    expected = [lender.explain(row) for row in rows]
    client = serve(service).client
    with ThreadPoolExecutor(6) as pool:
        views = list(pool.map(lambda row: ask(client, "explain", row=row), rows * 2))
    for view, e in zip(views, expected * 2, strict=True):
        assert view["cost"] == e.cost
        told = Explanation.from_json(json.dumps(view["record"])).path
        pd.testing.assert_frame_equal(told, Explanation.from_json(e.to_json()).path)


def test_a_classifier_serves_several_threads():
    density = GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["ill", "well"])
    judged = Explainer(density, classifier=lambda rows: 1 / (1 + np.exp(3 - rows["x1"])))
    rows = [{"x1": round(0.1 * k, 1)} for k in range(-8, 8)]
    expected = [judged.explain(row, target="well").path.to_numpy() for row in rows]
    service = Service(judged)
    with ThreadPoolExecutor(8) as pool:
        views = list(pool.map(lambda row: service.explain({"row": row, "target": "well"}), rows))
    for view, path in zip(views, expected, strict=True):
        np.testing.assert_array_equal(np.array(view["record"]["path"]), path)


# Safety -------------------------------------------------------------------------------------------


def test_an_internal_error_says_nothing_of_the_inside(serve, service, monkeypatch, refused):
    def fail(record):
        raise RuntimeError("secret")

    monkeypatch.setattr(service, "explain", fail)
    response = serve(service).client.post("/api/explain", json={"row": refused})
    assert response.status_code == 500
    assert "secret" not in response.text
    assert "Traceback" not in response.text


def test_a_large_body_is_refused(api):
    def endless():
        for _ in range(MOST_BYTES // 2**20 + 2):
            yield b" " * 2**20

    declared = api.post("/api/explain", content=b" " * (MOST_BYTES + 1))
    assert declared.status_code == 413
    streamed = api.post("/api/explain", content=endless())
    assert streamed.status_code == 413


@pytest.mark.parametrize(
    "path", ["/../secret", "/static/../app.py", "/explorer.js/../../app.py", "/%2e%2e/app.py"]
)
def test_only_the_page_is_served(api, path):
    assert api.get(path).status_code == 404


@pytest.mark.parametrize("body", ["{", "[]", '{"row": {"age": NaN}}', '{"row": {"\\ud800": 1}}'])
def test_what_is_no_question_is_refused(api, body):
    response = api.post("/api/explain", content=body, headers={"content-type": "application/json"})
    assert response.status_code == 422
    assert response.json()["error"]["message"]


def test_answers_have_a_policy_and_the_documentation_no_scripts(api):
    page = api.get("/")
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"
    about = api.get("/docs").text
    assert "/api/explain" in about
    assert "<script" not in about
    assert "/api/tradeoff" in api.get("/openapi.json").json()["paths"]


def test_the_schema_names_the_features(api):
    row = api.get("/openapi.json").json()["components"]["schemas"]["AskRow"]["properties"]["row"]
    assert row["properties"]["housing"] == {"enum": ["family", "own", "rent"]}
    assert row["properties"]["income"]["type"] == ["integer"]
    assert "age" in row["required"]


def test_the_schema_names_the_kinds_of_files(api, refused):
    view = ask(api, "explain", row=refused)
    route = api.get("/openapi.json").json()["paths"]["/api/export/{kind}"]["post"]
    told = route["responses"]["200"]["content"]
    for kind in ("csv", "json", "receipt"):
        sent = api.post(f"/api/export/{kind}", json={"answer": view["answer"]}).headers
        assert sent["content-type"].split(";")[0] in told


def test_every_method_of_a_path_is_named(api):
    response = api.put("/api/jobs/any")
    assert (response.status_code, response.headers["allow"]) == (405, "DELETE, GET")
