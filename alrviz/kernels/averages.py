"""AnDE: the arithmetic mean over super-parents, row by row.

    z[i, k] = log of the mean, over the tuples t whose cell in row i was seen, of
              exp(joint[cell, k]) * product over other columns j of  (N(x_t, x_j, k) + m / card(j)) / (N(x_t, k) + m)

Where class k has no row in the cell, column j is taken by itself: exp(level_log_p[its level, k]). -inf where no cell
was seen.
"""

from typing import Any, NamedTuple

import numpy as np

from alrviz.kernels import kernel

# A product below this is turned into its logarithm: each factor is above 1e-40, so the next one cannot underflow.
_MIN_PRODUCT = 1e-200
# Multiplier of Fibonacci hashing, as in cells.py, whose compiled kernels would not see an edit elsewhere.
_GOLDEN = np.uint64(11400714819323198485)


class Counts(NamedTuple):
    """Counts of cells, and the probabilities made of them.

    Attributes:
        counts: (S, C) weight of each cell of order n and class.
        joint: (S, C) log p(cell, class).
        cells: (S', C) counts of the cells of order n + 1.
        shares: (a,) m / card of each column.
        smoothing: m.
        level_log_p: (sum of levels, C) log p(level | class), column after column.
        first_level: (a + 1,) where each column's levels begin in `level_log_p`.
    """

    counts: Any
    joint: Any
    cells: Any
    shares: Any
    smoothing: float
    level_log_p: Any
    first_level: Any


class Index(NamedTuple):
    """The index of an order's seen cells: columns and strides (T, n) of its tuples, and their slots as in cells.py."""

    columns: Any
    strides: Any
    start: Any
    mask: Any
    shift: Any
    slots: Any
    slot_cells: Any


class Groups(NamedTuple):
    """Columns joined into groups: group g is members[first_member[g] : first_member[g + 1]].

    Column j has widths[j] codes.
    """

    first_member: Any
    members: Any
    widths: Any


@kernel
def score(cell_rows, larger_rows, codes, begin, larger_tuples, counted_cells, z):
    """Write to z (n, C) the log of the mean over super-parents for rows begin, begin + 1, ...

    Args:
        cell_rows, larger_rows: (n, T) and (n, T') rows of the cell tables of order n and n + 1.
        codes: (a, N) codes of the columns.
        larger_tuples: (T, a) the tuple of order n + 1 that a tuple and a column make, -1 where the tuple has the
            column.
        counted_cells: `Counts`.
    """
    counts, joint, cells, shares, smoothing, level_log_p, first_level = counted_cells
    n_rows, n_tuples = cell_rows.shape
    n_columns, n_classes = larger_tuples.shape[1], z.shape[1]
    value, product, inverse_count = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    largest, exp_sums = np.empty(n_classes), np.empty(n_classes)
    for i in range(n_rows):
        n_seen = 0
        for k in range(n_classes):
            largest[k], exp_sums[k] = -np.inf, 0.0
        for t in range(n_tuples):
            s = np.int64(cell_rows[i, t]) - 2 * n_tuples
            if s < 0:
                continue
            n_seen += 1
            for k in range(n_classes):
                value[k], product[k], inverse_count[k] = joint[s, k], 1.0, 1.0 / (counts[s, k] + smoothing)
            for j in range(n_columns):
                level = np.int64(codes[j, begin + i])
                if larger_tuples[t, j] < 0 or first_level[j] + level >= first_level[j + 1]:
                    continue
                c = np.int64(larger_rows[i, larger_tuples[t, j]]) - 2 * larger_rows.shape[1]
                for k in range(n_classes):
                    if counts[s, k] > 0.0:
                        product[k] *= ((cells[c, k] if c >= 0 else 0.0) + shares[j]) * inverse_count[k]
                        if product[k] < _MIN_PRODUCT:
                            value[k] += np.log(product[k])
                            product[k] = 1.0
                    else:
                        value[k] += level_log_p[first_level[j] + level, k]
            for k in range(n_classes):
                v = value[k] + np.log(product[k])
                if v > largest[k]:
                    exp_sums[k] = exp_sums[k] * np.exp(largest[k] - v) + 1.0
                    largest[k] = v
                else:
                    exp_sums[k] += np.exp(v - largest[k])
        for k in range(n_classes):
            z[i, k] = largest[k] + np.log(exp_sums[k] / n_seen) if n_seen > 0 else -np.inf


@kernel
def expand_parent(parent, codes, counted_cells, larger_tuples, index, levels, groups, blocks, table):
    """Write the log of the product of one super-parent as score tables, so that rows add up look-ups.

    Block 0 of `table` is log p(cell, class). Block g + 1 is the sum over group g's columns for each of its joint
    values, cell by cell. Each block ends with one more cell, of rows whose parent cell was not seen: -inf in block 0,
    else 0.

    Args:
        parent: (n,) the parent's columns.
        codes: (S, n) of the parent's seen cells.
        counted_cells: `Counts`, of which counts and joint are the parent's alone.
        larger_tuples: (a,) as a row in `score`.
        index: of order n + 1.
        levels: (a,) of the groups.widths[j] codes of a column, those from levels[j] on are no level.
        groups: columns of a block each.
        blocks: (G + 2,) where each block begins.
        table: (blocks[-1], W) written.
    """
    counts, joint, cells, shares, smoothing, level_log_p, first_level = counted_cells
    columns, strides, start, mask, shift, slots, slot_cells = index
    first_member, members, widths = groups
    n_cells, n_classes = counts.shape
    n_parents = len(parent)
    for row in range(len(table)):
        for k in range(table.shape[1]):
            table[row, k] = 0.0
    for k in range(n_classes):
        table[n_cells, k] = -np.inf
    column_sums = np.zeros((widths.max(), n_classes))
    log_count = np.empty(n_classes)
    for s in range(n_cells):
        for k in range(n_classes):
            table[s, k] = joint[s, k]
            log_count[k] = np.log(counts[s, k] + smoothing)
        for g in range(len(first_member) - 1):
            n_values = np.int64(1)
            for m in range(first_member[g], first_member[g + 1]):
                n_values *= widths[members[m]]
            first_row, n_joint_values = blocks[g + 1] + s * n_values, np.int64(1)
            for m in range(first_member[g], first_member[g + 1]):
                j = members[m]
                column_sums[:] = 0.0
                u = larger_tuples[j]
                if u >= 0:
                    cell, step, p = np.int64(0), np.int64(0), 0
                    for q in range(n_parents + 1):
                        if columns[u, q] == j:
                            step = strides[u, q]
                        else:
                            cell += codes[s, p] * strides[u, q]
                            p += 1
                    log_share = np.log(shares[j])
                    for v in range(levels[j]):
                        c = _seen_cell(cell + v * step, start[u], mask[u], shift[u], slots, slot_cells)
                        for k in range(n_classes):
                            if counts[s, k] > 0.0:
                                count = cells[c, k] if c >= 0 else 0.0
                                column_sums[v, k] = (
                                    np.log(count + shares[j]) if count > 0.0 else log_share
                                ) - log_count[k]
                            else:
                                column_sums[v, k] = level_log_p[first_level[j] + v, k]
                for v in range(n_joint_values - 1, -1, -1):  # backwards, so that a row is read before it is overwritten
                    for d in range(widths[j] - 1, -1, -1):
                        for k in range(n_classes):
                            table[first_row + v * widths[j] + d, k] = table[first_row + v, k] + column_sums[d, k]
                n_joint_values *= widths[j]


@kernel
def _seen_cell(local, start, mask, shift, slots, slot_cells):
    """Return the number of a tuple's seen cell, -1 if it was not seen.

    local: the cell's number within the tuple. start: first slot of the tuple. mask: size of its hash table less 1, or
    negative if every cell has a slot. shift: what slot numbers exceed those of slot_cells by.
    """
    slot = start + local
    if mask >= 0:
        m = np.uint64(mask)
        h = (np.uint64(local) * _GOLDEN >> np.uint64(32)) * np.uint64(mask + 1) >> np.uint64(32)
        while slots[start + np.int64(h)] >= 0 and slot_cells[start - shift + np.int64(h)] != local:
            h = (h + np.uint64(1)) & m
        slot = start + np.int64(h)
    return np.int64(slots[slot])


@kernel
def parent_keys(codes, begin, end, index, t, levels, first_cell, n_cells, group_values, joint_values, out):
    """Write where rows begin..end look up a parent's score tables (`expand_parent`).

    Args:
        codes: (a, N) codes of the columns.
        index: of the parent's order.
        t: the parent, a tuple of the index.
        levels: (a,) codes from levels[j] on are no level.
        first_cell, n_cells: the parent's first seen cell, and their number.
        group_values: (G,) number of joint values of each group.
        joint_values: (G, N) the rows' joint values.
        out: (G + 1, end - begin) written.
    """
    parent, strides = index.columns[t], index.strides[t]
    start, mask, shift, slots, slot_cells = index.start[t], index.mask[t], index.shift[t], index.slots, index.slot_cells
    for r in range(end - begin):
        local = np.int64(0)
        for j in range(len(parent)):
            code = np.int64(codes[parent[j], begin + r])
            if code >= levels[parent[j]]:
                local = np.int64(-1)
                break
            local += code * strides[j]
        s = _seen_cell(local, start, mask, shift, slots, slot_cells) if local >= 0 else np.int64(-1)
        out[0, r] = s - first_cell if s >= 0 else n_cells
    for g in range(len(group_values)):
        for r in range(end - begin):
            out[g + 1, r] = out[0, r] * group_values[g] + joint_values[g, begin + r]
