"""What a classifier has said of rows, found again by the rows themselves."""

from __future__ import annotations

import numpy as np

from daace._typing import FloatArray


class RowCache:
    """Answers by row; the first about a row is kept.

    Args:
        width: numbers in an answer.

    Example:
        >>> cache = RowCache(1)
        >>> cache.add(row_keys(np.array([[1.0, 2.0]])), np.array([[0.5]]))
        >>> cache.find(row_keys(np.array([[1.0, 2.0], [3.0, 4.0]]))).tolist()
        [[0.5], [-inf]]
    """

    def __init__(self, width: int) -> None:
        self._place: dict[bytes, int] = {}
        self._answers = np.full((64, width), -np.inf)  # the first is what is said of the unknown
        self._count = 1

    def missing(self, keys: list[bytes]) -> list[int]:
        """Return the positions of keys that are not known, of equal ones the first."""
        known, new = self._place, dict[bytes, int]()
        for k, key in enumerate(keys):
            if key not in known:
                new.setdefault(key, k)
        return list(new.values())

    def add(self, keys: list[bytes], answers: FloatArray) -> None:
        """Keep answers, one row for each key."""
        end = self._count + len(keys)
        if end > len(self._answers):
            larger = np.full((2 * end, self._answers.shape[1]), -np.inf)
            larger[: self._count] = self._answers[: self._count]
            self._answers = larger
        self._answers[self._count : end] = answers
        for place, key in enumerate(keys, self._count):
            self._place.setdefault(key, place)
        self._count = end

    def find(self, keys: list[bytes]) -> FloatArray:
        """Return the answer of each key, -inf where there is none."""
        place = self._place
        found: FloatArray = self._answers[[place.get(key, 0) for key in keys]]
        return found


def row_keys(X: FloatArray) -> list[bytes]:
    """Return the bytes of each row."""
    data, width = np.ascontiguousarray(X).tobytes(), X.shape[1] * X.itemsize
    return [data[k : k + width] for k in range(0, len(data), width)]
