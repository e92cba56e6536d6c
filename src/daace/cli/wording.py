"""Messages and answers of the package, with options in place of arguments."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from daace.exceptions import DaaceError, InvalidInput, quoted
from daace.landscape.rules.reading import options

#: Arguments that have another name on the command line.
RENAMED = {
    "constraints": "Rules",
    "frame": "The table",
    "kinds": "'--kind'",
    "n_jobs": "'--jobs'",
    "order": "'--order'",
    "target": "'--to'",
    "The class": "'--to'",
}

#: Arguments that are options of the same name, besides the rules.
SETTINGS = (
    "algorithm",
    "alternatives",
    "backend",
    "changes",
    "checkpoint",
    "classifier",
    "classifier_budget",
    "consistent",
    "dask_address",
    "epochs",
    "folds",
    "improve",
    "jobs",
    "long",
    "min_log_prob",
    "min_posterior",
    "output",
    "penalty",
    "plausibility",
    "port",
    "ray_address",
    "row",
    "scale",
    "seed",
    "sparsity",
    "storage",
    "time_limit",
    "trials",
    "vertices",
)


@cache
def option_names() -> dict[str, str]:
    """Return the option of every argument that has one."""
    rules = {rule.name: rule.option for rule in options()}
    return {**{name: f"--{name.replace('_', '-')}" for name in SETTINGS}, **rules}


def name_argument(argument: str) -> str:
    """Return the name of an argument on the command line.

    Example:
        >>> name_argument("weights"), name_argument("target"), name_argument("noise")
        ("'--weight'", "'--to'", "'noise'")
    """
    if argument in RENAMED:
        return RENAMED[argument]
    return quoted(option_names().get(argument, argument))


def sentence(error: Exception) -> str:
    """Return the message of an error in one line."""
    if isinstance(error, InvalidInput):
        return one_line(error.wording(name_argument, shell=True))
    known = isinstance(error, DaaceError)
    if isinstance(error, OSError) and error.strerror and error.filename and not known:
        return f"'{error.filename}': {error.strerror}."
    return one_line(error)


def with_options(text: str, features: Iterable[str]) -> str:
    """Return the text of an answer with options in place of arguments; names of features stay.

    Example:
        >>> with_options("To find a path, lower 'min_posterior' to 0.4.", ["age"])
        'To find a path, lower --min-posterior to 0.4.'
    """
    known = set(features)
    for name, option in option_names().items():
        text = text if name in known else text.replace(f"'{name}'", option)
    return text


def one_line(message: object) -> str:
    """Return a message without line breaks."""
    return " ".join(str(message).split())
