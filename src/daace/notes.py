"""Notes on an answer: a code with fields, and the sentence made from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

#: The sentence of each code; names in braces are its fields.
SENTENCES: dict[str, str] = {
    "below_zero": "Below 0, where no row of the table was: {listed}. A 'lower' of 0 forbids it.",
    "best_so_far": "This is the best path found so far. {reason}",
    "between_whole_numbers": "Between whole numbers, where no row of the table was: {listed}. "
    "If that cannot be, name them as 'integer'.",
    "budget_spent": "The classifier has been asked about all {rows:,} rows of its budget: raise "
    "'classifier_budget' to look further.",
    "class_denied": "The row's recorded class is '{recorded}'; the model predicts '{current}'.",
    "classifier_failed": "{error}",
    "classifier_timeout": "The time limit was reached while the classifier was running: raise "
    "'time_limit' to look further.",
    "cut_short": "This is the best path found within the time limit: raise 'time_limit' to look "
    "further.",
    "goal_not_connected": "The start leads to {reached} of {nodes} nodes, but to none of the "
    "{meeting} that meet the goal: {remedy}.",
    "invalid_row": "{reason}",
    "l1_needs_gradient": "The classifier has no gradient, so 'l1' was not applied: use 'sparsity'.",
    "no_alternative": "No other path was found for at most {factor:g} times the cost.",
    "no_integer_solution": "No integer solution near the best path meets the goal: allow "
    "fractions, or relax it.",
    "no_node_allowed": "None of the {nodes} nodes keeps the constraints: loosen them, or plan with "
    "PathOptimizer, which is not bound to rows.",
    "no_node_meets_goal": "None of the {nodes} nodes meets the goal: {remedy}.",
    "not_given": "This density cannot take the fixed features as given: plausibility refers to "
    "everyone.",
    "nobody_can_change": "Perhaps nobody can change {listed}: name what cannot change as 'fixed'.",
    "others_doubt": "{doubting} of {models} other models trained on the table give '{target}' less "
    "than 50% at the end.",
    "rare_level": "'{level}' of '{feature}' is rare or unknown: the model takes it for one of the "
    "rare levels.{hint}",
    "rule_in_the_way": "{words} stands in the way: without it there is a path.",
    "rule_too_strict": "{words} stands in the way: {enough:.15g} would be enough.",
    "rules_also_in_the_way": "Leaving out {words} would also do.",
    "rules_together_in_the_way": "No rule alone stands in the way; it takes leaving out {words}.",
    "shifted_weights": "Some edges have negative weights: all were raised by the same amount, so "
    "the path found is the shortest, not the cheapest.",
    "start_not_joined": "The nearest node is {gap:.3g} from the start: raise 'epsilon' above that.",
    "too_many_changes": "No path was found that changes at most {features}: {enough} would be "
    "enough.",
    "weak_density": "The model is weak on {rows:,} held-out rows: {findings}.",
}

#: The code of a note without one, from a file of an earlier version.
PLAIN = "plain"


class Note(str):
    """A sentence about an answer, with a code and fields for programs.

    It is text, so that it can be printed, joined and compared; `code` and `fields` are for
    programs, which should not have to read English.

    Args:
        code: one of `SENTENCES`.
        fields: values by name: those in the sentence, and others for programs.

    Example:
        >>> note = Note.of("cut_short")
        >>> note.code, "time limit" in note
        ('cut_short', True)
    """

    code: str
    fields: Mapping[str, Any]

    @classmethod
    def of(cls, code: str, **fields: Any) -> Self:
        """Return the note with a code."""
        return cls.known(code, fields, SENTENCES[code].format(**fields))

    @classmethod
    def from_record(cls, record: object) -> Self:
        """Return a note that was read from JSON: its record, or in earlier versions its sentence.

        Raises:
            ValueError: it is neither.
        """
        if isinstance(record, str):
            return cls.known(PLAIN, {}, record)
        if not (isinstance(record, dict) and set(record) == {"code", "fields", "text"}):
            raise ValueError("a note is neither text nor a code with its fields")
        code, fields, text = record["code"], record["fields"], record["text"]
        if not (isinstance(code, str) and isinstance(fields, dict) and isinstance(text, str)):
            raise ValueError("a note is neither text nor a code with its fields")
        return cls.known(code, fields, text)

    def to_record(self) -> dict[str, Any]:
        """Return code, fields and sentence, ready for JSON."""
        return {"code": self.code, "fields": dict(self.fields), "text": str(self)}

    @classmethod
    def known(cls, code: str, fields: Mapping[str, Any], sentence: str) -> Self:
        """Return a note with a given sentence, as in a file."""
        note = cls(sentence)
        note.code, note.fields = code, dict(fields)
        return note

    def __getnewargs__(self) -> tuple[str]:
        return (str.__str__(self),)
