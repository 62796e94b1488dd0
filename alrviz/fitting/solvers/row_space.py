"""Fits of few rows to many cells, by what rows share: the weights of any penalties without a table of cells.

Where phi = P w and the penalty is ridge (w - center)^2 / 2, F's minimum is center + ridge^-1 X' a of numbers a (n, C)
for each row and class, X being the features of the rows by orders 1, 2, ... (see kernels/gram.py):

    z = offset + K a,    K = sum over orders o of  X_o X_o' / (2 alpha_o) + 1 / (2 min alpha)  (the intercepts)
    a = -r(z),           r the residuals, p_k - 1[k = y], times the row's weight

Newton's steps solve (I + D K) s = -(a + r) by conjugate gradients in the metric of K, D = dr/dz; each turn is one
product K s: n^2 C numbers, whatever the number of cells. At the minimum w = center - X' r / ridge, one pass.
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

Shared = NDArray[np.float32]
# Newton's steps and turns of conjugate gradients in one, at most; how far the inner loop comes, for a step and for how
# the minimum moves.
STEPS, TURNS, LOOSE, CLOSE = 50, 200, 0.1, 1e-2
_ROWS = 256  # that a thread takes at once


def shared(left: Encoded, right: Encoded, order: int, whole: bool, n_jobs: int = 1) -> Shared:
    """Return (orders, n, m): what rows share with those on the `right`, which are learned from, by order; of tuples of
    `order` columns alone, or of all up to it (`whole`).
    """
    single, several = squared_step_sizes(right)
    codes = [of.codes.astype(np.uint32) for of in (left, right)]
    found = np.empty((order, left.n_rows, right.n_rows), np.float32)
    for steps, base, own in ((several, float(not whole), found), (single, 1.0, found[:1])):
        bases = np.full(left.n_columns, base)

        def fill(k: int, steps: Floats = steps, bases: Floats = bases, own: Shared = own) -> None:
            end = min(_ROWS * k + _ROWS, left.n_rows)
            kernels.gram(*codes, left.levels, left.smooth_levels, bases, steps, own, _ROWS * k, end)

        run_parts(fill, -(-left.n_rows // _ROWS), n_jobs)
    return found if whole else found[-1:]


@dataclass(eq=False)
class SharedRows:
    """A fit to some rows, at the numbers `a` that it has come to.

    Args:
        by_order: (orders, n, n) what the rows share.
        y, weights: (n,) classes, and how often each row counts.
        offset: (C,) scores of the center.
        stop: asked between products.
    """

    by_order: Shared
    y: NDArray[np.integer]
    weights: Floats
    offset: Floats
    n_jobs: int = 1
    stop: StopToken = NEVER

    def __post_init__(self) -> None:
        self.a = np.zeros((len(self.offset), len(self.y)))
        self._rows = np.arange(len(self.y))

    def fit(self, alpha: Sequence[float], enough: float) -> tuple[Floats, float]:
        """Go on to the minimum at these alphas, until a step would lower F by less than `enough` of it; return the
        scores (C, n) there, and the products that it took.
        """
        self._matrix = combined(self.by_order, alpha)
        above, taken = self._times(self.a), 1
        value, residual, p = self._at(above)
        value += 0.5 * float(np.vdot(self.a, above))
        for _ in range(STEPS):
            step, bent, products = self._solved(-(self.a + residual), p, LOOSE)
            taken += products
            slope = float(np.vdot(self.a + residual, bent))  # of F along the step
            if -slope <= enough * value:
                break
            length = 1.0
            while True:
                new = self._at(above + length * bent)
                a = self.a + length * step
                whole = new[0] + 0.5 * float(np.vdot(a, above + length * bent))
                if whole <= value + 1e-4 * length * slope or length < 1e-3:
                    break
                length /= 2.0
            self.a, above, value, residual, p = a, above + length * bent, whole, new[1], new[2]
        self.residual, self._p = residual, p
        return self.offset[:, None] + above, float(taken)

    def slope(self, change: Shared) -> Floats:
        """Return how `a` (C, n) changes where K changes by `change`, at the minimum."""
        moved = times(change, self.a, self.n_jobs)
        return self._solved(-self._bent(self._p, moved), self._p, CLOSE)[0]

    def _at(self, above: Floats) -> tuple[float, Floats, Floats]:
        """The log loss, residuals and shares at scores above the offset."""
        z = self.offset[:, None] + above
        top = logsumexp(z, axis=0)
        p = np.exp(z - top)
        residual = p.copy()
        residual[self.y, self._rows] -= 1.0
        return float(self.weights @ (top - z[self.y, self._rows])), residual * self.weights, p

    def _bent(self, p: Floats, v: Floats) -> Floats:
        """D v."""
        found = p * v
        found -= p * found.sum(axis=0)
        found *= self.weights
        return found

    def _solved(self, goal: Floats, p: Floats, eta: float) -> tuple[Floats, Floats, int]:
        """s of (I + D K) s = goal, K s, and how many products it took."""
        step, bent = np.zeros_like(goal), np.zeros_like(goal)
        rest = goal.copy()
        above = self._times(rest)
        direction, along = rest.copy(), above.copy()
        size = first = float(np.vdot(rest, above))
        products = 1
        while size > eta * eta * first and products < TURNS:
            turned = direction + self._bent(p, along)
            length = size / float(np.vdot(along, turned))
            step += length * direction
            bent += length * along
            rest -= length * turned
            above = self._times(rest)
            products += 1
            before, size = size, float(np.vdot(rest, above))
            direction *= size / before
            direction += rest
            along *= size / before
            along += above
        return step, bent, products

    def _times(self, v: Floats) -> Floats:
        self.stop.check()
        return times(self._matrix, v, self.n_jobs)


def combined(by_order: Shared, alpha: Sequence[float]) -> Shared:
    """Return K of some alphas, the intercepts' share with it."""
    found = np.full(by_order.shape[1:], 0.5 / min(alpha), np.float32)
    for own, one in zip(by_order, alpha, strict=True):
        found += own * np.float32(0.5 / one)
    return found


def times(matrix: Shared, v: Floats, n_jobs: int) -> Floats:
    """Return matrix v, v (C, m)."""
    short, found, n = v.astype(np.float32), np.empty((len(v), len(matrix)), np.float32), len(matrix)
    run_parts(
        lambda k: kernels.product(matrix, short, found, _ROWS * k, min(_ROWS * k + _ROWS, n)), -(-n // _ROWS), n_jobs
    )
    return found.astype(np.float64)
