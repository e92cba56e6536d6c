"""The examples of CONTRIBUTING.md run, and a density of one's own is known after one line."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import daace
from daace.density.registry import DENSITIES, learned_kinds

GUIDE = Path(__file__).parents[1] / "CONTRIBUTING.md"


@pytest.fixture(scope="module")
def names() -> Iterator[dict[str, Any]]:
    """What the examples define; they run as one session, the laws included."""
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    blocks = blocks[:2]  # the third is a rule, which needs a line in Constraints
    module = ModuleType("contributing")
    sys.modules[module.__name__] = module  # instances of its classes can be pickled
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), module.__dict__)
    yield module.__dict__
    del sys.modules[module.__name__]


def test_a_registered_density_is_fitted_saved_and_loaded_by_name(
    names: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    density, iris = names["NaiveGaussian"], names["iris"]
    monkeypatch.setitem(DENSITIES, density.kind, density)
    assert density.kind in learned_kinds()
    explainer = daace.fit(iris, density="naive-gaussian")
    assert explainer.explain(iris.to_frame().iloc[0], target="virginica").found
    explainer.save(tmp_path / "m")
    again = daace.load(tmp_path / "m").density
    X = np.zeros((1, 4))
    assert np.array_equal(again.log_joint(X), explainer.density.log_joint(X))


def test_laws_that_do_not_hold_are_named(names: dict[str, Any]) -> None:
    from daace.testing import check_density

    class Unnormalised(names["NaiveGaussian"]):  # type: ignore[misc]
        def log_joint_and_pullback(self, X: Any) -> Any:
            joint, pullback = super().log_joint_and_pullback(X)
            return joint + 0.1, pullback

    class WrongSlope(names["NaiveGaussian"]):  # type: ignore[misc]
        def log_joint_and_pullback(self, X: Any) -> Any:
            joint, pullback = super().log_joint_and_pullback(X)
            return joint, lambda W: 1.01 * pullback(W)

    class Moved(names["NaiveGaussian"]):  # type: ignore[misc]
        def sample(self, n: int, **settings: Any) -> Any:
            X, y = super().sample(n, **settings)
            return X + 0.1, y

    plane = names["iris"].select(["petal length", "petal width"])
    for wrong, message in (
        (Unnormalised, r"p\(x\) must integrate to 1\. Got 1\.10517\."),
        (WrongSlope, r"The pullback must be the gradient of log p\(x, y\)"),
        (Moved, r"Samples must follow the density\. Chi-square is"),
    ):
        with pytest.raises(AssertionError, match=message):
            check_density(wrong().fit(plane))
