"""Round values: judged after rounding, inside the rules, hardly more expensive."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import daace
from daace import Constraints, Explainer, load_table
from daace.planners.base import Plan, Status
from daace.planners.readable import DEARER, nice_steps, stop_at_goal, straighten


@pytest.fixture(scope="module")
def loans() -> Explainer:
    table = load_table("loans")
    return daace.fit(table.take(np.arange(600)), density="linear-gaussian", judge="density")


def digits(value: float) -> int:
    """Number of significant digits of a number."""
    return len(f"{value:.15g}".replace(".", "").replace("-", "").strip("0"))


def test_answers_have_few_digits_and_still_meet_the_goal(loans):
    table = load_table("loans")
    rows = table.to_frame()[table.y == "refused"].iloc[-12:]  # not seen when it was fitted
    exact, looked = replace(loans, round=False), 0
    for _, row in rows.iterrows():
        e, plain = loans.explain(row, target="granted"), exact.explain(row, target="granted")
        if not e.found or not e.step_count:
            continue
        looked += 1
        assert e.posterior >= 0.5
        assert e.log_prob >= e.provenance.min_log_prob
        assert e.cost <= plain.cost + DEARER * abs(plain.cost) + 1e-9
        changes = e.changes()
        numbers = [float(v) for v in changes["to"] if isinstance(v, int | float)]
        assert np.median([digits(v) for v in numbers] or [0]) <= 3
    assert looked >= 8


def test_rules_hold_for_round_values(loans):
    table = load_table("loans")
    row = table.to_frame()[table.y == "refused"].iloc[3]
    rules = Constraints(upper={"income": row["income"] + 333}, only_up=["savings"])
    e = replace(loans, constraints=rules).explain(row, target="granted")
    assert (e.path["income"] <= row["income"] + 333).all()
    assert (e.path["savings"].diff().dropna() >= 0).all()


def test_a_number_of_twelve_digits_comes_back_as_it_is():
    explainer = daace.fit(load_table("breast_cancer"), density="linear-gaussian", judge="density")
    table = load_table("breast_cancer")
    e = explainer.explain(table.to_frame()[table.y == "malignant"].iloc[5], target="benign")
    assert all(digits(value) <= 12 for value in e.changes()["to"])
    assert e.cost == pytest.approx(e.query.problem(0, None).path_cost(e.plan.waypoints), rel=1e-12)


def test_round_values_are_written_with_few_digits():
    table = load_table("iris")
    explainer = daace.fit(table, density="linear-gaussian", judge="density")
    rows = table.to_frame()[table.y == "versicolor"].iloc[::10]
    for e in explainer.explain_batch(rows, target="setosa"):
        moved = [float(value) for value in e.changes()["to"]]
        assert [value for value in moved if len(repr(value)) > 6] == []  # 1.7000000000000002


def test_steps_are_one_two_or_five():
    wanted = 10 ** np.random.default_rng(0).uniform(-6, 6, 300)
    steps = nice_steps(wanted)
    assert (steps <= wanted * (1 + 1e-9)).all()
    assert (steps * 2.5 >= wanted * (1 - 1e-9)).all()
    lead = steps / 10 ** np.floor(np.log10(steps) + 1e-9)
    assert set(np.round(lead, 9)) <= {1.0, 2.0, 5.0}


# Detours ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def flat() -> daace.Problem:
    """Two wide Gaussians: straight lines are cheapest everywhere."""
    density = daace.GaussianMixture(
        [1, 1], [[0.0, 0.0], [4.0, 0.0]], [np.eye(2) * 9, np.eye(2) * 9], ["ill", "well"]
    )
    landscape = daace.Landscape(density, penalty=1.0)
    return daace.Problem(
        np.array([0.0, 0.0]), landscape, daace.Goal("well", plausibility=-3, min_posterior=0.6)
    )


def plan_of(problem: daace.Problem, *waypoints: tuple[float, float]) -> Plan:
    path = np.array(waypoints)
    return Plan(Status.FOUND, path, problem.path_cost(path), evaluations=0, seconds=0.0)


def test_a_number_does_not_turn_back_on_the_way(flat):
    plan = plan_of(flat, (0, 0), (2.5, 0.3), (2.2, -0.1), (4.0, 0.2))
    straight = straighten(flat, plan, most=plan.cost)
    assert (np.diff(straight.waypoints, axis=0) >= 0).all()
    assert straight.waypoints[[0, -1]].tolist() == plan.waypoints[[0, -1]].tolist()
    assert straight.cost == flat.path_cost(straight.waypoints) < plan.cost


def test_a_detour_that_pays_stays(flat):
    plan = plan_of(flat, (0, 0), (2.5, 0.3), (4.0, 0.0))
    assert straighten(flat, plan, most=0.5 * plan.cost) is plan


def test_a_path_ends_where_it_meets_the_goal(flat):
    plan = plan_of(flat, (0, 0), (1.0, 0.0), (3.9, 0.0), (4.0, 1.0))
    short = stop_at_goal(flat, plan)
    assert short.waypoints.tolist() == plan.waypoints[:3].tolist()
    assert short.cost == flat.path_cost(short.waypoints)
    assert stop_at_goal(flat, short) is short


def test_no_waypoint_before_the_end_meets_the_goal(loans):
    table = load_table("loans")
    rows = table.to_frame()[table.y == "refused"].iloc[-40:]
    for e in loans.explain_batch(rows, target="granted"):
        before = e.along.iloc[1:-1]
        met = (before["posterior"] >= 0.5) & (before["log_prob"] >= e.provenance.min_log_prob)
        assert not met.any()
