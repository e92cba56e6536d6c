import sys
from dataclasses import replace

import numpy as np
import pytest

from daace import (
    Constraints,
    GaussianMixture,
    Goal,
    Landscape,
    LinearGaussianNetwork,
    Problem,
    Status,
    load_table,
)
from daace.exceptions import InvalidInput, MissingDependency
from daace.landscape.path import midpoint_rule, straight_paths
from daace.planners import nsga2
from daace.planners.genes import first_ends
from daace.planners.nsga2 import NSGA2, tune_nsga2

pytest.importorskip("pymoo")

SMALL = NSGA2(vertices=(0, 1), population=30, generations=20)


@pytest.fixture(autouse=True)
def global_random_state_stays():
    before = np.random.get_state()  # noqa: NPY002
    yield
    after = np.random.get_state()  # noqa: NPY002
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.fixture(scope="module")
def mixture():
    return GaussianMixture(
        [1, 1, 1],
        [[0.0, 0.0], [4.0, 1.0], [2.0, 3.0]],
        [np.eye(2), 0.5 * np.eye(2), 0.3 * np.eye(2)],
        ["sick", "well", "well"],
    )


@pytest.fixture(scope="module")
def network():
    return LinearGaussianNetwork().fit(load_table("breast_cancer"))


@pytest.fixture
def problem(mixture):
    return Problem(np.array([-0.5, 0.2]), Landscape(mixture, penalty=5.0), Goal(target="well"))


@pytest.fixture
def patient(network):
    table = load_table("breast_cancer")
    row = network.to_model(table.X)[np.flatnonzero(table.y == "malignant")[1]]
    return Problem(row, Landscape(network, penalty=5.0), Goal(target="benign"))


def generator(seed=0):
    return np.random.default_rng(seed)


def assert_lawful(problem, plan):
    density = problem.landscape.density
    assert plan.status == Status.FOUND
    assert plan.found == problem.goal.check(density, plan.waypoints[-1], problem.posterior)
    assert plan.cost == problem.path_cost(plan.waypoints)
    assert np.array_equal(plan.waypoints[0], problem.x)
    assert problem.feasible.contains(plan.waypoints)
    assert plan.evaluations > 0
    assert plan.seconds > 0


# Plans ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [0.0, 1.0, 5.0, 15.0])
@pytest.mark.parametrize("scale", ["relative", "nll"])
def test_finds_the_goal_of_a_mixture(mixture, penalty, scale):
    landscape = Landscape(mixture, penalty=penalty, scale=scale)
    problem = Problem(np.array([-3.0, -2.0]), landscape, Goal(target="well", min_posterior=0.9))
    assert_lawful(problem, SMALL.solve(problem, rng=generator()))


@pytest.mark.parametrize("selection", ["tournament", "random"])
def test_finds_the_goal_of_a_network(patient, selection):
    planner = replace(SMALL, selection=selection)
    plan = planner.solve(patient, rng=generator())
    assert_lawful(patient, plan)
    draws = patient.landscape.density.pool("benign").X
    inside = draws[patient.region.contains(draws)][:200]
    straight = [patient.path_cost(path) for path in straight_paths(patient.x, inside, 0)]
    assert plan.cost < np.median(straight)


def test_comes_close_to_the_shortest_path(mixture):
    goal = Goal(target="well", min_log_prob=-50.0)
    problem = Problem(np.array([0.0, 0.0]), Landscape(mixture, penalty=0.0), goal)
    plan = NSGA2(vertices=0, population=60, generations=150).solve(problem, rng=generator())
    angles = np.linspace(0, 2 * np.pi, 721)
    rays = np.column_stack([np.cos(angles), np.sin(angles)])
    radii = np.linspace(0.5, 4.0, 701)
    first = next(r for r in radii if problem.region.contains(r * rays).any())
    assert plan.cost == pytest.approx(first, abs=0.02)


def test_equals_pymoos_own_loop(problem):
    from pymoo.algorithms.moo import nsga2 as pymoo
    from pymoo.core.problem import Problem as Base
    from pymoo.core.repair import Repair
    from pymoo.operators.crossover.sbx import SBX
    from pymoo.operators.mutation.pm import PM
    from pymoo.optimize import minimize

    plan = NSGA2(vertices=1, population=20, generations=25).solve(problem, rng=generator(3))
    rng = generator(3)
    first = straight_paths(problem.x, first_ends(problem, 20, rng), 1)
    landscape, feasible = problem.landscape, problem.feasible
    unit = np.abs(landscape.roughness(landscape.density.log_prob(np.concatenate(first)))).max()

    def to_paths(X):
        start = np.broadcast_to(problem.x, (len(X), 1, 2))
        return np.concatenate([start, X.reshape(-1, 2, 2)], axis=1)

    class Paths(Base):
        def _evaluate(self, X, out, *args, **kwargs):
            paths = to_paths(X)
            costs = landscape.segment_costs(paths, midpoint_rule(19), unit=unit)
            out["F"] = costs.sum(axis=1)[:, None]
            out["G"] = -problem.region.slack(paths[:, -1])

    class Project(Repair):
        def _do(self, _, X, **kwargs):
            return feasible.project(to_paths(X))[:, 1:].reshape(len(X), -1)

    result = minimize(
        Paths(
            n_var=4,
            n_obj=1,
            n_ieq_constr=2,
            xl=np.tile(feasible.lower, 2),
            xu=np.tile(feasible.upper, 2),
        ),
        pymoo.NSGA2(
            pop_size=20,
            sampling=first[:, 1:].reshape(20, -1),
            crossover=SBX(prob=0.5, eta=15.0),
            mutation=PM(prob=0.9, eta=20.0),
            repair=Project(),
        ),
        ("n_gen", 25),
        seed=int(rng.integers(2**63)),
    )
    assert np.array_equal(plan.waypoints[1:].ravel(), result.X)
    assert plan.evaluations == result.algorithm.evaluator.n_eval


def test_same_generator_same_plan(problem):
    before = problem.x.copy()
    a, b, other = (SMALL.solve(problem, rng=generator(seed)) for seed in (5, 5, 6))
    assert np.array_equal(a.waypoints, b.waypoints)
    assert (a.cost, a.evaluations) == (b.cost, b.evaluations)
    assert not np.array_equal(a.waypoints, other.waypoints)
    assert np.array_equal(problem.x, before)


def test_already_there(mixture):
    problem = Problem(np.array([4.0, 1.0]), Landscape(mixture), Goal(target="well"))
    plan = SMALL.solve(problem, rng=generator())
    assert plan.status == Status.ALREADY_THERE
    assert plan.cost == 0.0
    assert plan.waypoints.shape == (1, 2)


def test_a_classifier_may_judge(mixture):
    class Right:
        classes_ = np.array(["sick", "well"])

        def log_posterior(self, X):
            well = 1 / (1 + np.exp(-4 * (X[:, 0] - 3.0)))
            return np.log(np.column_stack([1 - well, well]))

    problem = Problem(np.zeros(2), Landscape(mixture), Goal(target="well"), posterior=Right())
    plan = SMALL.solve(problem, rng=generator())
    assert_lawful(problem, plan)
    assert plan.waypoints[-1, 0] >= 3.0


def test_goal_without_posterior_threshold(mixture):
    goal = Goal(target="well", min_posterior=0.0, plausibility=0.5)
    problem = Problem(np.array([-2.0, -2.0]), Landscape(mixture), goal)
    assert_lawful(problem, SMALL.solve(problem, rng=generator()))


# Number of vertices -----------------------------------------------------------------------------


def test_smallest_number_of_vertices_within_tolerance(problem):
    def plan(vertices, tolerance):
        planner = replace(SMALL, vertices=vertices, vertex_tolerance=tolerance)
        return planner.solve(problem, rng=generator())

    assert plan((1, 0, 2), 1.0).vertices == 0
    best = plan((0, 1, 2), 0.0)
    assert all(best.cost <= plan(several, 0.0).cost for several in [(0,), (0, 1)])
    assert plan(2, 0.01).vertices == 2
    assert np.array_equal(plan(0, 0.01).waypoints, plan((0, 1, 2), 1.0).waypoints)


def test_tolerance_of_negative_costs():
    density = GaussianMixture(
        [1, 1], [[0.0, 0.0], [0.3, 0.0]], [0.01 * np.eye(2), 0.01 * np.eye(2)], ["a", "b"]
    )
    landscape = Landscape(density, penalty=1.0, scale="nll")
    problem = Problem(np.zeros(2), landscape, Goal(target="b", min_posterior=0.9))
    plans = {
        tolerance: replace(SMALL, vertex_tolerance=tolerance).solve(problem, rng=generator())
        for tolerance in (0.0, 0.01, 1.0)
    }
    assert plans[0.0].cost < plans[1.0].cost < 0
    assert plans[0.01].cost <= plans[0.0].cost + 0.01 * abs(plans[0.0].cost)
    assert plans[1.0].vertices == 0


# Constraints ------------------------------------------------------------------------------------


def test_constraints_hold_at_every_waypoint(patient):
    names = patient.landscape.density.features_
    start = patient.landscape.density.to_user(patient.x[None]).iloc[0]
    fixed, falling = [1, 4, 8], [0, 3, 20]
    constraints = Constraints(
        fixed=[names[j] for j in fixed],
        only_down=[names[j] for j in falling],
        upper={names[9]: start[names[9]]},
        lower={names[11]: start[names[11]]},
        weights={names[5]: 3.0},
    )
    goal = Goal(target="benign", plausibility=-2.0)
    problem = Problem(patient.x.copy(), patient.landscape, goal, constraints)
    plan = replace(SMALL, vertices=2, generations=60).solve(problem, rng=generator())
    assert_lawful(problem, plan)
    assert np.array_equal(plan.waypoints[:, fixed], np.tile(problem.x[fixed], (4, 1)))
    assert (np.diff(plan.waypoints[:, falling], axis=0) <= 0).all()
    assert (plan.waypoints[:, 9] <= problem.x[9]).all()
    assert (plan.waypoints[:, 11] >= problem.x[11]).all()


def test_only_up_is_monotone(mixture):
    constraints = Constraints(only_up=["x2"])
    problem = Problem(
        np.array([-1.0, -1.0]), Landscape(mixture, penalty=5.0), Goal(target="well"), constraints
    )
    plan = replace(SMALL, vertices=3).solve(problem, rng=generator())
    assert_lawful(problem, plan)
    assert (np.diff(plan.waypoints[:, 1]) >= 0).all()


def test_box_of_the_problem(mixture):
    box = (np.array([-1.0, -1.0]), np.array([3.0, 2.0]))
    problem = Problem(np.zeros(2), Landscape(mixture), Goal(target="well"), box=box)
    plan = SMALL.solve(problem, rng=generator())
    assert_lawful(problem, plan)
    assert (plan.waypoints <= box[1]).all()


# Nothing found ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("goal", "constraints"),
    [
        (Goal(target="well", min_log_prob=10.0), Constraints()),
        (Goal(target="well"), Constraints(fixed=["x1", "x2"])),
        (Goal(target="well"), Constraints(fixed=["x1"], only_down=["x2"])),
    ],
)
def test_unreachable_goal_has_a_status(mixture, goal, constraints):
    problem = Problem(np.array([-0.5, -0.5]), Landscape(mixture), goal, constraints)
    plan = SMALL.solve(problem, rng=generator())
    assert plan.status == Status.GOAL_UNREACHABLE
    assert not plan.found
    assert plan.cost == np.inf
    assert plan.waypoints.shape == (1, 2)
    assert plan.reachable is not None
    assert min(plan.reachable) < 0


def test_reaches_a_goal_that_no_draw_meets(mixture):
    top = mixture.log_prob(np.array([[2.0, 3.0]])).item()
    goal = Goal(target="well", min_log_prob=top - 1e-5)
    problem = Problem(np.zeros(2), Landscape(mixture), goal)
    assert not problem.region.contains(mixture.pool("well").X).any()
    planner = NSGA2(vertices=0, population=30, generations=100)
    assert_lawful(problem, planner.solve(problem, rng=generator()))


def test_next_best_when_the_best_fails_alone(problem, monkeypatch):
    best = SMALL.solve(problem, rng=generator())
    met = Problem.met_by

    def strict(self, x):
        return met(self, x) and not np.array_equal(x, best.waypoints[-1])

    monkeypatch.setattr(Problem, "met_by", strict)
    plan = replace(SMALL, vertices=best.vertices).solve(problem, rng=generator())
    assert plan.found
    assert not np.array_equal(plan.waypoints[-1], best.waypoints[-1])


def test_time_limit_returns_the_best_so_far(problem):
    plan = replace(SMALL, time_limit=1e-9).solve(problem, rng=generator())
    assert_lawful(problem, plan)
    assert plan.vertices == 0
    assert plan.evaluations == 30


def test_time_limit_without_a_path(mixture):
    goal = Goal(target="well", min_log_prob=10.0)
    problem = Problem(np.zeros(2), Landscape(mixture), goal)
    plan = replace(SMALL, time_limit=1e-9).solve(problem, rng=generator())
    assert plan.status == Status.TIMEOUT


# Patience ---------------------------------------------------------------------------------------


def test_patience_stops_early(problem):
    planner = NSGA2(vertices=0, population=20, generations=400, patience=3)
    impatient = planner.solve(problem, rng=generator())
    patient = replace(planner, patience=400).solve(problem, rng=generator())
    assert impatient.evaluations < patient.evaluations == 20 * 400
    assert impatient.cost >= patient.cost


def test_stalls_by_share_of_the_best():
    def history(*pairs):
        return [(violation, np.array(values)) for violation, values in pairs]

    assert not nsga2._stalled(history((0, [1.0]), (0, [1.0])), 2)
    assert nsga2._stalled(history((0, [1.0]), (0, [1.0]), (0, [1.0 - 1e-7])), 2)
    assert not nsga2._stalled(history((0, [1.0]), (0, [1.0]), (0, [1.0 - 1e-5])), 2)
    assert nsga2._stalled(history((0, [-1e9]), (0, [-1e9 - 1])), 1)
    assert not nsga2._stalled(history((2.0, [1.0]), (0, [5.0])), 1)
    assert nsga2._stalled(history((2.0, [1.0]), (2.0, [0.0])), 1)
    assert not nsga2._stalled(history((0, [1.0, 3.0]), (0, [1.0, 2.0])), 1)


# Front ------------------------------------------------------------------------------------------


def test_front_is_feasible_and_mutually_non_dominated(problem):
    front = SMALL.solve_front(problem, rng=generator(), vertices=1)
    assert len(front) > 5
    assert front.paths.shape == (len(front), 3, 2)
    density = problem.landscape.density
    for path, cost in zip(front.paths, front.costs, strict=True):
        assert problem.met_by(path[-1])
        assert problem.feasible.contains(path)
        assert cost == problem.path_cost(path)
    ends = front.paths[:, -1]
    assert front.log_probs == pytest.approx(density.log_prob(ends))
    assert front.posteriors == pytest.approx(density.predict_proba(ends)[:, 1])
    values = np.column_stack([front.costs, -front.log_probs, -front.posteriors])
    for one in values:
        assert not ((values <= one).all(axis=1) & (values < one).any(axis=1)).any()
    assert (np.diff(front.costs) >= 0).all()
    assert (front.to_frame().to_numpy() == values * [1, -1, -1]).all()


def test_front_trades_cost_for_plausibility(problem):
    front = SMALL.solve_front(problem, rng=generator(), vertices=0)
    cheapest, plausible = np.argmin(front.costs), np.argmax(front.log_probs)
    assert front.costs[cheapest] < front.costs[plausible]
    assert front.log_probs[cheapest] < front.log_probs[plausible]


def test_front_may_be_empty(mixture):
    goal = Goal(target="well", min_log_prob=10.0)
    problem = Problem(np.zeros(2), Landscape(mixture), goal)
    front = SMALL.solve_front(problem, rng=generator(), vertices=2)
    assert front.paths.shape == (0, 4, 2)
    assert list(front.to_frame().columns) == ["cost", "log_prob", "posterior"]


# Tuning -----------------------------------------------------------------------------------------


def test_tuning_returns_a_member_of_the_grid(mixture, problem):
    other = Problem(np.array([1.0, -2.0]), Landscape(mixture), Goal(target="well"))
    base = NSGA2(vertices=0, population=20, generations=8)
    chosen = tune_nsga2(
        [problem, other],
        rng=generator(),
        etas_crossover=(10, 20),
        etas_mutation=(10, 90),
        base=base,
    )
    assert chosen.eta_crossover in (10, 20)
    assert chosen.eta_mutation in (10, 90)
    assert chosen.selection in ("tournament", "random")
    assert replace(chosen, eta_crossover=15.0, eta_mutation=20.0, selection="tournament") == base


def test_tuning_ranks_not_found_last(mixture, problem, monkeypatch):
    def solve(self, problem, *, rng):
        easy = self.eta_crossover == 10
        costs = {10: 2.0, 90: 1.0} if problem is first else {10: 2.0, 90: np.inf}
        return type("Plan", (), {"cost": costs[self.eta_mutation] + (not easy)})

    first, second = problem, Problem(np.ones(2), Landscape(mixture), Goal(target="well"))
    monkeypatch.setattr(NSGA2, "solve", solve)
    grid = {"etas_crossover": (10, 15), "etas_mutation": (90, 10), "selections": ("random",)}
    chosen = tune_nsga2([first, second, second], rng=generator(), **grid)
    assert (chosen.eta_crossover, chosen.eta_mutation) == (10, 10)


# Messages ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"population": 1}, "'population' must be an integer of at least 2. Got 1."),
        ({"population": 2.5}, "'population' must be an integer of at least 2. Got 2.5."),
        ({"generations": 0}, "'generations' must be an integer of at least 1. Got 0."),
        ({"patience": True}, "'patience' must be an integer of at least 1. Got True."),
        ({"pieces": 0}, "'pieces' must be an integer of at least 1. Got 0."),
        (
            {"vertices": -1},
            "'vertices' must be an integer of at least 0, or a tuple of them. Got -1.",
        ),
        (
            {"vertices": ()},
            "'vertices' must be an integer of at least 0, or a tuple of them. Got ().",
        ),
        (
            {"crossover_probability": 1.5},
            "'crossover_probability' must be a finite number of at least 0 and at most 1. Got 1.5.",
        ),
        (
            {"mutation_probability": np.nan},
            "'mutation_probability' must be a finite number of at least 0 and at most 1. Got nan.",
        ),
        (
            {"eta_crossover": 0},
            "'eta_crossover' must be a finite number of at least 1 and at most 100. Got 0.",
        ),
        (
            {"eta_mutation": 200},
            "'eta_mutation' must be a finite number of at least 1 and at most 100. Got 200.",
        ),
        (
            {"vertex_tolerance": -1},
            "'vertex_tolerance' must be a finite number of at least 0 and at most 1. Got -1.",
        ),
        ({"selection": "best"}, "'selection' must be one of 'tournament', 'random'. Got 'best'."),
        ({"time_limit": 0}, "'time_limit' must be a finite number above 0. Got 0."),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(InvalidInput) as error:
        NSGA2(**settings)
    assert str(error.value) == message


def test_front_checks_its_vertices(problem):
    with pytest.raises(InvalidInput, match="'vertices' must be an integer of at least 0"):
        SMALL.solve_front(problem, rng=generator(), vertices=-2)


def test_tuning_needs_problems():
    with pytest.raises(InvalidInput, match="'problems' and every part of the grid"):
        tune_nsga2([], rng=generator())


def test_missing_pymoo(problem, monkeypatch):
    monkeypatch.setitem(sys.modules, "pymoo.algorithms.moo", None)
    with pytest.raises(MissingDependency) as error:
        SMALL.solve(problem, rng=generator())
    assert str(error.value) == "NSGA2 needs pymoo: pip install 'daace[nsga2]'."
