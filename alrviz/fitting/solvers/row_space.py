"""Fits of few rows to many cells with Gram matrices: any penalties, without a table of cells.

If phi = P w and the penalty is ridge (w - center)^2 / 2, F's minimum is center + ridge^-1 X' a with numbers a (n, C)
for each row and class, X being the features of the rows by orders 1, 2, ... (see kernels/gram.py):

    z = offset + K a,    K = sum over orders o of  X_o X_o' / (2 alpha_o) + 1 / (2 min alpha)  (the intercepts)
    a = -r(z),           r the residuals, p_k - 1[k = y], times the row's weight

Newton's steps solve (I + D K) s = -(a + r) by conjugate gradients in the metric of K, D = dr/dz; each turn is one
product K s of n^2 C operations, whatever the number of cells. At the minimum w = center - X' r / ridge takes one pass.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from alrviz.data.encoded import Encoded
from alrviz.kernels import gram as kernels
from alrviz.models.parameterisation import squared_step_sizes
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.threads import run_parts
from alrviz.stop import NEVER, StopToken

GramMatrices = NDArray[np.float32]
# Maximum Newton steps, and turns of conjugate gradients in each; relative residuals of the inner loop for a step, and
# for the change of the minimum.
MAX_STEPS, MAX_TURNS, STEP_TOL, SLOPE_SOLVE_TOL = 50, 200, 0.1, 1e-2
_ROWS_PER_CALL = 256  # per thread


def gram_matrices(left: Encoded, right: Encoded, order: int, whole: bool, n_jobs: int = 1) -> GramMatrices:
    """Return (orders, n, m) the inner products of n rows, `left`, with m training rows, `right`, by number of columns.

    whole: whether over all tuples of 1 to `order` columns; else of `order` columns only.
    """
    single_steps, several_steps, trends = squared_step_sizes(right)
    codes = [rows.codes.astype(np.uint32) for rows in (left, right)]
    result = np.empty((order, left.n_rows, right.n_rows), np.float32)
    for base, steps, trend, target in (
        (float(not whole), several_steps, np.zeros_like(trends), result),
        (1.0, single_steps, trends, result[:1]),
    ):
        column_params = (left.levels, left.smooth_levels, np.full(left.n_columns, base), steps, trend)

        def fill(k: int, column_params: tuple[np.ndarray, ...] = column_params, target: GramMatrices = target) -> None:
            end_row = min(_ROWS_PER_CALL * k + _ROWS_PER_CALL, left.n_rows)
            kernels.gram(*codes, *column_params, target, _ROWS_PER_CALL * k, end_row)

        run_parts(fill, -(-left.n_rows // _ROWS_PER_CALL), n_jobs)
    return result if whole else result[-1:]


@dataclass(eq=False)
class GramFit:
    """A fit to some rows, at its current numbers `a` (C, n).

    Args:
        by_order: (orders, n, n) inner products of the rows' features, by number of columns.
        y, weights: (n,) classes and weights of the rows.
        offset: (C,) scores of the center.
        n_jobs: threads.
        stop: checked between products.
    """

    by_order: GramMatrices
    y: NDArray[np.integer]
    weights: Floats
    offset: Floats
    n_jobs: int = 1
    stop: StopToken = NEVER

    def __post_init__(self) -> None:
        self.a = np.zeros((len(self.offset), len(self.y)))
        self._rows = np.arange(len(self.y))

    def fit(self, alpha: Sequence[float], tol: float) -> tuple[Floats, float]:
        """Continue to the minimum at these alphas, until a step would lower F by less than `tol` of it.

        Returns:
            The scores (C, n) there, and the number of products.
        """
        self._matrix = combine_orders(self.by_order, alpha)
        change, n_products = self._shrink(self._gram_product(self.a)), 1
        value, residual, p = self._evaluate(change)
        value += 0.5 * float(np.vdot(self.a, change))
        for _ in range(MAX_STEPS):
            step, step_change, products = self._solve(-(self.a + residual), p, STEP_TOL)
            n_products += products
            slope = float(np.vdot(self.a + residual, step_change))  # of F along the step
            if -slope <= tol * value:
                break
            step_length = 1.0
            while True:
                trial = self._evaluate(change + step_length * step_change)
                a = self.a + step_length * step
                new_value = trial[0] + 0.5 * float(np.vdot(a, change + step_length * step_change))
                if new_value <= value + 1e-4 * step_length * slope or step_length < 1e-3:
                    break
                step_length /= 2.0
            self.a, change, value, residual, p = a, change + step_length * step_change, new_value, trial[1], trial[2]
        self.residual, self._p = residual, p
        return self.offset[:, None] + change, float(n_products)

    def slope(self, change: GramMatrices) -> Floats:
        """Return the change of `a` (C, n) at the minimum when K changes by `change`."""
        score_change = multiply(change, self.a, self.n_jobs)
        return self._solve(-self._hessian_product(self._p, score_change), self._p, SLOPE_SOLVE_TOL)[0]

    def _shrink(self, change: Floats) -> Floats:
        """Shrink `a`, whose K a is `change`, by decades while F falls; return its K a.

        Coefficients fitted at a much larger alpha are too large a start for Newton's method.
        """
        norm, scale = float(np.vdot(self.a, change)), 1.0

        def value_at(scale: float) -> float:
            return self._evaluate(scale * change)[0] + 0.5 * scale * scale * norm

        value = value_at(scale)
        while (shrunk_value := value_at(0.1 * scale)) < value:
            scale, value = 0.1 * scale, shrunk_value
        self.a = scale * self.a
        return scale * change

    def _evaluate(self, change: Floats) -> tuple[float, Floats, Floats]:
        """Return the log loss, residuals and probabilities at scores (C, n) that differ by `change` from the offset."""
        z = self.offset[:, None] + change
        log_norm = logsumexp(z, axis=0)
        p = np.exp(z - log_norm)
        residual = p.copy()
        residual[self.y, self._rows] -= 1.0
        return float(self.weights @ (log_norm - z[self.y, self._rows])), residual * self.weights, p

    def _hessian_product(self, p: Floats, v: Floats) -> Floats:
        """Return D v (C, n) at probabilities p (C, n)."""
        product = p * v
        product -= p * product.sum(axis=0)
        product *= self.weights
        return product

    def _solve(self, goal: Floats, p: Floats, eta: float) -> tuple[Floats, Floats, int]:
        """Return s of (I + D K) s = goal, K s, and the number of products; D at probabilities p, all (C, n).

        It ends once the residual is below eta times the goal.
        """
        step, k_step = np.zeros_like(goal), np.zeros_like(goal)
        residual = goal.copy()
        k_residual = self._gram_product(residual)
        direction, k_direction = residual.copy(), k_residual.copy()
        squared_norm = first_squared_norm = float(np.vdot(residual, k_residual))
        n_products = 1
        while squared_norm > eta * eta * first_squared_norm and n_products < MAX_TURNS:
            product = direction + self._hessian_product(p, k_direction)
            length = squared_norm / float(np.vdot(k_direction, product))
            step += length * direction
            k_step += length * k_direction
            residual -= length * product
            k_residual = self._gram_product(residual)
            n_products += 1
            previous_size, squared_norm = squared_norm, float(np.vdot(residual, k_residual))
            direction *= squared_norm / previous_size
            direction += residual
            k_direction *= squared_norm / previous_size
            k_direction += k_residual
        return step, k_step, n_products

    def _gram_product(self, v: Floats) -> Floats:
        self.stop.check()
        return multiply(self._matrix, v, self.n_jobs)


def combine_orders(by_order: GramMatrices, alpha: Sequence[float]) -> GramMatrices:
    """Return the Gram matrix K (n, m): the sum over orders of by_order[k] / (2 alpha[k]), plus 1 / (2 min(alpha)) for
    the intercepts.

    by_order: (orders, n, m). alpha: one number per order.
    """
    result = np.full(by_order.shape[1:], 0.5 / min(alpha), np.float32)
    for matrix, order_alpha in zip(by_order, alpha, strict=True):
        result += matrix * np.float32(0.5 / order_alpha)
    return result


def multiply(matrix: GramMatrices, v: Floats, n_jobs: int) -> Floats:
    """Return matrix v, v (C, m), in single precision."""
    v32, result, n = v.astype(np.float32), np.empty((len(v), len(matrix)), np.float32), len(matrix)
    run_parts(
        lambda k: kernels.product(matrix, v32, result, _ROWS_PER_CALL * k, min(_ROWS_PER_CALL * k + _ROWS_PER_CALL, n)),
        -(-n // _ROWS_PER_CALL),
        n_jobs,
    )
    return result.astype(np.float64)
