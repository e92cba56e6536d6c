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
    return pd.DataFrame(
        {
            target: classes[owner],
            "profile": number_within(owner),
            "share": weights / np.bincount(owner, weights=weights)[owner],
            "description": [describe_profile(components, c, features) for c in range(len(owner))],
        }
    )


def describe_profile(components: ClassComponents, number: int, features: Sequence[str]) -> str:
    """Return what sets a profile apart from the rest of its class.

    Args:
        components: the profiles of all classes.
        number: of the profile among them, from 0.
        features: names of the features.
    """
    members = components.members[components.owner[number]]
    if members.stop - members.start == 1:
        return "the whole class"
    gaussians = components.gaussians
    share = np.exp(gaussians.log_weights[members])
    share /= share.sum()
    means = gaussians.means[members]
    centre = share @ means
    variance = share @ (gaussians.variances[members] + (means - centre) ** 2)
    return _words((gaussians.means[number] - centre) / np.sqrt(variance), features)


def name_profiles(owner: IntArray, classes: Labels) -> list[str]:
    """Return the name of each profile: its class, and its number within it.

    Example:
        >>> name_profiles(np.array([0, 0, 1]), np.array(["benign", "malignant"]))
        ['benign 1', 'benign 2', 'malignant 1']
    """
    labels = classes[owner].tolist()
    return [f"{label} {n}" for label, n in zip(labels, number_within(owner), strict=True)]


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
