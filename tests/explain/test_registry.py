from __future__ import annotations

import pytest

from daace import GaussianMixture, KernelDensity, LinearGaussianNetwork
from daace.exceptions import InvalidInput, MissingDependency
from daace.explain import registry


def test_every_kind_is_what_its_class_says():
    for made in (KernelDensity, LinearGaussianNetwork, GaussianMixture):
        assert registry.density_class(made.kind) is made


def test_unknown_kinds_are_refused():
    with pytest.raises(InvalidInput, match="must be one of 'linear-gaussian', 'kde'"):
        registry.density_class("os.system")


def test_a_missing_package_is_named(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr(registry, "import_module", missing)
    with pytest.raises(MissingDependency) as error:
        registry.density_class("realnvp")
    assert str(error.value) == "RealNVP needs torch: pip install 'daace[flow]'."


def test_a_density_that_this_version_lacks_is_named(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)

    monkeypatch.setattr(registry, "import_module", missing)
    with pytest.raises(MissingDependency, match="'realnvp' is not part of this version"):
        registry.density_class("realnvp")


def test_what_this_version_lacks_is_not_offered(monkeypatch):
    assert registry.available()[:2] == ("linear-gaussian", "kde")
    monkeypatch.setitem(registry.DENSITIES, "kde", ("daace.density.nothing", "Nothing"))
    assert "kde" not in registry.available()
