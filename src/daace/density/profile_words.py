"""Profiles in words: what sets each kind of people apart from the rest of its class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from daace._typing import FloatArray, IntArray, Labels
from daace.density.components import ClassComponents

#: Features that describe a profile, at most, and the smallest difference from the class's mean, in
#: standard deviations of the class, that is worth a word.
MOST_WORDS, WORTH = 3, 0.5


def describe_profiles(
    components: ClassComponents, classes: Labels, features: Sequence[str], target: str
) -> pd.DataFrame:
    """Return class, number, share of the class, and what sets apart each profile.

    Args:
        components: the profiles of all classes.
        classes: the class labels.
        features: names of the features.
        target: name of the class.
    """
    owner, weights = components.owner, np.exp(components.gaussians.log_weights)
    shares = weights / np.bincount(owner, weights=weights)[owner]
    means = components.gaussians.means
    spreads = components.gaussians.variances
    words = []
    for c, k in enumerate(owner):
        members = components.members[k]
        if members.stop - members.start == 1:
            words.append("everyone of the class")
            continue
        share = shares[members]
        centre = share @ means[members]
        variance = share @ (spreads[members] + (means[members] - centre) ** 2)
        words.append(_words((means[c] - centre) / np.sqrt(variance), features))
    return pd.DataFrame(
        {
            target: classes[owner],
            "profile": number_within(owner),
            "share": shares,
            "description": words,
        }
    )


def number_within(owner: IntArray) -> list[int]:
    """Return the number of each component within its class, from 1.

    Example:
        >>> number_within(np.array([0, 0, 1]))
        [1, 2, 1]
    """
    numbers: list[int] = (np.arange(len(owner)) - np.searchsorted(owner, owner) + 1).tolist()
    return numbers


def _words(offsets: FloatArray, features: Sequence[str]) -> str:
    """Describe a profile by its largest offsets from the class.

    Example:
        >>> _words(np.array([0.2, -1.4, 0.7]), ["age", "income", "debt"])
        'lower income, higher debt'
    """
    order = np.argsort(-np.abs(offsets), kind="stable")[:MOST_WORDS]
    said = [
        f"{'higher' if offsets[j] > 0 else 'lower'} {features[j]}"
        for j in order
        if abs(offsets[j]) >= WORTH
    ]
    return ", ".join(said) or "typical of the class"
