"""Compiling ahead: every kernel a fit will call is called once on a handful of rows of the same types.

Numba keeps what it compiled on disk, so that this takes seconds once on a machine and milliseconds ever after. What it
takes is never part of a run's seconds.
"""

import threading
import time

import numpy as np

from alrviz.data.mdl import mdl_cuts
from alrviz.passes import room
from alrviz.passes.blocks import Blocks
from alrviz.passes.losses import NLL, Loss
from alrviz.passes.room import LANES, lanes_of
from alrviz.passes.rows import Rows

_done: set[tuple[int, bool, str]] = set()
_lock = threading.Lock()


def warm_for(n_classes: int, wide: bool = False, loss: Loss = NLL) -> float:
    """Make the kernels ready that fits of `n_classes` need, of wide keys or not; return the seconds it took (0.0 if
    they were).
    """
    return _warm(lanes_of(n_classes)[0], wide, loss)


def warm(wide: bool = True) -> tuple[int, float]:
    """Compile and keep every variant: five class widths, and with `wide` also keys above 65,536 joint values.

    Returns the number of variants and the seconds.
    """
    start = time.perf_counter()
    variants = [(lanes, wider) for wider in ((False, True) if wide else (False,)) for lanes in LANES]
    for lanes, wider in variants:
        _warm(lanes, wider, NLL)
    mdl_cuts(np.array([0.0, 1.0]), np.array([0, 1]), 2)  # numeric columns are cut before any pass
    return len(variants), time.perf_counter() - start


def _warm(lanes: int, wide: bool, loss: Loss) -> float:
    with _lock:  # numba compiles under a lock of its own: a second thread would only wait
        if (lanes, wide, loss.name) in _done:
            return 0.0
        start = time.perf_counter()
        keys = np.zeros((1, 2), np.uint32 if wide else np.uint16)
        rows = Rows(np.zeros(2, np.int32), np.ones(2), lanes, keys, 1)
        blocks = Blocks(np.array([0, 1]), np.array([0, 1]), np.zeros(1, np.int32), 1)
        cells, table, bias = room.zeros(1, lanes), room.zeros(1, lanes), np.zeros(lanes)
        rows.count(blocks)
        blocks.expand(cells, table)
        z = rows.forward(blocks, table, bias)
        dz = rows.forward_change(blocks, table, bias)
        rows.trial(z, dz, 0.0, loss=loss)
        rows.curve(z, dz, loss=loss)
        rows.diagonal(z, loss=loss)
        rows.settle(z, dz, 1.0, rows.scores(), dz, loss=loss)
        rows.scatter(blocks, dz, table)
        blocks.marginalise(table, cells)
        _done.add((lanes, wide, loss.name))
        return time.perf_counter() - start
