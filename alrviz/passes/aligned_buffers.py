"""Room for numbers as the kernels take them: class widths, and arrays that begin where a cache line does."""

import math
import weakref
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Floats = NDArray[np.float64]

LANES = (2, 3, 4, 8, 16)
# A row of 8 classes is one cache line if the first begins with one: half the traffic of rows that straddle two.
_LINE = 64


def lanes_of(n_classes: int) -> tuple[int, int]:
    """Return the lanes of one vector instruction and the padded number of classes W for `n_classes`.

    Each number of lanes is compiled once more, so there are five; above 16 classes rows are moved 16 lanes at a time.
    """
    for lanes in LANES:
        if n_classes <= lanes:
            return lanes, lanes
    return LANES[-1], -(-n_classes // LANES[-1]) * LANES[-1]


def width_of(table: NDArray[np.floating]) -> tuple[int, ...]:
    """Return the tuple by whose length kernels know the lanes of a padded table (rows, ..., W)."""
    return (0,) * min(table.shape[-1], LANES[-1])


def empty(rows: int, padded: int) -> Floats:
    """Return room for numbers, shaped (rows, padded), not initialised."""
    size = rows * padded
    raw = np.empty(size + _LINE // 8)
    skip = -raw.ctypes.data % _LINE // 8
    return raw[skip : skip + size].reshape(rows, padded)


def zeros(rows: int, padded: int) -> Floats:
    """Return zeros, shaped (rows, padded)."""
    size = rows * padded
    raw = np.zeros(size + _LINE // 8)
    skip = -raw.ctypes.data % _LINE // 8
    return raw[skip : skip + size].reshape(rows, padded)


class Pool:
    """Room that is lent again once nobody looks at it any more.

    Memory new to a process is found page by page, which takes several times as long as to fill it (3 ns a number
    against 0.5): a step that asks for scores, weights and a gradient of its own spent a third of its time so.
    """

    def __init__(self) -> None:
        self._free: dict[int, list[NDArray[np.uint8]]] = {}
        self._closed = False

    def empty(self, *shape: int, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Return room for an array shaped `shape`, not initialised, in C order from the start of a cache line on."""
        kind = np.dtype(dtype)
        size = math.prod(shape) * kind.itemsize
        free = self._free.get(size)
        raw = free.pop() if free else np.empty(size + _LINE, np.uint8)
        return np.asarray(_Lent(raw, shape, kind, self))

    def close(self) -> None:
        """Keep nothing any more: neither what is free nor what is given back later; what is asked for is new then."""
        self._closed = True
        self._free = {}

    def take_back(self, raw: NDArray[np.uint8]) -> None:
        """Keep memory that was lent, raw (bytes,), for the next who asks for as much."""
        self._free.setdefault(len(raw) - _LINE, []).append(raw)
        if self._closed:  # asked last: another thread may close at any time
            self._free = {}


class _Lent:
    """What a lent array and every view of it hold on to; with the last of them its memory goes back, if to a pool."""

    def __init__(self, raw: NDArray[np.uint8], shape: tuple[int, ...], kind: np.dtype[Any], pool: Pool):
        start = raw.ctypes.data
        self.__array_interface__ = {
            "shape": shape, "typestr": kind.str, "data": (start + -start % _LINE, False), "version": 3
        }  # fmt: skip
        self._raw = raw
        self._pool = weakref.ref(pool)

    def __del__(self) -> None:
        pool = self._pool()
        if pool is not None:
            pool.take_back(self._raw)
