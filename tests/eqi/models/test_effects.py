from __future__ import annotations

import numpy as np

from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.eqi.data.counties import INDICES, Counties
from daace.eqi.models.effects import class_slope, domain_effects, index_arcs, model_correlations


def test_correlations_are_those_of_draws(fitted: LinearGaussianNetwork) -> None:
    X, _ = fitted.sample(40_000, rng=np.random.default_rng(0))
    assert np.abs(np.corrcoef(X.T) - model_correlations(fitted)).max() < 0.03


def test_effects_have_the_sense_high_is_good(
    fitted: LinearGaussianNetwork, counties: Counties
) -> None:
    arcs = index_arcs(fitted)
    assert set(arcs["child"]) == set(INDICES)
    by_class = arcs[arcs["parent"] == "Category"].set_index("child")["effect"]
    # A better category goes with a better index: those with a positive weight in the overall one.
    assert by_class["Air index"] > 0
    j = list(fitted.features_).index("Air index")
    assert class_slope(fitted, j) == by_class["Air index"]
    effects = domain_effects(fitted, counties.domain_of)
    # The generated index of air is high (bad) where a1 is, and where a3 is not.
    assert effects.loc["a1", "correlation"] < 0 < effects.loc["a3", "correlation"]
    shown = effects.dropna()
    assert (np.sign(shown["effect"]) == np.sign(shown["correlation"])).mean() > 0.8
