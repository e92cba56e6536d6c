"""How sure an end is: what the judge says close to it, and which changes it needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daace._typing import FloatArray
from daace.density.base import ConditionalDensity
from daace.landscape.goal import Posterior

#: Small deviations from the end that are judged, and their size in standard deviations of the
#: target class.
NEARBY, DEVIATION = 100, 0.2


@dataclass(frozen=True)
class Certainty:
    """What the judge says beyond the path itself.

    Attributes:
        nearby: share of small deviations from the end that still get the target. Numbers that
            change deviate by 0.2 standard deviations of the target class, correlated as they are
            in it; everything else is as at the end. None if no number changes, or the judge was
            not asked.
        follow: features that change, but that the judge does not need for the target: they move
            along because rows like the end have such values. There are none where the density
            judges, as it knows nothing of rows that do not move along.
    """

    nearby: float | None = None
    follow: tuple[str, ...] = ()


#: Nothing was asked.
UNKNOWN = Certainty()


@dataclass(frozen=True, eq=False)
class Ends:
    """Start and end of a path, and who judges the class.

    Attributes:
        density: knows the features.
        judge: of the class; None for the density.
        index: of the target.
        start: in model space.
        end: in model space.
    """

    density: ConditionalDensity
    judge: Posterior | None
    index: int
    start: FloatArray
    end: FloatArray

    def measure(self, min_posterior: float) -> Certainty:
        """Ask the judge about rows close to the end, and about the end without some changes.

        Args:
            min_posterior: probability of the target that was asked for.
        """
        return Certainty(self._nearby(), self._follow(min_posterior))

    def _nearby(self) -> float | None:
        encoding = self.density.encoding_
        at_atom = {j for j, column in encoding.atom_columns.items() if self.end[column] > 0}
        free = [j for j in encoding.number_columns if j not in at_atom]
        moved = [j for j in free if self.start[j] != self.end[j]]
        if not moved:
            return None
        rows = np.tile(self.end, (NEARBY, 1))
        cases = self.density.pool(self.density.classes_.item(self.index)).X[:, moved]
        differences = cases[:NEARBY] - cases[NEARBY : 2 * NEARBY]
        rows[:, moved] += DEVIATION / np.sqrt(2) * differences
        judge = self.density if self.judge is None else self.judge
        return float((judge.log_posterior(rows).argmax(axis=1) == self.index).mean())

    def _follow(self, min_posterior: float) -> tuple[str, ...]:
        """Set features back to the start, smallest changes first, while the target is kept."""
        if self.judge is None:
            return ()
        columns = self.density.encoding_.atom_columns
        moves, row, spare = np.abs(self.end - self.start), self.end, []
        sizes = [
            max(moves[j], moves[columns.get(j, j)]) for j in range(len(self.density.features_))
        ]
        for j in np.argsort(sizes, kind="stable").tolist():
            if sizes[j] > 0:
                tried = row.copy()
                tried[[j, columns.get(j, j)]] = self.start[[j, columns.get(j, j)]]
                logs = self.judge.log_posterior(tried[None])[0]
                if np.exp(logs[self.index]) >= min_posterior:
                    row = tried
                    spare.append(self.density.features_[j])
        return tuple(spare)
