from __future__ import annotations

import pytest

from daace import GaussianMixture, KernelDensity, LinearGaussianNetwork, RealNVP
from daace.density import registry
from daace.exceptions import InvalidInput


def test_every_kind_is_what_its_class_says() -> None:
    for made in (KernelDensity, LinearGaussianNetwork, GaussianMixture, RealNVP):
        assert registry.density_class(made.kind) is made


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(InvalidInput, match="The density must be one of 'linear-gaussian', 'kde'"):
        registry.density_class("os.system")


def test_what_is_known_but_cannot_be_learned_is_not_offered() -> None:
    learned = registry.learned_kinds()
    assert learned[:4] == ("profiles", "linear-gaussian", "kde", "realnvp")
    assert "gaussian-mixture" not in learned
    assert "gaussian-mixture" in registry.DENSITIES
