"""Where a path may end: plausible, and of the target class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from daace._checks import check_number
from daace._typing import BoolArray, FloatArray, Labels
from daace._wording import quote
from daace.density.base import ConditionalDensity
from daace.density.bayes import log_sum_exp
from daace.density.draws import DrawStatistics
from daace.exceptions import InvalidInput

#: Slack of a threshold that every point meets, in nats.
PLENTY = 1e100

#: Log-probability in place of log 0 from a classifier, so that slacks are finite.
NEVER = -700.0

#: Log-odds within which judges count as equally unconvinced.
SHARPNESS = 0.1

#: Nats by which a judge in single precision may differ between one row and many.
ROUNDED = 1e-5


class Posterior(Protocol):
    """A model that predicts class probabilities: the density, or a wrapped classifier."""

    @property
    def classes_(self) -> Labels:
        """The classes, in the order of `log_posterior`."""
        ...

    def log_posterior(self, X: FloatArray) -> FloatArray:
        """Return log p(y | x) of model-space rows, shape `(rows, classes)`."""
        ...


@runtime_checkable
class SmoothPosterior(Posterior, Protocol):
    """A posterior with gradients, unless its `smooth` is false."""

    smooth: bool

    def log_posterior_and_gradient(
        self, X: FloatArray, index: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return log p(y | x), and the gradient of log p(y = index | x), shape `(rows, n)`."""
        ...


@runtime_checkable
class RowPosterior(Posterior, Protocol):
    """A posterior that judges rows in the user's units, in the form that the user gets."""

    def log_posterior_of_row(self, row: FloatArray, *, alone: bool) -> FloatArray:
        """Return log p(y | x) of one row in user units, shape `(1, classes)`.

        Args:
            row: shape `(1, n)`.
            alone: predict this row by itself. Otherwise a prediction made in a batch will do,
                although a classifier may round it differently.
        """
        ...


@runtime_checkable
class SeveralJudges(Posterior, Protocol):
    """A posterior made of smooth judges, all of which must agree; the density is the first.

    Its `log_posterior` of each class is the smallest among the judges.
    """

    def log_odds(self, log_joint: FloatArray, X: FloatArray, index: int) -> FloatArray:
        """Return each judge's log-odds of a class against all others, shape `(rows, judges)`."""
        ...

    def log_odds_and_gradients(
        self, log_joint: FloatArray, X: FloatArray, index: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return the log-odds, and the gradients of all but the first, `(rows, judges - 1, n)`."""
        ...

    def density_slope(self, index: int) -> float:
        """Return the slope of the first judge's log-odds over those of the density."""
        ...


#: Largest threshold of log p or of plausibility: no density comes near it, and far larger ones
#: overflow in the search.
MAX_THRESHOLD = 1e6


@dataclass(frozen=True)
class Goal:
    """`log p(x') >= min_log_prob` and `p(target | x') >= min_posterior`.

    Args:
        target: the class to reach.
        plausibility: sets min_log_prob to mean + plausibility * sd of log p over the density's
            own draws.
        min_log_prob: threshold of log p; overrides `plausibility`.
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
        check_number("plausibility", self.plausibility, at_most=MAX_THRESHOLD)
        if self.min_log_prob is not None:
            check_number("min_log_prob", self.min_log_prob, at_most=MAX_THRESHOLD)
        check_number("min_posterior", self.min_posterior)
        if not 0 <= self.min_posterior < 1:
            raise InvalidInput(
                argument="min_posterior",
                expected="be at least 0 and below 1",
                got=repr(self.min_posterior),
            )

    def region(
        self,
        density: ConditionalDensity,
        posterior: Posterior | None = None,
        draws: DrawStatistics | None = None,
    ) -> GoalRegion:
        """Return the set of model-space points that meet this goal.

        Args:
            density: the density of the features.
            posterior: judge of the class; the density when left out.
            draws: statistics that `plausibility` refers to; the density's when left out.

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
        return GoalRegion(density, posterior, index, self.threshold(draws or density.draws_), beta)

    def threshold(self, draws: DrawStatistics) -> float:
        """Return the smallest log p that the end may have.

        Args:
            draws: statistics that `plausibility` refers to.
        """
        if self.min_log_prob is not None:
            return float(self.min_log_prob)
        return float(draws.mean + self.plausibility * draws.sd)

    def check(
        self, density: ConditionalDensity, x: FloatArray, posterior: Posterior | None = None
    ) -> bool:
        """Whether one model-space point meets the goal, judged alone."""
        region = self.region(density, posterior)
        return bool(region.contains(np.asarray(x, dtype=np.float64).reshape(1, -1))[0])


@dataclass(frozen=True, eq=False)
class GoalRegion:
    """A goal on a density: slacks of its two thresholds, in nats, and their gradients.

    Attributes:
        density: the density of the features.
        posterior: judge of the class; None for the density.
        index: index of the target among the judge's classes.
        min_log_prob: threshold of log p: a number, or an array with one of each row.
        log_min_posterior: threshold of the log posterior.
    """

    density: ConditionalDensity
    posterior: Posterior | None
    index: int
    min_log_prob: float | FloatArray
    log_min_posterior: float

    def take(self, rows: np.ndarray) -> GoalRegion:
        """Return the region of some of the rows."""
        if not isinstance(self.min_log_prob, np.ndarray):
            return self
        return replace(self, min_log_prob=self.min_log_prob[rows])

    @cached_property
    def smooth_posterior(self) -> SmoothPosterior | None:
        """The judge in place of the density, if there is one and it has gradients."""
        judge = self.posterior
        return judge if isinstance(judge, SmoothPosterior) and judge.smooth else None

    @cached_property
    def several_judges(self) -> SeveralJudges | None:
        """The judges in place of the density, if there are several."""
        judge = self.posterior
        return judge if isinstance(judge, SeveralJudges) else None

    @property
    def differentiable(self) -> bool:
        """Whether `slack_and_pullback` can be used."""
        return self.looks == 2 or self.smooth_posterior is not None

    def slack(self, X: FloatArray) -> FloatArray:
        """Return `log p - alpha` and `log p(target|x) - log beta`, shape `(rows, 2)`."""
        return self.slack_of(self.density.log_joint(X), X)

    def slack_of(self, log_joint: FloatArray, X: FloatArray) -> FloatArray:
        """Return the slacks of rows whose log-joint is known."""
        return self._slack(log_joint, self._judged(log_joint, X))

    def _judged(self, log_joint: FloatArray, X: FloatArray) -> FloatArray | None:
        """Return log p(target | x) of the judge; None for the density."""
        if self.posterior is None:
            return None
        if self.several_judges is None:
            return self.posterior.log_posterior(X)[:, self.index]
        least = self.several_judges.log_odds(log_joint, X, self.index).min(axis=1)
        logs: FloatArray = -np.logaddexp(0.0, -least)
        return logs

    def _slack(self, log_joint: FloatArray, judged: FloatArray | None) -> FloatArray:
        log_prob = log_sum_exp(log_joint)
        posterior = log_joint[:, self.index] - log_prob if judged is None else judged
        slack = np.empty((len(log_joint), 2))
        slack[:, 0] = log_prob - self.min_log_prob
        slack[:, 1] = PLENTY
        if np.isfinite(self.log_min_posterior):
            least = -np.inf if judged is None else NEVER
            slack[:, 1] = np.maximum(posterior, least) - self.log_min_posterior
        return slack

    def odds_slack(self, X: FloatArray) -> FloatArray:
        """Return the judge's log-odds of the target minus those of the threshold."""
        assert self.posterior is not None
        return self._odds(self.posterior.log_posterior(X))[0]

    def odds_slack_and_gradient(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return `odds_slack` and its gradient, by one call of a judge that has gradients."""
        assert self.smooth_posterior is not None
        logs, slopes = self.smooth_posterior.log_posterior_and_gradient(X, self.index)
        slack, others = self._odds(logs)
        return slack, slopes / np.exp(others)[:, None]

    def _odds(self, logs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the slack of the log-odds, and the logarithm of all other classes' share."""
        mine = np.maximum(logs[:, self.index], NEVER)
        others = log_sum_exp(np.maximum(np.delete(logs, self.index, axis=1), NEVER))
        return self._beyond(mine - others), others

    def _beyond(self, odds: FloatArray) -> FloatArray:
        """Return log-odds minus those of the threshold."""
        if not np.isfinite(self.log_min_posterior):
            return np.full(odds.shape, PLENTY)
        beyond: FloatArray = odds - self._wanted
        return beyond

    @property
    def _wanted(self) -> float:
        """Log-odds of the threshold."""
        return self.log_min_posterior - float(np.log(-np.expm1(self.log_min_posterior)))

    def contains(self, X: FloatArray) -> BoolArray:
        """Whether each row meets both thresholds."""
        inside: BoolArray = np.all(self.slack(X) >= 0, axis=1)
        return inside

    def holds(self, x: FloatArray, row: FloatArray) -> bool:
        """Whether one row meets both thresholds.

        Args:
            x: the row in model space, shape `(1, n)`.
            row: the row in user units.
        """
        judge = self.posterior
        if not isinstance(judge, RowPosterior):
            return bool(self.contains(x)[0])
        log_joint = self.density.log_joint(x)
        if not log_sum_exp(log_joint)[0] >= self.min_log_prob:
            return False  # no need to call a classifier
        for alone in (False, True):
            logs = judge.log_posterior_of_row(row, alone=alone)[:, self.index]
            known = self._slack(log_joint, logs)[0, 1]
            if abs(known) > ROUNDED:
                break
        return bool(known >= 0)

    def slack_and_pullback(
        self, X: FloatArray, odds: tuple[FloatArray, FloatArray] | None = None
    ) -> tuple[FloatArray, Callable[[], FloatArray]]:
        """Return the slacks for the descent, and a function giving their gradients.

        They are two, or more with several judges: that of log p, then the log-odds of each judge.
        Gradients have shape `(rows, slacks, n)`.

        Args:
            X: model-space rows.
            odds: slack of the log-odds and its gradient if they are known or estimated: they
                replace the second slack, and the judge is not called.
        """
        joint, pullback = self.density.log_joint_and_pullback(X)
        slack, shares, slopes = self.slack_and_shares(joint, X, odds)

        def gradients() -> FloatArray:
            pulled = [pullback(shares[:, k]) for k in range(shares.shape[1])]
            return np.stack([*pulled, *slopes], axis=1)

        return slack, gradients

    def pair_and_gradients(
        self, X: FloatArray, odds: tuple[FloatArray, FloatArray] | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return two slacks, as `slack` has them, and their gradients, shape `(rows, 2, n)`.

        Of several judges the second is a smooth minimum, at most 0.2 nats below the smallest.

        Args:
            X: model-space rows.
            odds: as in `slack_and_pullback`.
        """
        slack, pullback = self.slack_and_pullback(X, odds)
        gradients = pullback()
        if self.several_judges is None or not np.isfinite(self.log_min_posterior):
            return slack[:, :2], gradients[:, :2]
        least = slack[:, 1:].min(axis=1, keepdims=True)
        shares = np.exp(-(slack[:, 1:] - least) / SHARPNESS)
        total = shares.sum(axis=1, keepdims=True)
        odds_of_all = (least - SHARPNESS * np.log(total))[:, 0] + self._wanted
        logs = -np.logaddexp(0.0, -odds_of_all)
        growth = -np.expm1(logs)[:, None] * shares / total
        slope = np.einsum("rj,rjn->rn", growth, gradients[:, 1:])
        pair = np.stack([slack[:, 0], logs - self.log_min_posterior], axis=1)
        return pair, np.stack([gradients[:, 0], slope], axis=1)

    @property
    def looks(self) -> int:
        """Number of slacks in the descent that come from the density itself."""
        return 2 if self.posterior is None or self.several_judges is not None else 1

    def slack_and_shares(
        self,
        log_joint: FloatArray,
        X: FloatArray,
        odds: tuple[FloatArray, FloatArray] | None = None,
    ) -> tuple[FloatArray, FloatArray, list[FloatArray]]:
        """Return the slacks of rows whose log-joint is known, and the parts of their gradients.

        Args:
            log_joint: the log-joint of the rows.
            X: model-space rows.
            odds: as in `slack_and_pullback`.

        Returns:
            The slacks; their derivatives by each class's log-joint, to be pulled back, shape
            `(rows, looks, classes)`; and the gradients that are known already.
        """
        judged, known = None, []
        if odds is None and self.smooth_posterior is not None:  # one call for both
            logs, slopes = self.smooth_posterior.log_posterior_and_gradient(X, self.index)
            judged, known = logs[:, self.index], [slopes]
        slack = self._slack(log_joint, judged)
        if odds is not None:
            slack[:, 1], slopes = odds
            known = [slopes]
        log_prob = slack[:, 0] + self.min_log_prob
        share = np.exp(log_joint - log_prob[:, None])
        if self.looks == 1:
            return slack, share[:, None], known
        if self.several_judges is None:
            chosen = -share
            chosen[:, self.index] += 1.0
            return slack, np.stack([share, chosen], axis=1), []
        each, slopes = self.several_judges.log_odds_and_gradients(log_joint, X, self.index)
        slack = np.concatenate([slack[:, :1], self._beyond(each)], axis=1)
        others = log_sum_exp(np.delete(log_joint, self.index, axis=1))
        chosen = -np.exp(log_joint - others[:, None])
        chosen[:, self.index] = 1.0
        chosen *= self.several_judges.density_slope(self.index)
        return slack, np.stack([share, chosen], axis=1), list(np.swapaxes(slopes, 0, 1))
