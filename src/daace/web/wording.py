"""Labels of settings on the page, and sentences of the package with these labels."""

from __future__ import annotations

import re
from collections.abc import Iterable

from daace._formats import exact

#: Beginning of the sentence that has the settings without quotation marks.
ASKED = "Asked for: "

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


def as_shown(name: str, value: float) -> str:
    """Return the value of a setting as shown by its control.

    Example:
        >>> as_shown("min_posterior", 0.34), as_shown("plausibility", -1.5)
        ('34%', '-1.5')
    """
    return f"{100 * value:.12g}%" if name == "min_posterior" else exact(value)


def with_labels(text: str, features: Iterable[str]) -> str:
    """Return a sentence with labels in place of arguments, except names of features.

    Example:
        >>> with_labels("To find a path, lower 'min_posterior' to 0.4.", ["age"])
        'To find a path, lower “How sure” to 40%.'
    """
    known = set(features)
    for name, label in LABELS.items():
        if name in known:
            continue
        text = text.replace(f"'{name}'", f"“{label}”")
        if text.startswith(ASKED):
            text = re.sub(rf"\b{name}(?= -?\d)", f"“{label}”", text)
    sure = LABELS["min_posterior"]
    return re.sub(
        rf"(“{sure}” (?:to )?)(\d\.\d+)",
        lambda found: found[1] + as_shown("min_posterior", float(found[2])),
        text,
    )
