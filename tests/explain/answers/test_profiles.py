from __future__ import annotations

import json

import numpy as np
import pytest

from daace import Explanation, LinearGaussianNetwork
from daace.exceptions import InvalidInput
from daace.explain.answers.words import describe_passage
from daace.explain.explainer import Explainer


def test_the_most_probable_profile_is_named(explanation, explainer):
    density = explainer.density
    logs = density.components_.log_components(density.to_model(explanation.path))
    frame = density.profiles_
    names = [f"{frame['class'][c]} {frame['profile'][c]}" for c in logs.argmax(axis=1)]
    assert explanation.along["profile"].tolist() == names
    assert set(explanation.profiles) == set(names)
    sentence = describe_passage(explanation)
    assert sentence.startswith("On the way, the most similar group changes from 'malignant 1' (")
    assert sentence in str(explanation)
    assert names[-1] in explanation.to_html()
    assert "most similar\ngroup" in [
        label.get_text() for label in explanation.plot("along").axes[2].get_yticklabels()
    ]


def test_json_keeps_profiles(explanation):
    back = Explanation.from_json(explanation.to_json())
    assert back.profiles == explanation.profiles
    assert describe_passage(back) == describe_passage(explanation)
    record = json.loads(explanation.to_json())
    del record["profiles"], record["along"]["profile"]
    assert set(Explanation.from_json(json.dumps(record)).along["profile"]) == {""}


@pytest.mark.parametrize("damage", [{}, {"x": "y"}, 3, {"malignant 1": 2}])
def test_damaged_profiles_are_refused(explanation, damage):
    record = {**json.loads(explanation.to_json()), "profiles": damage}
    with pytest.raises(InvalidInput, match="damaged"):
        Explanation.from_json(json.dumps(record))


def test_nothing_is_shown_without_profiles(cancer, malignant, simple):
    e = Explainer(LinearGaussianNetwork().fit(cancer)).explain(malignant.loc[499], target="benign")
    for one in (e, simple.explain(np.zeros(2), target="well")):
        assert set(one.along["profile"]) == {""}
        assert "similar group" not in str(one) + one.to_html()
        assert len(one.plot("along").axes) == 2


def test_the_old_name_is_an_alias(explanation):
    assert explanation.profile is explanation.along
    assert explanation.plot_data("profile").equals(explanation.plot_data("along"))
