"""Profiles in words: what sets each kind of people apart from the rest of its class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from daace._typing import FloatArray, IntArray, Labels
from daace.data.encoding import Encoding
from daace.density.components import ClassComponents

#: Features that describe a profile, at most, and the smallest difference from the class's mean, in
#: standard deviations of the class, that is worth a word.
MOST_WORDS, WORTH = 3, 0.5


def describe_profiles(
    components: ClassComponents, classes: Labels, encoding: Encoding, target: str
) -> pd.DataFrame:
    """Return class, number, share of the class, and what sets apart each profile.

    Args:
        components: the profiles of all classes.
        classes: the class labels.
        encoding: names of the features, and what their codes are called.
        target: name of the class.
    """
    owner, weights = components.owner, np.exp(components.gaussians.log_weights)
    shares = weights / np.bincount(owner, weights=weights)[owner]
    means = components.gaussians.means
    spreads = components.gaussians.variances
    names = [encoding.names[j] for j in encoding.number_columns]
    words = []
    for c, k in enumerate(owner):
        members = components.members[k]
        if members.stop - members.start == 1:
            words.append("everyone of the class")
            continue
        share = shares[members]
        centre = share @ means[members]
        variance = share @ (spreads[members] + (means[members] - centre) ** 2)
        offsets = (means[c] - centre) / np.sqrt(variance)
        said = [
            (abs(offset), f"{'higher' if offset > 0 else 'lower'} {name}")
            for offset, name in zip(offsets.tolist(), names, strict=True)
        ]
        said += _code_words(components, encoding, c, members, share)
        words.append(_words(said))
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


def _code_words(
    components: ClassComponents, encoding: Encoding, c: int, members: slice, share: FloatArray
) -> list[tuple[float, str]]:
    """Return for each code the level that a profile has most more often than its class.

    The difference of the shares is in standard deviations of the class's.
    """
    if components.codes is None:
        return []
    said = []
    for column, shares in zip(
        components.codes.layout.columns.tolist(), components.codes.shares(), strict=True
    ):
        mean = shares[:, members] @ share
        offsets = (shares[:, c] - mean) / np.sqrt(np.maximum(mean * (1 - mean), 1e-12))
        level = int(np.argmax(offsets))
        name, word = encoding.word(column, level)
        said.append((float(offsets[level]), f"more often {name} = {word}"))
    return said


def _words(offsets: Sequence[tuple[float, str]]) -> str:
    """Describe a profile by its largest offsets from the class.

    Example:
        >>> _words([(0.2, "higher age"), (1.4, "lower income"), (0.7, "higher debt")])
        'lower income, higher debt'
    """
    largest = sorted(offsets, key=lambda part: -part[0])[:MOST_WORDS]
    said = [word for size, word in largest if size >= WORTH]
    return ", ".join(said) or "typical of the class"
