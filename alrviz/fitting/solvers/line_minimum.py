"""The exact search along a line: Newton's method on the slope, held inside a bracket.

Where F is convex along the line, each trial gives its value, slope and curvature for one pass over scores, so the root
of the slope is found in two or three trials. Slopes decide: near the optimum values differ by less than their rounding.
Only where the slope has turned is the value looked at too, for a slope can be slight far behind the minimum, above F at
0.

A step need not be tried where it is known well enough: the last trial and the one before it give two slopes and a
curvature, and so a parabola of the slope. Where Newton's line from the last trial is at most EXACT of the first slope
away from it at its zero, that zero is returned untried, and the caller sees by F there whether it holds. (LED, adult,
connect-4, letter: nine steps of ten are untried, their slopes at most .2 of the first, half of them below .02.)

Where F is not convex a falling slope may lie beyond a hill. Then a trial must also bring F below a line through F(0),
F(t) <= F(0) + c t F'(0), or the bracket ends at it: the strong conditions of Wolfe, which a point of the bracket
always meets (Nocedal and Wright, 3.1).
"""

import math
from typing import Protocol

# How far the slope must fall. Measured on LED, adult, connect-4 (n = 2, lr and alr): 0.5 spends a quarter fewer trials
# an iteration and takes up to a fifth more iterations, 0.01 spends a tenth more trials and saves no iteration.
EXACT = 0.1
MOST_TRIALS = 30
# c of Wolfe's first condition.
SUFFICIENT = 1e-4
# Separable data pull the minimum out to infinity: a step grows by at most this factor from trial to trial.
GROWTH = 10.0
# A value that much above the first one, relatively, may be rounding.
ROUNDING = 1e-12


class Searchable(Protocol):
    """What a search needs of a line: value and slope at 0, and what it is elsewhere."""

    value: float
    slope: float

    def at(self, t: float) -> tuple[float, float, float]:
        """Return value, slope and curvature at t."""


def exact_step(
    line: Searchable, guess: float | None, convex: bool = True, untried: bool = False, exact: float | None = None
) -> tuple[float, int]:
    """Return the step t > 0 at which the slope is at most `exact` (None: EXACT) of that at 0, and the number of trials.

    `guess` is the first trial; None: Newton's step from 0, or where F is not bent up there, the step on which the
    slope alone would bring F to 0. F(t) <= F(0); returns t = 0 when no trial was lower.
    `untried`: the step may be one that was predicted; only where F is convex.
    """
    low, high, t, trials = 0.0, math.inf, guess, 0
    small = (EXACT if exact is None else exact) * abs(line.slope)
    before = (0.0, line.slope)
    if t is None:
        _, slope, curvature = line.at(0.0)
        trials += 1
        t = -slope / curvature if curvature > 0.0 and slope < 0.0 else -line.value / line.slope or 1.0
    drop = 0.0 if convex else SUFFICIENT * line.slope
    ceiling = line.value + ROUNDING * abs(line.value)
    while trials < MOST_TRIALS:
        value, slope, curvature = line.at(t)
        trials += 1
        if not math.isfinite(value) or not math.isfinite(slope):
            high, t = t, 0.5 * (low + t)
            continue
        lower = value <= ceiling + t * drop
        if abs(slope) <= small and (lower or (convex and slope <= 0.0)):
            return t, trials
        if slope < 0.0 and (lower or convex):
            low = t
        else:
            high = t
        if untried and convex and curvature > 0.0:
            zero, apart = _predicted(t, slope, curvature, *before)
            if abs(apart) <= small and low < zero < min(high, GROWTH * t):
                return zero, trials
        before = (t, slope)
        t = _next_trial(t, low, high, t - slope / curvature if curvature > 0.0 else math.inf)
        if math.isfinite(high) and high - low <= 1e-12 * high:
            break
    return low, trials


def _next_trial(t: float, low: float, high: float, newton: float) -> float:
    """Return Newton's step where it lies between the ends, else their middle; without an upper end a limited one."""
    if high == math.inf:
        return min(newton, GROWTH * t)
    return newton if low < newton < high else 0.5 * (low + high)


def _predicted(t: float, slope: float, curvature: float, before: float, slope_before: float) -> tuple[float, float]:
    """Return where the parabola through the slopes at `t` and `before`, with this curvature at t, is 0 as it rises,
    and the slope that Newton's line has there; infinitely far apart where it never is.
    """
    h = before - t
    bend = (slope_before - slope - curvature * h) / (h * h)
    inside = curvature * curvature - 4.0 * bend * slope
    if not inside > 0.0:
        return t, math.inf
    x = -2.0 * slope / (curvature + math.sqrt(inside))
    return t + x, bend * x * x
