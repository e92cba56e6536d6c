from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from daace import Explanation, Goal, Landscape
from daace.eqi.data.counties import Counties
from daace.eqi.models.densities import restricted_network
from daace.eqi.policy.advisor import Advisor, plausible_from
from daace.eqi.policy.recourse import CountyPath, Recourse, category_of
from daace.eqi.policy.request import ALGORITHMS, Ask
from daace.exceptions import InvalidInput

LA = 6037


def plan(advisor: Advisor, **how: object) -> Recourse:
    return advisor.advise([LA], Ask(**how))[0]  # type: ignore[arg-type]


def gap(counties: Counties, recourse: Recourse) -> float:
    return CountyPath.of(counties, recourse).gap


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_ends_in_the_goal(algorithm: str, advisor: Advisor) -> None:
    found = plan(advisor, algorithm=algorithm)
    assert found.found
    density = advisor.density(found.ask.algorithm)
    goal = Goal(1, min_log_prob=advisor.threshold(found.ask.algorithm), min_posterior=0.7)
    assert found.target == 1
    assert goal.check(density, found.waypoints[-1])
    assert (found.waypoints[0] == advisor.rows[advisor.counties.position(LA)]).all()
    if algorithm in ("FACE", "Wachter"):  # ends in a county that was learned from
        away = np.linalg.norm(advisor.known_rows - found.waypoints[-1], axis=1)
        assert away.min() == 0
    landscape = Landscape(density, penalty=5.0, scale="nll")
    rule = "midpoint" if algorithm in ("FACE", "Wachter") else "gauss"
    assert found.cost == pytest.approx(landscape.path_cost(found.waypoints, rule=rule))


def test_the_answer_does_not_depend_on_the_others(advisor: Advisor) -> None:
    both = advisor.advise([8021, LA], Ask())
    alone = advisor.advise([LA], Ask())[0]
    assert both[1].fips == LA
    assert both[1].cost == pytest.approx(alone.cost, rel=1e-3)


def test_a_consistent_plan_has_no_gap_and_a_free_one_has(
    advisor: Advisor, counties: Counties
) -> None:
    assert gap(counties, plan(advisor)) > 1e-3
    consistent = plan(advisor, consistent=True)
    assert consistent.found
    assert gap(counties, consistent) < 1e-9
    both = plan(advisor, consistent=True, equity=True)
    assert both.found
    assert gap(counties, both) < 1e-9


@pytest.mark.parametrize("consistent", [False, True])
def test_no_index_gets_worse_on_an_equitable_way(
    consistent: bool, advisor: Advisor, counties: Counties
) -> None:
    fair = plan(advisor, equity=True, consistent=consistent)
    indices = CountyPath.of(counties, fair).planned
    assert (np.diff(indices.to_numpy(), axis=0) <= 1e-9).all()  # published sense: high is bad
    assert fair.cost >= plan(advisor, consistent=consistent).cost * (1 - 1e-3)


@pytest.mark.parametrize("consistent", [False, True])
def test_fixed_variables_stay(consistent: bool, advisor: Advisor) -> None:
    found = plan(advisor, fixed=("a1", "w6", "s2"), consistent=consistent)
    columns = [advisor.network.features_.index(name) for name in ("a1", "s2")]
    assert (found.waypoints[:, columns] == found.waypoints[0, columns]).all()


@pytest.mark.parametrize("consistent", [False, True])
def test_a_plan_is_an_explanation(consistent: bool, advisor: Advisor) -> None:
    found = plan(advisor, consistent=consistent)
    e = found.explanation
    assert isinstance(e, Explanation)
    assert (e.found, e.target, e.cost) == (True, 1, found.cost)
    assert e.step_count == len(found.waypoints) - 1
    assert e.posterior >= 0.7
    assert e.log_prob >= advisor.threshold("BayesACE")
    assert e.log_prob == pytest.approx(advisor.network.log_prob(found.waypoints[-1:])[0])
    back = advisor.network.to_model(found.states)
    assert back == pytest.approx(found.waypoints, abs=1e-9)


def test_the_category_is_epas(advisor: Advisor, counties: Counties) -> None:
    indices = counties.indices.iloc[:50]
    assert category_of(counties, indices) == counties.category.iloc[:50].tolist()


def test_what_cannot_be_asked(advisor: Advisor, counties: Counties) -> None:
    best = int(counties.category.index[counties.category == 0][0])
    with pytest.raises(InvalidInput, match="is in the best category already: nothing to improve"):
        advisor.advise([best], Ask())
    with pytest.raises(InvalidInput, match=r"can improve by at most 3. Got 5: lower --improve"):
        advisor.advise([LA], Ask(improve=5))
    with pytest.raises(InvalidInput, match="'consistent' must go with BayesACE or DAACE"):
        Ask(algorithm="FACE", consistent=True)
    with pytest.raises(InvalidInput, match="'algorithm' must be one of 'BayesACE'"):
        Ask(algorithm="Dijkstra")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"must name EPA's variables.*Got 'smog'"):
        advisor.advise([LA], Ask(fixed=("smog",)))
    with pytest.raises(InvalidInput, match="Wachter needs the RealNVP: train it"):
        replace(advisor, flow=None).advise([LA], Ask(algorithm="Wachter"))


def test_densities_that_do_not_belong_together(advisor: Advisor, counties: Counties) -> None:
    other = restricted_network(counties).fit(counties.table)
    with pytest.raises(InvalidInput, match="fitted on the same counties"):
        replace(advisor, flow=other)
    few = restricted_network(counties)
    fewer = type(few)().fit(counties.table.select(counties.table.features[:9]))
    with pytest.raises(InvalidInput, match="'flow' must have the features of these files"):
        replace(advisor, flow=fewer)


def test_the_paper_asks_for_a_quarter_of_a_deviation_below_the_mean() -> None:
    assert plausible_from(np.array([-4.0, 0.0, 4.0])) == pytest.approx(-0.25 * np.sqrt(32 / 3))
