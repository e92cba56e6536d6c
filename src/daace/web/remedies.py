"""Remedies for a goal that cannot be reached, as changes of the question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from daace._wording import quote
from daace.explain.explanation import Explanation
from daace.landscape.constraints import Constraints
from daace.landscape.rules.base import Rule
from daace.web.questions import RowQuestion, rules_record
from daace.web.wording import LABELS, as_shown

#: Factor by which a remedy raises the time limit.
LONGER = 4


def find_remedies(e: Explanation, question: RowQuestion) -> list[dict[str, Any]]:
    """Return the remedies: a description of each, and the changed question.

    Args:
        e: an answer without a path; there are no remedies for others.
        question: the question.
    """
    if e.found:
        return []
    found = [*_from_notes(e, question), *_from_thresholds(e, question)]
    return [{"words": words, "question": other.to_record()} for words, other in found]


def _from_thresholds(e: Explanation, question: RowQuestion) -> Iterator[tuple[str, RowQuestion]]:
    for name, value in e.relax.items():
        settings = {**question.settings, name: value}
        yield (
            f"Lower “{LABELS.get(name, name)}” to {as_shown(name, value)}",
            replace(question, settings=settings),
        )


def _from_notes(e: Explanation, question: RowQuestion) -> Iterator[tuple[str, RowQuestion]]:
    rules = question.rules
    for note in e.notes:
        fields = note.fields
        if note.code == "rule_too_strict":
            yield from _relaxed(e, question, fields)
        elif note.code == "rule_in_the_way":
            if rule := _find(rules, fields):
                yield f"Leave out {rule.words()}", _with(question, rules.without(rule))
        elif note.code == "rules_together_in_the_way" and "features" in fields:
            dropped = _find_all(rules, fields["rules"], fields["features"])
            kept = [rule for rule in rules.rules if rule not in dropped]
            words = quote([rule.listed() for rule in dropped]) if dropped else "these rules"
            yield f"Leave out the rules on {words}", _with(question, _same(rules, kept))
        elif note.code == "too_many_changes":
            other = replace(rules, max_changed=int(fields["enough"]))
            yield f"Allow {fields['enough']} features to change", _with(question, other)
        elif note.code in ("cut_short", "classifier_timeout"):
            yield from _longer(question)
    if e.status == "timeout" and not e.notes:
        yield from _longer(question)


def _relaxed(
    e: Explanation, question: RowQuestion, fields: Mapping[str, Any]
) -> Iterator[tuple[str, RowQuestion]]:
    """Yield the question with the number of a rule moved far enough, and without the rule."""
    rules, enough = question.rules, fields["enough"]
    rule = _find(rules, fields)
    if rule is None:
        return
    numbers = [name for name, number in zip(e.path.columns, e.measured, strict=True) if number]
    start = {name: float(e.path[name].iloc[0]) for name in numbers}
    if set(rule.features()) <= set(start) and (relaxation := rule.relaxation(start)):
        kept = [other for other in rules.rules if other != rule]
        moved = _same(rules, [*kept, *relaxation.moved(enough)])
        yield f"Move {rule.words()} to {enough:.15g}", _with(question, moved)
    yield f"Leave out {rule.words()}", _with(question, rules.without(rule))


def _longer(question: RowQuestion) -> Iterator[tuple[str, RowQuestion]]:
    limit = question.settings.get("time_limit")
    if isinstance(limit, int | float):
        settings = {**question.settings, "time_limit": LONGER * limit}
        yield f"Search {LONGER} times as long", replace(question, settings=settings)


def _find(rules: Constraints, fields: Mapping[str, Any]) -> Rule | None:
    """Return the rule that a note is about."""
    for rule in rules.rules:
        alone = rule.features()[0] if len(rule.features()) == 1 else None
        if rule.name == fields["rule"] and alone == fields["feature"]:
            return rule
    return None


def _find_all(
    rules: Constraints, names: Sequence[str], features: Sequence[Sequence[str]]
) -> list[Rule]:
    wanted = {(name, tuple(some)) for name, some in zip(names, features, strict=True)}
    return [rule for rule in rules.rules if (rule.name, rule.features()) in wanted]


def _same(rules: Constraints, kept: Iterable[Rule]) -> Constraints:
    """Return constraints with other rules, but the same `natural` and `given`."""
    return replace(Constraints.of(kept), natural=rules.natural, given=rules.given)


def _with(question: RowQuestion, rules: Constraints) -> RowQuestion:
    return replace(question, constraints=rules_record(rules))
