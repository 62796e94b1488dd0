"""How long a pass will take, before one is made.

    seconds = sum over parts of (how often) * (nanoseconds on the reference machine) * (this machine against it) /
    threads

The reference figures are medians of kernel timings on two cores of an AMD EPYC (AVX2); the factor of this machine is
measured once in a process, by one small pass.
"""

import threading
import time
from dataclasses import dataclass

import numpy as np

from alrviz.passes.rows import Layout, Rows, lanes_of
from alrviz.passes.threads import resolve_jobs
from alrviz.passes.warm import warm_for

# ns: locating a cell, and moving one lane of it, forward and scatter together; a row and one class of it in a softmax.
_LOCATE, _LANE, _ROW, _CLASS = 1.9, 0.21, 27.0, 6.0
# ns to bring one weight of one cell to the table and its gradient back; less where all of them fit the cache, but then
# they are few.
_CELL = 50.0
# Seconds of the small pass on the reference machine.
_SMALL_PASS = 0.70e-3

_lock = threading.Lock()
_factor: float | None = None


@dataclass(frozen=True)
class Work:
    """What one NLL and gradient is made of."""

    n_rows: int
    n_tuples: int
    n_classes: int
    n_cells: int

    def reference_seconds(self) -> float:
        """Seconds on one thread of the reference machine."""
        padded = lanes_of(self.n_classes)[1]
        lookups = self.n_rows * self.n_tuples * (_LOCATE + _LANE * padded)
        softmax = self.n_rows * (_ROW + self.n_classes * _CLASS)
        return 1e-9 * (lookups + softmax + self.n_cells * self.n_classes * _CELL)


def machine_factor() -> float:
    """Return this machine's time over the reference machine's for the same small pass; measured once.

    It takes about 10 ms, and what compiling takes where the kernels are not ready.
    """
    global _factor
    with _lock:
        if _factor is None:
            _factor = _measure()
        return _factor


def seconds_per_pass(work: Work, n_jobs: int | None = None) -> float:
    """Return the seconds one NLL and gradient should take on this machine."""
    threads = resolve_jobs(n_jobs)
    return work.reference_seconds() * machine_factor() / (1.0 + 0.8 * (threads - 1))


def _measure() -> float:
    n, a, card = 8192, 12, 12
    codes = np.tile(np.arange(card, dtype=np.uint16), n * a // card).reshape(a, n)
    levels = np.full(a, card, np.int64)
    rows = Rows(codes, np.zeros(n, np.int32), np.ones(n), levels, 8, 1)
    warm_for(rows)
    columns = np.arange(a, dtype=np.int32)[:, None]
    layout = Layout(columns, np.ones((a, 1), np.int64), levels, np.arange(a) * card, a * card)
    table, bias, times = rows.table(layout), np.zeros(8), []
    for _ in range(5):
        start = time.perf_counter()
        z = rows.forward(layout, table, bias)
        rows.settle(z, None, 0.0, z, z)
        rows.scatter(layout, z, table)
        times.append(time.perf_counter() - start)
    return min(times) / _SMALL_PASS
