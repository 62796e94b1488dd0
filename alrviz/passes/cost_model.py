"""Predicted seconds of a pass.

    seconds = machine factor * sum over parts of (how often) * (nanoseconds on the reference machine)

Several threads divide this between them, plus the time of waking them. The reference figures are medians of kernel
timings on two cores of an AMD EPYC (AVX2). The machine factor is measured once in a process, by a small pass.
"""

import threading
import time
from dataclasses import dataclass

import numpy as np

from alrviz.passes.aligned_buffers import class_widths, zeros
from alrviz.passes.blocks import Blocks
from alrviz.passes.rows import Rows
from alrviz.passes.threads import resolve_jobs
from alrviz.passes.warm import warm_passes

# Forward and scatter together: looking up a joint value, and each lane of it; adding a cell to a joint value and back,
# and each lane of it; a row in a softmax, and each class of it; one number of phi and of its gradient.
_LOOKUP_NS, _LANE_NS = 0.9, 0.27
_LINK_NS, _LINK_LANE_NS = 1.5, 0.28
_ROW_NS, _CLASS_NS = 27.0, 6.0
_CELL_NS = 6.0
# Of other threads, once for each stage: expand, forward, softmax, scatter, scatter to cells.
_WAKING_SECONDS = 5 * 60e-6
# Seconds that the small pass took on the reference machine, over its predicted ones. It differs by a tenth between 2
# and 26 classes, so the pass has as many classes as the first question: their kernels are needed anyway.
_REFERENCE_RATIO = 0.76

_lock = threading.Lock()
_factor: float | None = None


@dataclass(frozen=True)
class PassSize:
    """Size of one pass for a loss and its gradient; blocks, joint values and links as in models/plan.py."""

    n_rows: int
    n_classes: int
    n_cells: float  # that occur
    n_blocks: int
    n_joint: float  # joint values of all blocks
    n_links: float  # from joint values to cells

    def reference_seconds(self) -> float:
        """Return the seconds on one thread of the reference machine."""
        padded_width = class_widths(self.n_classes)[1]
        lookups = self.n_rows * self.n_blocks * (_LOOKUP_NS + _LANE_NS * padded_width)
        links = (self.n_links + self.n_joint) * (_LINK_NS + _LINK_LANE_NS * padded_width)
        softmax = self.n_rows * (_ROW_NS + self.n_classes * _CLASS_NS)
        return 1e-9 * (lookups + links + softmax + self.n_cells * self.n_classes * _CELL_NS)


def machine_factor(n_classes: int = 8) -> float:
    """Return this machine's time for a small pass with `n_classes`, over the reference machine's; measured once.

    The measurement takes about 10 ms, and the time of compiling kernels that are not ready.
    """
    global _factor
    with _lock:
        if _factor is None:
            _factor = _measure(n_classes)
        return _factor


def seconds_on_this_machine(reference_seconds: float, n_jobs: int | None = None, n_classes: int = 8) -> float:
    """Return this machine's seconds for passes that take `reference_seconds` on one thread of the reference machine.

    n_jobs: threads, None for all; n_classes: of the small pass that the machine is measured by.
    """
    threads = resolve_jobs(n_jobs)
    threaded_seconds = reference_seconds / (1.0 + 0.8 * (threads - 1)) + _WAKING_SECONDS
    return machine_factor(n_classes) * (reference_seconds if threads == 1 else min(reference_seconds, threaded_seconds))


def _measure(n_classes: int) -> float:
    """Return the time of a small pass with `n_classes`, the best of five, over its predicted reference seconds."""
    n_rows, n_blocks, n_joint = 8192, 12, 12
    pass_size = PassSize(n_rows, n_classes, n_blocks * n_joint, n_blocks, n_blocks * n_joint, n_blocks * n_joint)
    keys = np.tile(np.arange(n_joint, dtype=np.uint16), n_rows * n_blocks // n_joint).reshape(n_blocks, n_rows)
    rows = Rows(np.zeros(n_rows, np.int32), np.ones(n_rows), n_classes, keys, 1)
    warm_passes(n_classes, with_hessian=False)
    block_offsets = np.arange(n_blocks + 1) * n_joint
    blocks = Blocks(block_offsets, block_offsets, np.arange(n_blocks * n_joint, dtype=np.int32), n_blocks * n_joint)
    table, bias, seconds = zeros(n_blocks * n_joint, rows.padded_width), np.zeros(n_classes), []
    for _ in range(5):
        started_at = time.perf_counter()
        z = rows.forward(blocks, table, bias)
        rows.loss_and_residual(z, None, 0.0, z, z)
        rows.scatter(blocks, z, table)
        seconds.append(time.perf_counter() - started_at)
    return min(seconds) / (_REFERENCE_RATIO * pass_size.reference_seconds())
