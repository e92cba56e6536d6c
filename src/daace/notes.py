"""Notes on an answer: a code with fields, and the sentence made from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

#: The sentence of each code; names in braces are its fields.
SENTENCES: dict[str, str] = {
    "best_so_far": "This is the best way found so far. {reason}",
    "cut_short": "This is the best way found until the time limit was over: raise 'time_limit' to "
    "look further.",
    "goal_not_connected": "The start leads to {reached} of {nodes} nodes, but to none of the "
    "{meeting} that meet the goal: {remedy}.",
    "l1_needs_gradient": "The classifier has no gradient, so 'l1' was not applied: use 'sparsity'.",
    "no_integer_solution": "No integer solution near the best path meets the goal: allow "
    "fractions, or relax it.",
    "no_node_allowed": "None of the {nodes} nodes keeps the constraints: loosen them, or plan with "
    "PathOptimizer, which is not bound to rows.",
    "no_node_meets_goal": "None of the {nodes} nodes meets the goal: {remedy}.",
    "shifted_weights": "Some edges have negative weights: all were raised by the same amount, so "
    "the path found is the shortest, not the cheapest.",
    "start_not_joined": "The nearest node is {gap:.3g} from the start: raise 'epsilon' above that.",
    "too_many_changes": "No path was found that changes at most {features}: {enough} would be "
    "enough.",
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
