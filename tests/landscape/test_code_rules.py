"""Steps of codes against a slow reference that looks at whole paths."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from daace import Constraints, Explainer, GaussianMixture, Goal, Landscape, Problem
from daace.data.encoding import Encoding
from daace.data.kinds import Feature
from daace.exceptions import InvalidInput
from daace.landscape.code_rules import AtomRule, CodeRules
from daace.landscape.path import split_segment

FEATURES = (
    Feature("savings", atoms=(0.0, np.nan), fill=1.0),
    Feature("housing", "category", levels=("free", "own", "rent"), dtype="str"),
    Feature("school", "ordered", levels=("low", "mid", "high"), gaps=True, dtype="str"),
)


@pytest.fixture(scope="module")
def density() -> GaussianMixture:
    rng = np.random.default_rng(0)
    tables = [rng.dirichlet(np.full(size, 3.0), 2) for size in (3, 4, 3)]
    gaussians = [1, 1], [[-1.0], [1.5]], np.ones((2, 1, 1)), ["a", "b"]
    return GaussianMixture(*gaussians, tables=tables, encoding=Encoding(FEATURES))


def problem_from(density: GaussianMixture, start: list[float], **rules: object) -> Problem:
    return Problem(np.array(start), Landscape(density), Goal("b"), Constraints(**rules))  # type: ignore[arg-type]


def reference(codes: CodeRules, path: np.ndarray) -> bool:
    """Every transition allowed; categories and 'missing' once, an ordered feature one way."""
    housing, school, savings = (path[:, c].astype(int).tolist() for c in codes.columns)
    for may, column in zip(codes.may, (housing, school, savings), strict=True):
        if not all(may[a, b] for a, b in pairwise(column)):
            return False
        if not all(may[column[0], b] for b in column):
            return False
    moved = [np.diff(column)[np.diff(column) != 0].tolist() for column in (housing, school)]
    if len(moved[0]) > 1:
        return False
    if max(school) == 3 and len(moved[1]) > 1:
        return False
    if max(school) < 3 and len(set(np.sign(moved[1]))) > 1:
        return False
    gaps = [code == 2 for code in savings]
    return sum(a != b for a, b in pairwise(gaps)) <= 1


@pytest.mark.parametrize("start", [(0, 1, 0), (2, 0, 2), (1, 3, 1)])
@pytest.mark.parametrize(
    "rules",
    [
        {"allowed": {"savings": ["elsewhere", "0", "missing"]}},
        {
            "allowed": {"savings": ["elsewhere", "missing"]},
            "forbidden": {"housing": [("rent", "own")], "school": [("mid", "high")]},
        },
    ],
)
def test_a_path_is_allowed_if_each_step_passes(
    density: GaussianMixture, start: tuple[int, ...], rules: dict[str, object]
) -> None:
    place = {0: 0.7, 1: 0.0, 2: 1.0}[start[2]]
    codes = problem_from(density, [place, *start], **rules).feasible.codes
    assert codes is not None
    rng = np.random.default_rng(1)
    combinations = list(product(range(3), range(4), range(3)))
    seen = set()
    for _ in range(4000):
        path = np.zeros((4, 4))
        path[0, 1:] = start
        for k in range(1, 4):  # most codes stay, so that both outcomes are common
            new = np.array(combinations[rng.integers(len(combinations))], dtype=float)
            path[k, 1:] = np.where(rng.random(3) < 0.35, new, path[k - 1, 1:])
        seen.add(reference(codes, path))
        assert codes.contains(path) == reference(codes, path)
        mended = codes.mend(path[None])[0]
        assert reference(codes, mended)
        if reference(codes, path):
            np.testing.assert_array_equal(mended[:, codes.columns], path[:, codes.columns])
    assert seen == {True, False}


def test_splitting_a_segment_keeps_the_cost(density: GaussianMixture) -> None:
    start = [0.7, 0, 1, 0]
    problem = problem_from(density, start)
    paths = np.array([[start, [-0.4, 2, 1, 0]], [start, [0.0, 2, 2, 1]]], dtype=float)
    split = split_segment(paths, np.array([0, 0]), problem.feasible.codes)
    for before, after in zip(paths, split, strict=True):
        assert problem.path_cost(after) == pytest.approx(problem.path_cost(before), rel=1e-9)
        assert problem.feasible.contains(after)


@pytest.mark.parametrize(
    ("rules", "targets"),
    [
        ({"lower": {"school": "mid"}}, [1, 2, 3]),
        ({"upper": {"school": "mid"}}, [0, 1, 3]),
        ({"lower": {"school": "mid"}, "upper": {"school": "mid"}}, [1, 3]),
        ({"lower": {"school": "mid"}, "allowed": {"school": ["low", "high"]}}, [1, 2]),
    ],
)
def test_levels_are_bounds_of_ordered_features(
    density: GaussianMixture, rules: dict[str, object], targets: list[int]
) -> None:
    codes = problem_from(density, [0.7, 0, 1, 0], **rules).feasible.codes
    assert codes is not None
    assert codes.targets(1).tolist() == targets


def test_numbers_are_bounds_of_ordered_numbers() -> None:
    features = (Feature("age"), Feature("rooms", "ordered", levels=(1, 2, 4, 8), dtype="int64"))
    tables = [np.full((2, 4), 0.25)]
    gaussians = [1, 1], [[-1.0], [1.5]], np.ones((2, 1, 1)), ["a", "b"]
    density = GaussianMixture(*gaussians, tables=tables, encoding=Encoding(features))
    codes = problem_from(density, [0.0, 1], lower={"rooms": 1.5}, upper={"rooms": 7}).feasible.codes
    assert codes is not None
    assert codes.targets(0).tolist() == [1, 2]


def test_a_missing_ordered_number_stays_missing() -> None:
    """As any missing number does, how few values it may have; unless a rule names where it goes."""
    levels = Feature("vessels", "ordered", levels=(0, 1, 2, 3), gaps=True, dtype="float64")
    tables = [np.full((2, 5), 0.2)]
    gaussians = [1, 1], [[-1.0], [1.5]], np.ones((2, 1, 1)), ["a", "b"]
    encoding = Encoding((Feature("age"), levels))
    density = GaussianMixture(*gaussians, tables=tables, encoding=encoding)

    def targets(code: float, **rules: object) -> list[int]:
        codes = problem_from(density, [0.0, code], **rules).feasible.codes
        assert codes is not None
        return codes.targets(0).tolist()

    assert targets(4) == [4]
    assert targets(1) == [0, 1, 2, 3]
    assert targets(4, allowed={"vessels": [0, 1]}) == [0, 1, 4]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"lower": {"school": "high"}}, "allow the start.*lower=high for 'school', which is mid"),
        ({"upper": {"school": "top"}}, "name levels of 'school': 'low', 'mid', 'high'"),
        ({"upper": {"savings": "high"}}, "only ordered ones have levels. Got 'high' for 'savings'"),
        ({"upper": {"housing": "own"}}, "another kind than 'housing'"),
    ],
)
def test_bad_bounds(density: GaussianMixture, rules: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        problem_from(density, [0.7, 0, 1, 0], **rules)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"only_up": ["housing"]}, "another kind than 'housing'"),
        ({"allowed": {"school": ["top"]}}, "name levels of 'school'"),
        ({"forbidden": {"school": [("low", "top")]}}, "name levels of 'school'"),
        ({"upper": {"school": "top"}}, "name levels of 'school'"),
        ({"upper": {"savings": "high"}}, "only ordered ones have levels"),
        ({"fixed": ["scool"]}, "Did you mean 'school'"),
    ],
)
def test_what_no_start_can_keep_is_refused_before_the_first_row(
    density: GaussianMixture, rules: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        Explainer(density, constraints=Constraints(**rules))


def test_level_bounds_in_a_shell() -> None:
    rules = Constraints(lower={"school": "mid", "age": 18}).rules
    assert [rule.in_shell() for rule in rules] == ["--lower school=mid", "--lower age=18"]
    kind = type(rules[0])
    read = [kind.argument.read_text("lower", text) for text in ("school=mid", "age=18")]
    assert read == [("school", "mid"), ("age", 18.0)]
    assert Constraints.of(rules) == Constraints(lower={"school": "mid", "age": 18})
    assert rules[0].words() == "'lower' of 'school' (mid)"


def test_values_beside_an_atom_that_no_row_has_are_left_out() -> None:
    beside = (np.array([0.5, 0.0]), np.array([0.2, 1.0]))
    spots = np.array([-1.0, 2.0])
    rule = AtomRule(0, 1, np.array([np.nan, *spots]), spots, -3.0, 4.0, *beside)
    low, high = rule.sides(np.array([-1.6, -1.2, -0.9, 1.9, 2.5, 3.5]))
    assert low.tolist() == [-3.0, -3.0, -0.8, -0.8, 3.0, 3.0]
    assert high.tolist() == [-1.5, -1.5, 2.0, 2.0, 4.0, 4.0]
