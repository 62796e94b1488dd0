"""The index of seen cells: from the codes of a row to its row in the cell table, in O(1).

    cell table    row t: the cells of tuple t that were never seen;  row T + t: rows without a level in tuple t;
                  row 2T + s: seen cell s
    start         (T,) int64, where tuple t's slots begin
    mask          (T,) int64, -1 where every possible cell has a slot; else cells are hashed, and mask is the number of
                  the tuple's slots, a power of two, less 1
    slots         int32, the number of the seen cell in each slot, -1 for none
    slot_cells    int64, the cell (counted within its tuple) in each hashed slot, tuple t's from start[t] - shift[t] on

Most tuples have few possible cells and get a slot for each. Where there are too many (two columns of 10^5 levels have
10^10), only the cells that occur are stored, in a hash table with linear probing.
"""

import numpy as np

from alrviz.kernels import kernel

# Multiplier of Fibonacci hashing: 2^64 over the golden ratio, odd. Copied to joint_values.py, score_table.py and
# averages.py, because numba's cache does not notice an edit in another file.
_GOLDEN = np.uint64(11400714819323198485)


@kernel
def _first_slot(value, size):
    """Return the slot, of `size` (a power of two), at which the search for a value begins.

    It is the top bits of the product with _GOLDEN: all bits of the value have an influence on them.
    """
    return (np.uint64(value) * _GOLDEN >> np.uint64(32)) * np.uint64(size) >> np.uint64(32)


@kernel
def fill_index(cells, first_cell, start, mask, shift, slots, slot_cells):
    """Enter the seen cells (S,) into empty slots; those of tuple t are cells[first_cell[t] : first_cell[t + 1]]."""
    for t in range(len(start)):
        for s in range(first_cell[t], first_cell[t + 1]):
            if mask[t] < 0:
                slots[start[t] + cells[s]] = s
            else:
                m = np.uint64(mask[t])
                h = _first_slot(cells[s], mask[t] + 1)
                while slots[start[t] + np.int64(h)] >= 0:
                    h = (h + np.uint64(1)) & m
                slots[start[t] + np.int64(h)] = s
                slot_cells[start[t] - shift[t] + np.int64(h)] = cells[s]


@kernel
def _cell_rows(codes, row, tuples, columns, strides, levels, start, mask, shift, slots, slot_cells, cell_rows):
    """Write to cell_rows (m,) int64 the rows of the cell table that row `row` of the codes has in `tuples` (m,).

    Handles many tuples at once: a call for each would count references to all these arrays, 60 ns against 3.
    """
    n_tuples = len(start)
    for q in range(len(tuples)):
        t = tuples[q]
        cell = np.int64(0)
        for j in range(columns.shape[1]):
            code = np.int64(codes[columns[t, j], row])
            if code >= levels[columns[t, j]]:
                cell = np.int64(-1)
                break
            cell += code * strides[t, j]
        if cell < 0:
            cell_rows[q] = n_tuples + t
            continue
        if mask[t] < 0:
            s = slots[start[t] + cell]
        else:
            m, h = np.uint64(mask[t]), _first_slot(cell, mask[t] + 1)
            s = slots[start[t] + np.int64(h)]
            while s >= 0 and slot_cells[start[t] - shift[t] + np.int64(h)] != cell:
                h = (h + np.uint64(1)) & m
                s = slots[start[t] + np.int64(h)]
        cell_rows[q] = 2 * n_tuples + s if s >= 0 else t


@kernel
def locate(codes, begin, end, columns, strides, levels, start, mask, shift, slots, slot_cells, out):
    """Write to out (end - begin, T) uint32 the row of the cell table that rows begin..end of the codes have in each
    tuple.
    """
    all_tuples, cell_rows = np.arange(len(start)), np.empty(len(start), np.int64)
    for i in range(begin, end):
        _cell_rows(codes, i, all_tuples, columns, strides, levels, start, mask, shift, slots, slot_cells, cell_rows)
        for t in all_tuples:
            out[i - begin, t] = cell_rows[t]


@kernel
def score(codes, begin, end, columns, strides, levels, start, mask, shift, slots, slot_cells, cells, bias, z):
    """Write to z (N, C) the scores of rows begin..end: `bias` (C,) plus a row of `cells` (2T + S, C) for each tuple."""
    all_tuples, cell_rows = np.arange(len(start)), np.empty(len(start), np.int64)
    for i in range(begin, end):
        _cell_rows(codes, i, all_tuples, columns, strides, levels, start, mask, shift, slots, slot_cells, cell_rows)
        for k in range(z.shape[1]):
            z[i, k] = bias[k]
        for t in all_tuples:
            for k in range(z.shape[1]):
                z[i, k] += cells[cell_rows[t], k]


@kernel
def sum_cells(
    codes, examples, value_blocks, first_tuple, tuples, columns, strides, levels, start, mask, shift, slots,
    slot_cells, cells, table,
):  # fmt: skip
    """Write to each row of table (m, W) the sum of one joint value's cells; pads are 0.

    Joint value v is shown by row examples[v] of the codes and belongs to block b = value_blocks[v], whose tuples are
    tuples[first_tuple[b] : first_tuple[b + 1]].
    """
    cell_rows = np.empty(len(tuples), np.int64)
    for v in range(len(examples)):
        block_tuples = tuples[first_tuple[value_blocks[v]] : first_tuple[value_blocks[v] + 1]]
        _cell_rows(
            codes, examples[v], block_tuples, columns, strides, levels, start, mask, shift, slots, slot_cells, cell_rows
        )
        for k in range(table.shape[1]):
            table[v, k] = 0.0
        for q in range(len(block_tuples)):
            for k in range(cells.shape[1]):
                table[v, k] += cells[cell_rows[q], k]


@kernel
def link_joint_values(codes, examples, tuples, columns, strides, levels, start, mask, shift, slots, slot_cells, links):
    """Write to links (m x len(tuples),) the row of the cell table that each joint value of a block has in each tuple.

    `examples` (m,) are rows of the codes, one for each joint value.
    """
    cell_rows = np.empty(len(tuples), np.int64)
    for v in range(len(examples)):
        _cell_rows(
            codes, examples[v], tuples, columns, strides, levels, start, mask, shift, slots, slot_cells, cell_rows
        )
        for q in range(len(tuples)):
            links[v * len(tuples) + q] = cell_rows[q]


@kernel
def dense_keys(codes, tuples, levels, out):
    """Write to out[t, i] in which of tuple t's possible cells row i lies.

    Args:
        codes: (a, N) codes of the columns.
        tuples: (T, n) columns, the last varies fastest; a tuple of fewer columns repeats its last.
        levels: (a,) levels of each column, of which the last means "no level".
    """
    n = codes.shape[1]
    for t in range(len(tuples)):
        keys = out[t]
        for q in range(tuples.shape[1]):
            if q > 0 and tuples[t, q] == tuples[t, q - 1]:
                break
            column, n_levels = codes[tuples[t, q]], np.uint32(levels[tuples[t, q]])
            for i in range(n):
                code = np.uint32(column[i])
                code = code if code < n_levels else n_levels - np.uint32(1)
                keys[i] = code if q == 0 else np.uint32(keys[i]) * n_levels + code
