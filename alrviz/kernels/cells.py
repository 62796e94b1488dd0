"""Look-up of cells and joint values: from the codes of a row to a row of a table, in O(1).

The index of seen cells:

    cell table    row t: the cells of tuple t that were never seen;  row T + t: rows without a level in tuple t;
                  row 2T + s: seen cell s
    start         (T,) int64, where tuple t's slots begin
    mask          (T,) int64, -1 where every possible cell has a slot; else cells are hashed, and mask is the number of
                  the tuple's slots, a power of two, less 1
    slots         int32, the number of the seen cell in each slot, -1 for none
    slot_cells    int64, the cell (counted within its tuple) in each hashed slot, tuple t's from start[t] - shift[t] on

Most tuples have few possible cells and get a slot for each. Where there are too many (two columns of 10^5 levels have
10^10), only the cells that occur are stored, in a hash table with linear probing.

Numbering the joint values that occur:

    key           (N,) int32, the number of each row's joint value so far; values are numbered in the order of their
                  first rows, so that frequent values get small numbers and lie close together
    slots         int32, -1 everywhere before and after

Each joined column multiplies the number of possible values, not of those that occur. `join` looks a value up by its
place among the possible ones; `join_hashed` by its hash, where these are too many.

Look-up of new rows' joint values in a table that grows as rows show new ones (models/score_table.py): a block's columns
are split into segments. The joint value of a segment is one number, whose digits are the codes of its columns; in all
segments but the first the leading digit is the number that the segment before was given. So every number fits 64 bits
for any number of columns.

Conventions
    codes         (a, N) uint16 or uint32; codes from levels[j] on are "no level"
    columns       (T, n) int32, the columns of each tuple;  strides (T, n) int64;  cards (T,) int64, its possible cells
    keys          (B, n) uint32, rows of the growing table, or MISSING_KEY
"""

from typing import Any, NamedTuple

import numpy as np

from alrviz.kernels import kernel

# Multiplier of Fibonacci hashing: 2^64 over the golden ratio, odd. Copied to averages.py, because numba's cache does
# not notice an edit in another file.
_GOLDEN = np.uint64(11400714819323198485)

# Rows looked up together: their numbers stay in the cache.
CHUNK_ROWS = 512
MISSING_KEY = np.uint32(2**32 - 1)


@kernel
def _first_slot(value, size):
    """Return the slot, of `size` (a power of two), at which the search for a value begins.

    It is the top bits of the product with _GOLDEN: all bits of the value have an influence on them.
    """
    return (np.uint64(value) * _GOLDEN >> np.uint64(32)) * np.uint64(size) >> np.uint64(32)


class Segments(NamedTuple):
    """The segments of all blocks, and the index of their joint values.

    Attributes:
        first_segment: (B + 1,) int64, where each block's segments begin.
        first_column: (S + 1,) int64, where each segment's columns begin.
        columns, n_levels: int32 and int64, segment after segment.
        slot_start, mask, slots, slot_values: as in the index of seen cells, of values instead of cells.
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

    `columns` to `slot_cells` describe all tuples, as in the module. Handles many tuples at once: a call for each would
    count references to all these arrays, 60 ns against 3.
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
    """Write the cell-table rows that rows begin..end of codes (a, N) look up, one for each tuple, to out (end - begin,
    T).

    `columns` to `slot_cells` describe the tuples and the index of their seen cells, as in the module; out is uint32.
    """
    all_tuples, cell_rows = np.arange(len(start)), np.empty(len(start), np.int64)
    for i in range(begin, end):
        _cell_rows(codes, i, all_tuples, columns, strides, levels, start, mask, shift, slots, slot_cells, cell_rows)
        for t in all_tuples:
            out[i - begin, t] = cell_rows[t]


@kernel
def score(codes, begin, end, columns, strides, levels, start, mask, shift, slots, slot_cells, cells, bias, z):
    """Write to z (N, C) the scores of rows begin..end: `bias` (C,) plus a row of `cells` (2T + S, C) for each tuple.

    `codes` (a, N) are the rows' levels; `columns` to `slot_cells` describe the tuples and the index of their seen
    cells, as in the module.
    """
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
    tuples[first_tuple[b] : first_tuple[b + 1]]. `columns` to `slot_cells` are as in the module; `cells` (2T + S, C) is
    the cell table.
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

    `examples` (m,) are rows of the codes, one for each joint value; `tuples` are the block's; `columns` to `slot_cells`
    are as in the module.
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


@kernel
def join(key, size, codes, n_levels, slots, examples):
    """Replace each row's key by the number of its pair (key, code); return the number of pairs that occur.

    Codes above n_levels count as n_levels, "no level". slots: (size * (n_levels + 1),); examples[v] is written with
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
            examples[number] = r
            n_found += 1
        key[r] = number
    for v in range(size * width):
        slots[v] = -1
    return n_found


@kernel
def join_hashed(key, codes, n_levels, slot_values, slots, examples):
    """Number the pairs (key, code) as `join` does, looking them up by hash: for columns with too many possible pairs.

    key, codes: (N,); codes above n_levels count as "no level". slot_values (int64) and slots have one size, a power of
    two above twice the rows; both are left filled. examples[v] is written with the first row of pair v.
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
            examples[n_found] = r
            n_found += 1
        key[r] = slots[h]
    return n_found


@kernel
def cells_of(codes, rows, columns, strides, levels, out):
    """Write to out (len(rows),) each row's cell of one tuple, counted within the tuple; -1 where a code is no level.

    codes (a, N); columns, strides (n,) of the tuple; levels (a,) of all columns.
    """
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

    codes (a, N), levels (a,); columns, strides, cards as in the module. marks: as many as a tuple has possible cells, 0
    everywhere before and after; row_cells: as many as rows, workspace.
    """
    n_found = 0
    for k in range(len(tuples)):
        t = tuples[k]
        cells_of(codes, rows, columns[t], strides[t], levels, row_cells)
        n_found_before = n_found
        for v in range(len(rows)):
            if row_cells[v] >= 0:
                marks[row_cells[v]] = 1
        for c in range(cards[t]):
            if marks[c]:
                out[n_found] = c
                n_found += 1
                marks[c] = 0
        counts[k] = n_found - n_found_before


@kernel
def _find_slot(value, slot_start, mask, slots, slot_values):
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
    joint_value = np.empty(CHUNK_ROWS, np.int64)
    any_missing = False
    for chunk_start in range(begin, end, CHUNK_ROWS):
        n_chunk_rows = min(CHUNK_ROWS, end - chunk_start)
        chunk_row = first_row + chunk_start
        is_missing[chunk_start : chunk_start + n_chunk_rows] = 0
        for b in range(len(first_segment) - 1):
            joint_value[:n_chunk_rows] = 0
            for s in range(first_segment[b], first_segment[b + 1]):
                for c in range(first_column[s], first_column[s + 1]):
                    column_codes, last_level = codes[columns[c], chunk_row : chunk_row + n_chunk_rows], n_levels[c]
                    for r in range(n_chunk_rows):  # a number below 0, of a missing segment, stays below 0
                        joint_value[r] = joint_value[r] * (last_level + 1) + min(np.int64(column_codes[r]), last_level)
                if mask[s] < 0:
                    for r in range(n_chunk_rows):
                        joint_value[r] = slots[slot_start[s] + joint_value[r]]
                else:
                    for r in range(n_chunk_rows):
                        if joint_value[r] >= 0:
                            joint_value[r] = slots[
                                _find_slot(joint_value[r], slot_start[s], mask[s], slots, slot_values)
                            ]
                        else:
                            joint_value[r] = -1
            for r in range(n_chunk_rows):
                keys[b, chunk_start + r] = np.uint32(joint_value[r])
                if joint_value[r] < 0:
                    is_missing[chunk_start + r] = 1
                    any_missing = True
    return any_missing


@kernel
def add_values(
    codes, first_row, rows, begin, max_rows, segments, numbers, keys, value_blocks, examples, first_new, state
):
    """Add the missing joint values of rows[begin:] to the table; return the place in `rows` where it ended.

    It ends early where a segment must grow first, or where the table has max_rows rows.

    Args:
        codes: (a, N); the keys of row first_row + i of the codes are keys[:, i].
        segments: `Segments`, whose slots are filled.
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
                slot = _find_slot(value, slot_start[s], mask[s], slots, slot_values)
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
            slot = _find_slot(slot_values[old_slot], slot_start, mask, slots, slot_values)
            slots[slot], slot_values[slot] = slots[old_slot], slot_values[old_slot]
