"""Joint values of columns: numbering those that occur, and merging rows that repeat one.

Each joined column multiplies the number of possible values, not of those that occur. Values are numbered in the order
of their first rows, so that frequent ones get small numbers and lie close together in a table.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import cells as kernels
from alrviz.models.plan import Block
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.threads import run_parts
from alrviz.stop import NEVER, StopToken

# Up to so many possible joint values have a slot each (4 bytes); more are hashed.
_MAX_SLOTS = 2**22
# And at most so many slots per row: about what hashing needs.
_SLOTS_PER_ROW = 8
# Rows are merged if at least this share repeats others; with fewer, searching and copying gain little.
MIN_REPEATED_SHARE = 0.2

Codes = NDArray[np.unsignedinteger]


@dataclass(frozen=True, eq=False)
class JointValues:
    """Rows as joint values of a cover's blocks.

    Attributes:
        keys: (B, N) uint16 or uint32, the joint value of each row in each block.
        examples: for each block (J,) int64, a row that shows each joint value; values are numbered by first occurrence.
        inner: for each block and each of its inner blocks: (J,) int32, the inner joint value of each joint value, and
            rows that show the inner ones.
    """

    keys: Codes
    examples: tuple[NDArray[np.int64], ...]
    inner: tuple[tuple[tuple[NDArray[np.int32], NDArray[np.int64]], ...], ...]


def number_joint_values(
    blocks: Sequence[Block], codes: Codes, levels: NDArray[np.int64], n_jobs: int = 1, stop: StopToken = NEVER
) -> JointValues:
    """Number the joint values of each block that occur in codes (a, N); levels (a,) of the columns."""
    n = codes.shape[1]
    keys = np.empty((len(blocks), n), np.uint16)
    wide_keys: dict[int, NDArray[np.int32]] = {}
    examples: list[Any] = [None] * len(blocks)
    inner: list[Any] = [()] * len(blocks)

    def number_block(b: int) -> None:
        stop.check()
        columns = blocks[b].columns
        key, examples[b] = join_columns([codes[c] for c in columns], levels[columns], None, stop)
        inner_values = []
        for block in blocks[b].inner:
            inner_columns = [codes[c][examples[b]] for c in block.columns]
            inner_key, inner_examples = join_columns(inner_columns, levels[block.columns], None, stop)
            inner_values.append((inner_key, examples[b][inner_examples]))
        inner[b] = tuple(inner_values)
        if len(examples[b]) > 2**16:
            wide_keys[b] = key
        else:
            keys[b] = key

    run_parts(number_block, len(blocks), n_jobs)
    if wide_keys:
        keys = keys.astype(np.uint32)
        for b, key in wide_keys.items():
            keys[b] = key
    return JointValues(keys, tuple(examples), tuple(inner))


def join_columns(
    columns: Sequence[Codes], levels: NDArray[np.int64], max_values: int | None = None, stop: StopToken = NEVER
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Number the joint values of `columns` (N,) by first occurrence; return the numbers (N,) and a row that shows each
    value.

    Codes above a column's `levels` count as its levels, "no level". Ends early once more than max_values values are
    found.
    """
    n = len(columns[0])
    key, examples = np.zeros(n, np.int32), np.empty(n, np.int64)
    slots, n_values = np.empty(0, np.int32), min(n, 1)
    max_slots = min(_MAX_SLOTS, _SLOTS_PER_ROW * n)
    for column, n_levels in zip(columns, levels.tolist(), strict=True):
        stop.check()
        n_possible = n_values * (n_levels + 1)
        if n_possible <= max_slots:
            if len(slots) < n_possible:
                slots = np.full(min(max_slots, 4 * n_possible), -1, np.int32)
            n_values = kernels.join(key, n_values, column, n_levels, slots, examples)
        else:
            n_hash_slots = 1 << max(4, (2 * n).bit_length())
            hash_slots = np.full(n_hash_slots, -1, np.int32)
            n_values = kernels.join_hashed(
                key, column, n_levels, np.empty(n_hash_slots, np.int64), hash_slots, examples
            )
        if max_values is not None and n_values > max_values:
            break
    return key, examples[:n_values].copy()


def merge_repeats(
    codes: NDArray[np.unsignedinteger],
    y: NDArray[np.int32],
    weights: Floats,
    levels: NDArray[np.int64],
    n_classes: int,
    stop: StopToken = NEVER,
) -> tuple[NDArray[np.unsignedinteger], NDArray[np.int32], Floats]:
    """Return codes (a, N), y and weights with equal rows of one class merged, in the order of their first occurrence.

    levels (a,) of the columns; n_classes: C. The rows are returned unchanged if at most a fifth of them repeat; the
    search ends at the column that shows it.
    """
    n = len(y)
    n_levels = np.append(levels, n_classes - 1)
    labels = y.astype(codes.dtype if n_classes <= 2**16 else np.uint32)
    key, examples = join_columns([*codes, labels], n_levels, int((1 - MIN_REPEATED_SHARE) * n), stop)
    if len(examples) >= (1 - MIN_REPEATED_SHARE) * n:
        return codes, y, weights
    merged = np.bincount(key, weights, minlength=len(examples)).astype(np.float64, copy=False)
    return np.ascontiguousarray(codes[:, examples]), y[examples], merged
