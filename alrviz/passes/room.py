"""Room for numbers as the kernels take them: class widths, and arrays that begin where a cache line does."""

import numpy as np
from numpy.typing import NDArray

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


def width_of(table: Floats) -> tuple[int, ...]:
    """Return the tuple by whose length kernels know the lanes of a padded table (rows, W)."""
    return (0,) * min(table.shape[1], LANES[-1])


def empty(rows: int, padded: int) -> Floats:
    """Return room for (rows, padded) numbers, not initialised."""
    size = rows * padded
    raw = np.empty(size + _LINE // 8)
    skip = -raw.ctypes.data % _LINE // 8
    return raw[skip : skip + size].reshape(rows, padded)


def zeros(rows: int, padded: int) -> Floats:
    """Return (rows, padded) zeros."""
    size = rows * padded
    raw = np.zeros(size + _LINE // 8)
    skip = -raw.ctypes.data % _LINE // 8
    return raw[skip : skip + size].reshape(rows, padded)
