"""Profiles in words: how each kind of people differs from the rest of its class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from daace._typing import FloatArray, IntArray, Labels
from daace.data.encoding import Encoding
from daace.data.kinds import ELSEWHERE
from daace.density.components import ClassComponents

#: Features that describe a profile, at most, and the smallest difference from the class's mean, in
#: standard deviations of the class, that is worth a word.
MOST_WORDS, WORTH = 3, 0.5


def find_profiles(
    components: ClassComponents, X: FloatArray, classes: Labels, encoding: Encoding
) -> tuple[list[str], dict[str, str]]:
    """Return the most probable profile of each row, and a description of those that occur.

    The most probable profile h of a row is the one with the largest p(x, y, h), over all classes.

    Args:
        components: the profiles of all classes.
        X: rows in model space, shape `(rows, n)`.
        classes: the class labels.
        encoding: names of features and levels.

    Returns:
        As `ConditionalDensity.find_profiles`.
    """
    if components.single:
        return [""] * len(X), {}
    names = name_profiles(components.owner, classes)
    chosen: list[int] = components.log_components(X).argmax(axis=1).tolist()
    known = {names[c]: describe_profile(components, c, encoding) for c in chosen}
    return [names[c] for c in chosen], known


def describe_profiles(
    components: ClassComponents, classes: Labels, encoding: Encoding, target: str
) -> pd.DataFrame:
    """Return class, number, share of the class, and description of each profile.

    Args:
        components: the profiles of all classes.
        classes: the class labels.
        encoding: names of features and levels.
        target: name of the class.
    """
    owner, weights = components.owner, np.exp(components.gaussians.log_weights)
    return pd.DataFrame(
        {
            target: classes[owner],
            "profile": number_within(owner),
            "share": weights / np.bincount(owner, weights=weights)[owner],
            "description": [describe_profile(components, c, encoding) for c in range(len(owner))],
        }
    )


def describe_profile(components: ClassComponents, number: int, encoding: Encoding) -> str:
    """Return how a profile differs from the rest of its class.

    Args:
        components: the profiles of all classes.
        number: number of the profile among them, from 0.
        encoding: names of features and levels.
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
    offsets = (gaussians.means[number] - centre) / np.sqrt(variance)
    names = [encoding.names[j] for j in encoding.number_columns]
    said = [
        (abs(offset), f"{'higher' if offset > 0 else 'lower'} {name}")
        for offset, name in zip(offsets.tolist(), names, strict=True)
    ]
    return _words([*said, *_code_words(components, encoding, number, members, share)])


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


def _code_words(
    components: ClassComponents, encoding: Encoding, c: int, members: slice, share: FloatArray
) -> list[tuple[float, str]]:
    """Return for each code the level whose share in a profile exceeds that in its class the most.

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
        equals = f"= {word}"
        if word == ELSEWHERE:
            atoms = [
                encoding.word(column, other)[1] for other in range(len(mean)) if other != level
            ]
            equals = f"other than {' or '.join(atoms)}"
        said.append((float(offsets[level]), f"more often {name} {equals}"))
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
