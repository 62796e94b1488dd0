"""Joint values: numbering those that occur, and the cells they lie in.

Conventions
    codes     (a, N) uint16 or uint32; a code >= levels[column] is no level
    columns   (T, n) int32, the columns of each tuple;  strides (T, n) int64;  cards (T,) int64, its possible cells
    key       (N,) int32, the number of each row's joint value so far; numbers are given in the order in which rows
              first show them, so that frequent values get small ones and lie close together
    slot      int32, -1 everywhere before and after
Each column joined multiplies what is possible, not what occurs: `join` looks a value up by its place among the
possible ones, `join_hashed` by its hash where these are too many.
"""

import numpy as np

from alrviz.kernels import kernel

# Multiplier of Fibonacci hashing: 2^64 over the golden ratio, odd. Here and in cells.py, whose compiled kernels would
# not see an edit elsewhere.
_GOLDEN = np.uint64(11400714819323198485)


@kernel
def _home(value, size):
    """The slot of `size`, a power of two, where a value's chain begins: the top bits of its product with _GOLDEN, on
    which all bits of the value have an influence.
    """
    return (np.uint64(value) * _GOLDEN >> np.uint64(32)) * np.uint64(size) >> np.uint64(32)


@kernel
def join(key, size, code, top, slot, seen):
    """Number the pairs (key, code), a code >= top counting as `top`; seen[v] is the first row of pair v.

    `slot` holds size * (top + 1) numbers. Returns how many pairs occur.
    """
    found = 0
    last = np.int64(top)
    width = last + 1
    for r in range(len(key)):
        v = key[r] * width + min(np.int64(code[r]), last)
        number = slot[v]
        if number < 0:
            number = found
            slot[v] = number
            seen[number] = r
            found += 1
        key[r] = number
    for v in range(size * width):
        slot[v] = -1
    return found


@kernel
def join_hashed(key, code, top, held, slot, seen):
    """`join` by hashing: `held` int64 and `slot` are of one size, a power of two above twice the rows; used up."""
    found = 0
    last = np.int64(top)
    width = last + 1
    mask = np.uint64(len(slot) - 1)
    for r in range(len(key)):
        v = np.int64(key[r]) * width + min(np.int64(code[r]), last)
        h = _home(v, len(slot))
        while slot[h] >= 0 and held[h] != v:
            h = (h + np.uint64(1)) & mask
        if slot[h] < 0:
            slot[h] = found
            held[h] = v
            seen[found] = r
            found += 1
        key[r] = slot[h]
    return found


@kernel
def cells_of(codes, rows, columns, strides, levels, cell):
    """Write the cell, counted within its tuple, of each of `rows`; -1 where a code is no level."""
    for v in range(len(rows)):
        number = 0
        for j in range(len(columns)):
            code = np.int64(codes[columns[j], rows[v]])
            if code >= levels[columns[j]]:
                number = -1
                break
            number += code * strides[j]
        cell[v] = number


@kernel
def distinct_cells(codes, rows, tuples, columns, strides, levels, cards, cell, stamp, counts, out):
    """Write the different cells that `rows` have in each of `tuples`, ascending, to `out`; how many to `counts`.

    Each tuple's possible cells must fit `stamp` (0 everywhere before and after); `cell` is room for the rows.
    """
    total = 0
    for k in range(len(tuples)):
        t = tuples[k]
        cells_of(codes, rows, columns[t], strides[t], levels, cell)
        before = total
        for v in range(len(rows)):
            if cell[v] >= 0:
                stamp[cell[v]] = 1
        for c in range(cards[t]):
            if stamp[c]:
                out[total] = c
                total += 1
                stamp[c] = 0
        counts[k] = total - before
