"""[sALR]'s CVscore: the increase of validation loss when a model lacks a tuple. [sALR] 3.1

    score(t) = log loss of D_CV's last rows by the model without t  -  by the model of all tuples      nats per row

D_CV are rows that log theta is not counted from. TRAINING_SHARE of them are learned in TRIAL_PASSES passes of AdaGrad;
on another TRIAL_SHARE the step length is search_eta0 once, with all tuples; the rest gives the scores. (The paper
leaves open
which error: log loss also changes where a tuple moves probabilities but no row's class.) A model per tuple is work of
T^2, so that for many tuples fewer rows are used.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from alrviz.errors import MemoryLimitError, RecipeError
from alrviz.fitting.families.build_fit import weights_of
from alrviz.fitting.fit_settings import Params
from alrviz.fitting.objectives.linear import ridge_of
from alrviz.fitting.objectives.streamed import CodedRows
from alrviz.fitting.solvers.stochastic import TRIAL_PASSES, search_eta0
from alrviz.models.index import CellIndex
from alrviz.models.tables import Tables
from alrviz.passes.aligned_buffers import Floats, class_widths
from alrviz.passes.rows import as_kernel_codes
from alrviz.passes.stream import adagrad_steps, step_table
from alrviz.passes.threads import run_parts
from alrviz.stop import NEVER, StopToken

TRAINING_SHARE, TRIAL_SHARE = 0.6, 0.1
# Cells looked up for all scores together, about a minute on one thread; and the fewest rows that give useful scores.
MAX_LOOKUPS, MIN_ROWS = 10**10, 1_000
_VISITS = TRIAL_PASSES * TRAINING_SHARE + 1.0 - TRAINING_SHARE - TRIAL_SHARE  # per row and tuple


def rows_for(n_tuples: int) -> int:
    """Return the maximum number of rows of D_CV on which models without each of n_tuples tuples are fitted.

    Raises:
        RecipeError: too few rows for useful scores.
    """
    rows = int(MAX_LOOKUPS / (_VISITS * n_tuples**2))
    if rows < MIN_ROWS:
        max_tuples = int(math.sqrt(MAX_LOOKUPS / (_VISITS * MIN_ROWS)))
        raise RecipeError(
            f"selection='cv' fits a model without each of {n_tuples:,} tuples; expected at most {max_tuples:,} (of a "
            "lower order, or grown by hsalr from few), or selection='mi', 'mi-mm' or 'gain', which one count scores"
        )
    return rows


class LeaveOneTupleOut:
    """Models without each of some tuples, fitted to D_CV.

    Args:
        tables: counts of the tuples' cells, from other rows.
        validation: the rows of D_CV.
        params: the recipe's.
        seed: of the order of rows.
        n_jobs: threads; each fits another model.
        stop: ends it.
        max_bytes: bytes that may be used, None for no limit; large models are fitted on fewer threads.

    Raises:
        MemoryLimitError: even one model needs too much memory.
    """

    def __init__(
        self, tables: Tables, validation: CodedRows, params: Params, seed: int, n_jobs: int,
        stop: StopToken = NEVER, max_bytes: int | None = None,
    ):  # fmt: skip
        self._seed, self._n_jobs, self._stop = seed, n_jobs, stop
        self._classes, self._tuples = tables.n_classes, tables.space.n_tuples
        self._padded, self._first = class_widths(self._classes)[1], np.zeros(self._tuples + 1, np.int64)
        n = min(validation.n_rows, rows_for(self._tuples))
        self._y = validation.y[:n]
        self._n_training, n_before_scoring = round(TRAINING_SHARE * n), round((TRAINING_SHARE + TRIAL_SHARE) * n)
        self._slices = slice(self._n_training, n_before_scoring), slice(n_before_scoring, n)
        index = CellIndex.from_cells(tables.space, tables.seen_cells)
        codes = as_kernel_codes(np.ascontiguousarray(validation.codes[:, :n]))
        rows_of_cells = index.locate(codes, 0, n).astype(np.int64)
        rows_of_cells -= 2 * self._tuples  # below 0: the training rows have no such cell, which adds nothing
        used_rows = np.unique(rows_of_cells[rows_of_cells >= 0])
        self._empty_row = len(used_rows) + 1  # the table's row for such cells, after that of b
        self._keys = np.where(rows_of_cells < 0, self._empty_row, np.searchsorted(used_rows, rows_of_cells)).T.astype(
            np.uint32, order="C"
        )
        self._start = self._table(tables, params, used_rows)
        if max_bytes is not None:
            # AdaGrad's table; keys without a tuple, and in another order
            model_bytes = self._start.nbytes + 2 * self._keys.nbytes
            if model_bytes > max_bytes:
                raise MemoryLimitError(
                    f"selection='cv' fits a model without each of {self._tuples:,} tuples, of about "
                    f"{model_bytes / 2**20:,.0f} MiB; {max_bytes / 2**20:,.0f} MiB may be used: choose selection='mi', "
                    "'mi-mm' or 'gain', fewer tuples, or allow more", model_bytes, max_bytes,
                )  # fmt: skip
            self._n_jobs = min(n_jobs, max_bytes // model_bytes)

    def losses(self, report: Callable[[str], None]) -> Floats:
        """Return the score (T,) of each tuple; `report` is called with what is being done."""
        report("searching a step length")
        step_length = search_eta0(lambda eta0: self._validation_loss(None, eta0, self._slices[0]), "adagrad")
        report(f"fitting without each of {self._tuples:,} tuples")
        losses = np.empty(self._tuples)

        def fit_without(t: int) -> None:
            losses[t] = self._validation_loss(t, step_length, self._slices[1])

        run_parts(fit_without, self._tuples, self._n_jobs)
        return losses - self._validation_loss(None, step_length, self._slices[1])

    def _table(self, tables: Tables, params: Params, cells: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return AdaGrad's table before its first step, (R + 2, parts, W) (layout: kernels/adagrad.py).

        cells: (R,) the seen cells that the rows have; the last two rows of the table are the intercept's and one that
        adds nothing.
        """
        parameterisation, w0 = weights_of(tables, params, self._seed)
        ridge = ridge_of(parameterisation, params["alpha"], params["penalty"])
        pull, center, rows = None, None, np.append(cells, len(tables.seen_cells))
        if ridge is not None:
            visits = np.bincount(self._keys[:, : self._n_training].ravel(), minlength=len(rows))[: len(rows)].astype(
                float
            )
            visits[-1] = self._n_training
            pull = ridge[rows] / np.maximum(1.0, visits)[:, None]
            center = parameterisation.weights_of(params["center"])[rows]
        return step_table(
            len(cells), self._padded, np.arange(len(rows)), parameterisation.scale[rows], w0[rows], pull, center
        )

    def _validation_loss(self, excluded: int | None, step_length: float, scored_rows: slice) -> float:
        """Return the log loss per row of a model of all tuples but `excluded` (None: of all) on a slice of the rows.

        step_length: of AdaGrad.
        """
        weight_table, keys = self._start.copy(), self._keys
        if excluded is not None:
            keys = keys.copy()
            keys[excluded] = self._empty_row
        order = np.random.default_rng((self._seed, 1))
        for _ in range(TRIAL_PASSES):
            self._stop.check()
            rows = order.permutation(self._n_training)
            self._visit(np.take(keys, rows, axis=1), self._y[rows], weight_table, step_length)
        validation_keys = np.ascontiguousarray(keys[:, scored_rows])
        return self._visit(validation_keys, self._y[scored_rows], weight_table, 0.0) / max(1, len(self._y[scored_rows]))

    def _visit(
        self, keys: NDArray[np.unsignedinteger], y: NDArray[np.int32], table: NDArray[np.float32], step_length: float
    ) -> float:
        """Visit rows, their keys (T, m) and classes y (m,), moving AdaGrad's table by steps of this length.

        Returns the sum of -log p(y) of each row before its step; steps of length 0 leave the weights as they are.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            loss_sum = adagrad_steps(keys, self._first, y, table, self._classes, step_length)
        return loss_sum if math.isfinite(loss_sum) else math.inf
