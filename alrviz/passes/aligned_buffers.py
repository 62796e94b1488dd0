"""Buffers as the kernels need them: padded class widths, and arrays that begin at a cache line.

Tables of classes are padded from C to W columns, so that one vector instruction moves whole rows or equal parts of one.
"""

import math
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Floats = NDArray[np.float64]

VECTOR_WIDTHS = (2, 3, 4, 8, 16)
# A row of 8 classes fills one cache line if the array begins at one; otherwise every row touches two.
_CACHE_LINE_BYTES = 64


def class_widths(n_classes: int) -> tuple[int, int]:
    """Return the lanes of a vector instruction, and the padded number of classes W, for `n_classes`.

    Kernels compile once for each number of lanes, so there are only five. Above 16 classes rows are moved 16 lanes at a
    time.
    """
    for n_lanes in VECTOR_WIDTHS:
        if n_classes <= n_lanes:
            return n_lanes, n_lanes
    return VECTOR_WIDTHS[-1], -(-n_classes // VECTOR_WIDTHS[-1]) * VECTOR_WIDTHS[-1]


def lanes_of_table(table: NDArray[np.floating]) -> tuple[int, ...]:
    """Return the tuple whose length tells kernels the lanes of a padded table (rows, ..., W)."""
    return (0,) * min(table.shape[-1], VECTOR_WIDTHS[-1])


def empty(rows: int, padded_width: int) -> Floats:
    """Return an uninitialised array, shaped (rows, padded_width), that begins at a cache line."""
    return allocate_aligned(np.empty, (rows, padded_width))


def zeros(rows: int, padded_width: int) -> Floats:
    """Return zeros, shaped (rows, padded_width), that begin at a cache line."""
    return allocate_aligned(np.zeros, (rows, padded_width))


def allocate_aligned(
    allocate: Callable[..., NDArray[Any]], shape: tuple[int, ...], dtype: DTypeLike = np.float64
) -> NDArray[Any]:
    """Return an array of `shape` in memory from `allocate`, numpy's `empty` or `zeros`, that begins at a cache line."""
    n_numbers, itemsize = math.prod(shape), np.dtype(dtype).itemsize
    raw = allocate(n_numbers + _CACHE_LINE_BYTES // itemsize, dtype)
    n_skipped = -raw.ctypes.data % _CACHE_LINE_BYTES // itemsize
    return raw[n_skipped : n_skipped + n_numbers].reshape(shape)


class BufferPool:
    """Reuses the memory of arrays that nothing refers to any more.

    The operating system maps new memory page by page, which takes several times as long as filling it (3 ns a number
    against 0.5): a step that allocates its own scores, weights and gradient spent a third of its time on this.
    """

    def __init__(self) -> None:
        self._free: dict[int, list[NDArray[np.uint8]]] = {}
        self._closed = False

    def empty(self, *shape: int, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Return an uninitialised array, shaped `shape`, in C order from the start of a cache line on."""
        item_dtype = np.dtype(dtype)
        n_bytes = math.prod(shape) * item_dtype.itemsize
        free_buffers = self._free.get(n_bytes)
        raw = free_buffers.pop() if free_buffers else np.empty(n_bytes + _CACHE_LINE_BYTES, np.uint8)
        return np.asarray(_LentBuffer(raw, shape, item_dtype, self))

    def close(self) -> None:
        """Free all memory that is not in use, and stop keeping memory that comes back."""
        self._closed = True
        self._free = {}

    def keep(self, raw: NDArray[np.uint8]) -> None:
        """Keep freed memory, raw (bytes,), for the next array of its size."""
        self._free.setdefault(len(raw) - _CACHE_LINE_BYTES, []).append(raw)
        if self._closed:  # tested last, because another thread may close the pool at any time
            self._free = {}


class _LentBuffer:
    """Owner of a lent array's memory: array and views refer to it, and it returns the memory when the last one goes."""

    def __init__(self, raw: NDArray[np.uint8], shape: tuple[int, ...], item_dtype: np.dtype[Any], pool: BufferPool):
        address = raw.ctypes.data
        self.__array_interface__ = {
            "shape": shape, "typestr": item_dtype.str, "version": 3,
            "data": (address + -address % _CACHE_LINE_BYTES, False),
        }  # fmt: skip
        self._raw = raw
        self._pool = weakref.ref(pool)

    def __del__(self) -> None:
        pool = self._pool()
        if pool is not None:
            pool.keep(self._raw)
