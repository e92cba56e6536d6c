"""What to relax when no path was found, and to what."""

from __future__ import annotations

import math
from dataclasses import replace

from daace.landscape.problem import Problem
from daace.planners.base import Plan

#: Nats below what was reached: planners aim a little inside the goal.
MARGIN = 1e-3


def relaxed_thresholds(problem: Problem, plan: Plan) -> dict[str, float]:
    """Return, by name, values for thresholds that the search has seen met; each alone suffices.

    A search that fails tells the best slack of either threshold among points that meet the other
    one. From it follows the value that would have been enough, rounded to the safe side. The
    names are arguments of `explain`, so that `explainer.explain(row, min_posterior=0.93)` is the
    next thing to try.

    Args:
        problem: what was asked.
        plan: a plan that found nothing; another one gives no advice.

    Returns:
        At most 'plausibility' (or 'min_log_prob', if that was given) and 'min_posterior'.
    """
    if plan.found or plan.reachable is None:
        return {}
    log_prob_slack, posterior_slack = plan.reachable
    goal, region, draws = problem.goal, problem.region, problem.landscape.density.draws_
    relaxed: dict[str, float] = {}
    if -math.inf < log_prob_slack < 0:
        reached = region.min_log_prob + log_prob_slack - MARGIN
        if goal.min_log_prob is None:
            relaxed["plausibility"] = round_down((reached - draws.mean) / draws.sd)
        else:
            relaxed["min_log_prob"] = round_down(reached)
    if -math.inf < posterior_slack < 0:
        reached = math.exp(region.log_min_posterior + posterior_slack - MARGIN)
        relaxed["min_posterior"] = round_down(reached, digits=2)
    # What the start would meet as it stands is no advice.
    return {
        name: value
        for name, value in relaxed.items()
        if not replace(problem, goal=replace(goal, **{name: value})).met_by(problem.x)
    }


def round_down(value: float, *, digits: int | None = None) -> float:
    """Round towards minus infinity: to two decimals, or to significant digits of a share.

    Example:
        >>> round_down(-0.123), round_down(0.00456, digits=2)
        (-0.13, 0.0045)
    """
    decimals = 2
    if digits is not None:
        if value < 1e-300:
            return 0.0
        decimals = digits - 1 - math.floor(math.log10(value))
    factor = 10.0**decimals
    return round(math.floor(value * factor) / factor, decimals)
