"""[sALR]'s CVscore: what a model loses where it must do without a tuple. [sALR] 3.1

    score(t) = log loss of D_CV's last rows by the model of all tuples but t  -  by the model of all        nats a row

D_CV are rows that log theta is not counted from. LEARNED of them are learned from by PASSES of AdaGrad, on TRIED more
the step length is searched once, with all tuples; the rest judges. (The paper leaves open by which error: log loss is
not stuck where a tuple moves probabilities and no row's class.) A model for each tuple of T is work of T^2: of many
tuples fewer rows are taken.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.errors import MemoryLimitError, RecipeError
from alrviz.fitting.families.build_fit import weights_of
from alrviz.fitting.objectives.linear import ridge_of
from alrviz.fitting.objectives.streamed import CodedRows
from alrviz.fitting.solvers.stochastic import PASSES, searched
from alrviz.models.index import CellIndex
from alrviz.models.tables import Tables
from alrviz.passes.aligned_buffers import Floats, class_widths
from alrviz.passes.rows import as_kernel_codes
from alrviz.passes.stream import adagrad_steps, step_table
from alrviz.passes.threads import run_parts
from alrviz.stop import NEVER, StopToken

LEARNED, TRIED = 0.6, 0.1
# Cells looked up for all scores together, about a minute of one thread; and the rows that are the least of any use.
MOST_LOOKED, LEAST_ROWS = 10**10, 1_000
_VISITS = PASSES * LEARNED + 1.0 - LEARNED - TRIED  # of each row, for each tuple


def rows_for(n_tuples: int) -> int:
    """Return the most rows of D_CV that so many tuples are scored on.

    Raises:
        RecipeError: fewer than are of any use.
    """
    rows = int(MOST_LOOKED / (_VISITS * n_tuples**2))
    if rows < LEAST_ROWS:
        most = int(math.sqrt(MOST_LOOKED / (_VISITS * LEAST_ROWS)))
        raise RecipeError(
            f"selection='cv' fits a model without each of {n_tuples:,} tuples; expected at most {most:,} (of a lower "
            "order, or grown by hsalr from few), or selection='mi', 'mi-mm' or 'gain', which one count scores"
        )
    return rows


class LeftOut:
    """Models without each of some tuples, fitted to rows that choose.

    Args:
        tables: counts of the tuples' cells, of other rows.
        chosen: D_CV.
        params: the recipe's.
        seed: of the order of rows.
        n_jobs: threads; each fits another model.
        stop: ends it.
        allowed: bytes that may be used, None for any number: fewer threads are taken where each has too large a model.

    Raises:
        MemoryLimitError: one thread's is too large.
    """

    def __init__(
        self, tables: Tables, chosen: CodedRows, params: Mapping[str, Any], seed: int, n_jobs: int,
        stop: StopToken = NEVER, allowed: int | None = None,
    ):  # fmt: skip
        self._seed, self._n_jobs, self._stop = seed, n_jobs, stop
        self._classes, self._tuples = tables.n_classes, tables.space.n_tuples
        self._padded, self._first = class_widths(self._classes)[1], np.zeros(self._tuples + 1, np.int64)
        n = min(chosen.n_rows, rows_for(self._tuples))
        self._y = chosen.y[:n]
        self._learned, tried = round(LEARNED * n), round((LEARNED + TRIED) * n)
        self._slices = slice(self._learned, tried), slice(tried, n)
        index = CellIndex.of_seen(tables.space, tables.seen)
        found = index.locate(as_kernel_codes(np.ascontiguousarray(chosen.codes[:, :n])), 0, n).astype(np.int64)
        found -= 2 * self._tuples  # below 0 where training rows have no such cell: it adds nothing
        used = np.unique(found[found >= 0])
        self._none = len(used) + 1  # the row of the table that adds nothing, behind that of b
        self._keys = np.where(found < 0, self._none, np.searchsorted(used, found)).T.astype(np.uint32, order="C")
        self._start = self._table(tables, params, used)
        if allowed is not None:
            each = self._start.nbytes + 2 * self._keys.nbytes  # what it moves; keys without a tuple, and in an order
            if each > allowed:
                raise MemoryLimitError(
                    f"selection='cv' fits a model without each of {self._tuples:,} tuples, of about "
                    f"{each / 2**20:,.0f} MiB; {allowed / 2**20:,.0f} MiB may be used: choose selection='mi', 'mi-mm' "
                    "or 'gain', fewer tuples, or allow more", each, allowed,
                )  # fmt: skip
            self._n_jobs = min(n_jobs, allowed // each)

    def losses(self, tell: Callable[[str], None]) -> Floats:
        """Return the score (T,) of each tuple; `tell` hears what is done."""
        tell("searching a step length")
        eta = searched(lambda eta0: self._fitted(None, eta0, self._slices[0]), "adagrad")
        tell(f"fitting without each of {self._tuples:,} tuples")
        found = np.empty(self._tuples)

        def one(t: int) -> None:
            found[t] = self._fitted(t, eta, self._slices[1])

        run_parts(one, self._tuples, self._n_jobs)
        return found - self._fitted(None, eta, self._slices[1])

    def _table(self, tables: Tables, params: Mapping[str, Any], used: NDArray[np.int64]) -> NDArray[np.float32]:
        """What AdaGrad moves, at its start."""
        of, w0 = weights_of(tables, params, self._seed)
        ridge = ridge_of(of, params["alpha"], params["penalty"])
        pull, center, rows = None, None, np.append(used, len(tables.seen))
        if ridge is not None:
            visits = np.bincount(self._keys[:, : self._learned].ravel(), minlength=len(rows))[: len(rows)].astype(float)
            visits[-1] = self._learned
            pull = ridge[rows] / np.maximum(1.0, visits)[:, None]
            center = of.weights_of(params["center"])[rows]
        return step_table(len(used), self._padded, np.arange(len(rows)), of.scale[rows], w0[rows], pull, center)

    def _fitted(self, left_out: int | None, eta: float, judged: slice) -> float:
        """The log loss per judged row of a model without a tuple."""
        table, keys = self._start.copy(), self._keys
        if left_out is not None:
            keys = keys.copy()
            keys[left_out] = self._none
        order = np.random.default_rng((self._seed, 1))
        for _ in range(PASSES):
            self._stop.check()
            rows = order.permutation(self._learned)
            self._visit(np.take(keys, rows, axis=1), self._y[rows], table, eta)
        held = np.ascontiguousarray(keys[:, judged])
        return self._visit(held, self._y[judged], table, 0.0) / max(1, len(self._y[judged]))

    def _visit(
        self, keys: NDArray[np.unsignedinteger], y: NDArray[np.int32], table: NDArray[np.float32], eta: float
    ) -> float:
        """The sum of -log p(y), each as its row was met; steps of length 0 leave the weights as they are."""
        with np.errstate(invalid="ignore", over="ignore"):
            value = adagrad_steps(keys, self._first, y, table, self._classes, eta)
        return value if math.isfinite(value) else math.inf
