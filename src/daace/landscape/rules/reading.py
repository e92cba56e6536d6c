"""Constraints from text: the options of a shell, and TOML files with the same rules."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from daace._files import check_exists
from daace._wording import did_you_mean, quote
from daace.exceptions import InvalidInput
from daace.landscape.constraints import Constraints
from daace.landscape.rules.base import Rule
from daace.landscape.rules.link import Link, Linked


@dataclass(frozen=True)
class RuleOption:
    """A kind of rule as an option of a shell.

    Attributes:
        name: the keyword in `Constraints` and the key in a TOML file.
        option: the option, such as `--max-step`.
        help: its help text, one sentence.
        metavar: placeholder of its value in the help text.
        repeated: whether it can be given more than once.
        kind: the class of the rule.
    """

    name: str
    option: str
    help: str
    metavar: str
    repeated: bool
    kind: type[Rule]

    def parse(self, text: str) -> Rule:
        """Return the rule that the value of the option describes.

        Raises:
            InvalidInput: the text has the wrong form.
        """
        return self.kind(*self.kind.argument.read_text(self.name, text))


def options() -> tuple[RuleOption, ...]:
    """Return the option of every kind of rule.

    Example:
        >>> [option.option for option in options()][:3]
        ['--fixed', '--lower', '--upper']
    """
    return tuple(
        RuleOption(
            name=kind.name,
            option=kind.option,
            help=kind.help,
            metavar=kind.argument.metavar,
            repeated=kind.argument.repeated,
            kind=kind,
        )
        for kind in Constraints.kinds()
    )


def read_options(
    given: Mapping[str, str | Sequence[str] | None], *, base: Constraints | None = None
) -> Constraints | None:
    """Return the constraints that the options of a command give.

    Args:
        given: the values of each option, by the rule's keyword; None or empty if the option was
            not used.
        base: rules to start from, such as those of a file. An option about the same feature
            replaces a rule of the file; all others are kept.

    Returns:
        the constraints; `base` itself if no option was used.

    Raises:
        InvalidInput: a value has the wrong form, or rules contradict each other. The error's
            argument is the keyword.

    Example:
        >>> read_options({"fixed": ["age"], "lower": ["income=900"]}).describe()
        'fixed: age; lower: income 900'
    """
    rules = []
    for option in options():
        texts = given.get(option.name) or ()
        rules += [option.parse(text) for text in ([texts] if isinstance(texts, str) else texts)]
    if not rules:
        return base
    known = () if base is None else base.rules
    return Constraints.of({rule.subject: rule for rule in (*known, *rules)}.values())


def read_rules(path: str | os.PathLike[str]) -> Constraints:
    """Return the constraints of a TOML file.

    Its keys are the keywords of `Constraints`. A link is a table with `terms` and bounds, or the
    text that the option `--link` takes:

        fixed = ["age"]
        max_changed = 3
        links = ["income - 3*rent >= 0"]

        [lower]
        income = 900

    Raises:
        MissingFile: there is no such file.
        InvalidInput: it is not TOML, has an unknown key, or a rule in it is invalid.
        OSError: the file cannot be read.
    """
    check_exists(path)
    try:
        found = tomllib.loads(Path(path).read_bytes().decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"'{path}' must be a TOML file. It is not: {error}.") from None
    names = [kind.name for kind in Constraints.kinds()]
    unknown = [key for key in found if key not in names]
    if unknown:
        known = did_you_mean(unknown[0], names) or f" Rules are {quote(names, len(names))}."
        raise InvalidInput(f"'{path}' must hold rules only. Got {quote(unknown)}.{known}")
    try:
        if isinstance(found.get("links"), list):
            found["links"] = [_read_link(link) for link in found["links"]]
        return Constraints(**found)
    except InvalidInput as error:
        raise error.at(f"'{path}': ") from None


def _read_link(given: Any) -> Any:
    """Return a link of a file; what is neither text nor table is left to `Constraints`."""
    if isinstance(given, str):
        return Linked.argument.read_text("links", given)[0]
    if not isinstance(given, dict):
        return given
    names = [field.name for field in fields(Link)]
    unknown = [key for key in given if key not in names]
    if unknown or "terms" not in given:
        raise InvalidInput(
            argument="links",
            expected=f"have 'terms' and some of {quote(names[1:])}",
            got=quote(given),
        )
    return Link(**given)
