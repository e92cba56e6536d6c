"""A flow given codes and numbers with atoms, which a network has."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from daace import LinearGaussianNetwork, RealNVP, Table
from daace.exceptions import InvalidInput

torch = pytest.importorskip("torch", reason="a flow is trained with torch")


def frame(rows: int = 400, seed: int = 0) -> pd.DataFrame:
    """Return a number that depends on a code and on a number with an atom."""
    rng = np.random.default_rng(seed)
    granted = rng.uniform(size=rows) < 0.5
    housing = np.where(rng.uniform(size=rows) < 0.3 + 0.4 * granted, "own", "rent")
    debt = np.where(rng.uniform(size=rows) < 0.4, 0.0, rng.gamma(3, 2.0, size=rows))
    rooms = np.where(housing == "own", 4.0, -4.0) + 0.5 * debt + 0.3 * rng.normal(size=rows)
    age = rng.normal(40 + 5 * granted, 10)
    columns = {"rooms": rooms, "age": age, "housing": housing, "debt": debt}
    return pd.DataFrame({**columns, "class": np.where(granted, "yes", "no")})


@pytest.fixture(scope="module")
def flow() -> RealNVP:
    table = Table.from_frame(frame(), target="class", kinds={"age": "number"})
    return RealNVP(flows=4, layers=2, hidden=4, epochs=40, learning_rate=5e-3).fit(table)


def test_it_is_the_network_times_the_flow(flow: RealNVP) -> None:
    assert flow.before_ is not None
    table = Table.from_frame(frame(), target="class", kinds={"age": "number"})
    network = LinearGaussianNetwork(profiles="auto").fit(table.select(["housing", "debt"]))
    X = flow.to_model(frame(50, seed=1).drop(columns="class"))
    before = network.log_joint(network.to_model(flow.to_user(X)[["housing", "debt"]]))
    context = flow.before_.columns.context(X)
    expected = before + flow.flow_.log_density(X[:, :2], context)
    assert flow.log_joint(X) == pytest.approx(expected, abs=1e-9)
    assert flow.line_weights_ == pytest.approx({3: network.line_weights_[1]})


def test_draws_depend_on_codes(flow: RealNVP) -> None:
    """Without its context the flow would mix what belongs to both levels."""
    X, _ = flow.sample(4_000, rng=np.random.default_rng(2))
    users = flow.to_user(X)
    rooms = users["rooms"] - 0.5 * users["debt"]
    assert rooms[users["housing"] == "own"].mean() == pytest.approx(4.0, abs=0.8)
    assert rooms[users["housing"] == "rent"].mean() == pytest.approx(-4.0, abs=0.8)


def test_a_row_is_judged_by_a_network_that_has_not_seen_it(flow: RealNVP) -> None:
    table = Table.from_frame(frame(), target="class", kinds={"age": "number"})
    said = flow.held_out(table)
    assert said is not None
    seen = flow.judge_table(table)
    assert 35 <= len(said.labels) <= 40
    everyone = {tuple(row) for row in seen.log_joint.tolist()}
    assert not any(tuple(row) in everyone for row in said.log_joint.tolist())


def test_a_table_without_anything_to_map_is_refused() -> None:
    some = frame()[["housing", "debt", "class"]]
    with pytest.raises(InvalidInput, match=r"have a number without atoms.*'profiles'"):
        RealNVP().fit(Table.from_frame(some, target="class"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"log_prior": np.log([0.2, 0.8])}, "other shares of the classes"),
        ({"network.log_weights": np.zeros(1)}, "has shape"),
    ],
)
def test_arrays_that_do_not_fit(flow: RealNVP, change: dict[str, np.ndarray], message: str) -> None:
    arrays, settings = flow.to_arrays()
    if "network.log_weights" in change and "network.log_weights" not in arrays:
        change = {"network.variances": np.zeros((1, 1))}
    with pytest.raises(ValueError, match=message):
        RealNVP.from_arrays({**arrays, **change}, {**settings, "encoding": flow.encoding_})
