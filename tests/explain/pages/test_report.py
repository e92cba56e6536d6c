from __future__ import annotations

import base64
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from daace import Constraints, LinearGaussianNetwork, Link, Table
from daace.explain.explainer import Explainer
from daace.explain.explanation import Explanation


class Page(HTMLParser):
    """Checks that tags match, and collects text and attributes."""

    VOID = ("meta", "br", "img")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "action")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data


def test_the_page_says_it_all(explanation):
    page = Page(explanation.to_html())
    for text in ("From 'malignant' to 'benign'", "How sure is it?", "Limitations",
                 "From start to end", "Settings", "linear-gaussian", "PathOptimizer("):  # fmt: skip
        assert text in page.text
    for name in explanation.path.columns:
        assert name in page.text


def test_the_page_stands_alone(explanation):
    html = explanation.to_html()
    page = Page(html)
    assert len(page.links) == 4
    assert all(link.startswith("data:image/svg+xml;base64,") for link in page.links)
    assert "script" not in page.tags
    assert "link" not in page.tags
    assert not re.search(r"url\(|@import", html)
    for link in page.links:
        picture = base64.b64decode(link.split(",")[1]).decode()
        assert "<svg" in picture
        assert "<script" not in picture
        assert not re.findall(r'href="(?!#|data:)', picture)


def test_the_same_explanation_is_the_same_page(simple):
    e = simple.explain([0.0, 0.0])
    assert e.to_html() == e.to_html()


def test_names_are_escaped(straight):
    rng = np.random.default_rng(0)
    y = np.repeat(["</title><b>", "\"'&"], 50)
    name = "<script>alert(1)</script>"
    frame = pd.DataFrame({name: rng.normal(size=100) + 4 * (y == y[0]), "class": y})
    table = Table.from_frame(frame, target="class", units={name: "<i>"})
    explainer = Explainer(LinearGaussianNetwork().fit(table), planner=straight)
    rules = Constraints(weights={name: 2.0})
    e = explainer.explain(frame.iloc[0], constraints=rules)
    page = Page(e.to_html())
    assert "script" not in page.tags
    assert "<script>alert(1)</script>" in page.text
    assert "</title><b>" in page.text
    Page(e._repr_html_())


def test_a_page_in_another_script_does_not_warn(straight):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"年齢": rng.normal(size=100), "class": np.repeat(["甲", "乙"], 50)})
    frame["年齢"] += 3 * (frame["class"] == "甲")
    explainer = Explainer(
        LinearGaussianNetwork().fit(Table.from_frame(frame, target="class")), planner=straight
    )
    assert "年齢" in explainer.explain(frame.iloc[0]).to_html()


def test_none_found_says_what_to_relax(simple):
    e = simple.explain([0.0, 0.0], target="well", plausibility=50)
    page = Page(e.to_html())
    assert "No path from 'ill' to 'well' was found" in page.text
    assert f"lower 'plausibility' to {e.relax['plausibility']:g}" in page.text
    assert "How sure is it?" not in page.text


def test_a_page_without_a_way_does_not_speak_of_one(simple):
    for row, settings in (([0.0, 0.0], {"plausibility": 40}), ([4.0, 1.0], {})):
        e = simple.explain(row, target="well", **settings)
        assert e.step_count == 0
        text = Page(e.to_html()).text
        assert "end of the way" not in text
        assert "other ways" not in text
        assert "The probabilities are those of the model" in text


def test_from_json_makes_a_page_without_landscape(explanation):
    page = Page(Explanation.from_json(explanation.to_json()).to_html())
    assert len(page.links) == 3
    assert "Step by step" in page.text


RULES = {
    "fixed": ["sepal width"],
    "lower": {"sepal width": 1.0},
    "upper": {"petal length": 9.5},
    "only_up": ["petal length"],
    "only_down": ["sepal width"],
    "weights": {"sepal length": 2.0},
    "max_rise": {"petal length": 5.25},
    "max_fall": {"sepal width": 1.5},
    "max_step": {"petal length": 2.0},
    "integer": ["sepal length"],
    "links": [Link({"petal length": 1, "petal width": -1}, at_least=0)],
    "max_changed": 3,
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_on_the_page_and_in_the_json(rule, explain_flower, monkeypatch):
    rules = Constraints(**{rule: RULES[rule]})
    for target in ("virginica", "setosa"):
        e = explain_flower(rules, target)
        pages = [(e, e.to_html())]
        again = Explanation.from_json(e.to_json())
        with monkeypatch.context() as patch:  # the pictures are those of e
            patch.setattr("daace.explain.pages.report._svg", lambda *_: b"<svg/>")
            pages.append((again, again.to_html()))
        pd.testing.assert_frame_equal(again.path, e.path)
        named = {"links": "1 petal length - 1 petal width", "max_changed": "max_changed: 3"}
        for answer, text in pages:
            page = Page(text)
            assert f"{rule}: " in page.text
            assert named.get(rule, next(iter(rules.features() or [""]))) in page.text
            assert answer.describe()
            assert len(answer.steps()) == answer.step_count
            assert Page(answer._repr_html_()).text


@pytest.fixture(scope="module")
def explain_flower(iris):
    row = {"sepal length": 5.0, "sepal width": 3.4, "petal length": 1.5, "petal width": 0.2}

    def explain(rules, target):
        return Explainer(iris, constraints=rules).explain(row, target=target)

    return explain


def test_no_change_of_a_step_is_left_out(explanation):
    console = re.split(r"\n(?:Step \d+|For analysts)", explanation.describe())
    page = Page(explanation.to_html()).text
    for step, paragraph in enumerate(explanation.steps(), 1):
        todo = " ".join(console[step].split())
        for name in explanation.changes(step)["feature"]:
            assert f"{name} " in todo
            assert f"{name} to " in paragraph or f"{name} from " in paragraph
            assert f"{name} to " in page or f" {name} from " in page
