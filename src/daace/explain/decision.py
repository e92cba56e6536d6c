"""The reasons for a decision: features that count against the target, according to its judge.

The judge's log-odds g of the target are compared between the row x and references r, typical rows
that get the target. What feature j contributes to the difference is the mean of two exchanges, of
x_j in x and in r:

    against_j = mean over r of [ g(x with r_j) - g(x) + g(r) - g(r with x_j) ] / 2.

That is the Shapley value of the feature as long as g has no interactions of three features or more
(Shapley 1953, doi:10.1515/9781400881970-018), at two predictions for each feature and reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from daace._formats import format_number, percent
from daace._typing import BoolArray, FloatArray
from daace.data.kinds import Feature
from daace.density.base import ConditionalDensity
from daace.density.bayes import log_sum_exp
from daace.explain.answers.words import format_level
from daace.landscape.goal import NEVER, Posterior

#: Number of draws of the target class that are judged, and of references among them.
JUDGED, REFERENCES = 512, 64

#: Share of the total against the target below which a feature is not a reason.
MINOR = 0.05

#: Number of values of a number that are tried, and of bisections to find its limit.
TRIED, HALVINGS = 65, 12

#: A limit is rounded to about this share of a standard deviation, away from the row's value.
GRAIN = 0.05


@dataclass(frozen=True, kw_only=True)
class Reason:
    """A feature that counts against the target.

    Attributes:
        feature: its name.
        value: value in the row.
        against: log-odds of the target that it costs, compared with typical rows of the target.
        limit: the nearest number at which it no longer counts against the target, with all else
            unchanged; for a category the levels, most favourable first; None if there is none.
        sentence: the reason in words.
    """

    feature: str
    value: Any
    against: float
    limit: Any
    sentence: str


@dataclass(frozen=True, kw_only=True)
class DecisionReasons:
    """Why a row does not get the target, the most important reason first.

    Attributes:
        current: class of the row, by the judge.
        target: the target class.
        probability: probability of the target, by the judge.
        judge: judge of the class.
        reasons: the reasons, at most the number requested; none if no feature counts against it.
    """

    current: object
    target: object
    probability: float
    judge: str
    reasons: tuple[Reason, ...]

    def __iter__(self) -> Iterator[Reason]:
        return iter(self.reasons)

    def __len__(self) -> int:
        return len(self.reasons)

    def __str__(self) -> str:
        share = f"{self.judge} gives '{self.target}' a probability of {percent(self.probability)}"
        if not self.reasons:
            return f"{share}; no feature counts against it."
        listed = (f"  {number}. {reason.sentence}" for number, reason in enumerate(self, 1))
        return "\n".join([f"{share}. What counts against it most:", *listed])

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each reason: feature, value, against, limit, sentence."""
        names = list(Reason.__dataclass_fields__)
        rows = [[getattr(reason, name) for name in names] for reason in self.reasons]
        return pd.DataFrame(rows, columns=names)


def find_decision_reasons(
    density: ConditionalDensity,
    judge: Posterior,
    row: pd.DataFrame,
    *,
    target: object,
    name: str,
    most: int,
    sentences: Mapping[str, str],
) -> DecisionReasons:
    """Find the features that count most against the target.

    Args:
        density: density of the features, which draws the references.
        judge: judge of the class.
        row: one row in user units.
        target: the target class.
        name: name of the judge.
        most: largest number of reasons.
        sentences: the user's own words, by feature.
    """
    x = density.to_model(row)[0]
    case = Case.of(density, judge, x, density.class_index(target))
    against = case.contributions()
    counting = np.maximum(against, 0.0)
    order = np.argsort(-against, kind="stable")[:most]
    reasons = []
    for j in order.tolist():
        if against[j] > MINOR * counting.sum():
            feature = density.encoding_.features[j]
            value = row[feature.name].iloc[0]
            limit, beyond = case.limit(j, float(against[j]))
            said = sentences.get(feature.name) or _sentence(
                feature, value, limit, beyond, target, float(density.standardizer_.scale[j])
            )
            reasons.append(
                Reason(
                    feature=feature.name,
                    value=value,
                    against=float(against[j]),
                    limit=limit,
                    sentence=said,
                )
            )
    logs = judge.log_posterior(x[None])[0]
    return DecisionReasons(
        current=density.classes_.item(int(np.argmax(logs))),
        target=density.classes_.item(case.index),
        probability=float(np.exp(logs[case.index])),
        judge=name,
        reasons=tuple(reasons),
    )


@dataclass(frozen=True, eq=False)
class Case:
    """A row beside typical rows that get the target.

    Attributes:
        density: knows the features.
        judge: decides the class.
        index: index of the target.
        x: the row in model space.
        references: rows that get the target, shape `(references, n)`.
    """

    density: ConditionalDensity
    judge: Posterior
    index: int
    x: FloatArray
    references: FloatArray

    @classmethod
    def of(cls, density: ConditionalDensity, judge: Posterior, x: FloatArray, index: int) -> Case:
        """Choose the references: the first draws of the target class that the judge accepts.

        If it accepts hardly any, those with the highest probability.
        """
        draws = density.pool(density.classes_.item(index)).X[:JUDGED]
        logs = judge.log_posterior(draws)[:, index]
        accepted = np.flatnonzero(logs >= np.log(0.5))[:REFERENCES]
        if len(accepted) < REFERENCES // 4:
            accepted = np.argsort(-logs, kind="stable")[: REFERENCES // 4]
        return cls(density, judge, index, x, draws[accepted])

    def odds(self, X: FloatArray) -> FloatArray:
        """Return the judge's log-odds of the target."""
        logs = np.maximum(self.judge.log_posterior(X), NEVER)
        return logs[:, self.index] - log_sum_exp(np.delete(logs, self.index, axis=1))

    @cached_property
    def rows(self) -> FloatArray:
        """The row, then its references."""
        return np.concatenate([self.x[None], self.references])

    def columns(self, j: int) -> list[int]:
        """Return the columns of a feature: its own, and that of its atoms."""
        atom = self.density.encoding_.atom_columns.get(j)
        return [j] if atom is None else [j, atom]

    def contributions(self) -> FloatArray:
        """Return what each feature costs the target, in log-odds."""
        features, count = len(self.density.features_), len(self.references)
        with_theirs = np.tile(self.x, (features, count, 1))
        with_ours = np.tile(self.references, (features, 1, 1))
        for j in range(features):
            at = self.columns(j)
            with_theirs[j][:, at] = self.references[:, at]
            with_ours[j][:, at] = self.x[at]
        asked = np.concatenate(
            [with_theirs.reshape(-1, len(self.x)), with_ours.reshape(-1, len(self.x))]
        )
        theirs, ours = self.odds(asked).reshape(2, features, count)
        here, there = self.odds(self.x[None])[0], self.odds(self.references)
        gained: FloatArray = 0.5 * (theirs - here + there - ours).mean(axis=1)
        return gained

    def limit(self, j: int, against: float) -> tuple[Any, bool]:
        """Return where a feature ceases to count against the target, and whether beyond, too.

        Args:
            j: the feature.
            against: its present contribution.

        Returns:
            A number in user units, or levels; None if there is none. And whether the feature
            ceases to count at all numbers beyond it.
        """
        feature = self.density.encoding_.features[j]
        gained = _Gain(self, j, against)
        if feature.coded:
            codes = np.arange(len(feature.levels), dtype=np.float64)
            effect = gained(codes[:, None])
            good = [int(k) for k in np.argsort(-effect, kind="stable") if effect[k] >= 0]
            if feature.kind == "ordered" and good:
                nearest = min(good, key=lambda code: abs(code - self.x[j]))
                way = 1 if nearest > self.x[j] else -1
                return feature.levels[nearest], _all_beyond(effect >= 0, nearest, way)
            return tuple(feature.levels[k] for k in good) or None, False
        return self._limit_of_number(j, feature, gained)

    def _limit_of_number(self, j: int, feature: Feature, gained: _Gain) -> tuple[Any, bool]:
        standardizer = self.density.standardizer_
        mean, scale = standardizer.mean[j], standardizer.scale[j]
        draws = self.density.pool(self.density.classes_.item(self.index)).X
        if feature.atoms:
            draws = draws[draws[:, self.columns(j)[1]] == 0]
        if not len(draws):
            return self._limit_at_atom(feature, gained, mean, scale), False
        low, high = np.percentile(draws[:, j], [1, 99])
        grid = np.linspace(low, high, TRIED)
        if feature.lower is not None:
            grid = np.maximum(grid, (feature.lower - mean) / scale)
        if feature.upper is not None:
            grid = np.minimum(grid, (feature.upper - mean) / scale)
        good = gained.at_numbers(grid) >= 0
        if not good.any():
            return self._limit_at_atom(feature, gained, mean, scale), False
        places = np.flatnonzero(good)
        chosen = int(places[np.abs(grid[places] - self.x[j]).argmin()])
        way = 1 if grid[chosen] > self.x[j] else -1
        inside, outside = grid[chosen], self.x[j]
        if 0 <= chosen - way < TRIED and way * (grid[chosen - way] - outside) > 0:
            outside = grid[chosen - way]
        for _ in range(HALVINGS):
            middle = 0.5 * (inside + outside)
            if gained.at_numbers(np.array([middle]))[0] >= 0:
                inside = middle
            else:
                outside = middle
        exact = inside * scale + mean
        step = 1.0 if feature.kind == "whole" else 10.0 ** np.floor(np.log10(GRAIN * scale))
        rounded = np.ceil(way * exact / step) * step * way
        held = np.clip((rounded - mean) / scale, grid.min(), grid.max())
        if gained.at_numbers(np.array([held]))[0] >= 0:
            exact = held * scale + mean
        value = round(exact) if feature.kind == "whole" else float(f"{exact:.12g}")
        return value, _all_beyond(good, chosen, way)

    @staticmethod
    def _limit_at_atom(
        feature: Feature, gained: _Gain, mean: float, scale: float
    ) -> float | int | None:
        """Return the most favourable atom at which a number does not count against the target."""
        atoms = [(code, a) for code, a in enumerate(feature.atoms, start=1) if a == a]
        if not atoms:
            return None
        effect = gained(np.array([[(a - mean) / scale, code] for code, a in atoms]))
        best = int(effect.argmax())
        value = atoms[best][1]
        if effect[best] < 0:
            return None
        return int(value) if feature.kind == "whole" else value


@dataclass(frozen=True, eq=False)
class _Gain:
    """The target's gain from another value of a feature, relative to its present cost.

    Attributes:
        case: the row and its references.
        feature: index of the feature.
        against: its present cost.
    """

    case: Case
    feature: int
    against: float

    def __call__(self, values: FloatArray) -> FloatArray:
        """Return the gain at values of the feature's columns, shape `(values, columns)`.

        It is 0 where the feature is no longer a reason.
        """
        case, at = self.case, self.case.columns(self.feature)
        asked = np.repeat(case.rows[None], len(values), axis=0)
        asked[:, :, at] = values[:, None, :]
        odds = case.odds(asked.reshape(-1, len(case.x))).reshape(len(values), -1)
        return _halves(odds) - self._now - self.against

    def at_numbers(self, places: FloatArray) -> FloatArray:
        """Return the gain at numbers in model space, elsewhere than at atoms."""
        values = np.zeros((len(places), len(self.case.columns(self.feature))))
        values[:, 0] = places
        return self(values)

    @cached_property
    def _now(self) -> float:
        """Mean log-odds if all have the row's own value."""
        rows, at = self.case.rows.copy(), self.case.columns(self.feature)
        rows[:, at] = self.case.x[at]
        return float(_halves(self.case.odds(rows)[None])[0])


def _halves(odds: FloatArray) -> FloatArray:
    """Return the mean of the row's odds (first column) and the mean of its references'."""
    mean: FloatArray = 0.5 * (odds[:, 0] + odds[:, 1:].mean(axis=1))
    return mean


def _all_beyond(good: BoolArray, chosen: int, way: int) -> bool:
    """Whether there are values on the far side of the chosen one, and all of them are good."""
    beyond = good[chosen + 1 :] if way > 0 else good[:chosen]
    return len(beyond) > 0 and bool(beyond.all())


def _sentence(
    feature: Feature, value: Any, limit: Any, beyond: bool, target: object, scale: float
) -> str:
    """Return the reason in words."""
    now = f"'{feature.name}' is {_in_words(feature, value, scale)}"
    if limit is None:
        return f"{now}, which counts against '{target}'."
    if feature.kind == "category":
        others = " or ".join(f"'{level}'" for level in limit[:3])
        return f"{now}; with {others} it would no longer count against '{target}'."
    text = _in_words(feature, limit, scale)
    if beyond:
        text += " or more" if _is_above(feature, limit, value) else " or less"
    return f"{now}; at {text} it would no longer count against '{target}'."


def _is_above(feature: Feature, limit: Any, value: Any) -> bool:
    if feature.coded:
        codes: dict[Any, int] = dict(feature.code_of)
        return codes[limit] > codes.get(value, -1)
    return bool(pd.isna(value) or limit > value)


def _in_words(feature: Feature, value: Any, scale: float) -> str:
    if pd.isna(value):
        return "missing"
    if feature.coded:
        return format_level(value)
    if feature.kind == "whole":
        return f"{round(value):,} {feature.unit}".rstrip()
    return f"{format_number(float(value), scale, abs(float(value)))} {feature.unit}".rstrip()
