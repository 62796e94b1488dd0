"""Compiling ahead: every kernel a fit will call is called once on a handful of rows of the same types.

Numba keeps what it compiled on disk, so that this takes seconds once on a machine and milliseconds ever after. What it
takes is never part of a run's seconds.
"""

import threading
import time

import numpy as np

from alrviz.data.mdl import mdl_cuts
from alrviz.passes.rows import LANES, Layout, Rows, lanes_of

_done: set[tuple[int, bool]] = set()
_lock = threading.Lock()


def warm_for(rows: Rows) -> float:
    """Make the kernels ready that passes over `rows` need; return the seconds it took (0.0 if they were)."""
    wide = rows.codes.dtype.itemsize > 2
    return _warm(lanes_of(rows.n_classes)[0], wide)


def warm(wide: bool = True) -> tuple[int, float]:
    """Compile and keep every variant: five class widths, and with `wide` also codes above 65,535 levels.

    Returns the number of variants and the seconds.
    """
    start = time.perf_counter()
    variants = [(lanes, wider) for wider in ((False, True) if wide else (False,)) for lanes in LANES]
    for lanes, wider in variants:
        _warm(lanes, wider)
    mdl_cuts(np.array([0.0, 1.0]), np.array([0, 1]), 2)  # numeric columns are cut before any pass
    return len(variants), time.perf_counter() - start


def _warm(lanes: int, wide: bool) -> float:
    with _lock:  # numba compiles under a lock of its own: a second thread would only wait
        if (lanes, wide) in _done:
            return 0.0
        start = time.perf_counter()
        codes = np.zeros((1, 2), np.uint32 if wide else np.uint16)
        levels = np.ones(1, np.int64)
        rows = Rows(codes, np.zeros(2, np.int32), np.ones(2), levels, lanes, 1)
        zero = np.zeros(1, np.int64)
        layout = Layout(np.zeros((1, 1), np.int32), np.ones((1, 1), np.int64), levels, zero, 1)
        table, bias = rows.table(layout), np.zeros(lanes)
        rows.count(layout)
        z = rows.forward(layout, table, bias)
        dz = rows.forward_change(layout, table, bias)
        rows.trial(z, dz, 0.0)
        rows.curve(z, dz)
        rows.settle(z, dz, 1.0, rows.scores(), dz)
        rows.scatter(layout, dz, table)
        _done.add((lanes, wide))
        return time.perf_counter() - start
