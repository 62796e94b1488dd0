"""Super-tables for new rows: phi summed by block, for the joint values that rows have shown so far.

    score_k(x) = b_k + sum over blocks of table[row of the block's joint value in x, k]

A fit knows its rows and numbers their joint values before its first pass; new rows are unknown. So the table starts
empty
and grows with every new joint value: then its tuples' cells are looked up one by one, as without a table, and never
again. Unseen cells, missing levels and levels that training never saw are joint values like others.

The size of the table is limited: rows with a joint value that no longer fits are scored without it. A model keeps its
table, and leaves it out of pickles.
"""

import threading
from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import cells as cell_kernels
from alrviz.kernels import rows as row_kernels
from alrviz.memory import free_memory
from alrviz.models.cell_space import AnySpace
from alrviz.models.index import CellIndex
from alrviz.models.joint_values import Codes
from alrviz.models.plan import Block
from alrviz.passes.aligned_buffers import Floats, class_widths, empty
from alrviz.passes.rows import as_kernel_codes
from alrviz.passes.threads import run_parts
from alrviz.stop import StopToken

# Bytes of a table and its index.
MAX_TABLE_BYTES = 2**28
# Bytes of the index per row of the table: slots are at most half full, and old ones stay allocated when they move.
_INDEX_BYTES_PER_ROW = 64
# A segment with up to so many possible values has a slot for each; others are hashed.
_MAX_DENSE_VALUES = 2**15
_FIRST_SLOTS = 64
# Values of a segment stay below 2^62. All but the first segment begin with a number below 2^31.
_MAX_VALUE, _MAX_VALUE_NUMBER = 2**62, 2**31
# Rows of a batch; in one call of a kernel; and whose new values are inserted at once. Look-ups of cells in one call.
_ROWS_PER_BATCH, _ROWS_PER_CALL, _ROWS_PER_INSERT, _LOOKUPS_PER_CALL = 2**16, 2**12, 2**12, 250_000
# Keys of a batch.
_KEYS_PER_BATCH = 2**23


def table_bytes(joint_values: float, n_classes: int) -> int:
    """Return the bytes of a table of `joint_values` rows and n_classes classes with its index, at most
    MAX_TABLE_BYTES.
    """
    return int(min(MAX_TABLE_BYTES, joint_values * (8 * class_widths(n_classes)[1] + _INDEX_BYTES_PER_ROW)))


class ScoreTable:
    """Scores rows of codes by the joint values of blocks.

    Args:
        index: of the seen cells.
        cells: (2T + S, C) cell table.
        blocks: a cover of the tuples; inner blocks are not used.
        max_bytes: of table and index; None for the smaller of MAX_TABLE_BYTES and a sixteenth of the free memory.
    """

    def __init__(
        self, index: CellIndex[AnySpace], cells: Floats, blocks: Sequence[Block], max_bytes: int | None = None
    ):
        self._index, self._cells = index, cells
        max_bytes = min(MAX_TABLE_BYTES, free_memory() // 16) if max_bytes is None else max_bytes
        n_lanes, self._padded_width = class_widths(cells.shape[1])
        self._lanes = (0,) * n_lanes
        self._max_rows = max(1, max_bytes // (8 * self._padded_width + _INDEX_BYTES_PER_ROW))
        self._tuples = np.concatenate([block.tuples for block in blocks])
        self._first_tuple = np.cumsum([0, *(len(block.tuples) for block in blocks)])
        segments = [_split_columns(block.columns.tolist(), index.space.levels) for block in blocks]
        segment_columns = [columns for segment in segments for columns in segment]
        self._columns = np.concatenate(segment_columns).astype(np.int32)
        self._n_levels = index.space.levels[self._columns]
        self._first_segment = np.cumsum([0, *map(len, segments)])
        self._first_column = np.cumsum([0, *map(len, segment_columns)])
        is_single = np.array([len(segment) == 1 for segment in segments for _ in segment])
        self._possible = np.array([_n_possible(columns, index.space.levels) for columns in segment_columns])
        self._is_dense = is_single & (self._possible <= _MAX_DENSE_VALUES)
        self._insert_rows = max(64, min(_ROWS_PER_INSERT, _KEYS_PER_BATCH // len(blocks) // 8))
        self._lock = threading.Lock()
        self._reset()

    def _reset(self) -> None:
        """Start with a table without rows."""
        segment_slots = np.where(self._is_dense, self._possible, _FIRST_SLOTS)
        self._slot_start, self._n_slots = np.cumsum(segment_slots) - segment_slots, int(segment_slots.sum())
        self._mask = np.where(self._is_dense, -1, _FIRST_SLOTS - 1)
        self._slots, self._slot_values = np.full(self._n_slots, -1, np.int32), np.empty(self._n_slots, np.int64)
        self._numbers = np.zeros(len(segment_slots), np.int64)
        self._table, self._state = empty(0, self._padded_width), np.array([0, -1])

    @property
    def n_blocks(self) -> int:
        """Number of blocks, B. A block is a group of columns whose joint value is looked up at once."""
        return len(self._first_segment) - 1

    @property
    def n_rows(self) -> int:
        """Number of rows of the table: joint values so far."""
        return int(self._state[0])

    def scores(self, codes: Codes, bias: Floats, n_jobs: int, stop: StopToken) -> Floats:
        """Return the class scores (N, C): bias (C,) plus the table's rows that codes (a, N), as kernels take them, look
        up.
        """
        n, classes = codes.shape[1], len(bias)
        z = empty(n, self._padded_width)
        padded_bias = np.full(self._padded_width, -np.inf)
        padded_bias[:classes] = bias
        batch = max(_ROWS_PER_CALL, min(_ROWS_PER_BATCH, _KEYS_PER_BATCH // self.n_blocks))
        for origin in range(0, n, batch):
            batch_scores = z[origin : origin + batch]
            with self._lock:  # one caller at a time, because the table grows; the work inside is parallel
                try:
                    keys, rest_rows = self._find_keys(codes, origin, len(batch_scores), n_jobs, stop)
                except BaseException:  # stopped between adding a value and filling its row
                    self._reset()
                    raise
                self._add_scores(keys, padded_bias, batch_scores, n_jobs, stop)
            if len(rest_rows):
                rest_codes = as_kernel_codes(codes[:, origin + rest_rows])
                batch_scores[rest_rows, :classes] = self._index.score(rest_codes, self._cells, bias, n_jobs, stop)
        return z[:, :classes]

    def _find_keys(
        self, codes: Codes, origin: int, n: int, n_jobs: int, stop: StopToken
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the rows of the table (B, n) for n rows of codes (a, N) from `origin` on, and the rows that do not fit
        into it.
        """
        keys, is_missing = np.empty((self.n_blocks, n), np.uint32), np.empty(n, np.uint8)
        any_missing = [False] * -(-n // _ROWS_PER_CALL)

        def find(part: int) -> None:
            stop.check()
            begin, end = part * _ROWS_PER_CALL, min(n, (part + 1) * _ROWS_PER_CALL)
            any_missing[part] = cell_kernels.find_keys(codes, origin, begin, end, self._segments(), keys, is_missing)

        run_parts(find, len(any_missing), n_jobs)
        rows = np.flatnonzero(is_missing) if any(any_missing) else np.empty(0, np.int64)
        for begin in range(0, len(rows), self._insert_rows):
            self._insert(codes, origin, rows[begin : begin + self._insert_rows], keys, n_jobs, stop)
        if self.n_rows < self._max_rows:
            return keys, rows[:0]
        is_lost = keys[:, rows] == cell_kernels.MISSING_KEY
        keys[:, rows] = np.where(is_lost, np.uint32(0), keys[:, rows])
        return keys, rows[is_lost.any(axis=0)]

    def _insert(
        self, codes: Codes, origin: int, rows: NDArray[np.int64], keys: NDArray[np.uint32], n_jobs: int, stop: StopToken
    ) -> None:
        """Add the joint values of `rows`, counted from row `origin` of codes (a, N), to the table, as long as there is
        room.

        keys: (B, n) of all rows, in which those of the new joint values are entered.
        """
        first_new, n_done = self.n_rows, 0
        max_new = min(self._max_rows - first_new, len(rows) * self.n_blocks)
        value_blocks, examples = np.empty(max_new, np.int32), np.empty(max_new, np.int64)
        while n_done < len(rows):
            stop.check()
            n_done = cell_kernels.add_values(
                codes, origin, rows, n_done, self._max_rows, self._segments(), self._numbers, keys, value_blocks,
                examples, first_new, self._state,
            )  # fmt: skip
            if self._state[1] < 0:
                break
            self._grow_segment(int(self._state[1]))
        n_rows_after = self.n_rows
        if n_rows_after > len(self._table):
            table = empty(min(self._max_rows, max(n_rows_after, 2 * len(self._table))), self._padded_width)
            table[:first_new] = self._table[:first_new]
            self._table = table
        chunk_rows = max(16, _LOOKUPS_PER_CALL * self.n_blocks // self._index.space.n_tuples)

        def fill(part: int) -> None:
            stop.check()
            begin, chunk_end = part * chunk_rows, min(n_rows_after - first_new, (part + 1) * chunk_rows)
            cell_kernels.sum_cells(
                codes, examples[begin:chunk_end], value_blocks[begin:chunk_end], self._first_tuple, self._tuples,
                *self._index.kernel_arguments, self._cells, self._table[first_new + begin : first_new + chunk_end],
            )  # fmt: skip

        run_parts(fill, -(-(n_rows_after - first_new) // chunk_rows), n_jobs)

    def _add_scores(self, keys: NDArray[np.uint32], bias: Floats, z: Floats, n_jobs: int, stop: StopToken) -> None:
        """Write to z (n, W) the bias plus the rows of the table given by `keys`."""
        block_offsets = np.zeros(self.n_blocks + 1, np.int64)

        def add_chunk(k: int) -> None:
            stop.check()
            begin, end = k * _ROWS_PER_CALL, min(len(z), (k + 1) * _ROWS_PER_CALL)
            row_kernels.forward(keys, block_offsets, self._table, bias, z, begin, end, 0, self.n_blocks, self._lanes)

        run_parts(add_chunk, -(-len(z) // _ROWS_PER_CALL), n_jobs)

    def _segments(self) -> cell_kernels.Segments:
        return cell_kernels.Segments(
            self._first_segment, self._first_column, self._columns, self._n_levels, self._slot_start,
            self._mask, self._slots, self._slot_values,
        )  # fmt: skip

    def _grow_segment(self, segment: int) -> None:
        """Move a segment that is half full to twice as many slots, behind all others."""
        old_start, n_old_slots = int(self._slot_start[segment]), int(self._mask[segment]) + 1
        new_start, self._n_slots = self._n_slots, self._n_slots + 2 * n_old_slots
        if self._n_slots > len(self._slots):
            n_more = 2 * self._n_slots - len(self._slots)
            self._slots = np.concatenate([self._slots, np.full(n_more, -1, np.int32)])
            self._slot_values = np.concatenate([self._slot_values, np.empty(n_more, np.int64)])
        self._slot_start[segment], self._mask[segment] = new_start, 2 * n_old_slots - 1
        cell_kernels.rehash(old_start, n_old_slots, new_start, 2 * n_old_slots - 1, self._slots, self._slot_values)


def _split_columns(columns: Sequence[int], levels: NDArray[np.int64]) -> list[list[int]]:
    """Return the columns of a block, split into segments whose joint values fit 64 bits; levels (a,) of all columns."""
    segments: list[list[int]] = [[]]
    for c in columns:
        max_value = _MAX_VALUE if len(segments) == 1 else _MAX_VALUE // _MAX_VALUE_NUMBER
        if _n_possible([*segments[-1], c], levels) > max_value:
            segments.append([])
        segments[-1].append(c)
    return segments


def _n_possible(columns: Sequence[int], levels: NDArray[np.int64]) -> int:
    """Return the number of possible joint values of columns, "no level" counting as a level."""
    return prod(int(levels[c]) + 1 for c in columns)
