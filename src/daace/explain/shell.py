"""Messages and answers of the package, in the words of a shell."""

from __future__ import annotations

from collections.abc import Iterable

from daace.exceptions import DaaceError, InvalidInput, quoted

#: What errors are about, arguments or phrases, and the option or phrase of each in a shell.
ARGUMENTS = {
    "frame": "The table",
    "target": "'--to'",
    "The class": "'--to'",
    "constraints": "Rules",
    "fixed": "'--fixed'",
    "lower": "'--lower'",
    "upper": "'--upper'",
    "integer": "'--integer'",
    "penalty": "'--penalty'",
    "plausibility": "'--plausibility'",
    "min_posterior": "'--min-posterior'",
    "time_limit": "'--time-limit'",
    "trials": "'--trials'",
    "folds": "'--folds'",
    "epochs": "'--epochs'",
    "n_jobs": "'--jobs'",
    "output": "'--output'",
    "long": "'--long'",
    "backend": "'--backend'",
    "alternatives": "'--alternatives'",
    "storage": "'--storage'",
    "checkpoint": "'--checkpoint'",
    "improve": "'--improve'",
    "algorithm": "'--algorithm'",
    "consistent": "'--consistent'",
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
    if isinstance(error, InvalidInput) and error.argument:
        return one_line(error.wording(_name, shell=True))
    text = one_line(error)
    for argument, name in ARGUMENTS.items():  # in a message that was not made of parts
        python = f"{quoted(argument)} must"
        if text.startswith(python):
            text = f"{name} must{text.removeprefix(python)}"
    return text


def _name(argument: str) -> str:
    return ARGUMENTS.get(argument, quoted(argument))


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
