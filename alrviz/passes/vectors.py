"""Products and combinations of vectors of weights, on several threads where they are long.

Not by BLAS, whose last bits depend on its own number of threads. Vectors may have any shape; they are read in C order.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import vectors as kernels
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.threads import share

# A vector in float32: of what only says where to go next, half the room and half the time.
Short = NDArray[np.float32]

# Numbers from which a second thread saves more than waking it costs: where a sum is to be made of them, and where
# numbers are only moved, for which a core waits longer.
_LONG = 2**18
_MOVED = 2**16


def dot(a: Floats | Short, b: Floats | Short, n_jobs: int = 1) -> float:
    """Return the sum of products of a and b (P,)."""
    flat_a, flat_b = a.reshape(-1), b.reshape(-1)
    return _sum(flat_a.size, n_jobs, lambda parts, begin, end: kernels.dot(flat_a, flat_b, parts, begin, end))


def combine(q: Floats, g: float, c: float, x: Floats | Short, d: Floats | Short, n_jobs: int = 1) -> float:
    """Make q (P,) to g q + c x, and return its product with d (P,)."""
    flat_q, flat_x, flat_d = q.reshape(-1), x.reshape(-1), d.reshape(-1)
    return _sum(
        flat_q.size, n_jobs,
        lambda parts, begin, end: kernels.combine(flat_q, g, c, flat_x, flat_d, parts, begin, end),
    )  # fmt: skip


def step(w: Floats, t: float, d: Floats, out: Floats, n_jobs: int = 1) -> Floats:
    """Write w + t d to `out`, all shaped alike."""
    flat = [of.reshape(-1) for of in (w, d, out)]
    _share(
        flat[0].size, n_jobs, lambda begin, end: kernels.move_along(flat[0], t, flat[1], flat[2], begin, end), _MOVED
    )
    return out


def add_ridge_gradient(gradient: Floats, q: Floats, w: Floats, center: Floats, n_jobs: int = 1) -> float:
    """Add q (w - center) to the gradient, all shaped alike, and return the sum of q (w - center)^2."""
    flat = [of.reshape(-1) for of in (gradient, q, w, center)]
    return _sum(flat[0].size, n_jobs, lambda parts, begin, end: kernels.add_ridge_gradient(*flat, parts, begin, end))


def ridge_line_derivatives(q: Floats, w: Floats, center: Floats, d: Floats, n_jobs: int = 1) -> tuple[float, float]:
    """Return the sums of q (w - center) d and of q d^2, all shaped alike."""
    flat = [of.reshape(-1) for of in (q, w, center, d)]
    parts = np.zeros((-(-flat[0].size // kernels.CHUNK_NUMBERS), 2))
    _share(flat[0].size, n_jobs, lambda begin, end: kernels.ridge_line_derivatives(*flat, parts, begin, end))
    first, second = parts.sum(axis=0)
    return float(first), float(second)


def difference(new: Floats, old: Floats, out: Short, n_jobs: int = 1) -> Short:
    """Write new - old to `out`, all shaped alike."""
    flat = [of.reshape(-1) for of in (new, old, out)]
    _share(flat[0].size, n_jobs, lambda begin, end: kernels.subtract(*flat, begin, end), _MOVED)
    return out


def spread(scale: Floats, w: Floats, rows: Floats, n_jobs: int = 1) -> None:
    """Write scale * w (cells, C) to the first lanes of `rows` (cells, W)."""
    jobs = n_jobs if rows.size > _MOVED else 1
    _share(len(rows), jobs, lambda begin, end: kernels.scale_rows(scale, w, rows, begin, end), 0)


def adjoint(scale: Floats, rows: Floats, out: Floats, n_jobs: int = 1) -> None:
    """Write scale (cells, C) times the first lanes of `rows` (cells, W) to `out`: the transpose of `spread`."""
    jobs = n_jobs if rows.size > _MOVED else 1
    _share(len(rows), jobs, lambda begin, end: kernels.scale_rows_adjoint(scale, rows, out, begin, end), 0)


def _sum(size: int, n_jobs: int, work: Callable[[Floats, int, int], None]) -> float:
    parts = np.zeros(-(-size // kernels.CHUNK_NUMBERS))
    _share(size, n_jobs, lambda begin, end: work(parts, begin, end))
    return float(parts.sum())


def _share(size: int, n_jobs: int, work: Callable[[int, int], None], long: int = _LONG) -> None:
    jobs = 1 if size < long else n_jobs
    if jobs == 1:
        work(0, size)
        return
    step = -(-size // kernels.CHUNK_NUMBERS // jobs) * kernels.CHUNK_NUMBERS
    share(lambda k: work(k * step, min(size, (k + 1) * step)), -(-size // step), jobs)
