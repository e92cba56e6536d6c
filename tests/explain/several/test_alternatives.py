from __future__ import annotations

import itertools

import numpy as np
import pytest

from daace import Constraints, Explanation
from daace.exceptions import InvalidInput
from daace.explain.explainer import Explainer
from daace.explain.fitting import fit
from daace.explain.several.alternatives import APART, COSTLIER, OTHER_FEATURES


def check(e: Explanation, explainer: Explainer) -> None:
    """The law: valid, different, not much dearer."""
    answers = [e, *e.alternatives]
    ends = [explainer.density.to_model(a.counterfactual)[0] for a in answers]
    for a in e.alternatives:
        assert a.found
        assert a.posterior >= a.provenance.min_posterior
        assert a.log_prob >= e.provenance.min_log_prob
        assert a.cost <= COSTLIER * e.cost
        assert a.path.iloc[0].equals(e.path.iloc[0])
        assert a.alternatives == ()
    changed = [set(a.changes()["feature"]) for a in answers]
    pairs = itertools.combinations(zip(ends, changed, strict=True), 2)
    for (one, mine), (other, theirs) in pairs:
        share = len(mine ^ theirs) / max(len(mine | theirs), 1)
        assert np.abs(one - other).max() >= APART - 1e-9 or share >= OTHER_FEATURES - 1e-9
    assert [a.cost for a in e.alternatives] == sorted(a.cost for a in e.alternatives)


@pytest.fixture(scope="module")
def wine() -> tuple[Explainer, object]:
    from daace import load_table

    table = load_table("wine_cultivars")
    return fit(table), table.to_frame().iloc[3]


def test_alternatives_are_valid_and_different(wine):
    explainer, row = wine
    e = explainer.explain(row, target="class_1", alternatives=3)
    assert len(e.alternatives) == 3
    check(e, explainer)
    alone = explainer.explain(row, target="class_1")
    assert alone.alternatives == ()
    assert alone.path.equals(e.path)


def test_alternatives_keep_the_rules(wine):
    explainer, row = wine
    rules = Constraints(fixed=["magnesium"], only_down=["color_intensity"], upper={"ash": 3.0})
    e = explainer.explain(row, target="class_1", constraints=rules, alternatives=2)
    assert e.alternatives
    check(e, explainer)
    for a in e.alternatives:
        assert (a.path["magnesium"] == row["magnesium"]).all()
        assert (np.diff(a.path["color_intensity"]) <= 0).all()
        assert (a.path["ash"] <= 3.0).all()


def test_two_gaussians_have_their_sides(mixture):
    explainer = Explainer(mixture)
    e = explainer.explain([-2.0, 0.0], target="well", alternatives=3)
    assert 1 <= len(e.alternatives) <= 3
    check(e, explainer)


def test_next_to_the_goal_there_is_nothing_else(mixture):
    explainer = Explainer(mixture)
    near = explainer.explain([0.0, 0.0], target="well").counterfactual - [0.05, 0.0]
    e = explainer.explain(near, target="well", alternatives=3)
    assert (str(e.status), e.alternatives) == ("found", ())
    for start, target in (([0.0, 0.0], "ill"), ([0.0, 0.0], "well")):
        other = explainer.explain(
            start, target=target, plausibility=-0.5 if target == "ill" else 50, alternatives=1
        )
        assert other.alternatives == ()


def test_any_planner_will_do(simple):
    e = simple.explain([-1.0, 0.0], target="well", alternatives=2)
    check(e, simple)


def test_alternatives_are_in_the_json_and_on_the_page(wine):
    explainer, row = wine
    e = explainer.explain(row, target="class_1", alternatives=1)
    back = Explanation.from_json(e.to_json())
    assert back.to_json() == e.to_json()
    assert back.alternatives[0].path.equals(e.alternatives[0].path)
    page = e.to_html()
    assert "<h2>Alternatives</h2>" in page
    costs = ", ".join(f"{other.cost:.3g}" for other in e.alternatives)
    assert f"The alternatives cost {costs} instead of {e.cost:.3g}." in page


@pytest.mark.parametrize("count", [-1, 1.5, True, "3"])
def test_their_number_is_checked(simple, count):
    with pytest.raises(InvalidInput, match="'alternatives' must be an integer of at least 0"):
        simple.explain([0.0, 0.0], alternatives=count)
