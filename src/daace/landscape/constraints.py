"""What may change on a path, in the user's words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import groupby
from typing import Any, Self

from daace._checks import check_choice
from daace._typing import FloatArray
from daace._wording import did_you_mean, quote
from daace.density.base import ConditionalDensity
from daace.exceptions import InvalidInput
from daace.landscape.rules.base import Rule
from daace.landscape.rules.bounds import Lower, MaxFall, MaxRise, Upper
from daace.landscape.rules.count import MaxChanged
from daace.landscape.rules.direction import Fixed, OnlyDown, OnlyUp
from daace.landscape.rules.draft import Draft
from daace.landscape.rules.levels import Allowed, Forbidden
from daace.landscape.rules.link import Link, Linked
from daace.landscape.rules.step import MaxStep
from daace.landscape.rules.weight import Weight
from daace.landscape.rules.whole import Whole


def _given(kind: type[Rule]) -> Any:
    """Register a kind of rule: return the field that holds its argument."""
    empty, metadata = kind.argument.empty, {"rule": kind}
    if isinstance(empty, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=empty, metadata=metadata)


@dataclass(frozen=True)
class Constraints:
    """Rules for every waypoint, by feature name and in the user's units.

    Each keyword is one kind of rule; `daace.landscape.rules` has a class for each, and the recipe
    for writing more.

    Args:
        fixed: features that keep their value.
        lower: lowest value, by feature; of an ordered feature, its lowest level.
        upper: highest value, by feature; of an ordered feature, its highest level.
        only_up: features that may only rise, from waypoint to waypoint.
        only_down: features that may only fall, from waypoint to waypoint.
        weights: how hard a change is, by feature: with a weight of 2 it counts twice in the length.
        max_rise: largest rise from the start, by feature.
        max_fall: largest fall from the start, by feature.
        max_step: largest change from one waypoint to the next, by feature; long segments get
            more waypoints, on the same line and at the same cost.
        integer: features that are whole numbers.
        links: weighted sums of features that keep a value or a bound.
        max_changed: how many features may change at all.
        allowed: levels that a category, an ordered feature or a number with atoms may switch to.
        forbidden: switches that are ruled out, pairs of levels (from, to) by feature.
        natural: whether waypoints keep what every row kept: natural bounds, whole numbers, and
            levels where a value is known. None means True for an `Explainer` and False for a bare
            `Problem`. A level that was pooled is never a target, and a missing number stays missing
            unless `allowed` names where it may go.
        given: whether terrain and plausibility refer to people who share the `fixed` features with
            the start; otherwise every point may be implausible for an unusual person. None means
            True for an `Explainer` and False for a bare `Problem`.

    Raises:
        InvalidInput: an argument has the wrong form or is out of range, or two contradict each
            other.

    Example:
        >>> Constraints(fixed=["age"], only_up=["education"], upper={"debt": 20_000}).fixed
        ('age',)
    """

    fixed: Collection[str] = _given(Fixed)
    lower: Mapping[str, float | str] = _given(Lower)
    upper: Mapping[str, float | str] = _given(Upper)
    only_up: Collection[str] = _given(OnlyUp)
    only_down: Collection[str] = _given(OnlyDown)
    weights: Mapping[str, float] = _given(Weight)
    max_rise: Mapping[str, float] = _given(MaxRise)
    max_fall: Mapping[str, float] = _given(MaxFall)
    max_step: Mapping[str, float] = _given(MaxStep)
    integer: Collection[str] = _given(Whole)
    links: Collection[Link] = _given(Linked)
    max_changed: int | None = _given(MaxChanged)
    allowed: Mapping[str, Collection[object]] = _given(Allowed)
    forbidden: Mapping[str, Collection[tuple[object, object]]] = _given(Forbidden)
    natural: bool | None = None
    given: bool | None = None

    def __post_init__(self) -> None:
        for name in ("natural", "given"):
            if getattr(self, name) is not None:
                check_choice(name, getattr(self, name), (True, False))
        kinds = self.kinds()
        for kind in kinds:
            value = kind.argument.check(kind.name, getattr(self, kind.name))
            object.__setattr__(self, kind.name, value)
        given = {kind.name: getattr(self, kind.name) for kind in kinds}
        for kind in kinds:
            kind.check_together(given)

    @classmethod
    def kinds(cls) -> tuple[type[Rule], ...]:
        """Return the class of each kind of rule, in the order of the arguments."""
        return tuple(entry.metadata["rule"] for entry in fields(cls) if entry.metadata)

    @classmethod
    def of(cls, rules: Iterable[Rule]) -> Self:
        """Return the constraints made of rules; of two bounds on a feature, the stricter one."""
        entries: dict[type[Rule], list[tuple[Any, ...]]] = {}
        for rule in rules:
            entries.setdefault(type(rule), []).append(rule.entry)
        return cls(**{kind.name: kind.argument.join(some) for kind, some in entries.items()})

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """Every rule by itself, in the order of the arguments."""
        return tuple(
            kind(*entry)
            for kind in self.kinds()
            for entry in kind.argument.entries(getattr(self, kind.name))
        )

    def without(self, rule: Rule) -> Self:
        """Return the constraints without one rule."""
        others = self.of(other for other in self.rules if other != rule)
        return replace(others, natural=self.natural, given=self.given)

    def describe(self) -> str:
        """Return all rules in one line.

        Example:
            >>> Constraints(fixed=["age", "sex"], upper={"debt": 20_000}).describe()
            'fixed: age, sex; upper: debt 20000'
        """
        parts = []
        for name, rules in groupby(self.rules, key=lambda rule: rule.name):
            parts.append(f"{name}: {', '.join(rule.listed() for rule in rules)}")
        return "; ".join(parts)

    def check_features(self, names: Sequence[str]) -> None:
        """Refuse rules on features that are not among the names.

        Raises:
            InvalidInput: a rule names another feature; the message proposes a similar name.
        """
        unknown = sorted(self._features.difference(names))
        if unknown:
            raise InvalidInput(
                f"'constraints' must name features of the model. Got {quote(unknown)}."
                f"{did_you_mean(unknown[0], names)}",
                argument="constraints",
            )

    def check(self, density: ConditionalDensity) -> None:
        """Refuse rules that do not fit the table, whatever the start.

        Raises:
            InvalidInput: a rule names an unknown feature or level, or one of a kind it cannot have.
        """
        self.check_features(density.features_)
        for rule in self.rules:
            rule.check(density.encoding_)

    def features(self) -> set[str]:
        """Return every feature that a rule names."""
        return set(self._features)

    @cached_property
    def _features(self) -> frozenset[str]:  # used once per row in batches
        return frozenset(feature for rule in self.rules for feature in rule.features())

    def compile(
        self,
        density: ConditionalDensity,
        start: FloatArray,
        *,
        row: FloatArray | None = None,
    ) -> Draft:
        """Return the rules for one start; together with a box, they give the feasible set.

        Args:
            density: the density, with the names and units of the features.
            start: model-space start, always inside.
            row: the exact start in user units; computed from `start` when left out.

        Raises:
            InvalidInput: a rule names an unknown feature or excludes the start.
        """
        features, standardizer = density.features_, density.standardizer_
        self.check(density)
        row = standardizer.inverse(start) if row is None else row
        draft = Draft(features, standardizer, start, row, self.rules, density.encoding_)
        for rule in self.rules:
            rule.compile(draft)
        if self.natural:
            draft.be_natural()
        return draft


#: Anything may change.
NO_RULES = Constraints()
