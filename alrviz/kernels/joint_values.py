"""Joint values: numbering those that occur, and finding the cells they lie in.

Conventions
    codes     (a, N) uint16 or uint32; codes from n_levels on are "no level"
    columns   (T, n) int32, the columns of each tuple;  strides (T, n) int64;  cards (T,) int64, its possible cells
    key       (N,) int32, the number of each row's joint value so far; values are numbered in the order of their first
              rows, so that frequent values get small numbers and lie close together
    slots     int32, -1 everywhere before and after

Each joined column multiplies the number of possible values, not of those that occur. `join` looks a value up by its
place among the possible ones; `join_hashed` by its hash, where these are too many.
"""

import numpy as np

from alrviz.kernels import kernel

# Multiplier of Fibonacci hashing, with `_first_slot` a copy of cells.py, because numba's cache does not notice an edit
# in another file.
_GOLDEN = np.uint64(11400714819323198485)


@kernel
def _first_slot(value, size):
    """Return the slot, of `size` (a power of two), at which the search for a value begins."""
    return (np.uint64(value) * _GOLDEN >> np.uint64(32)) * np.uint64(size) >> np.uint64(32)


@kernel
def join(key, size, codes, n_levels, slots, first_rows):
    """Replace each row's key by the number of its pair (key, code); return the number of pairs that occur.

    Codes above n_levels count as n_levels, "no level". slots: (size * (n_levels + 1),); first_rows[v] is written with
    the first row of pair v.
    """
    n_found = 0
    no_level = np.int64(n_levels)
    width = no_level + 1
    for r in range(len(key)):
        v = key[r] * width + min(np.int64(codes[r]), no_level)
        number = slots[v]
        if number < 0:
            number = n_found
            slots[v] = number
            first_rows[number] = r
            n_found += 1
        key[r] = number
    for v in range(size * width):
        slots[v] = -1
    return n_found


@kernel
def join_hashed(key, codes, n_levels, slot_values, slots, first_rows):
    """Do as `join`, by hashing.

    slot_values (int64) and slots have one size, a power of two above twice the rows; both are left filled.
    """
    n_found = 0
    no_level = np.int64(n_levels)
    width = no_level + 1
    mask = np.uint64(len(slots) - 1)
    for r in range(len(key)):
        v = np.int64(key[r]) * width + min(np.int64(codes[r]), no_level)
        h = _first_slot(v, len(slots))
        while slots[h] >= 0 and slot_values[h] != v:
            h = (h + np.uint64(1)) & mask
        if slots[h] < 0:
            slots[h] = n_found
            slot_values[h] = v
            first_rows[n_found] = r
            n_found += 1
        key[r] = slots[h]
    return n_found


@kernel
def cells_of(codes, rows, columns, strides, levels, out):
    """Write to out the cell, counted within its tuple, of each of `rows`; -1 where a code is no level."""
    for v in range(len(rows)):
        cell = 0
        for j in range(len(columns)):
            code = np.int64(codes[columns[j], rows[v]])
            if code >= levels[columns[j]]:
                cell = -1
                break
            cell += code * strides[j]
        out[v] = cell


@kernel
def distinct_cells(codes, rows, tuples, columns, strides, levels, cards, row_cells, marks, counts, out):
    """Write to `out` the different cells that `rows` have in each of `tuples`, ascending; their numbers to `counts`.

    marks: as many as a tuple has possible cells, 0 everywhere before and after; row_cells: as many as rows, workspace.
    """
    total = 0
    for k in range(len(tuples)):
        t = tuples[k]
        cells_of(codes, rows, columns[t], strides[t], levels, row_cells)
        first = total
        for v in range(len(rows)):
            if row_cells[v] >= 0:
                marks[row_cells[v]] = 1
        for c in range(cards[t]):
            if marks[c]:
                out[total] = c
                total += 1
                marks[c] = 0
        counts[k] = total - first
