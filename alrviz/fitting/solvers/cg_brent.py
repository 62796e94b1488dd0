"""Conjugate gradients with Brent's search along each direction: ELR's solver, for scores that are not linear in w.

    d = -g + max(0, beta) d_before,   beta = g.(g - g_before) / g_before.g_before          (Polak-Ribiere+; see [ELR] 4)

[ELR] prints minus beta d_before, which is no conjugate direction (docs/families/elr.md). A minimum along d is enclosed
between three points and found by Brent's parabolas and golden sections, a forward pass a trial.
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

# How exactly the place of the minimum is found, relatively.
EXACT = 0.01
# By how much a step grows and shrinks until a minimum is enclosed, and how often at most: where all rows can be fitted
# F falls towards 0 for ever.
GROWTH, SHRINK = 3.0, 0.1
MOST = 12
MOST_TRIALS = 20


@dataclass(frozen=True, eq=False)
class BrentMemory:
    """The last direction, the gradient before it, and the step times the slope along it."""

    direction: Floats
    gradient: Floats
    drop: float


@dataclass(frozen=True)
class BrentGradients(Solver):
    """Nonlinear conjugate gradients with Brent's search. Carries a `BrentMemory`."""

    def init(self, objective: "ConditionalObjective", w0: Floats) -> SolverState:
        """Return the state at the start point."""
        return SolverState(0, objective.value_grad(w0), 1, 1.0)

    def advance(self, objective: "ConditionalObjective", state: SolverState) -> SolverState:
        """Return the state one iteration later."""
        gradient, memory = state.point.gradient, state.carry
        new, t = state, 0.0
        direction = -gradient
        if memory is not None:
            direction = self.direction(gradient, memory)
            new, t = _searched(objective, state, direction, memory)
        if t == 0.0:
            direction = -gradient
            new, t = _searched(objective, new, direction, memory)
        if t == 0.0:
            return stalled(new)
        w = state.point.w + t * direction
        carry = BrentMemory(direction, gradient, t * dot(gradient, direction))
        return SolverState(
            state.index + 1, objective.value_grad(w), new.evaluations + 1, new.passes + 1.0, t, carry=carry
        )  # fmt: skip

    def direction(self, gradient: Floats, memory: BrentMemory) -> Floats:
        """Return the direction to search along, shaped as the gradient."""
        before = memory.gradient
        beta = (dot(gradient, gradient) - dot(gradient, before)) / dot(before, before)
        return max(0.0, beta) * memory.direction - gradient


def _searched(
    objective: "ConditionalObjective", state: SolverState, direction: Floats, memory: BrentMemory | None
) -> tuple[SolverState, float]:
    """The state charged with the search along `direction`, and the step; 0 where F does not fall."""
    slope = dot(state.point.gradient, direction)
    if not slope < 0.0:
        return state, 0.0
    longest = float(abs(direction).max())
    guess = 1.0 / longest if memory is None else memory.drop / slope
    t, trials = lowest(lambda t: objective.value(state.point.w + t * direction), state.point.objective, guess)
    charged = SolverState(
        state.index, state.point, state.evaluations + trials, state.passes + 0.5 * trials, carry=state.carry
    )  # fmt: skip
    return charged, t


def lowest(value: Callable[[float], float], at_0: float, guess: float) -> tuple[float, int]:
    """Return the step t > 0 at which `value` is lowest, and the number of trials; 0.0 where none is below `at_0`.

    `guess` is the first trial.
    """
    known = {0.0: at_0}

    def look(t: float) -> float:
        t = float(t)
        if t not in known:
            found = value(t)
            known[t] = found if math.isfinite(found) else math.inf
        return known[t]

    low, t, high = 0.0, guess, GROWTH * guess
    for _ in range(MOST):
        if look(t) < at_0:
            break
        t, high = SHRINK * t, t
    else:
        return 0.0, len(known) - 1
    if look(high) < look(t):
        for _ in range(MOST):
            low, t, high = t, high, GROWTH * high
            if look(high) >= look(t):
                break
    if look(low) > look(t) < look(high):
        options = {"xtol": EXACT, "maxiter": MOST_TRIALS}
        minimize_scalar(look, bracket=(low, t, high), method="brent", options=options)
    return min(known, key=lambda t: known[t]), len(known) - 1
