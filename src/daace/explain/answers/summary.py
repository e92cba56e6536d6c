"""The results of many rows, in a few numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Statistics of answers.

    Attributes:
        rows: number of explained rows.
        statuses: number of rows by status.
        cost: mean over the rows with a path; missing if there are none.
        steps: mean number of steps over the rows with a path; missing if there are none.
        cut_off: number of rows whose search was stopped by the time limit after a path was found.
        denied: number of rows with a path whose recorded class differs from the prediction.
        weak: weaknesses of the model, in a sentence; empty if none are known.

    Example:
        >>> print(Summary(rows=3, statuses={"found": 2, "timeout": 1}, cost=1.5, steps=2.0))
        2 of 3 rows have a path (found 2, timeout 1); mean cost 1.5, mean number of steps 2.0.
    """

    rows: int
    statuses: dict[str, int] = field(default_factory=dict)
    cost: float
    steps: float
    cut_off: int = 0
    denied: int = 0
    weak: str = ""

    @property
    def found(self) -> int:
        """Number of rows with an answer, those that meet the goal already included."""
        return self.statuses.get("found", 0) + self.statuses.get("already_there", 0)

    def __str__(self) -> str:
        listed = ", ".join(f"{status} {count}" for status, count in self.statuses.items())
        text = f"{self.found} of {self.rows} rows have a path" + (f" ({listed})" if listed else "")
        if self.cut_off:
            were = "was" if self.cut_off == 1 else "were"
            text += f"; {self.cut_off} of them {were} cut off by the time limit"
        if self.denied:
            text += f"; for {self.denied} of them the recorded class differs from the prediction"
        if self.statuses.get("found", 0):
            text += f"; mean cost {self.cost:.3g}, mean number of steps {self.steps:.1f}"
        return f"{text}. {self.weak}".rstrip()


class Tally:
    """A summary that grows answer by answer, in little memory.

    Example:
        >>> tally = Tally()
        >>> tally.add("found", cost=1.5, steps=2, notes=[])
        >>> tally.summary().found
        1
    """

    def __init__(self) -> None:
        self._statuses: Counter[str] = Counter()
        self._codes: Counter[str] = Counter()
        self._cost = self._steps = 0.0
        self._weak = ""

    def add(
        self, status: str, *, cost: float, steps: int, notes: Sequence[Mapping[str, Any]]
    ) -> None:
        """Count an answer.

        Args:
            status: how its search ended.
            cost: cost of its path.
            steps: steps of its path.
            notes: records of its notes; see `Note.to_record`.
        """
        self._statuses[status] += 1
        if status == "found":
            self._cost += cost
            self._steps += steps
        self._codes.update({note["code"] for note in notes})
        for note in notes:
            if note["code"] == "weak_density":
                self._weak = self._weak or note["text"]

    def summary(self) -> Summary:
        """Return the summary of the counted answers."""
        moved = self._statuses.get("found", 0)
        return Summary(
            rows=self._statuses.total(),
            statuses=dict(self._statuses.most_common()),
            cost=self._cost / moved if moved else float("nan"),
            steps=self._steps / moved if moved else float("nan"),
            cut_off=self._codes["cut_short"],
            denied=self._codes["class_denied"],
            weak=self._weak,
        )
