"""Clocks for tests: time passes by being looked at."""

from __future__ import annotations

from daace.planners.base import Clock


class Countdown(Clock):
    """A clock whose time is over when it has been looked at so many times."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.looks = looks

    @property
    def expired(self) -> bool:
        self.looks -= 1
        return self.looks < 0
