"""Newton's method where F is convex: H d = -dF/dw by conjugate gradients, then the exact search along d.

What a few weights on dense features ask for: the equations are solved to LOOSE at least, and more exactly as the slopes
fall, so that the last steps are quadratic. No radius is kept (cf. tron.py): the search guards each step.
"""

from dataclasses import replace

from alrviz.fitting.objectives.ridge import Objective, Point
from alrviz.fitting.solvers.state import SolverState, line_search_step, stalled
from alrviz.fitting.solvers.tron import inverted, newton_step
from alrviz.passes.aligned_buffers import Floats

# max |dF/dw| per row at which the weights count as at their optimum.
SETTLED = 1e-8
LOOSE = 0.1
# Without a penalty separated rows have no optimum to be brought to.
MOST_STEPS = 60
_ANYWHERE = 1e100  # a radius that no step reaches


def newton(objective: Objective, state: SolverState) -> SolverState:
    """Return the state one step later; stalled where no step lowers F."""
    inverse = inverted(objective.hessian_diagonal(state.point))
    eta = min(LOOSE, objective.criterion(state.point) ** 0.5)
    step, products = newton_step(objective, state.point, inverse, _ANYWHERE, eta)
    new, falls = line_search_step(objective, replace(state, passes=state.passes + 0.5 + products), step, 1.0)
    return new if falls else stalled(new)


def minimise(objective: Objective, w: Floats) -> tuple[Point, int, float]:
    """Return the point at which the weights are settled, from `w` (K + 1, W) on, and the evaluations and passes it
    took.
    """
    state = SolverState(0, objective.value_grad(w), 1, 1.0)
    for _ in range(MOST_STEPS):
        if objective.criterion(state.point) < SETTLED:
            break
        new = newton(objective, state)
        if new.stalled:
            break
        state = new
    return state.point, state.evaluations, state.passes
