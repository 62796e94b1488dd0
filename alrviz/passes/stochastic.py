"""Passes that visit single rows, for stochastic solvers: see kernels/stochastic.py for the formulas.

    stochastic.sgd / adagrad        move w (flat, in place) over the rows of `order`
    stochastic.loss                 the sum of their losses, by which a step length is chosen
    stochastic.visits               how many of them look at each w

A row of weight m counts as m rows of weight 1: it is visited round(m) times, at least once, each time with an equal
share of its weight. So a repeated row and one of that weight are the same, merged or not. They run on one thread: each
row needs what the one before it has moved.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import stochastic as kernels
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.blocks import Blocks
from alrviz.passes.losses import MSE, Loss
from alrviz.passes.rows import Rows
from alrviz.stop import NEVER, StopToken

# Weights of a million would make a pass of a thousand rows endless: beyond so many visits, or so many for each row,
# they are visited in proportion.
_MOST_VISITS = 1_000_000
_MOST_A_ROW = 20
# Places looked at in one call of a kernel: about 10 ms.
_CALL = 1_000_000


class SingleRows:
    """Rows one by one.

    Args:
        rows: with the keys of `blocks`.
        blocks: of a cover; `outside` rows of its cell table, two a tuple, stand before the seen cells.
        scale: (S + 1, C) of phi = scale * w[owner].
        owner: (S + 1, C), or None where each place has a weight of its own.
        loss: of probabilities.

    Attributes:
        all: (V,) the rows as often as a pass visits them. y, weights: (N,) class of a row, and weight of one visit.
    """

    def __init__(
        self, rows: Rows, blocks: Blocks, outside: int, scale: Floats, owner: NDArray[np.intp] | None, loss: Loss
    ):
        times = _visits(rows.weights)
        self.all = np.repeat(np.arange(rows.n_rows), times)
        self.y, self.weights = rows.y, rows.weights / np.maximum(times, 1)
        self._target = kernels.Target(self.y, self.weights, loss is MSE)
        self._n_classes = rows.n_classes
        none = np.empty((0, 0), np.intp)
        inner = (blocks.links[:0], np.zeros(1, np.int64)) if blocks.below is None else blocks.below.by_joint_value
        self._row_cells = kernels.RowCells(rows.keys, blocks.first, blocks.at, blocks.links, *inner, outside)
        self._scaling = kernels.Scaling(scale, none if owner is None else owner, owner is not None)
        self._span = max(1, int(_CALL / (outside // 2 + 1) / self._n_classes))

    def sgd(
        self, order: NDArray[np.intp], w: Floats, center: Floats, ridge: Floats, eta0: float, decay: float,
        clock: Floats, stop: StopToken = NEVER,
    ) -> None:  # fmt: skip
        """Visit the rows of `order` (n,) by stochastic gradient descent; moves `w` and `clock`.

        Weights, center and `ridge`, 2 alpha q / V, are (P,); `clock` (2,) is the number of visits and the sum of step
        lengths so far.
        """
        flown = np.full(len(w), clock[1])
        pull = kernels.Penalty(center, ridge)
        self._in_parts(kernels.sgd, order, stop, self._target, w, pull, flown, eta0, decay, clock)
        if ridge.any():
            w[:] = center + (w - center) * np.exp(-ridge * (clock[1] - flown))

    def adagrad(
        self, order: NDArray[np.intp], w: Floats, center: Floats, ridge: Floats, eta0: float, squares: Floats,
        stop: StopToken = NEVER,
    ) -> None:  # fmt: skip
        """Visit the rows of `order` (n,) by AdaGrad; `ridge` is 2 alpha q / V_j; moves `w` and `squares`, which is G.

        Weights, center, ridge and G are (P,).
        """
        room, pull = np.zeros(len(w)), kernels.Penalty(center, ridge)
        self._in_parts(kernels.adagrad, order, stop, self._target, w, pull, squares, eta0, room)

    def loss(self, order: NDArray[np.intp], w: Floats, stop: StopToken = NEVER) -> float:
        """Return the loss summed over the rows of `order` (n,), at w (P,); infinite where scores are no numbers."""
        total = sum(self._in_parts(kernels.sum_losses, order, stop, self._target, w))
        return total if math.isfinite(total) else math.inf

    def visits(self, order: NDArray[np.intp], n_weights: int, stop: StopToken = NEVER) -> Floats:
        """Return (n_weights,): how many of the rows of `order` (n,) look at each w."""
        found, stamp = np.zeros(n_weights), np.full(n_weights, -1)
        self._in_parts(kernels.count_visits, order, stop, found, stamp)
        return found

    def _in_parts(self, kernel: Any, order: NDArray[np.intp], stop: StopToken, *arguments: Any) -> list[Any]:
        found = []
        for begin in range(0, len(order), self._span):
            stop.check()
            end = min(len(order), begin + self._span)
            found.append(kernel(order, begin, end, self._row_cells, self._scaling, *arguments))
        return found


def most_visits(weight: float, n_rows: int) -> float:
    """Return how many visits a pass over rows of so much weight together makes at most."""
    return min(weight, max(_MOST_VISITS, _MOST_A_ROW * n_rows)) + n_rows


def _visits(weights: Floats) -> NDArray[np.intp]:
    """How often each row is visited in a pass; a row without weight is not."""
    most = max(_MOST_VISITS, _MOST_A_ROW * len(weights))
    times = weights * min(1.0, most / max(1.0, float(weights.sum())))
    return np.where(weights > 0, np.maximum(1, np.rint(times)), 0).astype(np.intp)
