"""AnDE: the arithmetic mean over super-parents, row by row.

    z[i, k] = log of the mean, over the tuples t whose cell in row i was seen, of
              exp(joint[cell, k]) * product over other columns j of  (N(x_t, x_j, k) + m / card(j)) / (N(x_t, k) + m)

Where class k has no row in the cell, column j stands alone: exp(alone[its level, k]). -inf where no cell was seen.
"""

from typing import Any, NamedTuple

import numpy as np

from alrviz.kernels import kernel

# Products are turned into logarithms before they leave the range of float64: each factor is above 1e-40 here.
_SMALL = 1e-200
# Multiplier of Fibonacci hashing, as in cells.py, whose compiled kernels would not see an edit elsewhere.
_GOLDEN = np.uint64(11400714819323198485)


class Counts(NamedTuple):
    """What was counted.

    Attributes:
        counts, joint: (S, C) of order n, and log p(cell, class). cells: (S', C) of order n + 1.
        shares: (a,) m / card. smoothing: m.
        alone: (sum of levels, C) of each level by itself. first: (a + 1,) where each column's levels begin.
    """

    counts: Any
    joint: Any
    cells: Any
    shares: Any
    smoothing: float
    alone: Any
    first: Any


class Index(NamedTuple):
    """The cells of an order: columns and strides (T, n) of its tuples, and slots as in cells.py."""

    columns: Any
    strides: Any
    where: Any
    mask: Any
    shift: Any
    slots: Any
    held: Any


class Groups(NamedTuple):
    """Columns taken together: group g is members[at[g] : at[g + 1]], each of widths[j] codes."""

    at: Any
    members: Any
    widths: Any


@kernel
def score(found, wider, codes, begin, larger, counted, z):
    """Write to z (n, C) the log of the mean over super-parents for rows begin, begin + 1, ...

    found (n, T), wider (n, T'): rows in the cell tables of order n and n + 1. larger (T, a): the tuple of order n + 1
    that a tuple and a column make, -1 where the column is its own.
    """
    counts, joint, cells, shares, smoothing, alone, first = counted
    rows, tuples = found.shape
    columns, classes = larger.shape[1], z.shape[1]
    value, product, below = np.empty(classes), np.empty(classes), np.empty(classes)
    top, total = np.empty(classes), np.empty(classes)
    for i in range(rows):
        n_seen = 0
        for k in range(classes):
            top[k], total[k] = -np.inf, 0.0
        for t in range(tuples):
            s = np.int64(found[i, t]) - 2 * tuples
            if s < 0:
                continue
            n_seen += 1
            for k in range(classes):
                value[k], product[k], below[k] = joint[s, k], 1.0, 1.0 / (counts[s, k] + smoothing)
            for j in range(columns):
                level = np.int64(codes[j, begin + i])
                if larger[t, j] < 0 or first[j] + level >= first[j + 1]:
                    continue
                c = np.int64(wider[i, larger[t, j]]) - 2 * wider.shape[1]
                for k in range(classes):
                    if counts[s, k] > 0.0:
                        product[k] *= ((cells[c, k] if c >= 0 else 0.0) + shares[j]) * below[k]
                        if product[k] < _SMALL:
                            value[k] += np.log(product[k])
                            product[k] = 1.0
                    else:
                        value[k] += alone[first[j] + level, k]
            for k in range(classes):
                v = value[k] + np.log(product[k])
                if v > top[k]:
                    total[k] = total[k] * np.exp(top[k] - v) + 1.0
                    top[k] = v
                else:
                    total[k] += np.exp(v - top[k])
        for k in range(classes):
            z[i, k] = top[k] + np.log(total[k] / n_seen) if n_seen > 0 else -np.inf


@kernel
def expand(own, codes, counted, wider, index, levels, groups, blocks, table):
    """Write to table (blocks[-1], W) what a parent's seen cells and the columns' levels add to the log of the product.

    own (n,): the parent's columns; codes (S, n) and counted.counts, .joint (S, C): of its seen cells; wider (a,): as a
    row of `larger`; index: of order n + 1. Of groups.widths[j] codes levels[j] and above are no level.
    Block 0 of the table is log p(cell, class), block g + 1 the sum over group g's columns for each of its joint values,
    cell by cell; each block ends with a cell more, that no row has: -inf, and 0.
    """
    counts, joint, cells, shares, smoothing, alone, first = counted
    columns, strides, where, mask, shift, slots, held = index
    at, members, widths = groups
    n_cells, classes = counts.shape
    n = len(own)
    for row in range(len(table)):
        for k in range(table.shape[1]):
            table[row, k] = 0.0
    for k in range(classes):
        table[n_cells, k] = -np.inf
    single = np.zeros((widths.max(), classes))
    below = np.empty(classes)
    for s in range(n_cells):
        for k in range(classes):
            table[s, k] = joint[s, k]
            below[k] = np.log(counts[s, k] + smoothing)
        for g in range(len(at) - 1):
            values = np.int64(1)
            for m in range(at[g], at[g + 1]):
                values *= widths[members[m]]
            begin, size = blocks[g + 1] + s * values, np.int64(1)
            for m in range(at[g], at[g + 1]):
                j = members[m]
                single[:] = 0.0
                u = wider[j]
                if u >= 0:
                    cell, step, p = np.int64(0), np.int64(0), 0
                    for q in range(n + 1):
                        if columns[u, q] == j:
                            step = strides[u, q]
                        else:
                            cell += codes[s, p] * strides[u, q]
                            p += 1
                    share = np.log(shares[j])
                    for v in range(levels[j]):
                        c = _seen_cell(cell + v * step, where[u], mask[u], shift[u], slots, held)
                        for k in range(classes):
                            if counts[s, k] > 0.0:
                                count = cells[c, k] if c >= 0 else 0.0
                                single[v, k] = (np.log(count + shares[j]) if count > 0.0 else share) - below[k]
                            else:
                                single[v, k] = alone[first[j] + v, k]
                for v in range(size - 1, -1, -1):  # from the last: what is read is not yet written
                    for d in range(widths[j] - 1, -1, -1):
                        for k in range(classes):
                            table[begin + v * widths[j] + d, k] = table[begin + v, k] + single[d, k]
                size *= widths[j]


@kernel
def _seen_cell(local, where, mask, shift, slots, held):
    """The number of a tuple's seen cell, -1 if it was not seen."""
    place = where + local
    if mask >= 0:
        m = np.uint64(mask)
        h = (np.uint64(local) * _GOLDEN >> np.uint64(32)) * np.uint64(mask + 1) >> np.uint64(32)
        while slots[where + np.int64(h)] >= 0 and held[where - shift + np.int64(h)] != local:
            h = (h + np.uint64(1)) & m
        place = where + np.int64(h)
    return np.int64(slots[place])


@kernel
def keys(codes, begin, end, index, t, levels, low, n_cells, values, joint, out):
    """Write to out (G + 1, end - begin) where rows begin..end find a parent's cell, and with it each group's values.

    t: the parent, a tuple of the index; low: its first seen cell, of n_cells; values (G,) and joint (G, N): joint
    values of each group, and those of the rows.
    """
    own, strides = index.columns[t], index.strides[t]
    where, mask, shift, slots, held = index.where[t], index.mask[t], index.shift[t], index.slots, index.held
    for r in range(end - begin):
        local = np.int64(0)
        for j in range(len(own)):
            code = np.int64(codes[own[j], begin + r])
            if code >= levels[own[j]]:
                local = np.int64(-1)
                break
            local += code * strides[j]
        s = _seen_cell(local, where, mask, shift, slots, held) if local >= 0 else np.int64(-1)
        out[0, r] = s - low if s >= 0 else n_cells
    for g in range(len(values)):
        for r in range(end - begin):
            out[g + 1, r] = out[0, r] * values[g] + joint[g, begin + r]
