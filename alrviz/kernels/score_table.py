"""Look-up of new rows' joint values in a table that grows as rows show new ones (models/score_table.py).

    codes     (a, N) uint16 or uint32; codes from n_levels on are "no level"
    keys      (B, n) uint32, rows of the table, or MISSING_KEY

A block's columns are split into segments. The joint value of a segment is one number, whose digits are the codes of its
columns; in all segments but the first the leading digit is the number that the segment before was given. So every
number fits 64 bits for any number of columns.
"""

from typing import Any, NamedTuple

import numpy as np

from alrviz.kernels import kernel

# Rows looked up together: their numbers stay in the cache.
CHUNK_ROWS = 512
MISSING_KEY = np.uint32(2**32 - 1)
# Multiplier of Fibonacci hashing, with `_first_slot` a copy of cells.py, because numba's cache does not notice an edit
# in another file.
_GOLDEN = np.uint64(11400714819323198485)


class Segments(NamedTuple):
    """The segments of all blocks, and the index of their joint values.

    Attributes:
        first_segment: (B + 1,) int64, where each block's segments begin.
        first_column: (S + 1,) int64, where each segment's columns begin.
        columns, n_levels: int32 and int64, segment after segment.
        slot_start, mask, slots, slot_values: as in cells.py, of values instead of cells.
    """

    first_segment: Any
    first_column: Any
    columns: Any
    n_levels: Any
    slot_start: Any
    mask: Any
    slots: Any
    slot_values: Any


@kernel
def _first_slot(value, size):
    """Return the slot, of `size` (a power of two), at which the search for a value begins."""
    return (np.uint64(value) * _GOLDEN >> np.uint64(32)) * np.uint64(size) >> np.uint64(32)


@kernel
def _slot_of(value, slot_start, mask, slots, slot_values):
    """Return the slot of a value, or the free one where it belongs."""
    if mask < 0:
        return slot_start + value
    last_slot = np.uint64(mask)
    h = _first_slot(value, mask + 1)
    slot = slot_start + np.int64(h)
    while slots[slot] >= 0 and slot_values[slot] != value:
        h = (h + np.uint64(1)) & last_slot
        slot = slot_start + np.int64(h)
    return slot


@kernel
def find_keys(codes, first_row, begin, end, segments, keys, is_missing):
    """Write the keys of rows first_row + begin..end to keys[:, begin..end]; return whether a row lacks one.

    is_missing (n,) uint8 is written with which rows do.
    """
    first_segment, first_column, columns, n_levels, slot_start, mask, slots, slot_values = segments
    number = np.empty(CHUNK_ROWS, np.int64)
    any_missing = False
    for start in range(begin, end, CHUNK_ROWS):
        m = min(CHUNK_ROWS, end - start)
        chunk_row = first_row + start
        is_missing[start : start + m] = 0
        for b in range(len(first_segment) - 1):
            number[:m] = 0
            for s in range(first_segment[b], first_segment[b + 1]):
                for c in range(first_column[s], first_column[s + 1]):
                    column_codes, last_level = codes[columns[c], chunk_row : chunk_row + m], n_levels[c]
                    for r in range(m):  # a number below 0, of a missing segment, stays below 0
                        number[r] = number[r] * (last_level + 1) + min(np.int64(column_codes[r]), last_level)
                if mask[s] < 0:
                    for r in range(m):
                        number[r] = slots[slot_start[s] + number[r]]
                else:
                    for r in range(m):
                        if number[r] >= 0:
                            number[r] = slots[_slot_of(number[r], slot_start[s], mask[s], slots, slot_values)]
                        else:
                            number[r] = -1
            for r in range(m):
                keys[b, start + r] = np.uint32(number[r])
                if number[r] < 0:
                    is_missing[start + r] = 1
                    any_missing = True
    return any_missing


@kernel
def add_values(
    codes, first_row, rows, begin, max_rows, segments, numbers, keys, value_blocks, examples, first_new, state
):
    """Add the missing joint values of rows[begin:] to the table; return the place in `rows` where it ended.

    It ends early where a segment must grow first, or where the table has max_rows rows.

    Args:
        numbers: (S,) how many values each segment has.
        keys: (B, n), whose MISSING_KEY of these rows are overwritten.
        value_blocks, examples: written from row first_new of the table on: the block of a new row, and a row of the
            codes that shows its value.
        state: [rows of the table, segment that must grow or -1].
    """
    first_segment, first_column, columns, n_levels, slot_start, mask, slots, slot_values = segments
    state[1] = -1
    for u in range(begin, len(rows)):
        i = rows[u]
        for b in range(len(first_segment) - 1):
            if keys[b, i] != MISSING_KEY:
                continue
            value = np.int64(0)
            for s in range(first_segment[b], first_segment[b + 1]):
                for c in range(first_column[s], first_column[s + 1]):
                    value = value * (n_levels[c] + 1) + min(np.int64(codes[columns[c], first_row + i]), n_levels[c])
                slot = _slot_of(value, slot_start[s], mask[s], slots, slot_values)
                if slots[slot] < 0:
                    is_last = s + 1 == first_segment[b + 1]
                    if is_last and state[0] == max_rows:
                        return u
                    if mask[s] >= 0 and 2 * (numbers[s] + 1) > mask[s]:
                        state[1] = s
                        return u
                    slots[slot] = state[0] if is_last else numbers[s]
                    if mask[s] >= 0:
                        slot_values[slot] = value
                    numbers[s] += 1
                    if is_last:
                        value_blocks[state[0] - first_new], examples[state[0] - first_new] = b, first_row + i
                        state[0] += 1
                value = np.int64(slots[slot])
            keys[b, i] = np.uint32(value)
    return len(rows)


@kernel
def rehash(first_old_slot, n_slots, slot_start, mask, slots, slot_values):
    """Enter the values of n_slots old slots into a segment's empty slots, which begin at slot_start."""
    for old_slot in range(first_old_slot, first_old_slot + n_slots):
        if slots[old_slot] >= 0:
            slot = _slot_of(slot_values[old_slot], slot_start, mask, slots, slot_values)
            slots[slot], slot_values[slot] = slots[old_slot], slot_values[old_slot]
