"""A classifier as a search asks it: no row twice, within a budget, and without raising."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from daace._typing import FloatArray, Labels
from daace.exceptions import InvalidInput
from daace.explain.judging.classifier import ClassifierPosterior
from daace.explain.judging.row_cache import RowCache, row_keys
from daace.notes import Note
from daace.planners.base import Judged, Status

#: Nats that are subtracted from what is judged in a batch: alone it may round down.
ROUNDING = 1e-9


class BudgetedPosterior:
    """A classifier's log p(y | x) for one search; a `SmoothPosterior` and a `RowPosterior`.

    Rows that have been judged are remembered until the search is over. Draws of the density,
    which every search looks at, are remembered as long as they live, by the classifier's
    `ClassifierPosterior`. When the budget is spent, the time is over or the classifier fails, it
    is not asked any more: rows that are not known then count as outside the goal, so that the
    search ends with the best that it has found until then.

    Args:
        judge: the classifier.
        budget: rows that it may be asked about in the search for one explanation; and as many
            draws of the density, once for each class. No limit when left out.
        time_limit: seconds, from the beginning of the search.

    Attributes:
        calls: how often it was called.
        rows: number of rows in these calls.
        stopped: how the search ends, if it was stopped.
        reason: the same as a note.

    Example:
        >>> from daace import GaussianMixture
        >>> density = GaussianMixture([1, 1], [[0.0], [4.0]], [[[1.0]], [[1.0]]], ["ill", "well"])
        >>> judge = ClassifierPosterior(lambda rows: (rows["x1"] > 2) * 0.9, density)
        >>> posterior = BudgetedPosterior(judge, budget=2)
        >>> X = np.array([[0.0], [3.0], [0.0]])
        >>> np.exp(posterior.log_posterior(X)[:, 1]).round(3).tolist(), posterior.rows
        ([0.0, 0.9, 0.0], 2)
        >>> np.exp(posterior.log_posterior(np.array([[5.0]]))).tolist(), str(posterior.stopped)
        ([[0.0, 0.0]], 'out_of_budget')
    """

    classes_: Labels

    def __init__(
        self,
        judge: ClassifierPosterior,
        *,
        budget: int | None = None,
        time_limit: float | None = None,
    ) -> None:
        self.classes_ = judge.classes_
        self._judge = judge
        self._each, self._time_limit = budget, time_limit
        self._seen = RowCache(len(judge.classes_))
        self._alone = RowCache(len(judge.classes_))
        self.begin(1)

    def begin(self, searches: int) -> None:
        """Begin a search.

        Args:
            searches: explanations that are searched for together, each with the whole budget.
        """
        self.calls = 0
        self.rows = 0
        self.stopped: Status | None = None
        self.reason: Note | None = None
        self._budget = None if self._each is None else searches * self._each
        self._spent = 0
        limit = self._time_limit
        self._until = None if limit is None else time.perf_counter() + limit

    @property
    def smooth(self) -> bool:
        """Whether the classifier has slopes."""
        return self._judge.smooth

    def log_posterior(self, X: FloatArray) -> FloatArray:
        """Return log p(y | x) of model-space rows; -inf for what may not be asked any more."""
        if len(X) > 1 and X.base is None and not X.flags.writeable:
            return self._of_draws(X)
        rows = self._judge.to_rows(X)
        keys = row_keys(rows)
        new = self._seen.missing(keys)
        if new:
            few = new[: self._left(len(new))]
            logs = self._ask(rows[few])
            if logs is not None:
                self._keep([keys[k] for k in few], logs, alone=len(few) == 1)
                self._spent += len(few)
                if len(few) == len(keys) > 1:
                    return logs - ROUNDING
        return self._seen.find(keys)

    def log_posterior_of_row(self, row: FloatArray, *, alone: bool) -> FloatArray:
        """Return log p(y | x) of one row in user units; -inf if it may not be asked any more."""
        row = self._judge.round_rows(row)
        keys = row_keys(row)
        if not self._alone.missing(keys):
            return self._alone.find(keys)
        if not alone and not self._seen.missing(keys):
            return self._seen.find(keys)
        logs = self._ask(row) if self._left(1) else None
        if logs is not None:
            self._keep(keys, logs, alone=True)
            self._spent += 1
        return self._alone.find(keys)

    def know(self, rows: FloatArray, logs: FloatArray) -> None:
        """Take over what is known of rows in user units: log p(y | x), `(rows, classes)`."""
        self._keep(row_keys(rows), logs, alone=len(rows) == 1)

    def log_posterior_and_gradient(
        self, X: FloatArray, index: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return log p(y | x) and the gradient of log p(y = index | x), flat where unknown."""
        each = self._judge.rows_per_gradient
        answer = None
        if self._left(each * len(X)) == each * len(X) and not self._over():
            try:
                answer = self._judge.log_posterior_and_gradient(X, index)
            except InvalidInput as error:
                self._stop(Status.CLASSIFIER_FAILED, Note.of("classifier_failed", error=str(error)))
        if answer is None:
            return self.log_posterior(X), np.zeros(X.shape)
        self.calls += 1
        self.rows += each * len(X)
        self._spent += each * len(X)
        self._keep(row_keys(self._judge.to_rows(X)), answer[0], alone=False)
        return self.log_posterior(X), answer[1]

    def report(self, paths: Sequence[FloatArray], start_logs: FloatArray) -> list[Judged]:
        """Return what the classifier was asked, and what it says of the waypoints of paths.

        Args:
            paths: rows in user units, each of shape `(waypoints, n)`; what it cannot be asked
                about is NaN.
            start_logs: log p(y | x) of their first waypoints, which is known.
        """
        self._budget = None  # a report is not part of the search
        rows = np.concatenate(paths)
        keys = row_keys(rows)
        new = self._alone.missing(keys)  # ends were judged alone
        answer = self._ask(rows[new])
        if answer is not None:
            self._alone.add([keys[k] for k in new], answer)
        logs = self._alone.find(keys)
        logs[np.isneginf(logs).all(axis=1)] = np.nan
        begins = np.cumsum([0, *map(len, paths[:-1])])
        logs[begins] = start_logs
        parts = np.split(logs, begins[1:])
        return [Judged(self.calls, self.rows, part) for part in parts]

    def _of_draws(self, X: FloatArray) -> FloatArray:
        """Return log p(y | x) of draws that every search looks at; as many as the budget has."""
        known = self._judge.known(X)
        if known is None:
            asked = np.flatnonzero(self._judge.can_be_shown(X))[: self._budget]
            logs = self._ask(self._judge.to_rows(X[asked]))
            known = np.full((len(X), len(self.classes_)), -np.inf)
            if logs is None:
                return known
            known[asked] = logs - ROUNDING
            self._judge.remember(X, known)
        return known

    def _ask(self, rows: FloatArray) -> FloatArray | None:
        """Return log p(y | x) of rows in user units; None if nobody is asked any more."""
        if len(rows) == 0 or self._over():
            return None
        try:
            logs = self._judge.log_posterior_of_rows(rows)
        except InvalidInput as error:
            self._stop(Status.CLASSIFIER_FAILED, Note.of("classifier_failed", error=str(error)))
            return None
        self.calls += 1
        self.rows += len(rows)
        return logs

    def _keep(self, keys: list[bytes], logs: FloatArray, *, alone: bool) -> None:
        self._seen.add(keys, logs if alone else logs - ROUNDING)
        if alone:
            self._alone.add(keys, logs)

    def _left(self, wanted: int) -> int:
        """Return how many of the wanted rows may still be asked about."""
        if self._budget is None or self._spent + wanted <= self._budget:
            return wanted
        self._stop(Status.OUT_OF_BUDGET, Note.of("budget_spent", rows=self._budget))
        return self._budget - self._spent

    def _over(self) -> bool:
        """Whether the classifier has failed, or the time is over."""
        if self._until is not None and time.perf_counter() > self._until:
            self._stop(Status.TIMEOUT, Note.of("classifier_timeout"))
        return self.stopped in (Status.CLASSIFIER_FAILED, Status.TIMEOUT)

    def _stop(self, status: Status, reason: Note) -> None:
        if self.stopped is None:
            self.stopped, self.reason = status, reason
