from __future__ import annotations

import itertools

import numpy as np
import pytest

from daace import Constraints, GaussianMixture, Landscape
from daace.data.synthetic import moons
from daace.exceptions import InvalidInput
from daace.explain.explainer import Explainer
from daace.explain.several.tradeoff import PENALTIES, monotone_scan


@pytest.fixture(scope="module")
def bent() -> Explainer:
    return Explainer(GaussianMixture(*moons(width=0.15)))


START = {"x1": -1.0, "x2": 0.0}


def rises(values) -> bool:
    return bool((np.diff(values) >= -1e-6).all())


def test_the_scan_is_monotone(bent):
    scan = bent.tradeoff(START, target="lower", penalties=(5, 0, 1, 2))
    frame = scan.to_frame()
    assert frame["penalty"].tolist() == [0.0, 1.0, 2.0, 5.0]
    assert rises(frame["length"])
    assert rises(frame["log_prob"])
    assert frame["length"].iloc[-1] > frame["length"].iloc[0] + 0.1
    assert frame["log_prob"].iloc[-1] > frame["log_prob"].iloc[0] + 0.1
    assert [e.provenance.penalty for e in scan] == frame["penalty"].tolist()
    assert repr(scan) == "Tradeoff(penalties=(0.0, 1.0, 2.0, 5.0), found=4)"


def test_its_numbers_are_those_of_the_paths(bent):
    scan = bent.tradeoff(START, target="lower", penalties=(0, 2))
    for e, length, log_prob in zip(scan, scan.lengths, scan.log_probs, strict=True):
        path = bent.density.to_model(e.path)
        land = Landscape(bent.density, penalty=e.provenance.penalty)
        assert e.cost == pytest.approx(land.path_cost(path), rel=1e-9)
        assert length == pytest.approx(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())
        t = (np.arange(4000) + 0.5) / 4000
        points = np.concatenate([a + t[:, None] * (b - a) for a, b in itertools.pairwise(path)])
        weights = np.repeat(np.linalg.norm(np.diff(path, axis=0), axis=1), 4000)
        mean = np.average(bent.density.log_prob(points), weights=weights)
        assert log_prob == pytest.approx(mean, abs=1e-3)


def test_of_breast_cancer(explainer, malignant):
    scan = explainer.tradeoff(malignant.loc[499], target="benign", penalties=(0, 1, 5))
    frame = scan.to_frame()
    assert frame["found"].all()
    assert rises(frame["length"])
    assert rises(frame["log_prob"])
    alone = explainer.explain(malignant.loc[499], target="benign", penalty=1)
    assert scan[1].cost <= 1.03 * alone.cost


def test_no_way_at_any_penalty(bent):
    scan = bent.tradeoff(START, target="lower", penalties=(0, 1), plausibility=50)
    frame = scan.to_frame()
    assert not frame["found"].any()
    assert frame[["length", "log_prob"]].isna().all(axis=None)
    assert len(scan) == len(list(scan)) == 2


def test_already_there_is_a_point(bent):
    frame = bent.tradeoff(START, target="upper", penalties=(0, 1), plausibility=-9).to_frame()
    assert frame["length"].tolist() == [0.0, 0.0]
    assert frame["cost"].tolist() == [0.0, 0.0]


def test_weights_count_in_the_length(bent):
    rules = Constraints(weights={"x1": 2.0})
    scan = bent.tradeoff(START, target="lower", penalties=(0,), constraints=rules)
    assert scan.lengths[0] == pytest.approx(scan[0].cost, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_scan_is_the_cheapest_of_all_monotone_ones(seed):
    rng = np.random.default_rng(seed)
    costs, sizes = rng.uniform(1, 2, (4, 4)), rng.integers(0, 3, (4, 2)).astype(float)

    def excess(scan) -> float:
        return sum(costs[row, k] / costs[row].min() - 1 for row, k in enumerate(scan))

    def monotone(scan) -> bool:
        return all((sizes[b] >= sizes[a]).all() for a, b in itertools.pairwise(scan))

    best = min(excess(s) for s in itertools.product(range(4), repeat=4) if monotone(s))
    chosen = monotone_scan(costs, sizes)
    assert monotone(chosen)
    assert excess(chosen) == pytest.approx(best)


@pytest.mark.parametrize(
    ("penalties", "message"),
    [((), "at least one"), ("12", "a list of numbers"), ((-1,), "at least 0"), (3, "a list of")],
)
def test_penalties_are_checked(simple, penalties, message):
    with pytest.raises(InvalidInput, match=f"'penalties' must .*{message}"):
        simple.tradeoff([0.0, 0.0], penalties=penalties)


def test_one_row_only(simple):
    assert PENALTIES[0] == 0
    with pytest.raises(InvalidInput, match=r"'row' must be one row. Got 2"):
        simple.tradeoff([[0.0, 0.0], [1.0, 1.0]])
