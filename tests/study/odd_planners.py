"""Planners as users may write them, for tests: workers import this file by name."""

from __future__ import annotations

import os
import signal

import numpy as np

from daace import PathOptimizer, Plan, Planner, Problem


class Picky(Planner):
    """Fails on every start that lies to the left."""

    def solve(self, problem: Problem, *, rng: np.random.Generator) -> Plan:
        if not os.environ.get("DAACE_TEST_HEALED") and problem.x[0] < 0:
            raise ArithmeticError("too far\nto the left")
        return PathOptimizer(vertices=0).solve(problem, rng=rng)


class Deadly(Planner):
    """Takes its process with it, on some starts."""

    def solve(self, problem: Problem, *, rng: np.random.Generator) -> Plan:
        if problem.landscape.penalty == 5 and problem.x[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return PathOptimizer(vertices=0).solve(problem, rng=rng)
