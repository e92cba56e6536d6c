"""Notes on an answer: a code with fields, and the sentence made from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

#: The sentence of each code; names in braces are its fields.
SENTENCES: dict[str, str] = {
    "cut_short": "This is the best way found until the time limit was over: raise 'time_limit' to "
    "look further.",
    "rule_in_the_way": "{words} stands in the way: without it there is a path.",
    "rule_too_strict": "{words} stands in the way: {enough:.15g} would be enough.",
    "rules_also_in_the_way": "Leaving out {words} would also do.",
    "rules_together_in_the_way": "No rule alone stands in the way; it takes leaving out {words}.",
}


class Note(str):
    """A sentence on an answer that knows what it is about.

    It is text, so that it can be printed, joined and compared; `code` and `fields` are for
    programs, which should not have to read English.

    Args:
        code: one of `SENTENCES`.
        fields: by name; what the sentence needs, and what a program may want besides.

    Example:
        >>> note = Note.of("cut_short")
        >>> note.code, "time limit" in note
        ('cut_short', True)
    """

    code: str
    fields: Mapping[str, Any]

    @classmethod
    def of(cls, code: str, **fields: Any) -> Self:
        """Return the note of a code."""
        return cls.known(code, fields, SENTENCES[code].format(**fields))

    @classmethod
    def known(cls, code: str, fields: Mapping[str, Any], sentence: str) -> Self:
        """Return a note whose sentence is there already, as in a file."""
        note = cls(sentence)
        note.code, note.fields = code, dict(fields)
        return note

    def __getnewargs__(self) -> tuple[str]:
        return (str.__str__(self),)
