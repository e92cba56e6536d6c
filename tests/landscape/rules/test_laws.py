"""Laws that hold for every kind of rule; a new one needs one entry in `CASES`."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, fields, replace
from html import unescape
from typing import Any

import numpy as np
import pytest

from daace import Explainer, Explanation, Goal, Landscape, LinearGaussianNetwork, Problem, Table
from daace._typing import FloatArray
from daace.data.standardizer import Standardizer
from daace.exceptions import InvalidInput
from daace.landscape.constraints import Constraints
from daace.landscape.rules import CompiledRules, Draft, Link, Rule
from daace.landscape.rules.reading import options

FEATURES = ("age", "debt", "income")
STANDARDIZER = Standardizer(np.array([41.3, -2.0, 1234.5]), np.array([12.7, 3.0, 321.0]))
START = np.array([41.0, 0.1, 999.9])


@dataclass(frozen=True)
class Case:
    """A rule as it is given.

    Attributes:
        value: of its keyword: one rule.
        kept: changes of the start, in user units, that keep it.
        broken: changes that break it; None where waypoints alone cannot.
        excluding: a value that excludes the start, where there is one.
    """

    value: Any
    kept: tuple[float, float, float] = (1.0, 0.5, 30.0)
    broken: tuple[float, float, float] | None = None
    excluding: Any = None


CASES = {
    "fixed": Case(["debt"], kept=(1, 0, 30), broken=(0, 0.5, 0)),
    "lower": Case({"debt": -1.5}, kept=(1, -1, 3), broken=(0, -2, 0), excluding={"debt": 1}),
    "upper": Case({"debt": 1.5}, kept=(1, 1, 3), broken=(0, 2, 0), excluding={"debt": 0}),
    "only_up": Case(["debt"], broken=(0, -0.5, 0)),
    "only_down": Case(["debt"], kept=(1, -0.5, 30), broken=(0, 0.5, 0)),
    "weights": Case({"income": 2.5}),
    "max_rise": Case({"income": 40}, broken=(0, 0, 50)),
    "max_fall": Case({"income": 40}, broken=(0, 0, -50)),
    "max_step": Case({"income": 300.5}, broken=(0, 0, 310)),
    "integer": Case(["age"], broken=(0.5, 0, 0), excluding=["income"]),
    "links": Case(
        [Link({"income": 1, "debt": -30}, at_least=990)],
        kept=(1, 0.1, 0),
        broken=(0, 1, 0),
        excluding=[Link({"income": 1}, at_most=500)],
    ),
    "max_changed": Case(2, kept=(1, 0, 3), broken=(1, 1, 1)),
}

#: Rules that contradict each other.
CONTRADICTIONS: list[dict[str, Any]] = [
    {"lower": {"debt": 2}, "upper": {"debt": 1}},
    {"only_up": ["debt"], "only_down": ["debt"]},
    {"integer": ["age"], "max_step": {"age": 0.5}},
]


def compiled(constraints: Constraints) -> CompiledRules:
    x = STANDARDIZER.transform(START)
    draft = Draft(FEATURES, STANDARDIZER, x, START, constraints.rules)
    for rule in constraints.rules:
        rule.compile(draft)
    return draft.finish((x - 9, x + 9))


def moved(by: tuple[float, float, float]) -> FloatArray:
    """Return a path of one step, in model space."""
    return np.asarray(STANDARDIZER.transform(np.stack([START, START + by])))


def only(constraints: Constraints) -> Rule:
    (rule,) = constraints.rules
    return rule


@pytest.fixture(params=CASES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def case(name: str) -> Case:
    return CASES[name]


@pytest.fixture
def constraints(name: str, case: Case) -> Constraints:
    return Constraints(**{name: case.value})


def test_every_kind_is_tried() -> None:
    about_levels = ["allowed", "forbidden"]  # tried in test_levels.py and test_switches.py
    known = [*CASES, *about_levels]
    assert known == [kind.name for kind in Constraints.kinds()]
    assert known == [entry.name for entry in fields(Constraints) if entry.metadata]
    assert len({kind.option for kind in Constraints.kinds()}) == len(known)


def test_the_start_keeps_it(constraints: Constraints) -> None:
    made = compiled(constraints)
    path = moved((0, 0, 0))
    assert made.feasible.contains(path)
    assert np.array_equal(made.to_user(path)[0], START)


def test_what_keeps_it_and_what_breaks_it(constraints: Constraints, case: Case) -> None:
    feasible = compiled(constraints).feasible
    assert feasible.contains(moved(case.kept))
    if case.broken is not None:
        assert compiled(Constraints()).feasible.contains(moved(case.broken))
        assert not feasible.contains(moved(case.broken))


@pytest.mark.parametrize("name", sorted({*CASES} - {"links", "max_step", "max_changed"}))
def test_rows_in_user_units_keep_what_each_feature_must(constraints: Constraints) -> None:
    made = compiled(constraints)
    rng = np.random.default_rng(0)
    for _ in range(50):
        path = made.feasible.project(moved(tuple(rng.normal(scale=50, size=3))))  # type: ignore[arg-type]
        rows = made.to_user(path)
        back = STANDARDIZER.transform(rows)
        assert (back >= made.feasible.lower - 1e-9).all()
        assert (back <= made.feasible.upper + 1e-9).all()


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].excluding is not None])
def test_a_start_that_breaks_it_is_refused(name: str, case: Case) -> None:
    with pytest.raises(InvalidInput) as caught:
        compiled(Constraints(**{name: case.excluding}))
    assert caught.value.argument == name
    assert caught.value.remedy


def test_only_its_features_are_named(constraints: Constraints, case: Case) -> None:
    rule = only(constraints)
    assert set(rule.features()) <= set(FEATURES)
    assert constraints.features() == set(rule.features())
    assert bool(rule.features()) == isinstance(case.value, list | dict)


def test_it_is_named_in_words(constraints: Constraints, name: str) -> None:
    rule = only(constraints)
    assert f"'{name}'" in rule.words() or rule.words().startswith("the link ")
    assert all(feature in rule.words() for feature in rule.features())
    assert constraints.describe() == f"{name}: {rule.listed()}"


def test_it_survives_the_shell_and_json(constraints: Constraints, name: str) -> None:
    rule = only(constraints)
    (option,) = (option for option in options() if option.name == name)
    before, text = rule.in_shell().split(" ", 1)
    assert before == option.option
    assert option.parse(text) == rule
    assert Constraints(**json.loads(json.dumps(asdict(constraints)))) == constraints
    assert Constraints.of([rule]) == constraints
    assert constraints.without(rule) == Constraints()


@pytest.fixture(scope="module")
def people() -> LinearGaussianNetwork:
    """A density of two classes, half a standard deviation below and above the mean."""
    rng = np.random.default_rng(0)
    y = np.repeat(["no", "yes"], 200)
    X = STANDARDIZER.inverse(rng.normal(size=(400, 3)) + np.where(y == "no", -0.5, 0.5)[:, None])
    return LinearGaussianNetwork().fit(Table(X, y, FEATURES, np.unique(y)))


@pytest.mark.parametrize("target", ["no", "yes"])
def test_an_answer_keeps_it_and_shows_it(
    people: LinearGaussianNetwork, constraints: Constraints, target: str
) -> None:
    row = dict(zip(FEATURES, START, strict=True))
    explainer = Explainer(people, constraints=constraints, plausibility=-3)
    e = explainer.explain(row, target=target)
    problem = Problem(row, Landscape(people), Goal(target), constraints)
    assert problem.feasible.contains(people.to_model(e.path))
    assert constraints.describe() in " ".join(unescape(re.sub("<[^>]+>", " ", e.to_html())).split())
    settled = replace(constraints, given=True) if constraints.fixed else constraints
    assert Explanation.from_json(e.to_json()).provenance.constraints == asdict(settled)


def test_a_relaxed_rule_allows_the_end_it_was_relaxed_for(
    constraints: Constraints, case: Case
) -> None:
    relaxation = only(constraints).relaxation(dict(zip(FEATURES, START, strict=True)))
    if relaxation is None or case.broken is None:
        return  # it has no number that could be moved
    end = dict(zip(FEATURES, START + case.broken, strict=True))
    enough = Constraints.of(relaxation.moved(relaxation.needed(end)))
    assert compiled(enough).feasible.contains(moved(case.broken))
    same = Constraints.of(relaxation.moved(relaxation.now))
    assert not compiled(same).feasible.contains(moved(case.broken))


def test_rules_are_written_in_any_order() -> None:
    given = {name: case.value for name, case in CASES.items() if name not in ("only_down", "lower")}
    rules = list(Constraints(**given).rules)
    expected = compiled(Constraints(**given)).feasible
    x = STANDARDIZER.transform(START)
    for seed in range(5):
        draft = Draft(FEATURES, STANDARDIZER, x, START, rules)
        for k in np.random.default_rng(seed).permutation(len(rules)):
            rules[k].compile(draft)
        found = draft.finish((x - 9, x + 9)).feasible
        for part in ("lower", "upper", "direction", "weights", "steps"):
            assert np.array_equal(getattr(found, part), getattr(expected, part))


@pytest.mark.parametrize("given", CONTRADICTIONS)
def test_contradictions_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Constraints(**given)
