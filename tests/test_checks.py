"""Wrong settings give one sentence: what was expected, what came."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest

from daace import (
    Constraints,
    GaussianMixture,
    Goal,
    InvalidInput,
    KernelDensity,
    Landscape,
    LinearGaussianNetwork,
    NotFitted,
    PathOptimizer,
    Problem,
)

MIXTURE = GaussianMixture([1, 1], [[0.0], [3.0]], [[[1.0]], [[1.0]]], ["a", "b"])
LAND = Landscape(MIXTURE)
PATH = np.array([[0.0], [1.0]])

WRONG: dict[str, Callable[[], object]] = {
    "'plausibility'": lambda: Goal("b", plausibility="x"),  # type: ignore[arg-type]
    "'plausibility' must": lambda: Goal("b", plausibility=None),  # type: ignore[arg-type]
    "'min_log_prob'": lambda: Goal("b", min_log_prob="x"),  # type: ignore[arg-type]
    "'min_posterior'": lambda: Goal("b", min_posterior=None),  # type: ignore[arg-type]
    "'min_posterior' must be at least 0 and below 1": lambda: Goal("b", min_posterior=1.0),
    "'penalty'": lambda: Landscape(MIXTURE, penalty=None),  # type: ignore[arg-type]
    "'penalty' must be a finite number of at least 0 and at most 100": lambda: Landscape(
        MIXTURE, penalty=-1
    ),
    "'density'": lambda: Landscape(None),  # type: ignore[arg-type]
    "'scale'": lambda: Landscape(MIXTURE, scale="log"),  # type: ignore[arg-type]
    "'pieces'": lambda: LAND.path_cost(PATH, rule="midpoint", pieces=0),
    "'vertices'": lambda: PathOptimizer(vertices=1.5),  # type: ignore[arg-type]
    "'vertices' must": lambda: PathOptimizer(vertices="a"),  # type: ignore[arg-type]
    "'starts'": lambda: PathOptimizer(starts=1.5),  # type: ignore[arg-type]
    "'time_limit'": lambda: PathOptimizer(time_limit="x"),  # type: ignore[arg-type]
    "'lower'": lambda: Constraints(lower={"x1": None}),  # type: ignore[dict-item]
    "'fixed'": lambda: Constraints(fixed=3),  # type: ignore[arg-type]
    "'goal'": lambda: Problem(np.zeros(1), LAND, "b"),  # type: ignore[arg-type]
    "'landscape'": lambda: Problem(np.zeros(1), MIXTURE, Goal("b")),  # type: ignore[arg-type]
    "'constraints'": lambda: Problem(np.zeros(1), LAND, Goal("b"), None),  # type: ignore[arg-type]
    "'box'": lambda: Problem(np.zeros(1), LAND, Goal("b"), box=(np.zeros(2), np.ones(2))),
    "'box' must have": lambda: Problem(np.zeros(1), LAND, Goal("b"), box=(np.ones(1), -np.ones(1))),
    "'rng'": lambda: MIXTURE.sample(3, rng=0),  # type: ignore[arg-type]
    "'n'": lambda: MIXTURE.sample(-1, rng=np.random.default_rng(0)),
    "'bandwidth'": lambda: KernelDensity(bandwidth=-1.0),
    "'max_rows_per_class'": lambda: KernelDensity(max_rows_per_class=1),
    "'max_parents'": lambda: LinearGaussianNetwork(max_parents=-1),
    "'weights', 'means'": lambda: GaussianMixture([1], [], [], []),
    "'weights', 'means' and 'covariances'": lambda: GaussianMixture(["x"], [[0]], [[[1]]], ["a"]),
    "'W'": lambda: MIXTURE.log_joint_vjp(PATH, np.ones((2, 3))),
}


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_setting_is_named(message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        WRONG[message]()
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_numpy_numbers_are_numbers() -> None:
    assert PathOptimizer(vertices=np.int64(2), starts=np.int64(3)).tried == (2,)
    assert KernelDensity(bandwidth=np.float32(0.3), max_rows_per_class=np.int64(5)).bandwidth > 0  # type: ignore[operator]
    assert Landscape(MIXTURE, penalty=np.float64(2)).penalty == 2


@pytest.mark.parametrize("name", ["classes_", "draws_", "rows_"])
def test_an_unfitted_density_says_so(name: str) -> None:
    with pytest.raises(NotFitted, match="call fit"):
        getattr(KernelDensity(), name)
    with pytest.raises(NotFitted, match="call fit"):
        Landscape(KernelDensity())
    with pytest.raises(NotFitted, match="call fit"):
        KernelDensity().sample(3, rng=np.random.default_rng(0))


def test_a_list_of_numbers_is_model_space_like_an_array() -> None:
    assert Problem([0.5], LAND, Goal("b")).x.tolist() == [0.5]


def test_an_error_about_an_argument_is_made_of_its_parts() -> None:
    error = InvalidInput(
        argument="rows", expected="be whole", got="a gap", remedy="fill it", in_shell="drop it"
    )
    assert str(error) == "'rows' must be whole. Got a gap: fill it."
    assert error.wording(lambda name: f"--{name}", shell=True) == (
        "--rows must be whole. Got a gap: drop it."
    )
    placed = pickle.loads(pickle.dumps(error.at("Row 3: ")))
    assert str(placed) == "Row 3: 'rows' must be whole. Got a gap: fill it."
    assert (placed.argument, placed.got, error.place) == ("rows", "a gap", "")
