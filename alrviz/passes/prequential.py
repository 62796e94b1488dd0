"""A learner that tests, then trains on one row after another; kernels/prequential.py has the formulas."""

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import prequential as kernels
from alrviz.passes.aligned_buffers import Floats

# Scalings of the weights by name; "count" has no weights.
SCALINGS = {"ones": kernels.ONES, "fixed": kernels.FIXED, "so far": kernels.SO_FAR, "count": kernels.COUNT}
# lambda of eta_t = eta0 / (1 + lambda t), t in rows.
ETA_DECAY = 1e-2


class Learner:
    """A prequential learner and its state.

    Args:
        scaling: "ones", "fixed", "so far" or "count".
        n_rows: rows of the cell table; the first `n_outside` are not seen cells.
        n_classes: C.
        cards: (T,) possible cells of each tuple.
        smoothing, gamma: m, and AnJE's factor.
        fixed: (n_rows + 1, C) scale of "fixed", the intercepts' last; None for the others.
        eta0, adaptive: step length, and whether it is AdaGrad's.
    """

    def __init__(
        self,
        scaling: str,
        n_rows: int,
        n_outside: int,
        n_classes: int,
        cards: Floats,
        smoothing: float,
        gamma: float,
        fixed: Floats | None,
        eta0: float,
        adaptive: bool,
    ):
        shape = (n_rows + 1, n_classes)
        self.phi = np.zeros(shape)
        squares = np.zeros(shape if adaptive else (1, n_classes))
        counts = np.zeros(shape if scaling in ("so far", "count") else (1, n_classes))
        self._state = kernels.State(self.phi, squares, counts, np.zeros(n_classes))
        self._n_seen = 0
        self._settings = kernels.Settings(
            n_outside, SCALINGS[scaling], adaptive, float(eta0), ETA_DECAY, float(gamma), float(smoothing),
            np.ascontiguousarray(cards, np.float64), np.zeros((1, n_classes)) if fixed is None else fixed,
        )  # fmt: skip

    def visit(self, cells: NDArray[np.uint32], y: NDArray[np.int32]) -> tuple[Floats, Floats, Floats]:
        """Predict, then learn rows (n, T) of the cell table with their classes (n,).

        Returns three arrays (n,), of each row before it was learned: -log p_y, (1/C) sum_k (p_k - 1[k = y])^2, and 1
        where another class has the highest score.
        """
        n = len(y)
        losses, squared, wrong = np.empty(n), np.empty(n), np.empty(n)
        kernels.visit(cells, y, self._n_seen, self._n_seen + n, self._settings, self._state, losses, squared, wrong)
        self._n_seen += n
        return losses, squared, wrong
