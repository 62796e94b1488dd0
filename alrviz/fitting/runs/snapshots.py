"""Weights stored along a run, so that pages can replay it."""

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
        self._snapshots: dict[int, NDArray[np.float32]] = {}
        self._stride = 1
        self._last: tuple[int, NDArray[np.float32]] | None = None
        self._lock = threading.Lock()

    def add(self, index: int, w: Floats) -> None:
        """Store the weights `w` of step `index`, of any shape, and thin out the snapshots if they have grown too
        large.
        """
        copy = w.astype(np.float32)
        with self._lock:
            self._last = (index, copy)
            if index % self._stride:
                return
            self._snapshots[index] = copy
            while len(self._snapshots) > 2 and len(self._snapshots) * copy.nbytes > self._limit:
                self._stride *= 2
                self._snapshots = {k: v for k, v in self._snapshots.items() if k % self._stride == 0}

    @property
    def indices(self) -> list[int]:
        """Step indices that are stored, ascending."""
        with self._lock:
            last_index = {self._last[0]} if self._last else set()
            return sorted(self._snapshots.keys() | last_index)

    def at_or_before(self, index: int) -> tuple[int, NDArray[np.float32]]:
        """Return the stored step at or before `index`, and its weights, shaped as they were.

        Raises:
            IndexError: no step at or before `index` is stored.
        """
        with self._lock:
            snapshots = dict(self._snapshots)
            if self._last:
                snapshots[self._last[0]] = self._last[1]
        stored_indices = sorted(snapshots)
        n_until_index = bisect_right(stored_indices, index)
        if n_until_index == 0:
            raise IndexError(f"no weights are stored at or before step {index}")
        return stored_indices[n_until_index - 1], snapshots[stored_indices[n_until_index - 1]]
