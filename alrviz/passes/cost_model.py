"""How long a pass will take, before one is made.

    seconds = (this machine against the reference machine) * sum over parts of (how often) * (nanoseconds there)
    of which several threads have their share, and what waking them takes

The reference figures are medians of kernel timings on two cores of an AMD EPYC (AVX2); the factor of this machine is
measured once in a process, by one small pass.
"""

import threading
import time
from dataclasses import dataclass

import numpy as np

from alrviz.passes.aligned_buffers import lanes_of, zeros
from alrviz.passes.blocks import Blocks
from alrviz.passes.rows import Rows
from alrviz.passes.threads import resolve_jobs
from alrviz.passes.warm import warm_passes

# ns: looking up a joint value, and moving one lane of it, forward and scatter together; adding a cell to a joint value
# and back, and one lane of it; a row and one class of it in a softmax; one number of phi and of its gradient.
_LOOKUP, _LANE = 0.9, 0.27
_LINK, _LINK_LANE = 1.5, 0.28
_ROW, _CLASS = 27.0, 6.0
_CELL = 6.0
# Seconds of waking other threads, once for each of the parts: expanding, forward, softmax, scatter, marginalising.
_WAKING = 5 * 60e-6
# What the small pass took on the reference machine over its own reference seconds. From 2 to 26 classes that differs
# by a tenth, so it is made with as many as are asked about first: their kernels are needed anyway.
_SMALL_PASS = 0.76

_lock = threading.Lock()
_factor: float | None = None


@dataclass(frozen=True)
class Work:
    """What one NLL and gradient is made of; blocks, joint values and links as in models/plan.py."""

    n_rows: int
    n_classes: int
    n_cells: float
    n_blocks: int
    n_joint: float
    n_links: float

    def reference_seconds(self) -> float:
        """Seconds on one thread of the reference machine."""
        padded = lanes_of(self.n_classes)[1]
        lookups = self.n_rows * self.n_blocks * (_LOOKUP + _LANE * padded)
        links = (self.n_links + self.n_joint) * (_LINK + _LINK_LANE * padded)
        softmax = self.n_rows * (_ROW + self.n_classes * _CLASS)
        return 1e-9 * (lookups + links + softmax + self.n_cells * self.n_classes * _CELL)


def machine_factor(n_classes: int = 8) -> float:
    """Return this machine's time over the reference machine's for the same small pass; measured once, then with
    `n_classes`.

    It takes about 10 ms, and what compiling takes where the kernels are not ready.
    """
    global _factor
    with _lock:
        if _factor is None:
            _factor = _measure(n_classes)
        return _factor


def seconds_here(alone: float, n_jobs: int | None = None, n_classes: int = 8) -> float:
    """Return the seconds on this machine of passes over so many classes that take `alone` on one thread of the
    reference machine.
    """
    threads = resolve_jobs(n_jobs)
    shared = alone / (1.0 + 0.8 * (threads - 1)) + _WAKING
    return machine_factor(n_classes) * (alone if threads == 1 else min(alone, shared))


def _measure(n_classes: int) -> float:
    n, b, joint = 8192, 12, 12
    work = Work(n, n_classes, b * joint, b, b * joint, b * joint)
    keys = np.tile(np.arange(joint, dtype=np.uint16), n * b // joint).reshape(b, n)
    rows = Rows(np.zeros(n, np.int32), np.ones(n), n_classes, keys, 1)
    warm_passes(n_classes, bends=False)
    first = np.arange(b + 1) * joint
    blocks = Blocks(first, first, np.arange(b * joint, dtype=np.int32), b * joint)
    table, bias, times = zeros(b * joint, rows.padded), np.zeros(n_classes), []
    for _ in range(5):
        start = time.perf_counter()
        z = rows.forward(blocks, table, bias)
        rows.loss_and_residual(z, None, 0.0, z, z)
        rows.scatter(blocks, z, table)
        times.append(time.perf_counter() - start)
    return min(times) / (_SMALL_PASS * work.reference_seconds())
