"""The profile that each waypoint resembles most, and where a path passes to another."""

from __future__ import annotations

from itertools import groupby

from daace._typing import FloatArray
from daace.density.base import ConditionalDensity
from daace.density.linear_gaussian import LinearGaussianNetwork
from daace.density.profile_words import describe_profile, name_profiles
from daace.explain.answers.answer import Answer


def find_profiles(density: ConditionalDensity, X: FloatArray) -> tuple[list[str], dict[str, str]]:
    """Return the most probable profile of each row, and a description of those that occur.

    The most probable profile h of a row is the one with the largest p(x, y, h), over all classes.

    Args:
        density: any density. Only a network has profiles, if some class has more than one.
        X: rows in model space, shape `(rows, n)`.

    Returns:
        class and number of the profile of each row, such as 'benign 2'; empty text if the density
        has no profiles. And what sets each of them apart, by name, in the order of the rows.
    """
    if not isinstance(density, LinearGaussianNetwork) or density.components_.single:
        return [""] * len(X), {}
    components = density.components_
    names = name_profiles(components.owner, density.classes_)
    chosen: list[int] = components.log_components(X).argmax(axis=1).tolist()
    known = {names[c]: describe_profile(components, c, density.encoding_) for c in chosen}
    return [names[c] for c in chosen], known


def describe_passage(e: Answer) -> str:
    """Return how the most similar group changes from waypoint to waypoint, as a sentence.

    It is empty if there is one group along the whole path, or the density has no profiles.
    """
    first, *others = [name for name, _ in groupby(e.along["profile"])]
    if not others:
        return ""
    told: set[str] = set()

    def tell(name: str) -> str:
        text = f"'{name}'" if name in told else f"'{name}' ({e.profiles[name]})"
        told.add(name)
        return text

    begin = f"On the way, the most similar group changes from {tell(first)} to "
    return begin + ", then to ".join(map(tell, others)) + "."
