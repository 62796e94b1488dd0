"""Products and combinations of vectors of weights, on several threads where they are long.

Not by BLAS, whose last bits depend on its own number of threads. Vectors may have any shape; they are read in C order.
"""

from collections.abc import Callable

import numpy as np

from alrviz.kernels import vectors as kernels
from alrviz.passes.room import Floats
from alrviz.passes.threads import share

# Numbers from which a second thread saves more than waking it costs.
_LONG = 2**18


def dot(a: Floats, b: Floats, n_jobs: int = 1) -> float:
    """Return the sum of products."""
    flat_a, flat_b = a.reshape(-1), b.reshape(-1)
    return _sum(flat_a.size, n_jobs, lambda parts, begin, end: kernels.dot(flat_a, flat_b, parts, begin, end))


def combine(q: Floats, g: float, c: float, x: Floats, d: Floats, n_jobs: int = 1) -> float:
    """Make q to g q + c x, and return its product with d."""
    flat_q, flat_x, flat_d = q.reshape(-1), x.reshape(-1), d.reshape(-1)
    return _sum(
        flat_q.size, n_jobs,
        lambda parts, begin, end: kernels.combine(flat_q, g, c, flat_x, flat_d, parts, begin, end),
    )  # fmt: skip


def _sum(size: int, n_jobs: int, work: Callable[[Floats, int, int], None]) -> float:
    parts = np.zeros(-(-size // kernels.CHUNK))
    jobs = 1 if size < _LONG else n_jobs
    if jobs == 1:
        work(parts, 0, size)
    else:
        step = -(-len(parts) // jobs) * kernels.CHUNK
        share(lambda k: work(parts, k * step, min(size, (k + 1) * step)), -(-size // step), jobs)
    return float(parts.sum())
