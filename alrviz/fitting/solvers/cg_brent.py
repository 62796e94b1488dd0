"""Conjugate gradients with Brent's search along each direction: ELR's solver, for scores that are not linear in w.

    d = -g + max(0, beta) d_before,   beta = g.(g - g_before) / g_before.g_before          (Polak-Ribiere+; see [ELR] 4)

[ELR] prints minus beta d_before, which is not a conjugate direction (docs/families/elr.md). A minimum along d is
bracketed by three points and found by Brent's parabolas and golden sections, with a forward pass per trial.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy.optimize import minimize_scalar

from alrviz.fitting.solvers.state import Solver, SolverState, stalled
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.vectors import dot

if TYPE_CHECKING:
    from alrviz.fitting.objectives.conditional import ConditionalObjective

# Relative accuracy of the step to the minimum.
STEP_TOL = 0.01
# Factors by which a step grows or shrinks until a minimum is bracketed, and how often at most: where all rows can be
# fitted F falls towards 0 for ever.
GROWTH, SHRINK = 3.0, 0.1
MAX_BRACKETINGS = 12
MAX_TRIALS = 20


@dataclass(frozen=True, eq=False)
class BrentCarry:
    """The last direction, the gradient there, and the step times the slope along it."""

    direction: Floats
    gradient: Floats
    drop: float


@dataclass(frozen=True)
class BrentGradients(Solver):
    """Nonlinear conjugate gradients with Brent's search. Carries a `BrentCarry`."""

    def advance(self, objective: "ConditionalObjective", state: SolverState) -> SolverState:
        """Return the state one iteration later."""
        gradient, memory = state.point.gradient, state.carry
        next_state, step_size = state, 0.0
        direction = -gradient
        if memory is not None:
            direction = self.direction(gradient, memory)
            next_state, step_size = _search(objective, state, direction, memory)
        if step_size == 0.0:
            direction = -gradient
            next_state, step_size = _search(objective, next_state, direction, memory)
        if step_size == 0.0:
            return stalled(next_state)
        w = state.point.w + step_size * direction
        carry = BrentCarry(direction, gradient, step_size * dot(gradient, direction))
        return SolverState(
            state.index + 1, objective.value_grad(w), next_state.evaluations + 1, next_state.passes + 1.0,
            step_size, carry=carry,
        )  # fmt: skip

    def direction(self, gradient: Floats, memory: BrentCarry) -> Floats:
        """Return the direction to search along, shaped as the gradient."""
        previous = memory.gradient
        beta = (dot(gradient, gradient) - dot(gradient, previous)) / dot(previous, previous)
        return max(0.0, beta) * memory.direction - gradient


def _search(
    objective: "ConditionalObjective", state: SolverState, direction: Floats, memory: BrentCarry | None
) -> tuple[SolverState, float]:
    """Return the state with the cost of the search along `direction`, and the step; 0 if F does not fall.

    memory: of the last iteration; None before the first.
    """
    slope = dot(state.point.gradient, direction)
    if not slope < 0.0:
        return state, 0.0
    max_component = float(abs(direction).max())
    guess = 1.0 / max_component if memory is None else memory.drop / slope
    t, trials = lowest_step(lambda t: objective.value(state.point.w + t * direction), state.point.objective, guess)
    charged = SolverState(
        state.index, state.point, state.evaluations + trials, state.passes + 0.5 * trials, carry=state.carry
    )  # fmt: skip
    return charged, t


def lowest_step(value: Callable[[float], float], at_0: float, guess: float) -> tuple[float, int]:
    """Return the step t > 0 at which `value` is lowest, and the number of trials; 0.0 if none is below `at_0`.

    `guess` is the first trial.
    """
    values = {0.0: at_0}

    def evaluate(t: float) -> float:
        t = float(t)
        if t not in values:
            result = value(t)
            values[t] = result if math.isfinite(result) else math.inf
        return values[t]

    low, t, high = 0.0, guess, GROWTH * guess
    for _ in range(MAX_BRACKETINGS):
        if evaluate(t) < at_0:
            break
        t, high = SHRINK * t, t
    else:
        return 0.0, len(values) - 1
    if evaluate(high) < evaluate(t):
        for _ in range(MAX_BRACKETINGS):
            low, t, high = t, high, GROWTH * high
            if evaluate(high) >= evaluate(t):
                break
    if evaluate(low) > evaluate(t) < evaluate(high):
        options = {"xtol": STEP_TOL, "maxiter": MAX_TRIALS}
        minimize_scalar(evaluate, bracket=(low, t, high), method="brent", options=options)
    return min(values, key=lambda t: values[t]), len(values) - 1
