"""Joint values of columns: numbering those that occur.

Each column joined multiplies what is possible, not what occurs. Values are numbered in the order in which rows first
show them, so that frequent ones get small numbers and lie close together in a table.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import joint_values as kernels
from alrviz.models.plan import Block
from alrviz.passes.threads import run_parts
from alrviz.stop import NEVER, StopToken

# Joint values possible that are numbered by their place (4 bytes each); more are hashed.
_SLOTS = 2**22
# So many for each row: about what hashing takes.
_PLACES = 8

Codes = NDArray[np.unsignedinteger]


@dataclass(frozen=True, eq=False)
class Joined:
    """Rows in the terms of a cover's blocks.

    Attributes:
        keys: (B, N) uint16 or uint32, the joint value of each row in each block.
        shown: for each block (J,) int64, a row that shows each joint value; numbered as they first occur.
        inner: for each block, for each of its inner blocks: (J,) int32, the joint value there of each here, and rows
            that show those.
    """

    keys: Codes
    shown: tuple[NDArray[np.int64], ...]
    inner: tuple[tuple[tuple[NDArray[np.int32], NDArray[np.int64]], ...], ...]


def join(
    blocks: Sequence[Block], codes: Codes, levels: NDArray[np.int64], n_jobs: int = 1, stop: StopToken = NEVER
) -> Joined:
    """Number the joint values of each block that occur in codes (a, N)."""
    n = codes.shape[1]
    keys = np.empty((len(blocks), n), np.uint16)
    wide: dict[int, NDArray[np.int32]] = {}
    shown: list[Any] = [None] * len(blocks)
    inner: list[Any] = [()] * len(blocks)

    def one(b: int) -> None:
        stop.check()
        columns = blocks[b].columns
        key, shown[b] = join_columns([codes[c] for c in columns], levels[columns], None, stop)
        inner[b] = tuple(_within(shown[b], block, codes, levels, stop) for block in blocks[b].inner)
        if len(shown[b]) > 2**16:
            wide[b] = key
        else:
            keys[b] = key

    run_parts(one, len(blocks), n_jobs)
    if wide:
        keys = keys.astype(np.uint32)
        for b, key in wide.items():
            keys[b] = key
    return Joined(keys, tuple(shown), tuple(inner))


def _within(
    shown: NDArray[np.int64], inner: Block, codes: Codes, levels: NDArray[np.int64], stop: StopToken
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The joint values of an inner block that the rows `shown` have, and rows that show each."""
    key, first = join_columns([codes[c][shown] for c in inner.columns], levels[inner.columns], None, stop)
    return key, shown[first]


def join_columns(
    columns: Sequence[Codes], tops: NDArray[np.int64], most: int | None = None, stop: StopToken = NEVER
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Number the joint values of `columns` (N,) as they first occur: (N,) numbers and a row that shows each value.

    A code above its column's top counts as the top. Ends early where more than `most` different values are found.
    """
    n = len(columns[0])
    key, shown = np.zeros(n, np.int32), np.empty(n, np.int64)
    slot, size = np.empty(0, np.int32), min(n, 1)
    most_slots = min(_SLOTS, _PLACES * n)
    for column, top in zip(columns, tops.tolist(), strict=True):
        stop.check()
        possible = size * (top + 1)
        if possible <= most_slots:
            if len(slot) < possible:
                slot = np.full(min(most_slots, 4 * possible), -1, np.int32)
            size = kernels.join(key, size, column, top, slot, shown)
        else:
            room = 1 << max(4, (2 * n).bit_length())
            hashed = np.full(room, -1, np.int32)
            size = kernels.join_hashed(key, column, top, np.empty(room, np.int64), hashed, shown)
        if most is not None and size > most:
            break
    return key, shown[:size].copy()
