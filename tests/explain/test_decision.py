"""Reasons for a decision: what speaks against the target, and from where on it does not."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from daace import Explainer, GaussianMixture, InvalidInput, fit, load_table
from daace.explain.decision import Case


@pytest.fixture
def plane():
    means = [[0.0, 0.0, 0.0], [2.0, 1.0, 0.0]]
    return GaussianMixture([1, 1], means, [np.eye(3)] * 2, ["no", "yes"])


def linear(rows):
    score = 1.5 * rows["x1"] - 0.5 * rows["x2"] - 1
    return 1 / (1 + np.exp(-score))


def test_a_linear_judge_gives_weights_times_distances(plane):
    explainer = Explainer(plane, classifier=linear)
    reasons = explainer.reasons([-1.0, 2.0, 5.0], target="yes")
    case = Case.of(plane, explainer._classifier_judge, np.array([-1.0, 2.0, 5.0]), 1)
    typical = case.references.mean(axis=0)
    assert [r.feature for r in reasons] == ["x1", "x2"]
    first, second = reasons
    assert first.against == pytest.approx(1.5 * (typical[0] + 1), abs=1e-9)
    assert second.against == pytest.approx(-0.5 * (typical[1] - 2), abs=1e-9)
    assert 0 <= first.limit - typical[0] <= 0.02  # rounded away from the row's value
    assert 0 <= typical[1] - second.limit <= 0.02
    assert "or more it would no longer count against 'yes'" in first.sentence
    assert "or less" in second.sentence


def test_contributions_are_shapley_values_of_pairwise_interactions(plane):
    def bent(rows):
        score = rows["x1"] * rows["x2"] - rows["x2"] * rows["x3"] + rows["x3"] ** 2
        return 1 / (1 + np.exp(-score))

    judge = Explainer(plane, classifier=bent)._classifier_judge
    case = Case.of(plane, judge, np.array([-0.5, 0.3, 0.8]), 1)
    shapley = np.zeros(3)
    for order in permutations(range(3)):
        rows = np.tile(case.x, (len(case.references), 1))
        for j in order:
            before = case.odds(rows).mean()
            rows[:, j] = case.references[:, j]
            shapley[j] += (case.odds(rows).mean() - before) / 6
    np.testing.assert_allclose(case.contributions(), shapley, atol=1e-9)


def test_the_limit_is_where_a_feature_ceases_to_be_a_reason(plane):
    explainer = Explainer(plane)
    row = {"x1": -1.0, "x2": 0.0, "x3": 0.0}
    first = explainer.reasons(row).reasons[0]
    assert first.feature == "x1"
    there = explainer.reasons({**row, "x1": first.limit}, target="yes")
    assert "x1" not in [r.feature for r in there]
    short = explainer.reasons({**row, "x1": first.limit - 0.3}, target="yes", most=3)
    assert "x1" in [r.feature for r in short]


def test_mixed_rows_get_levels_and_whole_numbers():
    table = load_table("loans")
    explainer = fit(table, density="linear-gaussian")
    frame = table.to_frame()
    row = frame[(frame["housing"] == "rent") & (frame["savings"] == 0)].iloc[[0]]
    reasons = explainer.reasons(row, target="granted", most=11)
    found = {r.feature: r for r in reasons}
    assert len(found) == len(reasons)
    housing, savings = found["housing"], found["savings"]
    assert housing.limit[0] == "own"
    assert "'housing' is rent; with 'own'" in housing.sentence
    assert savings.value == 0
    assert savings.limit > 0
    whole = [r.limit for r in reasons if r.feature in ("income", "credit_score", "amount")]
    assert whole
    assert all(isinstance(limit, int) for limit in whole)
    assert reasons.to_frame()["against"].is_monotonic_decreasing


def test_own_sentences_replace_ours(plane):
    explainer = Explainer(plane)
    reasons = explainer.reasons([-1.0, 0.0, 0.0], sentences={"x1": "Income is too low."})
    assert reasons.reasons[0].sentence == "Income is too low."
    assert "1. Income is too low." in str(reasons)
    with pytest.raises(InvalidInput, match="'sentences' must name features of the model"):
        explainer.reasons([-1.0, 0.0, 0.0], sentences={"salary": "Too low."})


def test_nothing_speaks_against_what_is_better_than_typical(plane):
    reasons = Explainer(plane).reasons([9.0, 9.0, 0.0], target="yes")
    assert len(reasons) == 0
    assert str(reasons).endswith("no feature counts against it.")
