"""Properties of columns that their names suggest."""

from __future__ import annotations

import re

#: Words that suggest that a feature cannot be changed.
IMMUTABLE = {
    "age", "ages", "aged", "sex", "gender", "race", "ethnic", "ethnicity", "ethnicities", "birth",
    "birthday", "birthdate", "birthplace", "birthyear", "born", "dob", "country", "nationality",
    "native", "citizenship", "foreign", "foreigner", "ancestry", "caste",
}  # fmt: skip

#: Words of shares, which cannot pass 1, or 100. A rate or a ratio can.
SHARES = {"share", "percent", "percentage", "pct", "proportion", "fraction", "probability"}


def words_of(name: str) -> list[str]:
    """Return the words of a name, lower case.

    Example:
        >>> words_of("customerID_2"), words_of("AccountNo")
        (['customer', 'id', '2'], ['account', 'no'])
    """
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return re.findall(r"[a-z]+|[0-9]+", apart.lower())


def perhaps_immutable(name: str) -> bool:
    """Whether a name suggests that the feature cannot be changed.

    Example:
        >>> perhaps_immutable("native_country"), perhaps_immutable("mileage")
        (True, False)
    """
    return bool(IMMUTABLE & set(words_of(name)))


def is_share(name: str) -> bool:
    """Whether a name is that of a share of something."""
    return bool(SHARES & set(words_of(name)))
