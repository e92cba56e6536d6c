"""Several explanations of one row, to choose from."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator

from daace.explain.explanation import Explanation


class Choices(ABC):
    """What a front and a scan over penalties have in common: they are sequences of explanations."""

    explanations: tuple[Explanation, ...]

    def __len__(self) -> int:
        return len(self.explanations)

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self.explanations)

    def __getitem__(self, position: int) -> Explanation:
        return self.explanations[position]
