"""The index of seen cells: from the codes of a row to its row in the cell table, in O(1).

    cell table   row t: cells of tuple t that were never seen;  row T + t: rows without a level in tuple t;
                 row 2T + s: seen cell s
    where[t]     (T,) int64, where tuple t's slots begin;  mask[t] (T,) int64: -1 where every possible cell has a slot,
                 else the number of slots - 1, a power of two less one, and a cell is found by its hash
    slots        int32, number of the seen cell or -1;  held int64, the cell (within its tuple) in each hashed slot,
                 behind where[t] - shift[t]
Most tuples have few possible cells and get a slot for each. Where levels are many (two columns of 10^5 have 10^10) only
the cells that occur are held.
"""

import numpy as np

from alrviz.kernels import kernel

# Multiplier of Fibonacci hashing: 2^64 over the golden ratio, odd. Here and in joint_values.py, whose compiled
# kernels would not see an edit elsewhere.
_GOLDEN = np.uint64(11400714819323198485)


@kernel
def _home(value, size):
    """The slot of `size`, a power of two, where a value's chain begins: the top bits of its product with _GOLDEN, on
    which all bits of the value have an influence.
    """
    return (np.uint64(value) * _GOLDEN >> np.uint64(32)) * np.uint64(size) >> np.uint64(32)


@kernel
def fill_index(local, begin, where, mask, shift, slots, held):
    """Enter the seen cells `local` (S,), those of tuple t from begin[t] to begin[t + 1], into empty slots."""
    for t in range(len(where)):
        for s in range(begin[t], begin[t + 1]):
            if mask[t] < 0:
                slots[where[t] + local[s]] = s
            else:
                m = np.uint64(mask[t])
                h = _home(local[s], mask[t] + 1)
                while slots[where[t] + np.int64(h)] >= 0:
                    h = (h + np.uint64(1)) & m
                slots[where[t] + np.int64(h)] = s
                held[where[t] - shift[t] + np.int64(h)] = local[s]


@kernel
def _rows_of(codes, row, tuples, columns, strides, levels, where, mask, shift, slots, held, out):
    """Write to out (m,) int64 the row of the cell table that row `row` of the codes has in each of `tuples` (m,).

    Of many tuples: a call for each of them would count references to all these arrays, 60 ns against 3.
    """
    n_tuples = len(where)
    for q in range(len(tuples)):
        t = tuples[q]
        local = np.int64(0)
        for j in range(columns.shape[1]):
            code = np.int64(codes[columns[t, j], row])
            if code >= levels[columns[t, j]]:
                local = np.int64(-1)
                break
            local += code * strides[t, j]
        if local < 0:
            out[q] = n_tuples + t
            continue
        if mask[t] < 0:
            s = slots[where[t] + local]
        else:
            m, h = np.uint64(mask[t]), _home(local, mask[t] + 1)
            s = slots[where[t] + np.int64(h)]
            while s >= 0 and held[where[t] - shift[t] + np.int64(h)] != local:
                h = (h + np.uint64(1)) & m
                s = slots[where[t] + np.int64(h)]
        out[q] = 2 * n_tuples + s if s >= 0 else t


@kernel
def locate(codes, begin, end, columns, strides, levels, where, mask, shift, slots, held, out):
    """Write to out (end - begin, T) uint32 the rows of the cell table that rows begin..end of the codes add up."""
    every, rows = np.arange(len(where)), np.empty(len(where), np.int64)
    for i in range(begin, end):
        _rows_of(codes, i, every, columns, strides, levels, where, mask, shift, slots, held, rows)
        for t in every:
            out[i - begin, t] = rows[t]


@kernel
def score(codes, begin, end, columns, strides, levels, where, mask, shift, slots, held, cells, bias, z):
    """Write to z (N, C) the scores of rows begin..end: `bias` plus one row of `cells` (2T + S, C) for each tuple."""
    every, rows = np.arange(len(where)), np.empty(len(where), np.int64)
    for i in range(begin, end):
        _rows_of(codes, i, every, columns, strides, levels, where, mask, shift, slots, held, rows)
        for k in range(z.shape[1]):
            z[i, k] = bias[k]
        for t in every:
            for k in range(z.shape[1]):
                z[i, k] += cells[rows[t], k]


@kernel
def add_up(codes, shown, owner, at, tuples, columns, strides, levels, where, mask, shift, slots, held, cells, table):
    """Write to each row of table (m, W) the sum of the cells that row shown[v] of the codes has in the tuples of block
    owner[v], tuples[at[b]:at[b + 1]]; pads are 0.
    """
    rows = np.empty(len(tuples), np.int64)
    for v in range(len(shown)):
        own = tuples[at[owner[v]] : at[owner[v] + 1]]
        _rows_of(codes, shown[v], own, columns, strides, levels, where, mask, shift, slots, held, rows)
        for k in range(table.shape[1]):
            table[v, k] = 0.0
        for q in range(len(own)):
            for k in range(cells.shape[1]):
                table[v, k] += cells[rows[q], k]


@kernel
def link(codes, shown, tuples, columns, strides, levels, where, mask, shift, slots, held, links):
    """Write to links (len(shown) x len(tuples)) the row of the cell table of each joint value and tuple of a block.

    `shown` are rows of the codes, one for each joint value.
    """
    rows = np.empty(len(tuples), np.int64)
    for v in range(len(shown)):
        _rows_of(codes, shown[v], tuples, columns, strides, levels, where, mask, shift, slots, held, rows)
        for q in range(len(tuples)):
            links[v * len(tuples) + q] = rows[q]


@kernel
def dense_keys(codes, tuples, levels, out):
    """Write to out[t, i] which of its tuple's cells row i lies in, where every possible cell has a number.

    `levels` (a,) counts "no level" of each column as a level, its last; `tuples` (T, n) columns, the last the fastest;
    a tuple of fewer columns repeats its last.
    """
    n = codes.shape[1]
    for t in range(len(tuples)):
        to = out[t]
        for q in range(tuples.shape[1]):
            if q > 0 and tuples[t, q] == tuples[t, q - 1]:
                break
            column, top = codes[tuples[t, q]], np.uint32(levels[tuples[t, q]])
            for i in range(n):
                code = np.uint32(column[i])
                code = code if code < top else top - np.uint32(1)
                to[i] = code if q == 0 else np.uint32(to[i]) * top + code
