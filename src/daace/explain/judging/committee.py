"""Several smooth judges and the density, each of which has to be convinced.

The cheapest path across the class border of one model is an adversarial example for it: models
that it has not seen refuse the end. What models of different kinds all accept, others accept, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from daace._typing import BoolArray, FloatArray, Labels
from daace.data.table import Table
from daace.density.base import ConditionalDensity
from daace.density.bayes import log_sum_exp
from daace.density.draws import HeldOut
from daace.explain.judging.calibration import fit_calibration
from daace.explain.judging.members import (
    MAX_MEMBERS,
    Inputs,
    Member,
    arrays_of,
    kind_of,
    read_inputs,
    read_member,
)
from daace.explain.judging.reach import find_reach
from daace.explain.judging.training import train_members
from daace.planners.base import one_thread

#: The largest default of the probability that every judge has to give the target.
SURE = 0.75

#: Fewest held-out rows of a class that its default may rest on, and the default where fewer are
#: accepted by all: models that were not asked refuse ends at 0.5, and of a rare class (bank
#: marketing, 12% of the rows) hardly anything reaches 0.7.
FEWEST_JUDGED, RARELY = 10, 0.6

#: Share of the held-out rows of a class that the density has to recognise to have a vote on it, and
#: the log-odds that stand for its consent where it has none.
RECOGNIZED, CONSENT = 0.1, 100.0

#: What the members are called, by their kind.
NAMES = {
    "linear": "logistic regression", "splines": "splines", "kernels": "kernels",
    "network": "network",
}  # fmt: skip


#: Arrays of a committee itself.
OWN = ("slope", "offset", "defaults", "reach", "votes")


@dataclass(frozen=True, eq=False)
class Committee:
    """The density and a few members; the smallest of their probabilities counts.

    Each is calibrated by itself on rows that it has not seen. `daace.fit` trains one. The density
    has no vote on a class of which it hardly recognises a held-out row: calibrated, it does not
    reach what is asked for, whatever the row.

    Attributes:
        density: the first judge; maps the user's rows to model space.
        inputs: from model-space rows to what members look at.
        members: the other judges, with one score for two classes, one for each of more.
        slope: of the calibration of each judge and class, shape `(judges, classes)`.
        offset: of the calibration, of the same shape.
        defaults: probability of each class that every judge has to give, unless another is asked
            for: 0.75, or what half of the held-out rows of that class reach which all accept.
        reach: model-space bounds of the rows of each class, shape `(2, classes, n)`: what judges
            say beyond them rests on nobody.
        votes: whether the density is among those that decide about each class.

    Example:
        >>> from daace import fit, load_table
        >>> committee = fit(load_table("iris")).committee
        >>> committee.names[:4]
        ('density', 'logistic regression', 'splines', 'kernels')
        >>> committee.probabilities(np.zeros((1, 4)), 1).shape
        (1, 7)
    """

    density: ConditionalDensity
    inputs: Inputs
    members: tuple[Member, ...]
    slope: FloatArray
    offset: FloatArray
    defaults: FloatArray
    reach: FloatArray
    votes: BoolArray

    @property
    def classes_(self) -> Labels:
        """The classes, in the density's order."""
        return self.density.classes_

    @classmethod
    def train(
        cls, density: ConditionalDensity, table: Table, held_out: HeldOut | None
    ) -> Committee:
        """Train and calibrate the members beside a density.

        Args:
            density: fitted on the table.
            table: rows with their class.
            held_out: what a density like this one says of rows that it has not seen, for its
                calibration; it stays as it is without.
        """
        with one_thread():
            training = train_members(density, table)
            raw = cls._uncalibrated(density, training.inputs, training.members)
            joint = density.log_joint(training.X)
            each = [raw.log_odds(joint, training.X, k) for k in range(len(density.classes_))]
            for part in training.parts:  # what members say that have not seen these rows
                judges = cls._uncalibrated(density, training.inputs, part.members)
                for k, odds in enumerate(each):
                    there = training.X[part.rows]
                    odds[part.rows] = judges.log_odds(joint[part.rows], there, k)
        y, told = training.y, training.unseen
        slope, offset = raw.slope, raw.offset
        for k, odds in enumerate(each):
            for judge in range(1, odds.shape[1]):
                fitted = fit_calibration(odds[told, judge], y[told] == k)
                slope[judge, k], offset[judge, k] = fitted
            if held_out is not None:
                own, hits = _odds(held_out.log_joint, k), held_out.labels == k
                slope[0, k], offset[0, k] = fit_calibration(own, hits)
                recognized = slope[0, k] * own[hits] + offset[0, k] >= 0
                if training.members and len(recognized) >= FEWEST_JUDGED:
                    raw.votes[k] = recognized.mean() >= RECOGNIZED
        if len(each) == 2:  # what is for one class is against the other
            slope[:, 0], offset[:, 0] = slope[:, 1], -offset[:, 1]
        for k, odds in enumerate(each):
            calibrated = raw._voiced(slope[:, k] * odds[told & (y == k)] + offset[:, k], k)
            raw.defaults[k] = _default(scipy.special.expit(calibrated.min(axis=1)))
        if training.members:
            raw.reach[:] = find_reach(training.X, y, box_of(density), density.encoding_)
        return raw

    @classmethod
    def _uncalibrated(
        cls, density: ConditionalDensity, inputs: Inputs, members: tuple[Member, ...]
    ) -> Committee:
        judges, classes = 1 + len(members), len(density.classes_)
        slope, offset = np.ones((judges, classes)), np.zeros((judges, classes))
        reach = np.repeat(np.stack(box_of(density))[:, None], classes, axis=1)
        defaults, votes = np.zeros(classes), np.ones(classes, dtype=bool)
        return cls(density, inputs, members, slope, offset, defaults, reach, votes)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the judges are called; the density is the first."""
        kinds = [kind_of(member) for member in self.members]
        count = dict.fromkeys(kinds, 0)
        names = ["density"]
        for kind in kinds:
            count[kind] += 1
            several = kinds.count(kind) > 1
            names.append(f"{NAMES[kind]} {count[kind]}" if several else NAMES[kind])
        return tuple(names)

    def box(self, index: int) -> tuple[FloatArray, FloatArray]:
        """Return model-space bounds of what the rows of a class reach."""
        lower, upper = self.reach[:, index]
        return lower, upper

    # What the judges think ----------------------------------------------------------------------

    def log_odds(self, log_joint: FloatArray, X: FloatArray, index: int) -> FloatArray:
        """Return each judge's log-odds of a class against all others, shape `(rows, judges)`.

        Those of a density without a vote are its consent.

        Args:
            log_joint: of the rows.
            X: model-space rows.
            index: of the class.
        """
        return self._voiced(self._views(log_joint, X, index), index)

    def _views(self, log_joint: FloatArray, X: FloatArray, index: int) -> FloatArray:
        """Return the log-odds of all judges, with a vote or without."""
        U = self.inputs(X)
        scores = [_one_against_rest(member.scores(U), index) for member in self.members]
        odds = np.stack([_odds(log_joint, index), *scores], axis=1)
        return self.slope[:, index] * odds + self.offset[:, index]

    def _voiced(self, views: FloatArray, index: int) -> FloatArray:
        """Put consent in the place of a density's view that does not count."""
        if not self.votes[index]:
            views[:, 0] = CONSENT
        return views

    def log_odds_and_gradients(
        self, log_joint: FloatArray, X: FloatArray, index: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return the same, and the gradients of all but the density's.

        Args:
            log_joint: of the rows.
            X: model-space rows.
            index: of the class.

        Returns:
            the log-odds, shape `(rows, judges)`; the gradients of the members' log-odds, shape
            `(rows, judges - 1, n)`.
        """
        U = self.inputs(X)
        odds, slopes = [_odds(log_joint, index)], []
        for member, growth in zip(self.members, self.slope[1:, index], strict=True):
            scores = member.scores(U)
            odds.append(_one_against_rest(scores, index))
            slopes.append(member.slopes(U, growth * _shares(scores, index)))
        gradients = self.inputs.pull_back(np.stack(slopes, axis=1), X.shape[1])
        views = self.slope[:, index] * np.stack(odds, axis=1) + self.offset[:, index]
        return self._voiced(views, index), gradients

    def density_slope(self, index: int) -> float:
        """Return by what the density's log-odds of a class are multiplied; 0 without a vote."""
        return float(self.slope[0, index]) if self.votes[index] else 0.0

    def probabilities(
        self, X: FloatArray, index: int, log_joint: FloatArray | None = None
    ) -> FloatArray:
        """Return the probability of a class that each judge gives, shape `(rows, judges)`.

        The first is the density's, with a vote or without.

        Args:
            X: model-space rows.
            index: of the class.
            log_joint: of the rows, where it is known.
        """
        joint = self.density.log_joint(X) if log_joint is None else log_joint
        probabilities: FloatArray = scipy.special.expit(self._views(joint, X, index))
        return probabilities

    def log_posterior(self, X: FloatArray) -> FloatArray:
        """Return, for each class, the log of the smallest probability that counts."""
        joint = self.density.log_joint(X)
        least = [self.log_odds(joint, X, k).min(axis=1) for k in range(len(self.classes_))]
        logs: FloatArray = -np.logaddexp(0.0, -np.stack(least, axis=1))
        return logs

    # Files --------------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, FloatArray]:
        """Return all but the density as arrays by name, for a model file."""
        arrays = {name: np.asarray(getattr(self, name), dtype=np.float64) for name in OWN}
        arrays |= {f"inputs.{name}": array for name, array in arrays_of(self.inputs).items()}
        for number, member in enumerate(self.members):
            prefix = f"{number}.{kind_of(member)}"
            arrays |= {f"{prefix}.{name}": array for name, array in arrays_of(member).items()}
        return arrays

    @classmethod
    def from_arrays(
        cls, density: ConditionalDensity, arrays: Mapping[str, FloatArray]
    ) -> Committee:
        """Rebuild a committee from `to_arrays`.

        Args:
            density: the first judge.
            arrays: finite, perhaps from an untrusted source.

        Raises:
            KeyError, ValueError: they are no such arrays, or do not fit the density.
        """
        parts: dict[str, dict[str, FloatArray]] = {}
        for name, array in arrays.items():
            prefix, _, last = name.rpartition(".")
            parts.setdefault(prefix, {})[last] = array
        own, encoding = parts.pop(""), density.encoding_
        inputs = read_inputs(parts.pop("inputs"), encoding.code_sizes, encoding.width)
        classes = len(density.classes_)
        scores = 1 if classes == 2 else classes
        if len(parts) > MAX_MEMBERS:
            raise ValueError(f"its committee has more than {MAX_MEMBERS} members")
        if {prefix.partition(".")[0] for prefix in parts} != set(map(str, range(len(parts)))):
            raise ValueError("the members of its committee are not numbered one by one")
        members = []
        for prefix in sorted(parts, key=lambda prefix: int(prefix.partition(".")[0])):
            kind = prefix.partition(".")[2]
            members.append(read_member(kind, parts[prefix], inputs, scores))
        judges = (1 + len(members), classes)
        own.setdefault("votes", np.ones(classes))  # files of versions in which every judge had one
        shapes = [judges, judges, (classes,), (2, classes, encoding.width), (classes,)]
        if [own[name].shape for name in OWN] != shapes or len(own) > len(OWN):
            raise ValueError("the arrays of its committee have other names or shapes")
        slope, offset, defaults, reach, votes = (own[name] for name in OWN)
        if not ((slope > 0).all() and ((defaults >= 0) & (defaults < 1)).all()):
            raise ValueError("the calibration of its committee is out of range")
        if not (reach[0] <= reach[1]).all():
            raise ValueError("the reach of its committee is empty")
        if not (np.isin(votes, (0, 1)).all() and (members or votes.all())):
            raise ValueError("the votes of its committee are not those of a committee")
        return cls(density, inputs, tuple(members), slope, offset, defaults, reach, votes != 0)


def box_of(density: ConditionalDensity) -> tuple[FloatArray, FloatArray]:
    """Return model-space bounds of a density's draws."""
    return density.draws_.lower, density.draws_.upper


def _default(least: FloatArray) -> float:
    """Return the probability that every judge has to give a class.

    Args:
        least: the smallest that one gives to each held-out row of that class.
    """
    accepted = least[least >= 0.5]
    if len(accepted) < FEWEST_JUDGED:
        return RARELY
    return round(min(SURE, float(np.median(accepted))), 2)


def _odds(logs: FloatArray, index: int) -> FloatArray:
    """Return the log-odds of a class against all others, of logits or log-joints."""
    odds: FloatArray = logs[:, index] - log_sum_exp(np.delete(logs, index, axis=1))
    return odds


def _one_against_rest(scores: FloatArray, index: int) -> FloatArray:
    """Return the log-odds of a class from a member's scores."""
    if scores.shape[1] == 1:
        return scores[:, 0] if index == 1 else -scores[:, 0]
    return _odds(scores, index)


def _shares(scores: FloatArray, index: int) -> FloatArray:
    """Return the gradient of a class's log-odds with respect to a member's scores."""
    if scores.shape[1] == 1:
        return np.full(scores.shape, 1.0 if index == 1 else -1.0)
    others = np.delete(scores, index, axis=1)
    shares: FloatArray = -np.exp(scores - log_sum_exp(others)[:, None])
    shares[:, index] = 1.0
    return shares
