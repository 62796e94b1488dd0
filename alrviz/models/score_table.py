"""Super-tables for new rows: phi added up by block, for the joint values that rows have shown so far.

    score_k(x) = b_k + sum over blocks of table[row of the block's joint value in x, k]

A fit knows its rows, and joins their joint values before its first pass; what new rows hold is not known. So the table
begins empty, and grows with every joint value that is met for the first time: then its tuples' cells are looked up one
by one, as without a table, and never again. Unseen cells, missing levels and levels that training never saw are joint
values like others.

The table has a most: rows with a joint value that no longer fits are scored without it. It is held by the model that
was asked, and left out of pickles.
"""

import threading
from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import rows as row_kernels
from alrviz.kernels import score_table as kernels
from alrviz.memory import free_memory
from alrviz.models.cell_space import AnySpace
from alrviz.models.index import CellIndex
from alrviz.models.joint_values import Codes
from alrviz.models.plan import Block
from alrviz.passes.aligned_buffers import Floats, class_widths, empty
from alrviz.passes.rows import as_kernel_codes
from alrviz.passes.threads import run_parts
from alrviz.stop import StopToken

# Bytes of a table and of what finds its rows, at most.
MOST_BYTES = 2**28
# Bytes that find a row: slots are at most half full, and leave as much room behind when they move.
_FOUND = 64
# Joint values possible that have a slot each; more are hashed.
_DENSE = 2**15
_FIRST_SLOTS = 64
# Values of a segment stay below 2^62; a later one begins with a number below 2^31.
_MOST_VALUE, _MOST_NUMBER = 2**62, 2**31
# Rows looked up together, rows of one call of a kernel, rows whose new values are entered together; look-ups of cells
# in one call.
_BATCH, _CALL, _ENTERED, _LOOKUPS = 2**16, 2**12, 2**12, 250_000
# Keys of a batch, at most.
_KEYS = 2**23


def table_bytes(joint_values: float, n_classes: int) -> int:
    """Return the bytes of a table of so many joint values, and of what finds its rows: never more than MOST_BYTES."""
    return int(min(MOST_BYTES, joint_values * (8 * class_widths(n_classes)[1] + _FOUND)))


class ScoreTable:
    """Scores rows of codes by the joint values of blocks.

    Args:
        index: where cells lie.
        cells: (2T + S, C) cell table.
        blocks: a cover of the tuples; inner blocks are not used.
        most: bytes that may be held; None for MOST_BYTES, or a sixteenth of what is free now where that is less.
    """

    def __init__(self, index: CellIndex[AnySpace], cells: Floats, blocks: Sequence[Block], most: int | None = None):
        self._index, self._cells = index, cells
        most = min(MOST_BYTES, free_memory() // 16) if most is None else most
        lanes, self._padded = class_widths(cells.shape[1])
        self._width = (0,) * lanes
        self._most = max(1, most // (8 * self._padded + _FOUND))
        self._tuples = np.concatenate([block.tuples for block in blocks])
        self._tuples_at = np.cumsum([0, *(len(block.tuples) for block in blocks)])
        segments = [_segments(block.columns.tolist(), index.space.levels) for block in blocks]
        flat = [columns for own in segments for columns in own]
        self._columns = np.concatenate(flat).astype(np.int32)
        self._tops = index.space.levels[self._columns]
        self._segment_at = np.cumsum([0, *map(len, segments)])
        self._columns_at = np.cumsum([0, *map(len, flat)])
        alone = np.array([len(own) == 1 for own in segments for _ in own])
        self._possible = np.array([_possible(columns, index.space.levels) for columns in flat])
        self._dense = alone & (self._possible <= _DENSE)
        self._entered = max(64, min(_ENTERED, _KEYS // len(blocks) // 8))
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        """Begin with a table of no rows."""
        size = np.where(self._dense, self._possible, _FIRST_SLOTS)
        self._where, self._used = np.cumsum(size) - size, int(size.sum())
        self._mask = np.where(self._dense, -1, _FIRST_SLOTS - 1)
        self._slot, self._held = np.full(self._used, -1, np.int32), np.empty(self._used, np.int64)
        self._numbers = np.zeros(len(size), np.int64)
        self._table, self._state = empty(0, self._padded), np.array([0, -1])

    @property
    def n_blocks(self) -> int:
        """B."""
        return len(self._segment_at) - 1

    @property
    def n_rows(self) -> int:
        """Joint values that the table has."""
        return int(self._state[0])

    def scores(self, codes: Codes, bias: Floats, n_jobs: int, stop: StopToken) -> Floats:
        """Return the class scores (N, C) of codes (a, N), as kernels are compiled for them."""
        n, classes = codes.shape[1], len(bias)
        z = empty(n, self._padded)
        padded_bias = np.full(self._padded, -np.inf)
        padded_bias[:classes] = bias
        batch = max(_CALL, min(_BATCH, _KEYS // self.n_blocks))
        for origin in range(0, n, batch):
            own = z[origin : origin + batch]
            with self._lock:  # the table grows: one thread at a time; what is done inside is shared by threads
                try:
                    keys, strange = self._keys(codes, origin, len(own), n_jobs, stop)
                except BaseException:  # stopped, say, between a value's row and what belongs there
                    self._clear()
                    raise
                self._add(keys, padded_bias, own, n_jobs, stop)
            if len(strange):
                rest = as_kernel_codes(codes[:, origin + strange])
                own[strange, :classes] = self._index.score(rest, self._cells, bias, n_jobs, stop)
        return z[:, :classes]

    def _keys(
        self, codes: Codes, origin: int, n: int, n_jobs: int, stop: StopToken
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """The rows of the table, (B, n), of n rows from `origin` on, and those rows that it has no room for."""
        keys, missed = np.empty((self.n_blocks, n), np.uint32), np.empty(n, np.uint8)
        some = [False] * -(-n // _CALL)

        def find(part: int) -> None:
            stop.check()
            begin, end = part * _CALL, min(n, (part + 1) * _CALL)
            some[part] = kernels.find_keys(codes, origin, begin, end, self._segments(), keys, missed)

        run_parts(find, len(some), n_jobs)
        rows = np.flatnonzero(missed) if any(some) else np.empty(0, np.int64)
        for begin in range(0, len(rows), self._entered):
            self._enter(codes, origin, rows[begin : begin + self._entered], keys, n_jobs, stop)
        if self.n_rows < self._most:
            return keys, rows[:0]
        lost = keys[:, rows] == kernels.MISSING_KEY
        keys[:, rows] = np.where(lost, np.uint32(0), keys[:, rows])
        return keys, rows[lost.any(axis=0)]

    def _enter(
        self, codes: Codes, origin: int, rows: NDArray[np.int64], keys: NDArray[np.uint32], n_jobs: int, stop: StopToken
    ) -> None:
        """Give the joint values of `rows` their rows of the table, as long as there is room."""
        base, done = self.n_rows, 0
        room = min(self._most - base, len(rows) * self.n_blocks)
        owner, shown = np.empty(room, np.int32), np.empty(room, np.int64)
        while done < len(rows):
            stop.check()
            done = kernels.add_values(
                codes, origin, rows, done, self._most, self._segments(), self._numbers, keys, owner, shown, base,
                self._state,
            )  # fmt: skip
            if self._state[1] < 0:
                break
            self._grow(int(self._state[1]))
        end = self.n_rows
        if end > len(self._table):
            table = empty(min(self._most, max(end, 2 * len(self._table))), self._padded)
            table[:base] = self._table[:base]
            self._table = table
        chunk = max(16, _LOOKUPS * self.n_blocks // self._index.space.n_tuples)

        def fill(part: int) -> None:
            stop.check()
            begin, last = part * chunk, min(end - base, (part + 1) * chunk)
            self._index.sum_cells(
                codes, shown[begin:last], owner[begin:last], self._tuples_at, self._tuples, self._cells,
                self._table[base + begin : base + last],
            )  # fmt: skip

        run_parts(fill, -(-(end - base) // chunk), n_jobs)

    def _add(self, keys: NDArray[np.uint32], bias: Floats, z: Floats, n_jobs: int, stop: StopToken) -> None:
        """Write to z (n, W) the bias and the rows of the table that `keys` name."""
        first = np.zeros(self.n_blocks + 1, np.int64)

        def part(k: int) -> None:
            stop.check()
            begin, end = k * _CALL, min(len(z), (k + 1) * _CALL)
            row_kernels.forward(keys, first, self._table, bias, z, begin, end, 0, self.n_blocks, self._width)

        run_parts(part, -(-len(z) // _CALL), n_jobs)

    def _segments(self) -> kernels.Segments:
        return kernels.Segments(
            self._segment_at, self._columns_at, self._columns, self._tops, self._where, self._mask, self._slot,
            self._held,
        )  # fmt: skip

    def _grow(self, s: int) -> None:
        """Move a segment that is half full to twice as many slots, behind all others."""
        old, size = int(self._where[s]), int(self._mask[s]) + 1
        begin, self._used = self._used, self._used + 2 * size
        if self._used > len(self._slot):
            more = 2 * self._used - len(self._slot)
            self._slot = np.concatenate([self._slot, np.full(more, -1, np.int32)])
            self._held = np.concatenate([self._held, np.empty(more, np.int64)])
        self._where[s], self._mask[s] = begin, 2 * size - 1
        kernels.rehash(old, size, begin, 2 * size - 1, self._slot, self._held)


def _segments(columns: Sequence[int], levels: NDArray[np.int64]) -> list[list[int]]:
    """The columns of a block by segment."""
    parts: list[list[int]] = [[]]
    for c in columns:
        most = _MOST_VALUE if len(parts) == 1 else _MOST_VALUE // _MOST_NUMBER
        if _possible([*parts[-1], c], levels) > most:
            parts.append([])
        parts[-1].append(c)
    return parts


def _possible(columns: Sequence[int], levels: NDArray[np.int64]) -> int:
    """How many joint values columns may have, no level being one of each."""
    return prod(int(levels[c]) + 1 for c in columns)
