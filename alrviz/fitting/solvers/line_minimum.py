"""Exact line search: Newton's method on the slope, within a bracket.

Where F is convex along the line, each trial gives value, slope and curvature for one pass over scores, so the root of
the slope is found in two or three trials. Slopes decide: near the optimum values differ by less than their rounding
error.
The value is checked too once the slope has changed its sign: far beyond the minimum, with F above F(0), a slope can be
small.

A step may be returned untried if it is known well enough: the last two trials give two slopes and a curvature, so a
parabola of the slope. If Newton's line from the last trial differs from it, at its zero, by at most EXACT of the first
slope, that zero is returned, and the caller checks F there. (LED, adult, connect-4, letter: nine steps of ten are
untried, their slopes at most .2 of the first, half of them below .02.)

Where F is not convex a falling slope may lie beyond a hill. Then a trial must also bring F below a line through F(0),
F(t) <= F(0) + c t F'(0), or the bracket ends there: the strong Wolfe conditions, which some point of the bracket always
meets (Nocedal and Wright, 3.1).
"""

import math
from typing import Protocol

# The ratio by which the slope must fall. Measured on LED, adult, connect-4 (n = 2, lr and alr): 0.5 takes a quarter
# fewer trials per iteration and up to a fifth more iterations, 0.01 takes a tenth more trials and saves no iteration.
SLOPE_RATIO = 0.1
MAX_TRIALS = 30
# c of Wolfe's first condition.
SUFFICIENT_DECREASE = 1e-4
# On separable data the minimum is at infinity: from trial to trial a step grows by at most this factor.
MAX_STEP_GROWTH = 10.0
# A relative increase of F up to this may be rounding error.
ROUNDING_TOL = 1e-12


class LineFunction(Protocol):
    """The objective along a line: value and slope at 0, and derivatives at any step."""

    value: float
    slope: float

    def derivatives_at(self, t: float) -> tuple[float, float, float]:
        """Return value, slope and curvature at t."""


def exact_step(
    line: LineFunction,
    guess: float | None,
    convex: bool = True,
    untried: bool = False,
    slope_ratio: float | None = None,
) -> tuple[float, int]:
    """Return the step t > 0 at which the slope is at most `slope_ratio` of that at 0, and the number of trials.

    `guess` is the first trial; None: Newton's step from 0, or, without upward curvature there, the step on which the
    slope alone would bring F to 0. F(t) <= F(0); t = 0 if no trial was lower. `untried` allows a predicted step, only
    where F is convex. slope_ratio: None for SLOPE_RATIO.
    """
    low, high, t, trials = 0.0, math.inf, guess, 0
    max_slope = (SLOPE_RATIO if slope_ratio is None else slope_ratio) * abs(line.slope)
    previous = (0.0, line.slope)
    if t is None:
        _, slope, curvature = line.derivatives_at(0.0)
        trials += 1
        t = -slope / curvature if curvature > 0.0 and slope < 0.0 else -line.value / line.slope or 1.0
    required_slope = 0.0 if convex else SUFFICIENT_DECREASE * line.slope
    ceiling = line.value + ROUNDING_TOL * abs(line.value)
    while trials < MAX_TRIALS:
        value, slope, curvature = line.derivatives_at(t)
        trials += 1
        if not math.isfinite(value) or not math.isfinite(slope):
            high, t = t, 0.5 * (low + t)
            continue
        is_lower = value <= ceiling + t * required_slope
        is_acceptable = is_lower or (convex and slope <= 0.0)
        if abs(slope) <= max_slope and is_acceptable:
            return t, trials
        if slope < 0.0 and is_acceptable:
            low = t
        else:
            high = t
        if untried and convex and curvature > 0.0:
            predicted, newton_slope = _predict(t, slope, curvature, *previous)
            if abs(newton_slope) <= max_slope and low < predicted < min(high, MAX_STEP_GROWTH * t):
                return predicted, trials
        previous = (t, slope)
        t = _next_trial(t, low, high, t - slope / curvature if curvature > 0.0 else math.inf)
        if math.isfinite(high) and high - low <= 1e-12 * high:
            break
    return low, trials


def _next_trial(t: float, low: float, high: float, newton: float) -> float:
    """Return Newton's step if it lies inside the bracket low .. high, else its middle.

    Without an upper end, it is a step at most MAX_STEP_GROWTH times the last one, t.
    """
    if high == math.inf:
        return min(newton, MAX_STEP_GROWTH * t)
    return newton if low < newton < high else 0.5 * (low + high)


def _predict(t: float, slope: float, curvature: float, t_before: float, slope_before: float) -> tuple[float, float]:
    """Return where a parabola of the slope crosses 0 upwards, and the slope of Newton's line there; (t, inf) if it does
    not.

    The parabola has `slope` and `curvature` at t and slope_before at t_before.
    """
    h = t_before - t
    quadratic = (slope_before - slope - curvature * h) / (h * h)
    discriminant = curvature * curvature - 4.0 * quadratic * slope
    if not discriminant > 0.0:
        return t, math.inf
    x = -2.0 * slope / (curvature + math.sqrt(discriminant))
    return t + x, quadratic * x * x
