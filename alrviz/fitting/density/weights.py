"""The penalised log loss of weights on fixed features, which DLR minimises while its bandwidths do not change.

    z_k = w_k0 + sum_d w_kd phi_kd           F(w) = sum over rows of -log p(y|x) + alpha ||w - center||^2

Shapes: w, its gradient and every direction are (D + 1, K), the last row the intercepts; K = 1 for two classes, with z
the second's score minus the first's, and K = C for more. Center 1 means w = 1 and intercepts 0.

It is minimised by Newton's method: H d = -dF/dw by conjugate gradients, then an exact line search. For a few weights on
dense features the equations are solved to MAX_ETA at least, and more accurately as the slopes fall, so that the last
steps converge quadratically. There is no trust region (cf. solvers/tron.py): the search guards each step.
"""

from dataclasses import replace

import numpy as np

from alrviz.fitting.objectives.ridge import Objective, Point, ScoredObjective
from alrviz.fitting.solvers.state import SolverState, line_search_step, stalled
from alrviz.fitting.solvers.tron import invert_diagonal, newton_step
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.features import FeatureRows
from alrviz.passes.vectors import dot
from alrviz.stop import NEVER, StopToken

# max |dF/dw| per row at which the weights count as optimal.
OPTIMAL_SLOPE = 1e-8
MAX_ETA = 0.1
# Separated rows without a penalty have no optimum.
MAX_STEPS = 60
_UNLIMITED_RADIUS = 1e100  # no step is longer


class WeightsObjective(ScoredObjective):
    """F and its derivatives at fixed features.

    Args:
        feature_rows: rows and their features.
        alpha: weight of the penalty, at least 0; on w, intercepts included.
        center: 0 or 1.
        stop: checked between the parts of every pass.
    """

    def __init__(self, feature_rows: FeatureRows, alpha: float, center: int, stop: StopToken = NEVER):
        ridge = 2.0 * alpha if alpha else None
        super().__init__(feature_rows.rows, all_weights(feature_rows.phi, center), ridge, alpha=alpha, stop=stop)
        self.feature_rows = feature_rows

    def scores(self, w: Floats, rows: FeatureRows | None = None) -> Floats:
        """Return the scores (N, W) of the training rows, or of other `rows`: one forward pass."""
        return (self.feature_rows if rows is None else rows).scores(w, self.stop)

    def change(self, direction: Floats) -> Floats:
        """Return the change of the scores (N, W) by a `direction` of the weights (D + 1, K), pads 0: one forward
        pass.
        """
        return self.feature_rows.scores(direction, self.stop, 0.0)

    def slopes(self, residual: Floats) -> Floats:
        """Return the derivatives of the loss by w of residuals (N, W): one scatter pass."""
        return self.feature_rows.sums(self.feature_rows.phi, residual, stop=self.stop)

    def hessian_diagonal(self, point: Point) -> Floats:
        """Return the diagonal of the Hessian of F, shaped as w."""
        curvature = self.rows.diagonal(point.z, self.stop, buffer=self._score_buffer(self.rows))
        diagonal = self.feature_rows.sums(self.feature_rows.phi, curvature, squared=True, stop=self.stop)
        return diagonal if self._q is None else diagonal + self._q

    def phi_norm(self, w: Floats) -> float:
        """Return ||phi||, the length of the coefficients, which here are w: the features are not scaled by weights."""
        return float(np.sqrt(dot(w, w)))


def all_weights(phi: Floats, value: float) -> Floats:
    """Return weights (D + 1, K), all equal to `value` except the last row, the intercepts, which are 0.

    phi: the features; its first two dimensions give D and K.
    """
    w = np.full((phi.shape[0] + 1, phi.shape[1]), float(value))
    w[-1] = 0.0
    return w


def solve(objective: Objective, point: Point, right: Floats, max_products: int = 200) -> tuple[Floats, int]:
    """Return x with H x = right, shaped as the weights, and the number of products with H, the Hessian of F at `point`.

    By conjugate gradients from 0. From there the iterates stay in the range of H, which softmax leaves singular without
    a penalty, so the shortest solution is found.
    """
    x, residual = np.zeros_like(right), right.copy()
    direction, squared_norm = residual.copy(), dot(residual, residual)
    tolerance, n_products = 1e-24 * squared_norm, 0
    while squared_norm > tolerance and n_products < max_products:
        product = objective.hvp(point, direction)
        n_products += 1
        curvature = dot(direction, product)
        if curvature <= 0.0:
            break
        x += squared_norm / curvature * direction
        residual -= squared_norm / curvature * product
        previous_size, squared_norm = squared_norm, dot(residual, residual)
        direction = residual + squared_norm / previous_size * direction
    return x, n_products


def newton(objective: Objective, state: SolverState) -> SolverState:
    """Return the state one step later; stalled if no step lowers F."""
    inverse = invert_diagonal(objective.hessian_diagonal(state.point))
    eta = min(MAX_ETA, objective.criterion(state.point) ** 0.5)
    step, n_products = newton_step(objective, state.point, inverse, _UNLIMITED_RADIUS, eta)
    next_state, has_fallen = line_search_step(
        objective, replace(state, passes=state.passes + 0.5 + n_products), step, 1.0
    )
    return next_state if has_fallen else stalled(next_state)


def minimise(objective: Objective, w: Floats) -> tuple[Point, int, float]:
    """Return the point at which the weights (K + 1, W) are optimal, from `w` on, and the evaluations and passes it
    took.
    """
    state = SolverState(0, objective.value_grad(w), 1, 1.0)
    for _ in range(MAX_STEPS):
        if objective.criterion(state.point) < OPTIMAL_SLOPE:
            break
        next_state = newton(objective, state)
        if next_state.stalled:
            break
        state = next_state
    return state.point, state.evaluations, state.passes
