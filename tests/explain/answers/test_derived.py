"""Columns that are computed from features are part of a path, and nothing else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from daace import Explainer, Explanation, LinearGaussianNetwork, Table


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 600
    level = rng.integers(0, 4, n)
    income = rng.normal(size=n) + 0.8 * level
    names = np.array(["none", "school", "college", "degree"])
    return pd.DataFrame(
        {
            "education": names[level],
            "education_num": level * 2 + 1,
            "hours": rng.normal(40.0, 8.0, n),
            "income": income,
            "paid": np.where(income + 0.3 * rng.normal(size=n) > 1.2, "high", "low"),
        }
    )


@pytest.fixture(scope="module")
def answer(people: pd.DataFrame) -> Explanation:
    table = Table.from_frame(people, target="paid")
    assert [column.name for column in table.encoding.derived] == ["education_num"]
    explainer = Explainer(LinearGaussianNetwork().fit(table))
    low = people[(people["paid"] == "low") & (people["income"] < 0)].iloc[0]
    return explainer.explain(low, target="high")


def test_paths_have_the_columns_of_the_user(people: pd.DataFrame, answer: Explanation) -> None:
    assert answer.found
    assert list(answer.path.columns) == list(people.columns.drop("paid"))
    known = dict(zip(people["education"], people["education_num"], strict=True))
    assert answer.path["education_num"].tolist() == [known[e] for e in answer.path["education"]]
    assert answer.path["education_num"].dtype == people["education_num"].dtype
    assert answer.counterfactual is not None
    assert answer.counterfactual["education_num"] == answer.path["education_num"].iloc[-1]


def test_changes_and_words_are_about_features(answer: Explanation) -> None:
    assert list(answer.states.columns) == ["education", "hours", "income"]
    assert len(answer.sd) == 3
    assert "education_num" not in answer.changes()["feature"].tolist()
    assert "education_num" not in answer.describe()


def test_json_keeps_them(answer: Explanation) -> None:
    again = Explanation.from_json(answer.to_json())
    pd.testing.assert_frame_equal(again.path, answer.path, check_dtype=False)
    assert again.derived == answer.derived
    assert again.to_json() == answer.to_json()
