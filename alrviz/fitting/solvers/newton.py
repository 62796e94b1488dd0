"""Newton's method where F is convex: H d = -dF/dw by conjugate gradients, then an exact line search.

For a few weights on dense features: the equations are solved to MAX_ETA at least, and more accurately as the slopes
fall, so that the last steps converge quadratically. There is no trust region (cf. tron.py): the search guards each
step.
"""

from dataclasses import replace

from alrviz.fitting.objectives.ridge import Objective, Point
from alrviz.fitting.solvers.state import SolverState, line_search_step, stalled
from alrviz.fitting.solvers.tron import invert_diagonal, newton_step
from alrviz.passes.aligned_buffers import Floats

# max |dF/dw| per row at which the weights count as optimal.
OPTIMAL_SLOPE = 1e-8
MAX_ETA = 0.1
# Separated rows without a penalty have no optimum.
MAX_STEPS = 60
_UNLIMITED_RADIUS = 1e100  # no step is longer


def newton(objective: Objective, state: SolverState) -> SolverState:
    """Return the state one step later; stalled if no step lowers F."""
    inverse = invert_diagonal(objective.hessian_diagonal(state.point))
    eta = min(MAX_ETA, objective.criterion(state.point) ** 0.5)
    step, products = newton_step(objective, state.point, inverse, _UNLIMITED_RADIUS, eta)
    new, falls = line_search_step(objective, replace(state, passes=state.passes + 0.5 + products), step, 1.0)
    return new if falls else stalled(new)


def minimise(objective: Objective, w: Floats) -> tuple[Point, int, float]:
    """Return the point at which the weights (K + 1, W) are optimal, from `w` on, and the evaluations and passes it
    took.
    """
    state = SolverState(0, objective.value_grad(w), 1, 1.0)
    for _ in range(MAX_STEPS):
        if objective.criterion(state.point) < OPTIMAL_SLOPE:
            break
        new = newton(objective, state)
        if new.stalled:
            break
        state = new
    return state.point, state.evaluations, state.passes
