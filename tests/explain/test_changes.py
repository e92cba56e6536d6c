from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from daace import Explainer, LinearGaussianNetwork, PathOptimizer, load, load_table
from daace.exceptions import InvalidInput
from daace.explain.explanation import Explanation


@pytest.fixture(scope="module")
def few() -> Explainer:
    return Explainer(LinearGaussianNetwork().fit(load_table("wine")))


def test_few_features_change_at_a_cost_up_to_a_quarter_higher(few: Explainer) -> None:
    row = load_table("wine").to_frame().iloc[0]  # the less probable class is asked for
    sparse = few.explain(row)
    plain = replace(few, changes="all").explain(row)
    assert len(sparse.changes()) < len(plain.changes())
    assert plain.cost <= sparse.cost <= 1.25 * plain.cost * (1 + 1e-9)
    assert (sparse.provenance.changes, plain.provenance.changes) == ("few", "all")
    assert "features are held while the cost grows by at most a quarter" in sparse.to_html()
    assert Explanation.from_json(sparse.to_json()).provenance == sparse.provenance


def test_a_planner_is_used_as_it_is(few: Explainer) -> None:
    row = load_table("wine").to_frame().iloc[0]
    planner = PathOptimizer(vertices=0)
    e = few.explain(row, planner=planner)
    assert e.provenance.changes is None
    assert e.provenance.planner == planner.describe()
    assert e.cost == replace(few, changes="all").explain(row, planner=planner).cost


def test_a_choice_that_does_not_exist() -> None:
    density = LinearGaussianNetwork().fit(load_table("iris"))
    with pytest.raises(InvalidInput, match="'changes' must be"):
        Explainer(density, changes="some")  # type: ignore[arg-type]


def test_model_files_keep_it_and_older_ones_answer_as_before(
    few: Explainer, tmp_path: Path
) -> None:
    new, old = tmp_path / "new.daace", tmp_path / "old.daace"
    few.save(new)
    assert load(new).changes == "few"
    with zipfile.ZipFile(new) as source, zipfile.ZipFile(old, "w") as copy:
        for name in source.namelist():
            data = source.read(name)
            if name.endswith(".json"):
                record = json.loads(data)
                del record["explainer"]["changes"]
                data = json.dumps(record).encode()
            copy.writestr(name, data)
    assert load(old).changes == "all"
