"""A learner that meets rows one by one: see kernels/prequential.py for the formulas."""

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import prequential as kernels
from alrviz.passes.aligned_buffers import Floats

# How the weights are scaled; "count" has none.
KINDS = {"ones": kernels.ONES, "fixed": kernels.FIXED, "so far": kernels.SO_FAR, "count": kernels.COUNT}
# lambda of eta_t = eta0 / (1 + lambda t), t in rows.
DECAY = 1e-2


class Learner:
    """The state of one learner.

    Args:
        kind: "ones", "fixed", "so far" or "count".
        n_rows: of the cell table; the first `outside` are no cells.
        n_classes: C.
        cards: (T,) possible cells of each tuple.
        smoothing, gamma: m, and AnJE's factor.
        fixed: (n_rows + 1, C) scale of "fixed", the intercepts' last; None for the others.
        eta0, adaptive: step length, and whether AdaGrad's.
    """

    def __init__(
        self,
        kind: str,
        n_rows: int,
        outside: int,
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
        counts = np.zeros(shape if kind in ("so far", "count") else (1, n_classes))
        self._state = kernels.State(self.phi, squares, counts, np.zeros(n_classes))
        self._seen = 0
        self._settings = kernels.Settings(
            outside, KINDS[kind], adaptive, float(eta0), DECAY, float(gamma), float(smoothing),
            np.ascontiguousarray(cards, np.float64), np.zeros((1, n_classes)) if fixed is None else fixed,
        )  # fmt: skip

    def visit(self, cells: NDArray[np.uint32], y: NDArray[np.int32]) -> tuple[Floats, Floats, Floats]:
        """Judge and learn rows (n, T) of the cell table and their classes (n,).

        Returns what each cost before it was learned, (n,) each: -log p_y, (1/C) sum_k (p_k - 1[k = y])^2, 1 where the
        class of the highest score is another.
        """
        n = len(y)
        losses, squared, wrong = np.empty(n), np.empty(n), np.empty(n)
        kernels.visit(cells, y, self._seen, self._seen + n, self._settings, self._state, losses, squared, wrong)
        self._seen += n
        return losses, squared, wrong
