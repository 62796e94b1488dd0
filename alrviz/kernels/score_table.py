"""Finding the joint values of new rows in a table that grows as rows show them (models/score_table.py).

Conventions
    codes     (a, N) uint16 or uint32; a code >= its column's top counts as the top, "no level"
    keys      (B, n) uint32, the row of the table, or _MISSED
A segment's joint value is one number, its digits the codes of its columns; a later segment's begins with the number
that the segment before it was given. So every number fits 64 bits, whatever the number of columns.
"""

from typing import Any, NamedTuple

import numpy as np

from alrviz.kernels import kernel

# Rows whose numbers are made together: they stay in the cache.
CHUNK = 512
MISSED = np.uint32(2**32 - 1)
# Multiplier of Fibonacci hashing, as in cells.py, whose compiled kernels would not see an edit elsewhere.
_GOLDEN = np.uint64(11400714819323198485)


class Segments(NamedTuple):
    """The segments of all blocks, and what finds their joint values.

    Attributes:
        blocks: (B + 1,) int64, where each block's segments begin. at: (S + 1,) int64, where each segment's columns do.
        columns, tops: int32 and int64, segment after segment.
        where, mask, slot, held: as in cells.py: a slot for every joint value (mask -1), else found by its hash.
    """

    blocks: Any
    at: Any
    columns: Any
    tops: Any
    where: Any
    mask: Any
    slot: Any
    held: Any


@kernel
def _home(value, size):
    """The slot of `size`, a power of two, where a value's chain begins."""
    return (np.uint64(value) * _GOLDEN >> np.uint64(32)) * np.uint64(size) >> np.uint64(32)


@kernel
def _place(value, where, mask, slot, held):
    """The slot of a value, or the free one where it belongs."""
    if mask < 0:
        return where + value
    last = np.uint64(mask)
    h = _home(value, mask + 1)
    place = where + np.int64(h)
    while slot[place] >= 0 and held[place] != value:
        h = (h + np.uint64(1)) & last
        place = where + np.int64(h)
    return place


@kernel
def find(codes, origin, begin, end, segments, keys, missed):
    """Write the keys of rows origin + begin..end to keys[:, begin..end]; missed (n,) uint8: rows with one that is not
    found. Returns whether there are such rows.
    """
    blocks, at, columns, tops, where, mask, slot, held = segments
    number = np.empty(CHUNK, np.int64)
    some = False
    for start in range(begin, end, CHUNK):
        m = min(CHUNK, end - start)
        first = origin + start
        missed[start : start + m] = 0
        for b in range(len(blocks) - 1):
            number[:m] = 0
            for s in range(blocks[b], blocks[b + 1]):
                for c in range(at[s], at[s + 1]):
                    code, top = codes[columns[c], first : first + m], tops[c]
                    for r in range(m):  # of one that is missed already it stays below 0
                        number[r] = number[r] * (top + 1) + min(np.int64(code[r]), top)
                if mask[s] < 0:
                    for r in range(m):
                        number[r] = slot[where[s] + number[r]]
                else:
                    for r in range(m):
                        if number[r] >= 0:
                            number[r] = slot[_place(number[r], where[s], mask[s], slot, held)]
                        else:
                            number[r] = -1
            for r in range(m):
                keys[b, start + r] = np.uint32(number[r])
                if number[r] < 0:
                    missed[start + r] = 1
                    some = True
    return some


@kernel
def enter(codes, origin, rows, begin, most, segments, numbers, keys, owner, shown, base, state):
    """Give the joint values that `rows`, from the begin-th on, have and the table has not the next rows of the table.

    numbers (S,): how many values each segment has; state: [rows of the table, segment that must grow or -1]; owner,
    shown: the block of each new row of the table, from row `base` on, and a row of the codes that shows its value.
    Returns the place in `rows` where it ended: a segment must grow, or the table has `most` rows.
    """
    blocks, at, columns, tops, where, mask, slot, held = segments
    state[1] = -1
    for u in range(begin, len(rows)):
        i = rows[u]
        for b in range(len(blocks) - 1):
            if keys[b, i] != MISSED:
                continue
            value = np.int64(0)
            for s in range(blocks[b], blocks[b + 1]):
                for c in range(at[s], at[s + 1]):
                    value = value * (tops[c] + 1) + min(np.int64(codes[columns[c], origin + i]), tops[c])
                place = _place(value, where[s], mask[s], slot, held)
                if slot[place] < 0:
                    last = s + 1 == blocks[b + 1]
                    if last and state[0] == most:
                        return u
                    if mask[s] >= 0 and 2 * (numbers[s] + 1) > mask[s]:
                        state[1] = s
                        return u
                    slot[place] = state[0] if last else numbers[s]
                    if mask[s] >= 0:
                        held[place] = value
                    numbers[s] += 1
                    if last:
                        owner[state[0] - base], shown[state[0] - base] = b, origin + i
                        state[0] += 1
                value = np.int64(slot[place])
            keys[b, i] = np.uint32(value)
    return len(rows)


@kernel
def move(old, size, where, mask, slot, held):
    """Enter what the `size` slots from `old` on hold into the empty ones of a segment, at `where`."""
    for p in range(old, old + size):
        if slot[p] >= 0:
            place = _place(held[p], where, mask, slot, held)
            slot[place], held[place] = slot[p], held[p]
