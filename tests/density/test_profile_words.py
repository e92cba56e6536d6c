from __future__ import annotations

import numpy as np

from daace.data.encoding import Encoding
from daace.density.components import ClassComponents
from daace.density.gaussian import WhitenedGaussians
from daace.density.profile_words import describe_profiles


def test_profiles_are_described_by_what_sets_them_apart() -> None:
    means = np.array([[2.0, 0.0], [-2.0, 0.0], [5.0, 5.0]])
    gaussians = WhitenedGaussians(np.log([0.3, 0.3, 0.4]), np.stack([np.eye(2)] * 3), -means)
    components = ClassComponents(gaussians, np.array([0, 0, 1]), 2)
    of_numbers = Encoding.of_numbers(["age", "debt"])
    frame = describe_profiles(components, np.array(["a", "b"]), of_numbers, "class")
    assert frame["description"].tolist() == ["higher age", "lower age", "the whole class"]
    assert frame["profile"].tolist() == [1, 2, 1]
    assert np.allclose(frame["share"], [0.5, 0.5, 1.0])
