"""The map of counties: its API, and a county chosen by a click in a real browser."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from daace.cli import main
from daace.eqi.data.files import read_counties
from daace.eqi.policy.advisor import read_advisor
from daace.eqi.policy.request import Ask
from daace.web.county_app import make_county_app
from daace.web.county_service import CountyService, draw
from tests.eqi.conftest import ROWS, generate
from tests.web.browser import Page, axe_core, missing

LOS_ANGELES = 6037

SQUARE = np.array([[0.0, 0.0], [9.0, 0.0], [9.0, 9.0], [0.0, 9.0], [0.0, 0.0]])


@pytest.fixture(scope="module")
def county_service(tmp_path_factory) -> CountyService:
    """Generated counties, each a square of a grid."""
    counties = read_counties(generate(tmp_path_factory.mktemp("eqi")))
    outlines = {
        int(fips): [SQUARE + 10 * np.array([k % 30, k // 30])]
        for k, fips in enumerate(counties.places.index)
    }
    return CountyService(read_advisor(counties, None), outlines)


@pytest.fixture
def served(serve, county_service):
    return serve(make_county_app(county_service))


@pytest.fixture
def api(served):
    return served.client


def test_every_county_is_on_the_map(api, county_service):
    facts = api.get("/api/counties").json()
    assert len(facts["counties"]) == len(county_service.advisor.counties)
    assert set(facts["counties"]) == set(facts["map"]["shapes"])
    assert all(shape.startswith("M") for shape in facts["map"]["shapes"].values())
    assert facts["map"]["box"] == [0.0, 0.0, 299.0, 10.0 * -(-ROWS // 30) - 1]
    assert facts["plans"] is None
    assert facts["algorithms"] == ["BayesACE"]


@pytest.mark.parametrize("consistent", [False, True])
def test_a_plan_is_the_advisors(api, county_service, consistent):
    plan = api.post("/api/plan", json={"fips": LOS_ANGELES, "consistent": consistent}).json()
    advised = county_service.advisor.advise([LOS_ANGELES], Ask(consistent=consistent))[0]
    assert plan["found"] == advised.found
    assert plan["cost"] == advised.cost
    assert plan["category"] == plan["target"] + 2
    assert plan["headline"].startswith("Los Angeles County")
    names = [domain["domain"] for domain in plan["domains"]]
    assert names == ["Air", "Sociodemographic", "Built", "Land", "Water"]
    assert len(plan["steps"]) == len(advised.waypoints) - 1
    assert plan["verdict"].startswith("By EPA's own formulas")
    assert "--" not in plan["verdict"]  # an option of the command line


def test_a_goal_out_of_reach_comes_with_remedies(county_service, serve):
    advisor = replace(county_service.advisor, min_posterior=1 - 1e-15)
    api = serve(make_county_app(replace(county_service, advisor=advisor))).client
    plan = api.post("/api/plan", json={"fips": LOS_ANGELES, "equity": True}).json()
    assert not plan["found"]
    assert plan["reasons"][0] == "No path was found (goal_unreachable)."
    words = [remedy["words"] for remedy in plan["remedies"]]
    assert words == ["Improve by 1 category", "Allow a domain to get worse"]
    easier = plan["remedies"][0]["question"]
    assert easier["improve"] == 1
    assert api.post("/api/plan", json=easier).json()["target"] == plan["target"] + 1


def test_wrong_questions_are_answered_with_a_sentence(api):
    for wrong, status, words in (
        ({"fips": 1}, 409, "'fips' must be the FIPS code of a county. Got 1"),
        ({"fips": LOS_ANGELES, "improve": 5}, 409, "can improve by at most 3"),
        ({"fips": LOS_ANGELES, "algorithm": "FACE"}, 409, "FACE needs the RealNVP"),
        ({"fips": LOS_ANGELES, "colour": "red"}, 422, "'colour' is not what was expected"),
    ):
        answer = api.post("/api/plan", json=wrong)
        assert answer.status_code == status
        assert words in answer.json()["error"]["message"]


def test_an_outline_loses_no_corner():
    square = np.array([[0.0, 0.0], [0.0, 5.04], [5.0, 5.0], [5.0, 0.1], [0.0, 0.0]])
    assert draw([square]) == "M0 0L0 5L5 5L5 0.1Z"


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_a_county_is_chosen_by_a_click(served, tmp_path):
    page = Page(tmp_path)
    try:
        page.driver.get(served.url)
        page.until(lambda: page.run("return document.querySelectorAll('.county').length"), "a map")
        found = page.run(
            "return [...document.querySelectorAll('.county')].find("
            "(c) => c.textContent.startsWith('Los Angeles County'))"
        )
        found.click()
        answered = (
            "const plan = document.querySelector('.plan');"
            "return !plan.hasAttribute('aria-busy') && !!plan.querySelector('.domains')"
        )
        page.until(lambda: page.run(answered), "a plan")
        assert page.text(".headline").startswith("Los Angeles County")
        page.click("[data-ask=consistent]")
        page.until(lambda: page.run(answered), "another plan")
        assert page.run("return location.hash") == f"#{LOS_ANGELES}"
        errors = [entry for entry in page.log("browser") if entry["level"] == "SEVERE"]
        assert errors == []
        assert not axe_core() or page.obstacles() == []
    finally:
        page.close()


def test_the_command_needs_outlines(monkeypatch, capsys, tmp_path):
    monkeypatch.delenv("DAACE_DATA", raising=False)
    with pytest.raises(SystemExit) as stopped:
        main(["eqi", "serve", "--data", str(generate(tmp_path))])
    assert stopped.value.code == 2
    assert "'--map' must name a TopoJSON file" in capsys.readouterr().err
