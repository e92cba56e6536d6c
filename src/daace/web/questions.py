"""Questions: a row, a target, settings and rules, as plain JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from inspect import Parameter, signature
from typing import Any, Self

import pandas as pd

from daace._json import check_foreign, dump_json
from daace._wording import did_you_mean, quote
from daace.exceptions import InvalidInput
from daace.explain.explainer import Explainer
from daace.explain.explanation import Explanation
from daace.landscape.constraints import Constraints
from daace.planners.optimizer import PathOptimizer

#: Arguments of an explainer that are not settings: Python objects, and parts of a question.
NO_SETTINGS = (
    "density", "planner", "constraints", "classifier", "classifier_grad", "committee", "held_out",
    "target", "alternatives", "_",
)  # fmt: skip

#: Settings of the planner in a question, as on the command line.
OF_PLANNER = ("vertices", "sparsity")

#: Maximum number of waypoints: more would take hours.
MOST_VERTICES = 10


def settings_of_call() -> tuple[str, ...]:
    """Return the settings that `Explainer.explain` takes in this version."""
    parameters = signature(Explainer.explain).parameters.values()
    names = [p.name for p in parameters if p.kind is Parameter.KEYWORD_ONLY]
    return tuple(name for name in names if name not in NO_SETTINGS)


def settings_of_explainer() -> tuple[str, ...]:
    """Return the settings that only the constructor of `Explainer` takes."""
    known = (*NO_SETTINGS, *settings_of_call())
    return tuple(entry.name for entry in fields(Explainer) if entry.name not in known)


def known_settings() -> tuple[str, ...]:
    """Return the names of all settings that a question may have.

    Example:
        >>> {"penalty", "min_posterior", "scale", "sparsity"} <= set(known_settings())
        True
    """
    return (*settings_of_call(), *settings_of_explainer(), *OF_PLANNER)


@dataclass(frozen=True, kw_only=True)
class RowQuestion:
    """A question about one row.

    Attributes:
        row: value of each feature, in user units; None for a missing one.
        target: the class to reach; with two classes, the less probable one when None.
        settings: settings by name; see `known_settings`.
        constraints: fields of `Constraints`.
    """

    row: Mapping[str, Any] = field(default_factory=dict)
    target: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    constraints: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Self:
        """Return the question of a request.

        Raises:
            InvalidInput: a part is unknown or invalid.
        """
        parts = {name: record[name] for name in ("row", "target", "settings", "constraints")
                 if record.get(name) is not None}  # fmt: skip
        for name in ("row", "settings", "constraints"):
            if not isinstance(parts.get(name, {}), Mapping):
                got = type(parts[name]).__name__
                raise InvalidInput(argument=name, expected="map names to values", got=got)
        try:
            check_foreign(parts)
        except ValueError as error:
            raise InvalidInput(f"The question must be made of plain values: {error}.") from None
        return cls(**parts)

    @classmethod
    def behind(cls, e: Explanation) -> Self:
        """Return the question of an answer, as far as the answer records it."""
        asked = e.provenance
        goal = {"min_log_prob": asked.min_log_prob}
        if asked.plausibility is not None:
            goal = {"plausibility": asked.plausibility}
        rules = {
            name: value
            for name, value in asked.constraints.items()
            if value not in EMPTY and not (name in ("natural", "given") and value is True)
        }  # True is the default
        cells = {
            str(n): None if pd.isna(c) else c for n, c in e.path.astype(object).iloc[0].items()
        }
        settings = {
            "penalty": asked.penalty,
            "min_posterior": asked.min_posterior,
            "scale": asked.scale,
            "seed": asked.seed,
            **goal,
        }
        if asked.changes is not None:
            settings["changes"] = asked.changes
        return cls(row=cells, target=e.target, settings=settings, constraints=rules)

    def to_record(self) -> dict[str, Any]:
        """Return the question, ready for JSON."""
        return {
            "row": dict(self.row),
            "target": self.target,
            "settings": dict(self.settings),
            "constraints": rules_record(self.rules),
        }

    @property
    def digest(self) -> str:
        """The key that identifies this question."""
        return hashlib.sha256(dump_json(self.to_record(), default=str).encode()).hexdigest()[:32]

    @property
    def rules(self) -> Constraints:
        """The rules.

        Raises:
            InvalidInput: a keyword is unknown, or a rule is invalid.
        """
        names = [entry.name for entry in fields(Constraints)]
        unknown = [name for name in self.constraints if name not in names]
        if unknown:
            raise InvalidInput(
                f"'constraints' must be made of {quote(names, 20)}. Got {quote(unknown)}."
                f"{did_you_mean(unknown[0], names)}",
                argument="constraints",
            )
        try:
            return Constraints(**self.constraints)
        except TypeError as error:  # a link with an unknown field
            raise InvalidInput(
                argument="constraints", expected="be rules", got=str(error)
            ) from None

    def configure(self, explainer: Explainer) -> Explainer:
        """Return the explainer with the settings that only its constructor takes."""
        own = {
            name: self.settings[name]
            for name in settings_of_explainer()
            if name in self.settings and self.settings[name] != getattr(explainer, name)
        }
        return replace(explainer, **own) if own else explainer

    def arguments(
        self, explainer: Explainer, method: str, *, limit: float | None
    ) -> dict[str, Any]:
        """Return the keyword arguments for a method of an explainer.

        Args:
            explainer: the explainer that answers.
            method: name of the method; settings that it does not take are left out.
            limit: longest time for a search, in seconds; None for no limit.

        Raises:
            InvalidInput: there is no such setting.
        """
        known = known_settings()
        unknown = [name for name in self.settings if name not in known]
        if unknown:
            raise InvalidInput(
                argument="settings",
                expected=f"be some of {quote(known, 30)}",
                got=quote(unknown),
            )
        taken = signature(getattr(type(explainer), method)).parameters
        chosen = {name: self.settings[name] for name in settings_of_call() if name in self.settings}
        wanted: Any = chosen.get("time_limit")
        limited = hasattr(explainer.planner or PathOptimizer(), "time_limit")
        if (
            limited
            and limit is not None
            and (wanted is None or (is_number(wanted) and wanted > limit))
        ):
            chosen["time_limit"] = limit
        every = {
            "target": self.target,
            "constraints": self.rules if self.constraints else None,
            "planner": self._planner(explainer),
            **chosen,
        }
        return {name: value for name, value in every.items() if name in taken}

    def _planner(self, explainer: Explainer) -> PathOptimizer | None:
        """Return the planner with the settings of the question; None if it has none."""
        given = {name: self.settings[name] for name in OF_PLANNER if name in self.settings}
        if not given:
            return None
        if "vertices" in given:
            given["vertices"] = _read_vertices(given["vertices"])
        known = explainer.planner
        return replace(known if isinstance(known, PathOptimizer) else PathOptimizer(), **given)


#: Values of arguments without a rule.
EMPTY: tuple[Any, ...] = (None, (), {}, [])


def rules_record(rules: Constraints) -> dict[str, Any]:
    """Return the rules that are set, by keyword, ready for JSON.

    Example:
        >>> rules_record(Constraints(fixed=["age"], max_changed=2))
        {'fixed': ['age'], 'max_changed': 2}
    """
    found = {name: value for name, value in asdict(rules).items() if value not in EMPTY}
    return {n: list(value) if isinstance(value, tuple) else value for n, value in found.items()}


def is_number(value: object) -> bool:
    """Whether a value is a number; truth values are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _read_vertices(given: Any) -> tuple[int, ...]:
    counts = given if isinstance(given, list | tuple) else [given]
    good = all(isinstance(n, int) and not isinstance(n, bool) for n in counts)
    if not (good and 1 <= len(counts) <= MOST_VERTICES and max(counts) <= MOST_VERTICES):
        raise InvalidInput(
            argument="vertices",
            expected=f"be up to {MOST_VERTICES} whole numbers from 0 to {MOST_VERTICES}",
            got=str(given)[:40],
        )
    return tuple(counts)
