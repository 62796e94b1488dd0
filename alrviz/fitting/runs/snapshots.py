"""Weights kept along a run, so that a view can be moved back over it."""

import threading
from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from alrviz.fitting.cost.peak_memory import MAX_SNAPSHOT_BYTES
from alrviz.passes.rows import Floats


class Snapshots:
    """float32 copies of w by step index: the first, the last, and every k-th; k doubles to stay under `limit`."""

    def __init__(self, limit: int = MAX_SNAPSHOT_BYTES):
        self._limit = limit
        self._kept: dict[int, NDArray[np.float32]] = {}
        self._every = 1
        self._last: tuple[int, NDArray[np.float32]] | None = None
        self._lock = threading.Lock()

    def add(self, index: int, w: Floats) -> None:
        """Keep `w`, of any shape, thinning what is kept if it grew too large."""
        copy = w.astype(np.float32)
        with self._lock:
            self._last = (index, copy)
            if index % self._every:
                return
            self._kept[index] = copy
            while len(self._kept) > 2 and len(self._kept) * copy.nbytes > self._limit:
                self._every *= 2
                self._kept = {k: v for k, v in self._kept.items() if k % self._every == 0}

    @property
    def indices(self) -> list[int]:
        """Step indices that are kept, ascending."""
        with self._lock:
            last = {self._last[0]} if self._last else set()
            return sorted(self._kept.keys() | last)

    def at(self, index: int) -> tuple[int, NDArray[np.float32]]:
        """Return the kept step at or before `index`, and its weights, shaped as they were; raises `IndexError` before
        the first.
        """
        with self._lock:
            kept = dict(self._kept)
            if self._last:
                kept[self._last[0]] = self._last[1]
        order = sorted(kept)
        place = bisect_right(order, index)
        if place == 0:
            raise IndexError(f"no weights are kept at or before step {index}")
        return order[place - 1], kept[order[place - 1]]
