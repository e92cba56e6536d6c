"""Messages and answers of the package, in the words of a shell."""

from __future__ import annotations

import re
from collections.abc import Iterable

from daace.exceptions import DaaceError

#: How messages of the package begin, and how they begin in a shell.
ARGUMENTS = {
    "'frame' must": "The table must",
    "'target' must": "'--to' must",
    "The class must": "'--to' must",
    "'constraints' must": "Rules must",
    "'fixed' must": "'--fixed' must",
    "'lower' must": "'--lower' must",
    "'upper' must": "'--upper' must",
    "'integer' must": "'--integer' must",
    "'penalty' must": "'--penalty' must",
    "'plausibility' must": "'--plausibility' must",
    "'min_posterior' must": "'--min-posterior' must",
    "'time_limit' must": "'--time-limit' must",
    "'trials' must": "'--trials' must",
    "'folds' must": "'--folds' must",
    "'epochs' must": "'--epochs' must",
    "'n_jobs' must": "'--jobs' must",
    "'output' must": "'--output' must",
    "'long' must": "'--long' must",
    "'backend' must": "'--backend' must",
    "'alternatives' must": "'--alternatives' must",
    "'storage' must": "'--storage' must",
    "'checkpoint' must": "'--checkpoint' must",
    "'improve' must": "'--improve' must",
    "'algorithm' must": "'--algorithm' must",
    "'consistent' must": "'--consistent' must",
}

#: Remedies that are Python, as patterns, and what to do in a shell.
REMEDIES = {
    r", for example with frame\.dropna\(\), or fill them, for example with "
    r"frame\.fillna\(frame\.median\(numeric_only=True\)\)": " or fill them",
    r", for example with frame\['.*'\]\.map\(.*\), and drop the others, for example with "
    r"frame\.drop\(columns=.*\)": ", and leave the others out with --drop",
    r", for example with pandas\.qcut\(.*\), or, if the numbers are names of classes, convert them "
    r"with astype\(str\)": " first, or, if the numbers are names of classes, write them as text",
    r"convert them, for example with .*": "write plain numbers, or leave them out with --drop.",
}

#: Arguments as an answer names them, and the option of each in a shell.
OPTIONS = {
    f"'{name}'": f"--{name.replace('_', '-')}"
    for name in (
        "fixed", "lower", "upper", "only_up", "only_down", "integer", "penalty", "plausibility",
        "min_posterior", "time_limit",
    )
}  # fmt: skip


def sentence(error: Exception) -> str:
    """Return what went wrong in one line, in the words of a shell."""
    known = isinstance(error, DaaceError)
    if isinstance(error, OSError) and error.strerror and error.filename and not known:
        return f"'{error.filename}': {error.strerror}."
    text = one_line(error)
    for python, shell in ARGUMENTS.items():
        if text.startswith(python):
            text = shell + text.removeprefix(python)
    for python, shell in REMEDIES.items():
        text = re.sub(python, shell, text)
    return text


def with_options(text: str, features: Iterable[str]) -> str:
    """Return the text of an answer with options in place of arguments, but for features' names.

    Example:
        >>> with_options("To find a path, lower 'min_posterior' to 0.4.", ["age"])
        'To find a path, lower --min-posterior to 0.4.'
    """
    known = {f"'{feature}'" for feature in features}
    for name, option in OPTIONS.items():
        text = text if name in known else text.replace(name, option)
    return text


def one_line(message: object) -> str:
    """Return a message without line breaks."""
    return " ".join(str(message).split())
