"""Where a path may end: plausible, and of the target class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from daace._checks import check_number
from daace._typing import BoolArray, FloatArray, Labels
from daace._wording import quote
from daace.density.base import ConditionalDensity
from daace.density.bayes import log_sum_exp
from daace.exceptions import InvalidInput

#: Slack of a threshold that asks for nothing, in nats.
PLENTY = 1e100

#: Log-probability of a class that a classifier calls impossible: slacks are finite.
NEVER = -700.0


#: Nats by which a judge in single precision may differ between one row and many.
ROUNDED = 1e-5


class Posterior(Protocol):
    """A model that predicts class probabilities: the density, or a wrapped classifier."""

    classes_: Labels

    def log_posterior(self, X: FloatArray) -> FloatArray:
        """Return log p(y | x) of model-space rows, shape `(rows, classes)`."""
        ...


@runtime_checkable
class SmoothPosterior(Posterior, Protocol):
    """One that also knows how its judgement changes; where `smooth` is false, it does not."""

    smooth: bool

    def log_posterior_and_gradient(
        self, X: FloatArray, index: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return log p(y | x), and the gradient of log p(y = index | x), shape `(rows, n)`."""
        ...


@runtime_checkable
class RowPosterior(Posterior, Protocol):
    """One that judges rows in the user's units, as the user will ask about them."""

    def log_posterior_of_row(self, row: FloatArray, *, alone: bool) -> FloatArray:
        """Return log p(y | x) of one row in user units, shape `(1, classes)`.

        Args:
            row: shape `(1, n)`.
            alone: ask about this row only. Otherwise what was said of it among others will do,
                where a classifier may round otherwise.
        """
        ...


@dataclass(frozen=True)
class Goal:
    """`log p(x') >= min_log_prob` and `p(target | x') >= min_posterior`.

    Args:
        target: the class to reach.
        plausibility: sets min_log_prob to mean + plausibility * sd of log p over the density's
            own draws.
        min_log_prob: the threshold itself; overrides `plausibility`.
        min_posterior: smallest probability of the target.

    Example:
        >>> Goal(target="benign", min_posterior=0.7).plausibility
        -0.5
    """

    target: object
    plausibility: float = -0.5
    min_log_prob: float | None = None
    min_posterior: float = 0.5

    def __post_init__(self) -> None:
        check_number("plausibility", self.plausibility)
        if self.min_log_prob is not None:
            check_number("min_log_prob", self.min_log_prob)
        check_number("min_posterior", self.min_posterior)
        if not 0 <= self.min_posterior < 1:
            raise InvalidInput(
                argument="min_posterior",
                expected="be at least 0 and below 1",
                got=repr(self.min_posterior),
            )

    def region(self, density: ConditionalDensity, posterior: Posterior | None = None) -> GoalRegion:
        """Return the set of model-space points that meet this goal.

        Raises:
            InvalidInput: the target is not a class of the density.
        """
        judge = density if posterior is None else posterior
        label = density.classes_.item(density.class_index(self.target))
        known = [str(name) for name in judge.classes_.tolist()]
        if str(label) not in known:
            raise InvalidInput(
                argument="posterior", expected=f"know the class '{label}'", got=quote(known)
            )
        index = known.index(str(label))
        beta = float(np.log(self.min_posterior)) if self.min_posterior > 0 else -np.inf
        return GoalRegion(density, posterior, index, self.threshold(density), beta)

    def threshold(self, density: ConditionalDensity) -> float:
        """Return the smallest log p that the end may have."""
        if self.min_log_prob is not None:
            return float(self.min_log_prob)
        return float(density.draws_.mean + self.plausibility * density.draws_.sd)

    def check(
        self, density: ConditionalDensity, x: FloatArray, posterior: Posterior | None = None
    ) -> bool:
        """Whether one model-space point meets the goal, judged alone."""
        region = self.region(density, posterior)
        return bool(region.contains(np.asarray(x, dtype=np.float64).reshape(1, -1))[0])


@dataclass(frozen=True, eq=False)
class GoalRegion:
    """A goal on a density: slacks of its two thresholds, in nats, and their gradients."""

    density: ConditionalDensity
    posterior: Posterior | None
    index: int
    min_log_prob: float
    log_min_posterior: float

    @cached_property
    def smooth_posterior(self) -> SmoothPosterior | None:
        """The judge in place of the density, if there is one and it knows its slopes."""
        judge = self.posterior
        return judge if isinstance(judge, SmoothPosterior) and judge.smooth else None

    @property
    def differentiable(self) -> bool:
        """Whether `slack_and_pullback` can be used."""
        return self.posterior is None or self.smooth_posterior is not None

    def slack(self, X: FloatArray) -> FloatArray:
        """Return `log p - alpha` and `log p(target|x) - log beta`, shape `(rows, 2)`."""
        return self.slack_of(self.density.log_joint(X), X)

    def slack_of(self, log_joint: FloatArray, X: FloatArray) -> FloatArray:
        """Return the slacks of rows whose log-joint is known."""
        judge = self.posterior
        return self._slack(log_joint, None if judge is None else judge.log_posterior(X))

    def _slack(self, log_joint: FloatArray, log_posterior: FloatArray | None) -> FloatArray:
        log_prob = log_sum_exp(log_joint)
        if log_posterior is None:
            posterior = log_joint[:, self.index] - log_prob
        else:
            posterior = np.maximum(log_posterior[:, self.index], NEVER)
        slack = np.empty((len(log_joint), 2))
        slack[:, 0] = log_prob - self.min_log_prob
        slack[:, 1] = PLENTY
        if np.isfinite(self.log_min_posterior):
            slack[:, 1] = posterior - self.log_min_posterior
        return slack

    def odds_slack(self, X: FloatArray) -> FloatArray:
        """Return by how much the judge's log-odds of the target exceed those of the threshold."""
        assert self.posterior is not None
        return self._odds(self.posterior.log_posterior(X))[0]

    def odds_slack_and_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the same and its gradient, by one question to a judge that knows its slopes."""
        assert self.smooth_posterior is not None
        logs, slopes = self.smooth_posterior.log_posterior_and_gradient(X, self.index)
        slack, others = self._odds(logs)
        return slack, slopes / np.exp(others)[:, None]

    def _odds(self, logs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the slack of the log-odds, and the logarithm of all other classes' share."""
        mine = np.maximum(logs[:, self.index], NEVER)
        others = log_sum_exp(np.maximum(np.delete(logs, self.index, axis=1), NEVER))
        if not np.isfinite(self.log_min_posterior):
            return np.full(len(logs), PLENTY), others
        wanted = self.log_min_posterior - np.log(-np.expm1(self.log_min_posterior))
        return mine - others - wanted, others

    def contains(self, X: FloatArray) -> BoolArray:
        """Whether each row meets both thresholds."""
        inside: BoolArray = np.all(self.slack(X) >= 0, axis=1)
        return inside

    def holds(self, x: FloatArray, row: FloatArray) -> bool:
        """Whether one row meets both thresholds.

        Args:
            x: the row in model space, shape `(1, n)`.
            row: the same in user units.
        """
        judge = self.posterior
        if not isinstance(judge, RowPosterior):
            return bool(self.contains(x)[0])
        log_joint = self.density.log_joint(x)
        if not log_sum_exp(log_joint)[0] >= self.min_log_prob:
            return False  # a classifier need not be asked
        known = self._slack(log_joint, judge.log_posterior_of_row(row, alone=False))[0, 1]
        if abs(known) <= ROUNDED:
            known = self._slack(log_joint, judge.log_posterior_of_row(row, alone=True))[0, 1]
        return bool(known >= 0)

    def slack_and_pullback(
        self, X: FloatArray, odds: tuple[FloatArray, FloatArray] | None = None
    ) -> tuple[FloatArray, Callable[[], FloatArray]]:
        """Return the slacks and a function giving their gradients, shape `(rows, 2, n)`.

        Args:
            X: model-space rows.
            odds: slack of the log-odds and its gradient, where they are known or guessed: they
                take the place of the second slack, and nobody is asked.
        """
        joint, pullback = self.density.log_joint_and_pullback(X)
        slack, shares, slopes = self.slack_and_shares(joint, X, odds)

        def gradients() -> FloatArray:
            pulled = [pullback(shares[:, k]) for k in range(shares.shape[1])]
            return np.stack([*pulled, *slopes], axis=1)

        return slack, gradients

    @property
    def looks(self) -> int:
        """How many of the two slacks are the density's own."""
        return 2 if self.posterior is None else 1

    def slack_and_shares(
        self,
        log_joint: FloatArray,
        X: FloatArray,
        odds: tuple[FloatArray, FloatArray] | None = None,
    ) -> tuple[FloatArray, FloatArray, list[FloatArray]]:
        """Return the slacks of rows whose log-joint is known, and what makes their gradients.

        Args:
            log_joint: of the rows.
            X: model-space rows.
            odds: as of `slack_and_pullback`.

        Returns:
            the slacks; the shares of each class's log-joint in them, to be pulled back, shape
            `(rows, looks, classes)`; and the gradients that are known already.
        """
        logs, known = None, []
        if odds is None and self.smooth_posterior is not None:  # one question for both
            logs, slopes = self.smooth_posterior.log_posterior_and_gradient(X, self.index)
            known = [slopes]
        slack = self._slack(log_joint, logs)
        if odds is not None:
            slack[:, 1], slopes = odds
            known = [slopes]
        share = np.exp(log_joint - (slack[:, :1] + self.min_log_prob))
        if known:
            return slack, share[:, None], known
        chosen = -share
        chosen[:, self.index] += 1.0
        return slack, np.stack([share, chosen], axis=1), []
