"""Compiling ahead: every kernel that a fit will call is called once on a few rows of the same types.

Numba keeps compiled kernels on disk, so that this takes seconds once per machine and milliseconds afterwards. The time
is never part of a run's seconds.
"""

import threading
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from alrviz.passes import aligned_buffers, vectors
from alrviz.passes.aligned_buffers import class_widths
from alrviz.passes.blocks import Blocks
from alrviz.passes.losses import NLL, Loss
from alrviz.passes.rows import Rows
from alrviz.passes.stochastic import SingleRows

_lock = threading.RLock()  # numba compiles under a global lock: a second thread would only wait


def compile_once(compile_kernels: Callable[..., object]) -> Callable[..., float]:
    """Decorate a function that calls kernels: it runs once for each value of its arguments.

    The decorated function returns the seconds it took, 0.0 once it has run with these arguments.
    """
    compiled: set[tuple[Any, ...]] = set()

    @wraps(compile_kernels)
    def run_once(*arguments: Any) -> float:
        with _lock:
            if arguments in compiled:
                return 0.0
            started_at = time.perf_counter()
            compile_kernels(*arguments)
            compiled.add(arguments)
            return time.perf_counter() - started_at

    return run_once


def warm_passes(n_classes: int, wide: bool = False, loss: Loss = NLL, with_hessian: bool = True) -> float:
    """Compile or load the kernels for fits of `n_classes`; return the seconds, 0.0 if they were ready.

    Args:
        n_classes: C.
        wide: whether keys have 32 bits.
        loss: the loss.
        with_hessian: whether solvers use the Hessian; its kernels are a tenth of all.
    """
    n_lanes = class_widths(n_classes)[0]
    return _warm(n_lanes, wide, loss) + (_warm_hessian(n_lanes, loss) if with_hessian else 0.0)


@compile_once
def warm_single(wide: bool) -> None:
    """Compile or load the kernels of stochastic solvers, which visit rows one by one (`SingleRows`).

    wide: whether the rows' keys (`Rows.keys`) have 32 bits instead of 16.
    """
    keys = np.zeros((1, 2), np.uint32 if wide else np.uint16)
    blocks = Blocks(np.array([0, 1]), np.array([0, 1]), np.full(1, 2, np.int32), 3)
    single = SingleRows(Rows(np.zeros(2, np.int32), np.ones(2), 2, keys, 1), blocks, 2, np.ones((2, 2)), None, NLL)
    w = np.zeros(4)
    single.sgd(single.visit_order, w, w.copy(), w.copy(), 0.0, 0.0, np.zeros(2))
    single.adagrad(single.visit_order, w, w.copy(), w.copy(), 0.0, np.zeros(4))
    single.loss(single.visit_order, w)
    single.visits(single.visit_order, 4)


@compile_once
def _warm(n_lanes: int, wide: bool, loss: Loss) -> None:
    keys = np.zeros((1, 2), np.uint32 if wide else np.uint16)
    rows = Rows(np.zeros(2, np.int32), np.ones(2), n_lanes, keys, 1)
    blocks = Blocks(np.array([0, 1]), np.array([0, 1]), np.zeros(1, np.int32), 1)
    cells, table, bias = aligned_buffers.zeros(1, n_lanes), aligned_buffers.zeros(1, n_lanes), np.zeros(n_lanes)
    rows.count(blocks)
    blocks.expand(cells, table)
    z = rows.forward(blocks, table, bias)
    dz = rows.forward(blocks, table, bias, pad=0.0)
    rows.with_keys(keys.astype(np.uint32)).forward(blocks, table, bias)  # as new rows are scored
    rows.line_eval(z, dz, 0.0, loss=loss)
    rows.loss_and_residual(z, dz, 1.0, rows.scores(), dz, loss=loss)
    rows.scatter(blocks, dz, table)
    blocks.scatter_to_cells(table, cells)
    _warm_vectors(cells)


@compile_once
def _warm_hessian(n_lanes: int, loss: Loss) -> None:
    rows = Rows(np.zeros(2, np.int32), np.ones(2), n_lanes, n_jobs=1)
    z, dz = (aligned_buffers.zeros(2, rows.padded_width) for _ in range(2))
    rows.hessian_product(z, dz, loss=loss)
    rows.diagonal(z, loss=loss)


def _warm_vectors(cells: aligned_buffers.Floats) -> None:
    cells32 = vectors.subtract(cells, cells, np.empty(cells.shape, np.float32))
    for a, b in ((cells, cells), (cells32, cells), (cells32, cells32)):
        vectors.dot(a, b)
    vectors.combine(cells, 1.0, 0.0, cells32, cells32)
    vectors.move_along(cells, 0.0, cells, cells)
    vectors.add_ridge_gradient(cells, cells, cells, cells)
    vectors.ridge_line_derivatives(cells, cells, cells, cells)
    vectors.scale_rows(cells, cells, cells)
    vectors.scale_rows_adjoint(cells, cells, cells)
