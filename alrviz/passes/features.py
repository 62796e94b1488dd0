"""Rows whose scores are sums of a few dense features, and the passes over them.

    rows.scores(w)           z[i, k] = w[D, k] + sum_d w[d, k] phi[d, k, i]; with two classes K = 1 and z[i, 0] = 0
    rows.sums(phi, residual) sum_i residual[i, k] phi[d, k, i], its transpose

Threads share the rows. Sums are kept by chunk and added up in order: the same bits for any number of threads.
"""

from collections.abc import Callable

import numpy as np

from alrviz.kernels import features as kernels
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.rows import Rows
from alrviz.passes.threads import run_parts
from alrviz.stop import NEVER, StopToken

# Products in one call of a kernel, about 10 ms; and those below which a second thread costs more than it saves.
_PRODUCTS_PER_CALL = 10_000_000
_MIN_SHARED_PRODUCTS = 500_000


class FeatureRows:
    """Rows of a table with features phi (D, K, N): D features of N rows for each of K class scores.

    K is C, the number of classes, but 1 for two classes, whose first score is 0.
    """

    def __init__(self, rows: Rows, phi: Floats):
        self.rows = rows
        self.phi = np.require(phi, np.float64, ["C", "W"])
        self._first_lane = rows.n_classes - phi.shape[1]

    def scores(self, w: Floats, stop: StopToken = NEVER, pad: float = -np.inf) -> Floats:
        """Return the scores (N, W) of weights w (D + 1, K), or with a `pad` of 0 their change by a change w."""
        z = self.rows.scores()
        z[:, : self._first_lane] = 0.0
        z[:, self.rows.n_classes :] = pad
        features, values, _ = self.phi.shape

        def work(begin: int, end: int) -> None:
            kernels.forward(self.phi, w, self._first_lane, z, begin, end)

        self._by_rows(work, features * values, stop)
        return z

    def sums(self, phi: Floats, residual: Floats, squared: bool = False, stop: StopToken = NEVER) -> Floats:
        """Return sums over rows of residual (N, W) times phi (D, K, N), and in the last row times 1: (D + 1, K).

        squared: whether to multiply by phi^2 instead of phi.
        """
        features, values, n = phi.shape
        sums_by_chunk = np.zeros((-(-n // kernels.CHUNK_ROWS), features + 1, values))

        def work(begin: int, end: int) -> None:
            kernels.scatter(phi, residual, self._first_lane, squared, sums_by_chunk, begin, end)

        self._by_rows(work, features * values, stop)
        return sums_by_chunk.sum(axis=0)

    def _by_rows(self, work: Callable[[int, int], None], row_products: int, stop: StopToken) -> None:
        """Call work(begin, end) for ranges of rows, on several threads if the products are many; row_products: those of
        a row.
        """
        n, jobs = (self.rows.n_rows, self.rows.n_jobs if self.rows.n_rows * row_products > _MIN_SHARED_PRODUCTS else 1)
        chunks_per_call = max(
            1,
            min(
                _PRODUCTS_PER_CALL // max(1, row_products) // kernels.CHUNK_ROWS,
                -(-n // (2 * jobs * kernels.CHUNK_ROWS)),
            ),
        )
        rows_per_call = chunks_per_call * kernels.CHUNK_ROWS

        def call_work(k: int) -> None:
            stop.check()
            work(k * rows_per_call, min(n, (k + 1) * rows_per_call))

        run_parts(call_work, -(-n // rows_per_call), jobs)
