"""What settings are called on the page; sentences of the package with these names."""

from __future__ import annotations

from collections.abc import Iterable

#: Labels of the controls, by the argument that they set.
LABELS = {
    "target": "Goal",
    "min_posterior": "How sure",
    "plausibility": "How plausible",
    "penalty": "Detours for plausibility",
    "max_changed": "Features that may change",
    "time_limit": "Time limit",
    "fixed": "Locked",
    "only_up": "Only up",
    "only_down": "Only down",
    "lower": "Lowest",
    "upper": "Highest",
    "allowed": "Allowed",
    "sparsity": "Changes",
    "changes": "Changes",
}


def with_labels(text: str, features: Iterable[str]) -> str:
    """Return a sentence with labels in place of arguments, but for features' names.

    Example:
        >>> with_labels("To find a path, lower 'min_posterior' to 0.4.", ["age"])
        'To find a path, lower “How sure” to 0.4.'
    """
    known = set(features)
    for name, label in LABELS.items():
        text = text if name in known else text.replace(f"'{name}'", f"“{label}”")
    return text
