from __future__ import annotations

import threading

import pytest

from daace import Explainer, GaussianMixture
from daace.planners.watch import Stopped, watched


@pytest.fixture
def explainer() -> Explainer:
    density = GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["ill", "well"])
    return Explainer(density, min_posterior=0.9)


def test_a_watched_search_gives_the_same_answer(explainer):
    seen = []
    with watched(seen.append):
        watched_one = explainer.explain([0.0], target="well")
    assert watched_one.cost == explainer.explain([0.0], target="well").cost
    assert seen == sorted(seen)
    assert seen[-1] > 0


def test_whoever_watches_may_stop_the_search(explainer):
    def stop(_: int) -> None:
        raise Stopped("enough")

    with watched(stop), pytest.raises(Stopped):
        explainer.explain([0.0], target="well")
    assert explainer.explain([0.0], target="well").found


def test_each_thread_has_its_own_watcher(explainer):
    seen: list[int] = []
    other = threading.Thread(target=lambda: explainer.explain([0.0], target="well"))
    with watched(seen.append):
        other.start()
        other.join()
    assert seen == []
