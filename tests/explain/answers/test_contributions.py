"""What each change gains: it adds up, for every judge, and everybody is given their own."""

from __future__ import annotations

import numpy as np
import pytest

import daace
from daace.explain.answers.contributions import _shares, contributions


@pytest.fixture(scope="module")
def believed() -> daace.Explanation:
    frame = daace.load_table("loans").to_frame()
    explainer = daace.fit(frame.iloc[:600], target="decision")
    refused = frame.iloc[600:][frame["decision"].iloc[600:] == "refused"]
    return explainer.explain(refused.iloc[[0]], target="granted")


def test_they_add_up_to_the_probabilities_that_are_shown(believed):
    shares = believed.along["posterior"].iloc[[0, -1]].to_numpy()
    gained = np.diff(np.log(shares) - np.log1p(-shares))[0]
    assert believed.provenance.judge == "committee"
    assert contributions(believed)["contribution"].sum() == pytest.approx(gained, rel=1e-6)


def test_of_what_adds_up_by_itself_everybody_is_given_their_own():
    slopes = np.array([3.0, 0.0, -1.0, 0.5])
    before, after = np.zeros(4), np.array([1.0, 1.0, 1.0, 2.0])
    orders = [np.array([2, 0, 1])]
    shares = _shares(lambda rows: rows @ slopes, before, after, [[0], [1], [2, 3]], orders)
    assert shares.tolist() == [3.0, 0.0, 0.0]


def test_what_two_bring_about_together_is_shared():
    shares = _shares(
        lambda rows: rows[:, 0] * rows[:, 1],
        np.zeros(2), np.array([4.0, 1.0]), [[0], [1]], [np.arange(2)],
    )  # fmt: skip
    assert shares.tolist() == [2.0, 2.0]
