from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from daace import Explainer, GaussianMixture, load_table
from daace.explain.pages.frames import SHOWN, render_frame


class Cells(HTMLParser):
    """Collects what a table says."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.scopes: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.scopes += [value for name, value in attrs if name == "scope"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.cells.append(data)


@pytest.fixture(scope="module")
def explainer() -> Explainer:
    return Explainer(GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["ill", "<well>"]))


def rows(count: int) -> pd.DataFrame:
    return pd.DataFrame({"x1": np.linspace(-1, 1, count), "who": ["a", "b"] * (count // 2)})


def test_a_batch_shows_its_first_rows_and_its_summary(explainer):
    many = explainer.explain_batch(rows(SHOWN + 4), target="<well>")
    found = Cells(many._repr_html_())
    assert found.open == []
    assert found.scopes.count("row") == SHOWN
    assert "And 4 more rows." in found.cells
    assert str(many.summary()) in found.cells
    assert "<well>" in found.cells


def test_scans_audits_and_checks_are_tables(explainer, iris):
    scan = explainer.tradeoff([0.0], target="<well>", penalties=(0, 2))
    audit = explainer.audit(rows(4), by="who", target="<well>")
    train, held_out = load_table("iris").split(0.3, rng=np.random.default_rng(0))
    from daace import fit

    check = fit(train, density="linear-gaussian").check(held_out)
    for one, count in ((scan, 2), (audit, 2), (check, 6)):
        found = Cells(one._repr_html_())
        assert found.open == []
        assert found.scopes.count("row") == count
    assert "No warnings." in Cells(check._repr_html_()).cells


def test_gaps_and_truth_values_are_said():
    text = render_frame("t", pd.DataFrame({"a": [np.nan, True, 1234.5, 12]}, dtype=object))
    assert [cell for cell in Cells(text).cells if cell][-4 - 3 :: 2] == ["-", "yes", "1,234", "12"]
