"""Passes that visit single rows, for stochastic solvers; kernels/stochastic.py has the formulas.

    rows.sgd / rows.adagrad     move w (flat, in place) over the rows of `order`
    rows.loss                   the sum of their losses, by which a step length is chosen
    rows.visits                 how many of them look at each w

A row of weight m counts as m rows of weight 1: it is visited round(m) times, at least once, each time with an equal
share of its weight. So a row that is repeated and one with the summed weight give the same result. Passes run on one
thread, because every row needs the weights that the row before has moved.
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

# Bounds of the visits in a pass, in all and per row; beyond the larger of them rows are visited in proportion to their
# weights. Otherwise weights of a million would make a pass of a thousand rows endless.
_MAX_VISITS = 1_000_000
_MAX_VISITS_PER_ROW = 20
# Places that one call of a kernel looks at: about 10 ms.
_PLACES_PER_CALL = 1_000_000


class SingleRows:
    """Rows of a table, for passes that visit them one by one.

    Args:
        rows: with the keys of `blocks`.
        blocks: of a cover; the first n_outside rows of its cell table, two for each tuple, are not seen cells.
        scale: (S + 1, C) of phi = scale * w[weight_index].
        weight_index: (S + 1, C), or None where each place has its own weight.
        loss: a loss with probabilities.

    Attributes:
        visit_order: (V,) the rows as often as a pass visits them.
        y, weights: (N,) class of each row, and the weight of one visit.
    """

    def __init__(
        self,
        rows: Rows,
        blocks: Blocks,
        n_outside: int,
        scale: Floats,
        weight_index: NDArray[np.intp] | None,
        loss: Loss,
    ):
        n_visits = _visits_per_row(rows.weights)
        self.visit_order = np.repeat(np.arange(rows.n_rows), n_visits)
        self.y, self.weights = rows.y, rows.weights / np.maximum(n_visits, 1)
        self._target = kernels.Target(self.y, self.weights, loss is MSE)
        self._n_classes = rows.n_classes
        no_index = np.empty((0, 0), np.intp)
        inner = (blocks.links[:0], np.zeros(1, np.int64)) if blocks.inner is None else blocks.inner.links_by_joint_value
        self._row_cells = kernels.RowCells(rows.keys, blocks.first, blocks.first_link, blocks.links, *inner, n_outside)
        self._scaling = kernels.Scaling(
            scale, no_index if weight_index is None else weight_index, weight_index is not None
        )
        self._rows_per_call = max(1, int(_PLACES_PER_CALL / (n_outside // 2 + 1) / self._n_classes))

    def sgd(
        self, order: NDArray[np.intp], w: Floats, center: Floats, ridge: Floats, eta0: float, decay: float,
        clock: Floats, stop: StopToken = NEVER,
    ) -> None:  # fmt: skip
        """Visit the rows of `order` (n,) by stochastic gradient descent, moving `w` and `clock`.

        w, center and `ridge`, 2 alpha q / V, are (P,); after t visits a step has the length eta0 / (1 + decay t); clock
        (2,) is the number of visits and the sum of step lengths so far.
        """
        shrunk_eta = np.full(len(w), clock[1])
        penalty = kernels.Penalty(center, ridge)
        self._call_in_parts(kernels.sgd, order, stop, self._target, w, penalty, shrunk_eta, eta0, decay, clock)
        if ridge.any():
            w[:] = center + (w - center) * np.exp(-ridge * (clock[1] - shrunk_eta))

    def adagrad(
        self, order: NDArray[np.intp], w: Floats, center: Floats, ridge: Floats, eta0: float, squares: Floats,
        stop: StopToken = NEVER,
    ) -> None:  # fmt: skip
        """Visit the rows of `order` (n,) by AdaGrad with step length eta0, moving `w` and `squares`, which is G.

        w, center, `ridge`, 2 alpha q / V_j, and G are (P,).
        """
        slopes, penalty = np.zeros(len(w)), kernels.Penalty(center, ridge)
        self._call_in_parts(kernels.adagrad, order, stop, self._target, w, penalty, squares, eta0, slopes)

    def loss(self, order: NDArray[np.intp], w: Floats, stop: StopToken = NEVER) -> float:
        """Return the summed loss of the rows of `order` (n,) at w (P,); infinite where scores overflow."""
        loss_sum = sum(self._call_in_parts(kernels.sum_losses, order, stop, self._target, w))
        return loss_sum if math.isfinite(loss_sum) else math.inf

    def visits(self, order: NDArray[np.intp], n_weights: int, stop: StopToken = NEVER) -> Floats:
        """Return (n_weights,): how many of the rows of `order` (n,) look at each weight."""
        counts, stamps = np.zeros(n_weights), np.full(n_weights, -1)
        self._call_in_parts(kernels.count_visits, order, stop, counts, stamps)
        return counts

    def _call_in_parts(self, kernel: Any, order: NDArray[np.intp], stop: StopToken, *arguments: Any) -> list[Any]:
        """Call a kernel for ranges of `order`, short enough to check `stop` between them; return the results."""
        results = []
        for begin in range(0, len(order), self._rows_per_call):
            stop.check()
            end = min(len(order), begin + self._rows_per_call)
            results.append(kernel(order, begin, end, self._row_cells, self._scaling, *arguments))
        return results


def max_visits(weight: float, n_rows: int) -> float:
    """Return an upper bound of the visits in a pass over n_rows rows whose weights sum to `weight`."""
    return min(weight, max(_MAX_VISITS, _MAX_VISITS_PER_ROW * n_rows)) + n_rows


def _visits_per_row(weights: Floats) -> NDArray[np.intp]:
    """Return (N,) how often a pass visits each row; a row without weight is not visited."""
    limit = max(_MAX_VISITS, _MAX_VISITS_PER_ROW * len(weights))
    visits = weights * min(1.0, limit / max(1.0, float(weights.sum())))
    return np.where(weights > 0, np.maximum(1, np.rint(visits)), 0).astype(np.intp)
