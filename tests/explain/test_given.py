"""What cannot change is given: plausibility refers to people who share it."""

from __future__ import annotations

import numpy as np
import pytest

from daace import Constraints, Explainer, GaussianMixture, Goal, Landscape, PathOptimizer, Problem
from daace.data.encoding import Encoding
from daace.data.kinds import Feature


@pytest.fixture(scope="module")
def density() -> GaussianMixture:
    """Two classes in three dimensions; hardly anyone has a first feature above 3."""
    means = [[0.0, -2.0, 0.0], [0.0, 2.0, 0.0]]
    return GaussianMixture([1, 1], means, [np.eye(3), np.eye(3)], ["no", "yes"])


UNUSUAL = {"x1": 4.5, "x2": -2.0, "x3": 0.5}


def test_an_unusual_person_finds_a_path(density: GaussianMixture) -> None:
    rules = Constraints(fixed=["x1"])
    e = Explainer(density).explain(UNUSUAL, target="yes", constraints=rules)
    assert e.found
    assert (e.path["x1"] == 4.5).all()
    old = Explainer(density).explain(
        UNUSUAL, target="yes", constraints=Constraints(fixed=["x1"], given=False)
    )
    assert not old.found
    assert "plausibility" in old.relax


def test_a_classifier_is_asked_about_plausible_people_of_all_classes() -> None:
    """Whoever shares what is fixed is plausible as a "no"; a rule may say "yes" all the same."""
    means = [[4.0, -6.0, 0.0], [-4.0, 6.0, 0.0]]
    density = GaussianMixture([1, 1], means, [np.eye(3), np.eye(3)], ["no", "yes"])
    explainer = Explainer(density, classifier=lambda rows: 1.0 * (rows["x3"] > 1))
    e = explainer.explain(
        {"x1": 4.5, "x2": -6.0, "x3": 0.0}, target="yes", constraints=Constraints(fixed=["x1"])
    )
    assert e.found
    assert e.counterfactual["x3"] > 1
    assert (e.path["x1"] == 4.5).all()


def test_it_is_the_problem_without_the_fixed_feature(density: GaussianMixture) -> None:
    """Independent features: the path is that of the density of the others."""
    others = density.given({"x1": 4.5})
    alone = Explainer(others).explain({"x2": -2.0, "x3": 0.5}, target="yes")
    e = Explainer(density).explain(UNUSUAL, target="yes", constraints=Constraints(fixed=["x1"]))
    assert e.cost == pytest.approx(alone.cost, rel=0.05)
    assert e.along["plausibility"].iloc[-1] == pytest.approx(
        alone.along["plausibility"].iloc[-1], abs=0.1
    )


def test_a_bare_problem_asks_for_it(density: GaussianMixture) -> None:
    start, land, goal = np.array([4.5, -2.0, 0.5]), Landscape(density), Goal("yes")
    plain = Problem(start, land, goal, Constraints(fixed=["x1"]))
    assert plain.statistics is density.draws_
    asked = Problem(start, land, goal, Constraints(fixed=["x1"], given=True))
    assert asked.threshold < plain.threshold
    assert asked.landscape.level < land.level


def test_batches_stay_batches(density: GaussianMixture) -> None:
    """Rows with their own ground, solved together, cost what they cost alone."""
    rng = np.random.default_rng(0)
    rules, goal = Constraints(fixed=["x1"], given=True), Goal("yes", min_posterior=0.8)
    starts = [np.array([x, -2.0 + 0.2 * x, 0.3]) for x in (-1.0, 0.0, 2.0, 4.0, 5.0)]
    problems = [Problem(start, Landscape(density, penalty=3.0), goal, rules) for start in starts]
    optimizer = PathOptimizer()
    together = optimizer.solve_many(problems, rngs=[rng] * len(problems))
    for problem, plan in zip(problems, together, strict=True):
        alone = optimizer.solve(problem, rng=rng)
        assert plan.found
        assert alone.found
        assert plan.cost == pytest.approx(alone.cost, rel=1e-3)
        assert plan.cost == pytest.approx(problem.path_cost(plan.waypoints), rel=1e-12)
        assert problem.met_by(plan.waypoints[-1])


def test_alternatives_and_json_keep_the_scale(density: GaussianMixture) -> None:
    rules = Constraints(fixed=["x1"])
    e = Explainer(density).explain(UNUSUAL, target="yes", constraints=rules, alternatives=2)
    again = type(e).from_json(e.to_json())
    for one in (e, again, *e.alternatives):
        assert one.provenance.min_log_prob == e.provenance.min_log_prob
        assert one.plausible_scale() == e.plausible_scale()
    assert again.provenance.constraints["given"] is True


def mixed() -> GaussianMixture:
    """Hardly anyone owns; who owns is rich, and so is who is granted."""
    features = (
        Feature("income"),
        Feature("debt", atoms=(0.0,)),
        Feature("housing", "category", levels=("own", "rent"), dtype="str"),
    )
    means = [[-1.0, 1.0], [1.0, 0.0], [2.0, 1.0]]
    tables = [[[0.01, 0.99], [0.05, 0.95], [0.6, 0.4]], [[0.6, 0.4], [0.4, 0.6], [0.5, 0.5]]]
    covariances, labels = [np.eye(2)] * 3, ["no", "yes", "yes"]
    encoding = Encoding(features)
    return GaussianMixture(
        [10, 10, 0.1], means, covariances, labels, tables=tables, encoding=encoding
    )


def test_codes_are_given_exactly() -> None:
    """Owners are compared with owners, by the same statistics as `density.given` has."""
    known = mixed()
    row = {"income": -1.5, "debt": 0.0, "housing": "own"}
    rules = Constraints(fixed=["housing"])
    e = Explainer(known).explain(row, target="yes", constraints=rules)
    assert e.found
    assert "not_given" not in [note.code for note in e.notes]
    assert (e.path["housing"] == "own").all()
    given = known.given({"housing": "own"})
    shift = known.log_prob(known.to_model(row))[0]
    shift -= given.log_prob(given.to_model({"income": -1.5, "debt": 0.0}))[0]
    expected = given.draws_.mean - 0.5 * given.draws_.sd + shift
    threshold = e.plan is not None and e.provenance.min_log_prob
    assert threshold == pytest.approx(expected, abs=0.1)


def test_what_is_not_a_yes_or_no_is_refused() -> None:
    with pytest.raises(ValueError, match="'given' must be one of True, False"):
        Constraints(given="maybe")
