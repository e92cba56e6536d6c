"""What can be read out of a committee: nothing of a few rows."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import daace
from daace import Explainer, Table
from daace.explain.judging import training
from daace.explain.judging.calibration import fit_calibration
from daace.explain.judging.committee import Committee

SIZES = ["small", "medium", "tall", "giant", "titan"]


def people(rows: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    kind = rng.integers(3, size=rows)
    return pd.DataFrame(
        {
            "amount": rng.normal(1000 + 400 * kind, 150),
            "job": rng.choice(["clerk", "smith", "cook"], rows).astype(object),
            "size": pd.Categorical(rng.choice(SIZES[:3], rows), SIZES, ordered=True),
            "kids": rng.integers(0, 4, rows),
            "class": np.where(rng.uniform(size=rows) < 0.2 + 0.3 * kind, "yes", "no"),
        }
    )


def train(frame: pd.DataFrame) -> Committee:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = Table.from_frame(frame, target="class")
        density = daace.LinearGaussianNetwork().fit(table)
    return Committee.train(density, table, None)


@pytest.mark.parametrize(
    ("feature", "level", "others"),
    [
        ("job", "astronaut", ["clerk", "smith", "cook"]),
        ("job", None, ["clerk", "smith", "cook"]),
        ("size", "giant", SIZES[:3]),
        ("amount", np.nan, [1000.0]),
    ],
)
def test_nobody_learns_the_class_of_the_only_one_with_a_level(feature, level, others):
    """A weight of its own would be positive if that person is of the class, negative if not."""
    frame = people()
    frame.loc[5, feature] = level
    committee = train(frame)
    asked = frame.drop(columns="class")
    asked[feature] = frame.loc[5, feature]
    asked = asked.astype(frame.dtypes.drop("class"))
    X = committee.density.to_model(asked)
    alike = []
    for other in others:
        U = committee.density.to_model(asked.assign(**{feature: other}).astype(asked.dtypes))
        alike.append(
            all(
                np.array_equal(m.scores(committee.inputs(X)), m.scores(committee.inputs(U)))
                for m in committee.members
            )
        )
    if feature == "amount":  # the only others are elsewhere, each at a place of its own
        codes = committee.inputs.marked == committee.density.encoding_.atom_columns[0]
        assert not codes.any() or len(np.unique(committee.inputs(X)[:, -codes.sum() :])) == 1
    else:
        assert sum(alike) == 1, "it is judged like one of the levels that many have"


@pytest.mark.parametrize("seed", range(4))
def test_the_values_of_those_who_were_held_out_cannot_be_computed(seed):
    """The attack: sums over all of the few that are off an atom, less those over the others."""
    frame = people()[["amount", "kids", "class"]]
    rng = np.random.default_rng(seed)
    few = rng.permutation(len(frame))[:12]
    frame["saved"] = 0.0
    frame.loc[few, "saved"] = rng.gamma(3, 400, 12).round(2)
    committee = train(frame)
    density, inputs = committee.density, committee.inputs
    j = list(density.features_).index("saved")
    place = inputs.columns.tolist().index(j)
    X = density.to_model(frame.drop(columns="class"))
    at, elsewhere = X[frame["saved"] == 0][0, j], X[few, j]
    center, scale = inputs.center[place], inputs.scale[place]
    found = []
    for rows, unseen in product(range(235, 246), (1, 2)):
        left = elsewhere.sum() - (rows * center - (rows - 12 + unseen) * at)
        squares = (elsewhere**2).sum()
        squares -= rows * (scale**2 + center**2) - (rows - 12 + unseen) * at**2
        mean = left / unseen
        spread = np.sqrt(max(squares / unseen - mean**2, 0.0))
        found += [mean - spread, mean, mean + spread]
    assert np.abs(np.subtract.outer(found, elsewhere)).min() > 1e-6


@pytest.mark.parametrize("rare", [1, 2, 9])
def test_calibration_tells_nothing_of_a_few(rare):
    """The attack: two equations, of slope and offset, for the log-odds of two rows."""
    odds = np.concatenate([np.full(100, -30.0), np.linspace(-1.3, 2.1, rare)])
    hits = np.arange(100 + rare) >= 100
    assert fit_calibration(odds, hits) == (1.0, 0.0)
    assert fit_calibration(-odds, ~hits) == (1.0, 0.0)
    more = np.concatenate([odds, np.linspace(-1.0, 2.0, 10)])
    assert fit_calibration(more, np.arange(len(more)) >= 100) != (1.0, 0.0)


def test_copies_do_not_make_a_class_large_enough():
    """Curves of two values are solved for these: nothing is learned where nothing may be kept."""
    frame = people()
    rng = np.random.default_rng(1)
    two = frame.iloc[:2].assign(amount=[4321.1, 5432.2], kids=[1, 2])
    copies = pd.concat([two] * 6).assign(**{"class": "rare"})
    copies["job"] = rng.choice(["clerk", "smith"], 12)
    committee = train(pd.concat([frame, copies], ignore_index=True))
    assert committee.names == ("density",)
    assert 0 < committee.probabilities(np.zeros((1, 4)), 1)[0, 0] < 1


@pytest.mark.parametrize("rare", [10, 12])
def test_members_rest_on_ten_rows_of_each_class(rare, monkeypatch):
    frame = people()
    frame.loc[: rare - 1, "class"] = "rare"
    seen = []
    real = training.MemberTraining

    def spy(U, y, *others):
        seen.append(np.bincount(y))
        return real(U, y, *others)

    monkeypatch.setattr(training, "MemberTraining", spy)
    committee = train(frame)
    assert len(committee.members) == 6
    assert seen[-1].min() >= 10  # the others only say how such members do on rows unseen


def test_a_file_of_small_levels_gives_the_same_answers(tmp_path):
    frame = people()
    frame.loc[5, "job"] = "astronaut"
    frame.loc[7, "size"] = "giant"
    committee = train(frame)
    explainer = Explainer(committee.density, committee=committee)
    explainer.save(tmp_path / "m")
    again = daace.load(tmp_path / "m").committee
    X = committee.density.sample(50, rng=np.random.default_rng(0))[0]
    assert np.array_equal(again.probabilities(X, 1), committee.probabilities(X, 1))
    assert (expit(committee.log_odds(committee.density.log_joint(X), X, 1)) <= 1).all()
