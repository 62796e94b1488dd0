"""Merging of repeated rows: one row with the summed weight replaces them."""

import numpy as np
from numpy.typing import NDArray

from alrviz.models.joint_values import join_columns
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import NEVER, StopToken

# Rows are merged if at least this share repeats others; with fewer, searching and copying gain little.
MIN_REPEATED_SHARE = 0.2


def merge_repeats(
    codes: NDArray[np.unsignedinteger],
    y: NDArray[np.int32],
    weights: Floats,
    levels: NDArray[np.int64],
    n_classes: int,
    stop: StopToken = NEVER,
) -> tuple[NDArray[np.unsignedinteger], NDArray[np.int32], Floats]:
    """Return codes (a, N), y and weights with equal rows of one class merged, in the order of their first occurrence.

    They are returned unchanged if at most a fifth of the rows repeat; the search ends at the column that shows it.
    """
    n = len(y)
    n_levels = np.append(levels, n_classes - 1)
    labels = y.astype(codes.dtype if n_classes <= 2**16 else np.uint32)
    key, first_rows = join_columns([*codes, labels], n_levels, int((1 - MIN_REPEATED_SHARE) * n), stop)
    if len(first_rows) >= (1 - MIN_REPEATED_SHARE) * n:
        return codes, y, weights
    merged = np.bincount(key, weights, minlength=len(first_rows)).astype(np.float64, copy=False)
    return np.ascontiguousarray(codes[:, first_rows]), y[first_rows], merged
