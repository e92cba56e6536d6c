"""The page in a real browser, from the first click to the receipt."""

from __future__ import annotations

import re
from io import StringIO
from threading import Event

import pandas as pd
import pytest

from daace import Explainer, InvalidInput, fit, load_table
from daace.web.service import Service
from tests.web.browser import Page, axe_core, missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    page = Page(tmp_path_factory.mktemp("browser"))
    yield page
    page.close()


@pytest.fixture
def page(browser, serve, service):
    """The explorer, opened; nothing may be logged as an error."""
    browser.url = serve(service).url
    browser.open(browser.url)
    yield browser
    errors = [entry["message"] for entry in browser.log("browser") if entry["level"] == "SEVERE"]
    assert [error for error in errors if "422" not in error and "409" not in error] == []


def choose(page: Page, query: str) -> None:
    page.set_value(".people input[type=search]", query, "input")
    page.until(lambda: query.split("#")[-1] in page.text(".people tbody tr td"), f"the row {query}")
    page.click(".people tbody button")
    page.settle()


def test_three_requests_bring_the_first_plot_and_none_leaves(page):
    page.requests()
    page.open(page.url)
    page.until(lambda: page.run("return document.querySelector('svg .way') !== null"), "a plot")
    asked = [address for address in page.requests() if address.startswith("http")]
    assert all(address.startswith(page.url) for address in asked)
    assert len([address for address in asked if "/api/" not in address]) == 3


def test_a_person_is_chosen_and_a_locked_feature_stays(page):
    choose(page, "#12")
    assert page.question()["row"]["age"] == int(
        page.run("return document.querySelector('[data-feature=age] input').value")
    )
    page.click("[data-feature=income] .lock")
    page.settle()
    assert page.question()["constraints"]["fixed"] == ["income"]
    changed = page.text(".changes tbody")
    assert "income" not in changed
    assert changed
    assert page.text("[data-feature=income] .end") == ""


def test_a_category_is_changed(page):
    before = page.text(".plan .words")
    page.set_value("[data-feature=purpose] select", 0)
    page.settle()
    assert page.question()["row"]["purpose"] == "business"
    assert page.text(".plan .words") != ""
    page.click("header button", "Undo")
    page.settle()
    assert page.question()["row"]["purpose"] != "business"
    assert page.text(".plan .words") == before


def test_the_answer_follows_a_slider(page):
    before = page.text(".plan .sure")
    for value in (0.6, 0.7, 0.8, 0.9):
        page.set_value("[data-setting=min_posterior]", value, "input")
    page.settle()
    assert page.question()["settings"]["min_posterior"] == 0.9
    after = page.text(".plan .sure")
    assert after != before
    assert "90%" in after or re.search(r"9\d%", after)


def test_a_link_brings_the_question_back(page):
    page.click("[data-feature=housing] .lock")
    page.settle()
    address = page.run("return location.href")
    words = page.text(".plan .words")
    page.open(address)
    assert page.question()["constraints"]["fixed"] == ["housing"]
    assert page.text(".plan .words") == words


def test_rules_are_set_and_removed_as_chips(page):
    page.click("[data-feature=income] .more")
    page.set_value("[data-feature=income] .rules select", "up")
    page.settle()
    assert page.question()["constraints"]["only_up"] == ["income"]
    assert "Only up: income" in page.text(".chips")
    page.click(".chips button", "Only up: income")
    page.settle()
    assert page.question()["constraints"] == {}


def test_an_answer_is_exported_and_read_again(page, tmp_path):
    page.click(".plan .tools button", "JSON")
    text = page.downloaded("explanation.json")
    words = page.text(".plan .steps")
    choose(page, "#31")
    path = tmp_path / "answer.json"
    path.write_text(text)
    page.driver.find_element("css selector", ".plan input[type=file]").send_keys(str(path))
    page.until(lambda: page.text(".plan .steps") == words, "the opened answer")
    assert "opened" in page.text(".who")


def test_a_receipt_is_handed_over(page, service):
    page.click(".plan .tools button", "Receipt")
    text = page.downloaded("receipt.html")
    assert service.digest in text
    assert page.text(".plan .headline").replace("'", "&#x27;") in text


def test_a_remedy_is_applied_by_one_click(page):
    numbers = page.run("return document.querySelectorAll('.feature').length")
    for number in range(numbers):
        page.run("document.querySelectorAll('.feature .lock')[arguments[0]].click()", number)
    page.settle()
    page.until(lambda: "No path" in page.text(".headline"), "a goal out of reach")
    assert page.text(".plan .notes")
    page.click(".remedy")
    page.settle()
    page.until(lambda: "No path" not in page.text(".headline"), "a path")


def test_a_plan_is_out_of_date_as_soon_as_something_changes(page):
    """Buttons of an old plan would bring its question back, and drop what has changed since."""
    rests = page.run(
        "document.querySelector('[data-feature=income] .lock').click();"
        "return document.querySelector('.plan .words').inert"
    )
    assert rests
    page.settle()
    assert not page.run("return document.querySelector('.plan .words').inert")


def test_a_late_answer_does_not_replace_an_opened_one(page, service, monkeypatch, tmp_path):
    page.click(".plan .tools button", "JSON")
    path = tmp_path / "answer.json"
    path.write_text(page.downloaded("explanation.json"))
    words = page.text(".plan .steps")
    called, gate, answer = Event(), Event(), service.explain

    def late(record):
        called.set()
        assert gate.wait(60)
        return answer(record)

    monkeypatch.setattr(service, "explain", late)
    page.click("[data-feature=income] .lock")
    page.until(called.is_set, "a search")
    page.driver.find_element("css selector", ".plan input[type=file]").send_keys(str(path))
    page.until(lambda: "opened" in page.text(".who"), "the opened answer")
    gate.set()
    page.settle()
    assert page.text(".plan .steps") == words
    assert page.question()["constraints"] == {}


def test_what_fails_leaves_no_plan_that_seems_to_answer(page, service, monkeypatch):
    def refuse(record):
        raise InvalidInput("No.")

    monkeypatch.setattr(service, "explain", refuse)
    page.click("[data-feature=income] .lock")
    page.until(lambda: "No." in page.text(".plan .state"), "the reason")
    assert page.run("return document.querySelector('.plan .words').inert")


def test_a_link_is_followed_on_the_open_page(page):
    first = page.run("return location.hash")
    choose(page, "#12")
    page.run("location.hash = arguments[0]", first)
    page.until(lambda: "row #0" in page.text(".who"), "the first row")
    page.settle()


def test_a_step_is_edited_and_planned_on_from(page):
    before = page.question()["row"]
    page.click(".steps button", "plan from")
    page.settle()
    page.until(lambda: page.question()["row"] != before, "another start")
    assert "then step" in page.text(".who")
    page.click("header button", "Undo")
    page.settle()
    assert page.question()["row"] == before


def test_two_plans_are_compared(page):
    page.click(".plan .tools button", "Keep")
    page.set_value("[data-setting=min_posterior]", 0.8, "input")
    page.settle()
    page.until(lambda: "kept plan" in page.text(".compare"), "the comparison")
    assert "probability" in page.text(".compare")


def test_other_plans_are_shown_on_demand(page):
    page.click(".card button", "What counts against")
    page.until(
        lambda: page.run("return document.querySelectorAll('.reasons li').length"), "reasons"
    )
    page.click(".card button", "Look for other plans")
    page.until(lambda: "Searching" not in page.text(".dx"), "alternatives")


def test_a_batch_is_uploaded_and_its_answers_fetched(page, loans, tmp_path):
    path = tmp_path / "rows.csv"
    loans.to_frame().drop(columns="decision").head(3).to_csv(path, index=False)
    page.driver.find_element("css selector", ".batch input").send_keys(str(path))
    page.click(".batch button", "Explain all rows")
    page.until(lambda: "3 of 3 rows" in page.text(".batch .summary"), "the batch")
    page.click(".batch a", "CSV")
    assert len(pd.read_csv(StringIO(page.downloaded("answers.csv")))) == 3


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_nothing_is_wider_than_the_page(page, width):
    page.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
    )
    page.open(page.url)
    assert page.run("return document.documentElement.scrollWidth") <= width
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_every_control_has_a_name(page):
    nameless = page.run(
        "return [...document.querySelectorAll('.dx input, .dx select, .dx button')].filter((e) =>"
        "!(e.labels && e.labels.length) && !e.getAttribute('aria-label') && !e.innerText.trim()"
        ").map((e) => e.outerHTML)"
    )
    assert nameless == []


@pytest.mark.skipif(not axe_core(), reason="needs axe-core: make browser")
def test_nothing_keeps_people_from_using_the_page(page):
    page.run("for (const rules of document.querySelectorAll('.more')) rules.click()")
    page.click(".plan .tools button", "Keep")
    page.click("[data-feature=income] .lock")
    page.settle()
    page.click(".card button", "What counts against")
    page.until(
        lambda: page.run("return document.querySelectorAll('.reasons li').length"), "reasons"
    )
    page.run("for (const part of document.querySelectorAll('details')) part.open = true")
    assert page.obstacles() == []
    page.run(
        "for (const lock of document.querySelectorAll('.lock[aria-pressed=false]')) lock.click()"
    )
    page.settle()
    assert "No path" in page.text(".headline")
    assert page.obstacles() == []


def test_names_with_markup_stay_names(browser, serve, loans):
    from daace import Table

    frame = loans.to_frame()[["income", "amount", "decision"]]
    evil = "<img src=x onerror=alert(1)>"
    table = Table.from_frame(frame.rename(columns={"income": evil}), target="decision")
    explainer: Explainer = fit(table, density="linear-gaussian")
    browser.open(serve(Service(explainer)).url)
    assert browser.run("return document.querySelectorAll('.dx img').length") == 0
    assert evil in browser.text(".person")


def test_a_committee_is_shown_and_asked_for_what_it_asks(browser, serve, loans):
    table = loans.take(range(300)).select(["income", "amount", "months"])
    lender = fit(table, density="linear-gaussian")
    asked = f"{100 * lender.committee.defaults[0]:.0f}%"
    browser.open(serve(Service(lender)).url)
    count = len(lender.committee.names)
    assert f"judged by a committee of {count} models" in browser.text(".about")
    assert f"at least {asked}" in browser.text(".goals")
    drawn = "return document.querySelectorAll('svg .judge').length"
    browser.until(lambda: browser.run(drawn) == count, "the judges")


def test_with_three_classes_one_is_chosen_to_begin_with(browser, serve):
    explainer = fit(load_table("iris"), density="linear-gaussian", judge="density")
    service = Service(explainer)
    browser.open(serve(service).url)
    first = service.people.row(0)["class"]
    assert browser.question()["target"] == next(c for c in explainer.density.classes_ if c != first)
    assert browser.text(".plan .steps")
    browser.click(".goals label", "virginica")
    browser.settle()
    choose(browser, "#12")
    assert browser.question()["target"] == "virginica"


def test_nothing_moves_while_the_page_comes(browser, serve, service):
    """Layout shifts, as the browser counts them."""
    script = browser.driver.execute_cdp_cmd(
        "Page.addScriptToEvaluateOnNewDocument",
        {
            "source": "window.shifts = []; new PerformanceObserver((list) => window.shifts.push("
            "...list.getEntries().map((entry) => entry.value)))"
            ".observe({type: 'layout-shift', buffered: true})"
        },
    )
    try:
        browser.open(serve(service).url)
        plot = "return document.querySelector('svg .way') !== null"
        browser.until(lambda: browser.run(plot), "a plot")
        assert sum(browser.run("return window.shifts")) < 0.001
    finally:
        browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


def test_the_widget_is_the_same_page(browser, serve, service, lender, refused):
    """The module in a page that hands its messages to the widget, as a notebook does."""
    pytest.importorskip("anywidget")
    widget = lender.widget(refused)
    served = serve(service)
    browser.driver.get(served.url + "/docs")
    browser.driver.get(served.url)
    browser.settle()
    # The page's own module again, as anywidget loads it, with a model that queues its messages.
    browser.run(
        "window.queue = []; window.handlers = []; window.ready = false;"
        "import('/explorer.js?widget').then(({default: module}) => {"
        "  const model = {get: (name) => arguments[0], on: (_, f) => window.handlers.push(f),"
        "    send: (message) => window.queue.push(message)};"
        "  const el = document.createElement('main'); el.id = 'notebook';"
        "  document.body.replaceChildren(el);"
        "  module.render({model, el}); window.ready = true; })",
        dict(widget.question),
    )
    widget.send = lambda message: browser.run(
        "for (const handler of window.handlers) handler(arguments[0])", message
    )

    def answered() -> bool:
        for message in browser.run("return window.queue.splice(0)"):
            widget._handle_custom_msg(message, [])
        return browser.run("return document.querySelectorAll('#notebook svg .way').length > 0")

    browser.until(answered, "The plot of the widget")
    assert browser.text("#notebook .headline") in str(widget.explanation)
    assert browser.log("browser") == []
