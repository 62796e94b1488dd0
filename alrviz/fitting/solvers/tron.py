"""Trust region Newton: the step solves  min  g.d + d.H d / 2  within  ||d||_M <= radius  by conjugate gradients.

    M = the diagonal of H (Jacobi's preconditioner): the steps are the same in whatever units w is measured.
    The inner loop ends at ||H d + g|| <= eta ||g|| in the norm of 1 / M, eta = min(1/2, 5 sqrt(||g|| / ||g_0||)), or
    at the radius; each turn is a Hessian-vector product, one pass. Then F is searched along d, exactly, from t = 1 on,
    and the t that is found says how far the parabola can be trusted: the radius becomes 2 t ||d||, but does not shrink
    where t >= 1/2.

(Lin, Weng and Keerthi, Trust region Newton method for logistic regression, 2008; the preconditioner after Hsia, Chiang
and Lin, 2018; the search along the step after Nocedal and Yuan, 1998: here it costs no pass.)
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from alrviz.fitting.penalised import Objective, Point
from alrviz.fitting.solvers.state import Solver, State, along, stalled, start
from alrviz.passes.rows import Floats
from alrviz.passes.vectors import dot

# Hessian-vector products in one step: a point of the trace must not wait for hundreds of passes.
MOST_INNER = 300
# The largest eta. Passes until F is 1e-3 a row above its minimum, n = 2, alpha 1 on phi, with 0.1 and with 0.5: adult
# 64 and 42, nursery 55 and 47, letter 112 and 44, poker-hand 105 and 112.
LOOSE = 0.5
# Curvature below this share of the largest counts as that: where all rows are fitted there is none.
LEAST = 1e-10
# How much the radius grows at most in one step.
GROWTH = 4.0


@dataclass(frozen=True)
class Tron(Solver):
    """Trust region Newton. Carries the radius and the norm of the first gradient; a state is an outer iteration."""

    def init(self, objective: Objective, w0: Floats) -> State:
        """Return the state at the start point."""
        return start(objective, w0)

    def advance(self, objective: Objective, state: State) -> State:
        """Return the state one outer iteration later."""
        point = state.point
        metric = objective.hessian_diagonal(point)
        np.maximum(metric, LEAST * float(metric.max(initial=0.0)) or 1.0, out=metric)
        size = math.sqrt(dot(point.gradient, point.gradient / metric))
        radius, first = state.carry or (size, size)
        eta = min(LOOSE, 10.0 * LOOSE * math.sqrt(size / (first or 1.0)))
        step, products = newton_step(objective, point, metric, radius, eta)
        spent = replace(state, passes=state.passes + 0.5 + products)
        new, falls = along(objective, spent, step, 1.0)
        if not falls:
            return stalled(new)
        length, t = math.sqrt(dot(metric, step * step)), new.step_size
        reach = min(GROWTH, 2.0 * t) * length
        return replace(new, carry=(max(radius, reach) if t >= 0.5 else reach, first))


def newton_step(
    objective: Objective, point: Point, metric: Floats, radius: float, eta: float
) -> tuple[Floats, int]:
    """Return the step within `radius` by preconditioned conjugate gradients (Steihaug), and its number of products."""
    step = np.zeros_like(point.gradient)
    residual = -point.gradient
    eased = residual / metric
    direction = eased.copy()
    size = dot(residual, eased)
    enough = eta * eta * size
    products = 0
    while size > enough and products < MOST_INNER:
        bent = objective.hvp(point, direction)
        products += 1
        curvature = dot(direction, bent)
        length = size / curvature if curvature > 0.0 else math.inf
        to_edge = _to_edge(metric, step, direction, radius)
        if length >= to_edge:
            step += to_edge * direction
            break
        step += length * direction
        residual -= length * bent
        np.divide(residual, metric, out=eased)
        before, size = size, dot(residual, eased)
        direction *= size / before
        direction += eased
    return step, products


def _to_edge(metric: Floats, step: Floats, direction: Floats, radius: float) -> float:
    """Return the t >= 0 at which ||step + t direction||_M is the radius."""
    bent = metric * direction
    a, b, c = dot(bent, direction), dot(bent, step), dot(metric, step * step) - radius * radius
    return -c / (b + math.sqrt(max(0.0, b * b - a * c))) if c < 0.0 else 0.0
