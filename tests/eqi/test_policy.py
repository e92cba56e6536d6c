from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from daace.eqi.data import DOMAINS, INDICES, Counties
from daace.eqi.measures import measure
from daace.eqi.model import restricted_network
from daace.eqi.policy import (
    ALGORITHMS,
    Advisor,
    Ask,
    Recourse,
    category_of,
    plausible_from,
    recomputed_indices,
    transformed_path,
)
from daace.exceptions import InvalidInput
from daace.landscape.cost import Landscape
from daace.landscape.goal import Goal

LA = 6037


def plan(advisor: Advisor, **how: object) -> Recourse:
    return advisor.advise([LA], Ask(**how))[0]  # type: ignore[arg-type]


def gap(counties: Counties, advisor: Advisor, recourse: Recourse) -> float:
    indices, variables = transformed_path(counties, advisor.network, recourse)
    again = recomputed_indices(counties, variables)
    return float(np.abs(indices.to_numpy() - again.to_numpy()).max())


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_ends_in_the_goal(algorithm: str, advisor: Advisor) -> None:
    found = plan(advisor, algorithm=algorithm)
    assert found.found
    density = advisor.density(found.ask.algorithm)
    goal = Goal(1, min_log_prob=advisor.threshold(density), min_posterior=0.7)
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
    assert gap(counties, advisor, plan(advisor)) > 1e-3
    consistent = plan(advisor, consistent=True)
    assert consistent.found
    assert gap(counties, advisor, consistent) < 1e-9
    both = plan(advisor, consistent=True, equity=True)
    assert both.found
    assert gap(counties, advisor, both) < 1e-9


@pytest.mark.parametrize("consistent", [False, True])
def test_no_index_gets_worse_on_an_equitable_way(
    consistent: bool, advisor: Advisor, counties: Counties
) -> None:
    fair = plan(advisor, equity=True, consistent=consistent)
    indices, _ = transformed_path(counties, advisor.network, fair)
    assert (np.diff(indices.to_numpy(), axis=0) <= 1e-9).all()  # published sense: high is bad
    assert fair.cost >= plan(advisor, consistent=consistent).cost * (1 - 1e-3)


@pytest.mark.parametrize("consistent", [False, True])
def test_fixed_variables_stay(consistent: bool, advisor: Advisor) -> None:
    found = plan(advisor, fixed=("a1", "w6", "s2"), consistent=consistent)
    columns = [advisor.network.features_.index(name) for name in ("a1", "s2")]
    assert (found.waypoints[:, columns] == found.waypoints[0, columns]).all()


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


# Measures -----------------------------------------------------------------------------------------


def test_a_record_says_what_the_plan_is_worth(advisor: Advisor, counties: Counties) -> None:
    found = plan(advisor)
    assert advisor.flow is not None
    record = measure(
        found,
        counties,
        own=advisor.network,
        judge=advisor.flow,
        min_log_prob=-1e9,
        judge_min_log_prob=-1e9,
        min_posterior=0,
    )
    path = found.waypoints
    judge = Landscape(advisor.flow, penalty=5.0, scale="nll")
    assert record["cost"] == judge.path_cost(path, rule="midpoint")
    assert record["l2"] == pytest.approx(np.linalg.norm(path[-1] - path[0]))
    assert record["length"] == pytest.approx(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())
    assert record["gap"] == gap(counties, advisor, found)
    assert record["before"] == pytest.approx(counties.indices.loc[LA, list(DOMAINS)].tolist())
    assert record["log_prob_own"] == pytest.approx(advisor.network.log_prob(path[-1:])[0])
    assert record["posterior_own"] >= 0.7
    assert record["valid_judge"] is True
    strict = measure(
        found, counties, own=advisor.network, judge=advisor.flow, min_log_prob=-1e9,
        judge_min_log_prob=1e9, min_posterior=0,
    )  # fmt: skip
    assert (strict["goal_met"], strict["valid_judge"]) == (True, False)
    assert len(record["change"]) == len(counties.table.features)
    named = dict(zip(counties.table.features, record["change"], strict=True))
    moved = (path[-1] - path[0])[[counties.table.features.index(i) for i in INDICES]]
    assert [named[i] for i in INDICES] == pytest.approx(moved.tolist(), abs=1e-4)


def test_a_record_of_nothing_found_says_why(advisor: Advisor, counties: Counties) -> None:
    strict = replace(advisor, min_log_prob=1e6)
    for algorithm in ("BayesACE", "FACE", "Wachter"):
        nothing = plan(strict, algorithm=algorithm)
        assert not nothing.found
        record = measure(
            nothing, counties, own=advisor.network, judge=advisor.network,
            min_log_prob=0, judge_min_log_prob=0, min_posterior=0,
        )  # fmt: skip
        assert record["status"] == "goal_unreachable"
        assert "cost" not in record
