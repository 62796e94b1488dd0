"""Products and combinations of vectors of weights, on several threads where they are long.

BLAS is not used, because its last bits depend on its number of threads. Vectors may have any shape; they are read in C
order.
"""

from collections.abc import Callable

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
    flat_a, flat_b = a.reshape(-1), b.reshape(-1)
    return _sum(flat_a.size, n_jobs, lambda parts, begin, end: kernels.dot(flat_a, flat_b, parts, begin, end))


def combine(q: Floats, g: float, c: float, x: Floats | Floats32, d: Floats | Floats32, n_jobs: int = 1) -> float:
    """Replace q (P,) by g q + c x, and return its product with d (P,)."""
    flat_q, flat_x, flat_d = q.reshape(-1), x.reshape(-1), d.reshape(-1)
    return _sum(
        flat_q.size, n_jobs,
        lambda parts, begin, end: kernels.combine(flat_q, g, c, flat_x, flat_d, parts, begin, end),
    )  # fmt: skip


def move_along(w: Floats, t: float, d: Floats, out: Floats, n_jobs: int = 1) -> Floats:
    """Write w + t d to `out`, all of one shape."""
    flat_vectors = [vector.reshape(-1) for vector in (w, d, out)]
    _run(
        flat_vectors[0].size,
        n_jobs,
        lambda begin, end: kernels.move_along(flat_vectors[0], t, flat_vectors[1], flat_vectors[2], begin, end),
        _MIN_SHARED_NUMBERS,
    )
    return out


def add_ridge_gradient(gradient: Floats, q: Floats, w: Floats, center: Floats, n_jobs: int = 1) -> float:
    """Add q (w - center) to the gradient, all of one shape, and return the sum of q (w - center)^2."""
    flat_vectors = [vector.reshape(-1) for vector in (gradient, q, w, center)]
    return _sum(
        flat_vectors[0].size,
        n_jobs,
        lambda parts, begin, end: kernels.add_ridge_gradient(*flat_vectors, parts, begin, end),
    )


def ridge_line_derivatives(q: Floats, w: Floats, center: Floats, d: Floats, n_jobs: int = 1) -> tuple[float, float]:
    """Return the sums of q (w - center) d and of q d^2, all of one shape."""
    flat_vectors = [vector.reshape(-1) for vector in (q, w, center, d)]
    parts = np.zeros((-(-flat_vectors[0].size // kernels.CHUNK_NUMBERS), 2))
    _run(
        flat_vectors[0].size,
        n_jobs,
        lambda begin, end: kernels.ridge_line_derivatives(*flat_vectors, parts, begin, end),
    )
    slope, curvature = parts.sum(axis=0)
    return float(slope), float(curvature)


def subtract(minuend: Floats, subtrahend: Floats, out: Floats32, n_jobs: int = 1) -> Floats32:
    """Write minuend - subtrahend to `out`, all of one shape."""
    flat_vectors = [vector.reshape(-1) for vector in (minuend, subtrahend, out)]
    _run(
        flat_vectors[0].size,
        n_jobs,
        lambda begin, end: kernels.subtract(*flat_vectors, begin, end),
        _MIN_SHARED_NUMBERS,
    )
    return out


def scale_rows(scale: Floats, w: Floats, rows: Floats, n_jobs: int = 1) -> None:
    """Write scale * w (cells, C) to the first C columns of `rows` (cells, W)."""
    jobs = n_jobs if rows.size > _MIN_SHARED_NUMBERS else 1
    _run(len(rows), jobs, lambda begin, end: kernels.scale_rows(scale, w, rows, begin, end), 0)


def scale_rows_adjoint(scale: Floats, rows: Floats, out: Floats, n_jobs: int = 1) -> None:
    """Write scale (cells, C) times the first C columns of `rows` (cells, W) to `out`: the transpose of `scale_rows`."""
    jobs = n_jobs if rows.size > _MIN_SHARED_NUMBERS else 1
    _run(len(rows), jobs, lambda begin, end: kernels.scale_rows_adjoint(scale, rows, out, begin, end), 0)


def _sum(size: int, n_jobs: int, work: Callable[[Floats, int, int], None]) -> float:
    parts = np.zeros(-(-size // kernels.CHUNK_NUMBERS))
    _run(size, n_jobs, lambda begin, end: work(parts, begin, end))
    return float(parts.sum())


def _run(size: int, n_jobs: int, work: Callable[[int, int], None], min_shared: int = _MIN_SHARED_TERMS) -> None:
    jobs = 1 if size < min_shared else n_jobs
    if jobs == 1:
        work(0, size)
        return
    step = -(-size // kernels.CHUNK_NUMBERS // jobs) * kernels.CHUNK_NUMBERS
    run_parts(lambda k: work(k * step, min(size, (k + 1) * step)), -(-size // step), jobs)
