"""Compiling ahead: every kernel a fit will call is called once on a handful of rows of the same types.

Numba keeps what it compiled on disk, so that this takes seconds once on a machine and milliseconds ever after. What it
takes is never part of a run's seconds.
"""

import threading
import time

import numpy as np

from alrviz.passes import aligned_buffers, vectors
from alrviz.passes.aligned_buffers import lanes_of
from alrviz.passes.blocks import Blocks
from alrviz.passes.losses import NLL, Loss
from alrviz.passes.rows import Rows
from alrviz.passes.stochastic import SingleRows

_done: set[tuple[int, bool, str]] = set()
_lock = threading.Lock()


def warm_passes(n_classes: int, wide: bool = False, loss: Loss = NLL, bends: bool = True) -> float:
    """Make the kernels ready that fits of `n_classes` need, of wide keys or not; return the seconds it took (0.0 if
    they were).

    `bends`: those too that solvers call which look at the Hessian, a tenth of all.
    """
    lanes = lanes_of(n_classes)[0]
    return _warm(lanes, wide, loss) + (_warm_bends(lanes, loss) if bends else 0.0)


def warm_single(wide: bool = False) -> float:
    """Make the kernels of stochastic solvers ready; return the seconds it took (0.0 if they were)."""
    with _lock:
        if (1, wide, "single") in _done:
            return 0.0
        start = time.perf_counter()
        keys = np.zeros((1, 2), np.uint32 if wide else np.uint16)
        blocks = Blocks(np.array([0, 1]), np.array([0, 1]), np.full(1, 2, np.int32), 3)
        single = SingleRows(Rows(np.zeros(2, np.int32), np.ones(2), 2, keys, 1), blocks, 2, np.ones((2, 2)), None, NLL)
        w = np.zeros(4)
        single.sgd(single.all, w, w.copy(), w.copy(), 0.0, 0.0, np.zeros(2))
        single.adagrad(single.all, w, w.copy(), w.copy(), 0.0, np.zeros(4))
        single.loss(single.all, w)
        single.visits(single.all, 4)
        _done.add((1, wide, "single"))
        return time.perf_counter() - start


def _warm(lanes: int, wide: bool, loss: Loss) -> float:
    with _lock:  # numba compiles under a lock of its own: a second thread would only wait
        if (lanes, wide, loss.name) in _done:
            return 0.0
        start = time.perf_counter()
        keys = np.zeros((1, 2), np.uint32 if wide else np.uint16)
        rows = Rows(np.zeros(2, np.int32), np.ones(2), lanes, keys, 1)
        blocks = Blocks(np.array([0, 1]), np.array([0, 1]), np.zeros(1, np.int32), 1)
        cells, table, bias = aligned_buffers.zeros(1, lanes), aligned_buffers.zeros(1, lanes), np.zeros(lanes)
        rows.count(blocks)
        blocks.expand(cells, table)
        z = rows.forward(blocks, table, bias)
        dz = rows.forward_change(blocks, table, bias)
        rows.with_keys(keys.astype(np.uint32)).forward(blocks, table, bias)  # as new rows are scored
        rows.line_eval(z, dz, 0.0, loss=loss)
        rows.loss_and_residual(z, dz, 1.0, rows.scores(), dz, loss=loss)
        rows.scatter(blocks, dz, table)
        blocks.scatter_to_cells(table, cells)
        _warm_vectors(cells)
        _done.add((lanes, wide, loss.name))
        return time.perf_counter() - start


def _warm_bends(lanes: int, loss: Loss) -> float:
    with _lock:
        if (lanes, False, f"{loss.name}, bends") in _done:
            return 0.0
        start = time.perf_counter()
        rows = Rows(np.zeros(2, np.int32), np.ones(2), lanes, n_jobs=1)
        z, dz = (aligned_buffers.zeros(2, rows.padded) for _ in range(2))
        rows.hessian_product(z, dz, loss=loss)
        rows.diagonal(z, loss=loss)
        _done.add((lanes, False, f"{loss.name}, bends"))
        return time.perf_counter() - start


def _warm_vectors(cells: aligned_buffers.Floats) -> None:
    short = vectors.difference(cells, cells, np.empty(cells.shape, np.float32))
    for a, b in ((cells, cells), (short, cells), (short, short)):
        vectors.dot(a, b)
    vectors.combine(cells, 1.0, 0.0, short, short)
    vectors.step(cells, 0.0, cells, cells)
    vectors.add_ridge_gradient(cells, cells, cells, cells)
    vectors.ridge_line_derivatives(cells, cells, cells, cells)
    vectors.spread(cells, cells, cells)
    vectors.adjoint(cells, cells, cells)
