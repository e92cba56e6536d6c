"""What a rule is: the interface behind every keyword of `Constraints`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from daace.data.encoding import Encoding
from daace.data.kinds import Feature
from daace.exceptions import InvalidInput
from daace.landscape.rules.argument import Argument, Entry
from daace.landscape.rules.code_draft import code_of
from daace.landscape.rules.draft import Draft

#: One row in the user's units: a number by feature.
Row = Mapping[str, float]


class Rule(ABC):
    """One rule for every waypoint of a path, such as "the income stays above 900".

    To write your own rule, write a frozen dataclass in a module of this folder:

    1. Its fields are one entry of its argument: `feature` for `Names`, `feature` and `number` for
       `Numbers`, `number` for `Single` (see `daace.landscape.rules.argument`).
    2. The class attributes `name`, `option`, `help` and `argument` define how it is given.
    3. `compile` writes the rule into a `Draft`, in model space and in user units, and raises
       `InvalidInput` if the start breaks it: the start belongs to every path.
    4. If the rule has a number that can be moved until a path exists, `relaxation` describes how.
    5. If it can contradict another rule, `check_together` checks both.

    Register it by one line in `daace.landscape.constraints.Constraints`: its keyword. The keyword,
    JSON, pages, reasons and the shell's option then work. Planners see `FeasibleSet` only, so no
    planner has to change as long as the rule can be written into the draft.

    Attributes:
        name: the keyword in `Constraints`.
        option: the option in a shell.
        help: the option's help text.
        argument: form of the keyword's value.
        can_block: whether the rule can keep a path from being found. Weights and steps cannot.
        kinds: kinds of features that the rule applies to; "atoms" for numbers with atoms.
        searched: whether it takes a search to find out if the rule can be kept. That is slow, so
            whether it blocks every path is tested first, and for this rule alone.

    Example:
        >>> from daace.landscape.rules.bounds import Lower
        >>> rule = Lower("income", 900.0)
        >>> rule.words(), rule.in_shell()
        ("'lower' of 'income' (900)", '--lower income=900')
    """

    name: ClassVar[str]
    option: ClassVar[str]
    help: ClassVar[str]
    argument: ClassVar[Argument]
    kinds: ClassVar[tuple[str, ...]] = ("number", "whole", "ordered", "category")
    can_block: ClassVar[bool] = True
    searched: ClassVar[bool] = False

    @abstractmethod
    def compile(self, draft: Draft) -> None:
        """Write the rule into the feasible set and the map of rows that are being built.

        Raises:
            InvalidInput: the start breaks the rule.
        """

    @classmethod
    def check_together(cls, given: Mapping[str, Any]) -> None:
        """Check the rules of this kind against others.

        Args:
            given: the checked value of every keyword of `Constraints`.

        Raises:
            InvalidInput: two rules contradict each other.
        """
        return

    def check(self, encoding: Encoding) -> None:
        """Check that the rule fits the table, whatever the start.

        Raises:
            InvalidInput: the rule does not apply to a feature of this kind, or names a level that
                the feature does not have.
        """
        for name in self.features():
            feature = encoding.features[encoding.names.index(name)]
            if not (feature.kind in self.kinds or (feature.atoms and "atoms" in self.kinds)):
                remedy = "use 'allowed'" if feature.coded else "use 'lower' and 'upper'"
                kind = "ordered" if feature.kind == "ordered" else f"a {feature.kind}"
                raise InvalidInput(
                    argument=self.name,
                    expected=f"be about features of another kind than '{name}', which is {kind}",
                    remedy=remedy,
                )
            for level in self.named_levels():
                if not feature.coded and "atoms" not in self.kinds:
                    raise InvalidInput(
                        argument=self.name,
                        expected="map features to numbers; only ordered ones have levels",
                        got=f"'{level}' for '{name}'",
                    )
                code_of(feature, level, self.name)
            self.check_feature(feature)

    def check_feature(self, feature: Feature) -> None:
        """Check what else the rule requires of a feature that it names.

        Raises:
            InvalidInput: it does not hold.
        """
        return

    def named_levels(self) -> tuple[object, ...]:
        """Return the levels that the rule names."""
        return ()

    def relaxation(self, start: Row) -> Relaxation | None:
        """Return how the rule can be relaxed by moving a number; None if it cannot."""
        return None

    @property
    def entry(self) -> Entry:
        """The fields, as an entry of the argument."""
        return tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]

    @property
    def subject(self) -> tuple[str, object]:
        """The subject of the rule; a later rule with the same subject replaces it."""
        return self.name, self.argument.subject(self.entry)

    def features(self) -> tuple[str, ...]:
        """Return the features that the rule names."""
        return self.argument.features(self.entry)

    def amount(self) -> float | None:
        """Return the rule's number, if it has one."""
        return self.argument.number(self.entry)

    def words(self) -> str:
        """Return the rule as part of a sentence."""
        return self.argument.words(self.name, self.entry)

    def listed(self) -> str:
        """Return the rule as part of a list of settings, without its name."""
        return self.argument.listed(self.entry)

    def in_shell(self) -> str:
        """Return the rule as an option."""
        return f"{self.option} {self.argument.write_text(self.entry)}"


@dataclass(frozen=True)
class Relaxation:
    """How a rule is relaxed by moving a number.

    Attributes:
        now: the present number.
        needed: returns the number at which the end of a path, a row in user units, keeps the rule.
        moved: returns the rules that replace it if the number is moved.
    """

    now: float
    needed: Callable[[Row], float]
    moved: Callable[[float], tuple[Rule, ...]]
