"""Solvers that choose a direction and minimise along it: one forward and one scatter pass per iteration.

    gd      d = -g, with STEP_SHARE of the step to the minimum along it
    cg      d = -g + max(0, beta) d_before,   beta = g.(g - g_before) / g_before.g_before          (Polak-Ribiere+)
    lbfgs   d = -H g by the two-loop recursion, H0 = (s.y / y.y) I of the last pair

With a metric D of the step ("adaptive", see `LinearObjective.metric`) gd goes along -D g, and lbfgs starts its loop
from H0 = (s.y / y.D y) D: the path of weights in units of sqrt(D), where D may change while w and the pairs stay.

If F does not fall along a direction, steepest descent is tried, and the pairs or direction that misled are dropped.
"""

from dataclasses import dataclass, replace

import numpy as np

from alrviz.fitting.objectives.ridge import Objective
from alrviz.fitting.solvers.state import Solver, SolverState, line_search_step, stalled
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.vectors import Floats32, combine, dot, subtract

# Steps to the exact minimum are orthogonal, so that the path zigzags: on LED, n = 2, alpha 0.01, F is 3e-3 above its
# minimum after 2,000 steps, with nine tenths of each step 3e-11 (Raydan and Svaiter, 2002).
STEP_SHARE = 0.9

# Corrections of L-BFGS (s, y, 1 / s.y), oldest first. They give directions, not lengths, so float32 is accurate enough,
# in half the memory and time.
Pairs = tuple[tuple[Floats32, Floats32, float], ...]


@dataclass(frozen=True)
class GradientDescent(Solver):
    """Steepest descent in w with shortened steps. Carries nothing."""

    def advance(self, objective: Objective, state: SolverState) -> SolverState:
        """Return the state one iteration later."""
        state, metric = _with_metric(objective, state)
        next_state, has_fallen = line_search_step(
            objective, state, -_times_metric(metric, state.point.gradient), None, STEP_SHARE
        )
        return next_state if has_fallen else stalled(next_state)


@dataclass(frozen=True)
class ConjugateGradients(Solver):
    """Nonlinear conjugate gradients. Carries the last direction and the gradient before it."""

    def advance(self, objective: Objective, state: SolverState) -> SolverState:
        """Return the state one iteration later."""
        gradient = state.point.gradient
        direction = -gradient
        next_state, has_fallen = state, False
        if state.carry is not None:
            previous_direction, gradient_before = state.carry
            beta = (dot(gradient, gradient) - dot(gradient, gradient_before)) / dot(gradient_before, gradient_before)
            if beta > 0.0:
                direction = beta * previous_direction - gradient
                next_state, has_fallen = line_search_step(objective, state, direction, None)
                direction = direction if has_fallen else -gradient
        if not has_fallen:
            next_state, has_fallen = line_search_step(objective, next_state, direction, None)
        return replace(next_state, carry=(direction, gradient)) if has_fallen else stalled(next_state)


@dataclass(frozen=True)
class LBFGS(Solver):
    """Limited-memory BFGS. Carries its corrections (s, y, 1 / s.y), oldest first.

    Args:
        memory: number of corrections.
    """

    memory: int = 10

    def advance(self, objective: Objective, state: SolverState) -> SolverState:
        """Return the state one iteration later."""
        state, metric = _with_metric(objective, state)
        next_state, pairs = quasi_newton(objective, state, state.carry or (), metric, self.memory)
        return stalled(next_state) if pairs is None else replace(next_state, carry=pairs)


def quasi_newton(
    objective: Objective, state: SolverState, pairs: Pairs, metric: Floats | None, memory: int
) -> tuple[SolverState, Pairs | None]:
    """Return the state after a step of L-BFGS, carrying nothing, and at most `memory` corrections; None if F does not
    fall.

    `metric`, shaped as w, is D of the start of the two loops, None for the identity.
    """
    gradient, jobs = state.point.gradient, objective.n_jobs
    next_state, has_fallen = state, False
    if pairs:
        downhill = np.negative(gradient, out=objective.buffers.empty(*gradient.shape))
        next_state, has_fallen = line_search_step(objective, state, two_loop(downhill, pairs, metric, jobs), 1.0)
    if not has_fallen:
        pairs = ()
        next_state, has_fallen = line_search_step(objective, next_state, -_times_metric(metric, gradient), None)
    if not has_fallen:
        return next_state, None
    differences = ((next_state.point.w, state.point.w), (next_state.point.gradient, gradient))
    s, y = (subtract(a, b, objective.buffers.empty(*a.shape, dtype=np.float32), jobs) for a, b in differences)
    product = dot(s, y, jobs)
    if product > 1e-14 * (dot(y, y, jobs) * dot(s, s, jobs)) ** 0.5:  # rounding alone can make it 0 or negative
        pairs = (*pairs, (s, y, 1.0 / product))[-memory:]
    return next_state, pairs


def _with_metric(objective: Objective, state: SolverState) -> tuple[SolverState, Floats | None]:
    metric = objective.metric(state.point)
    return (state, None) if metric is None else (replace(state, passes=state.passes + 0.5), metric)


def _times_metric(metric: Floats | None, gradient: Floats) -> Floats:
    return gradient if metric is None else metric * gradient


def two_loop(
    q: Floats, pairs: Pairs, metric: Floats | None = None, n_jobs: int = 1, size: float | None = None
) -> Floats:
    """Overwrite q, shaped as w, by H q and return it (Nocedal and Wright, algorithm 7.4).

    H is the inverse Hessian of the corrections `pairs`, starting from `metric` (None: the identity). Each sweep adds
    one vector to q and computes its product with the next. `size` is `start_size`, if it is known.
    """
    coefficients = []
    product = dot(pairs[-1][0], q, n_jobs)
    for k in reversed(range(len(pairs))):
        coefficients.append(pairs[k][2] * product)
        following = pairs[k - 1][0] if k else pairs[0][1]
        product = combine(q, 1.0, -coefficients[-1], pairs[k][1], following, n_jobs)
    size = start_size(pairs, metric, n_jobs) if size is None else size
    if metric is not None:
        q *= metric
        product = dot(pairs[0][1], q, n_jobs)
    product *= size
    for k, (s, _, rho) in enumerate(pairs):
        following = pairs[min(k + 1, len(pairs) - 1)][1]
        product = combine(q, size, coefficients.pop() - rho * product, s, following, n_jobs)
        size = 1.0
    return q


def start_size(pairs: Pairs, metric: Floats | None = None, n_jobs: int = 1) -> float:
    """Return s.y / y.D y of the last pair, the factor of the metric D, shaped as w, in the two loops."""
    _, y, rho = pairs[-1]
    return 1.0 / (rho * dot(y, y if metric is None else metric * y, n_jobs))
