"""Products and combinations of vectors of weights, on several threads where they are long.

BLAS is not used, because its last bits depend on its number of threads. Vectors may have any shape; they are read in C
order.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import vectors as kernels
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.threads import run_parts

# Vectors that only give a direction are kept in float32, with half the memory and time.
Floats32 = NDArray[np.float32]

# From so many numbers on a second thread saves more than waking it costs: for sums, and for passes that only move
# numbers, where a core waits longer for memory.
_MIN_SHARED_TERMS = 2**18
_MIN_SHARED_NUMBERS = 2**16


def dot(a: Floats | Floats32, b: Floats | Floats32, n_jobs: int = 1) -> float:
    """Return the sum of products of a and b (P,)."""
    return _sum(kernels.dot, n_jobs, *_flat(a, b))


def combine(q: Floats, g: float, c: float, x: Floats | Floats32, d: Floats | Floats32, n_jobs: int = 1) -> float:
    """Replace q (P,) by g q + c x, and return its product with d (P,)."""
    flat_q, flat_x, flat_d = _flat(q, x, d)
    return _sum(kernels.combine, n_jobs, flat_q, g, c, flat_x, flat_d)


def move_along(w: Floats, t: float, d: Floats, out: Floats, n_jobs: int = 1) -> Floats:
    """Write w + t d to `out`, all of one shape."""
    flat_w, flat_d, flat_out = _flat(w, d, out)
    _run(kernels.move_along, w.size, n_jobs, flat_w, t, flat_d, flat_out, min_shared=_MIN_SHARED_NUMBERS)
    return out


def add_ridge_gradient(gradient: Floats, q: Floats, w: Floats, center: Floats, n_jobs: int = 1) -> float:
    """Add q (w - center) to the gradient, all of one shape, and return the sum of q (w - center)^2."""
    return _sum(kernels.add_ridge_gradient, n_jobs, *_flat(gradient, q, w, center))


def ridge_line_derivatives(q: Floats, w: Floats, center: Floats, d: Floats, n_jobs: int = 1) -> tuple[float, float]:
    """Return the sums of q (w - center) d and of q d^2, all of one shape."""
    sums_by_chunk = np.zeros((-(-q.size // kernels.CHUNK_NUMBERS), 2))
    _run(kernels.ridge_line_derivatives, q.size, n_jobs, *_flat(q, w, center, d), sums_by_chunk)
    slope, curvature = sums_by_chunk.sum(axis=0)
    return float(slope), float(curvature)


def subtract(minuend: Floats, subtrahend: Floats, out: Floats32, n_jobs: int = 1) -> Floats32:
    """Write minuend - subtrahend to `out`, all of one shape."""
    _run(kernels.subtract, out.size, n_jobs, *_flat(minuend, subtrahend, out), min_shared=_MIN_SHARED_NUMBERS)
    return out


def scale_rows(scale: Floats, w: Floats, rows: Floats, n_jobs: int = 1) -> None:
    """Write scale * w (cells, C) to the first C columns of `rows` (cells, W)."""
    jobs = n_jobs if rows.size > _MIN_SHARED_NUMBERS else 1
    _run(kernels.scale_rows, len(rows), jobs, scale, w, rows, min_shared=0)


def scale_rows_adjoint(scale: Floats, rows: Floats, out: Floats, n_jobs: int = 1) -> None:
    """Write scale (cells, C) times the first C columns of `rows` (cells, W) to `out`: the transpose of `scale_rows`."""
    jobs = n_jobs if rows.size > _MIN_SHARED_NUMBERS else 1
    _run(kernels.scale_rows_adjoint, len(rows), jobs, scale, rows, out, min_shared=0)


def _flat(*vectors: Any) -> list[Any]:
    return [vector.reshape(-1) for vector in vectors]


def _sum(kernel: Any, n_jobs: int, first_vector: Floats, *arguments: Any) -> float:
    """Return the sum of the parts (chunks,) that a kernel of vectors as long as `first_vector` (P,) writes."""
    sums_by_chunk = np.zeros(-(-first_vector.size // kernels.CHUNK_NUMBERS))
    _run(kernel, first_vector.size, n_jobs, first_vector, *arguments, sums_by_chunk)
    return float(sums_by_chunk.sum())


def _run(kernel: Any, size: int, n_jobs: int, *arguments: Any, min_shared: int = _MIN_SHARED_TERMS) -> None:
    """Call kernel(*arguments, begin, end) for ranges of `size` numbers, of fewer than `min_shared` on one thread."""
    jobs = 1 if size < min_shared else n_jobs
    if jobs == 1:
        kernel(*arguments, 0, size)
        return
    n_per_call = -(-size // kernels.CHUNK_NUMBERS // jobs) * kernels.CHUNK_NUMBERS
    run_parts(
        lambda k: kernel(*arguments, k * n_per_call, min(size, (k + 1) * n_per_call)), -(-size // n_per_call), jobs
    )
