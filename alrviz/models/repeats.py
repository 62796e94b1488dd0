"""Rows that repeat: one row of the summed weight says the same as many."""

import numpy as np
from numpy.typing import NDArray

from alrviz.models.joint_values import join_columns
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import NEVER, StopToken

# Rows are merged where more than this share repeats: below, looking for it and copying gain little.
SHARE = 0.2


def merge_repeats(
    codes: NDArray[np.unsignedinteger],
    y: NDArray[np.int32],
    weights: Floats,
    levels: NDArray[np.int64],
    n_classes: int,
    stop: StopToken = NEVER,
) -> tuple[NDArray[np.unsignedinteger], NDArray[np.int32], Floats]:
    """Return codes (a, N), y and weights with equal rows of one class merged, in the order of their first occurrence.

    They come back as they are if at most a fifth repeat. The search ends at the column that shows it.
    """
    n = len(y)
    tops = np.append(levels, n_classes - 1)
    labels = y.astype(codes.dtype if n_classes <= 2**16 else np.uint32)
    key, shown = join_columns([*codes, labels], tops, int((1 - SHARE) * n), stop)
    if len(shown) >= (1 - SHARE) * n:
        return codes, y, weights
    merged = np.bincount(key, weights, minlength=len(shown)).astype(np.float64, copy=False)
    return np.ascontiguousarray(codes[:, shown]), y[shown], merged
