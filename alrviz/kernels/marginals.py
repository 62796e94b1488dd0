"""Missing columns of a tree, summed out: upward for the sums, down again for the shares of what is summed.

    below_j(v)   sum over the children c of j whose columns say something of
                     log p(x_c | v, k)                                where c has a level
                     up_c(v)                                          where it has none
    up_j(u)      log of the sum over v of  p(v | u, k) exp(below_j(v))

A part is a missing column `top`, whose parent has a level or which has none, and what hangs together with it by missing
columns. All of it is in logarithms: no product of many tables underflows. Columns stand in `order` with all that is
below a column behind it, up to `last`; `rows[start[j] + u]` is where the table of j under its parent's level u begins
in phi, -1 where no weights are kept of it: there a level has what it has alone, from `first[j]` on (models/marginals.py
has all of the tree).
"""

import math

import numpy as np

from alrviz.kernels import kernel


@kernel
def _part(codes, i, top, order, place, last, levels, found):
    """Write to found (a,) the columns of part i, parents first, and return how many they are."""
    n, at = 0, place[top]
    while at < last[top]:
        j = order[at]
        found[n] = j
        n += 1
        at = last[j] if codes[j, i] < levels[j] else at + 1
    return n


@kernel
def _log_sum(table, row, n, k, below, at):
    """log of the sum of exp(table + below) over n levels, from `row` of class k and from `at` on."""
    top = -np.inf
    for v in range(n):
        top = max(top, table[row + v, k] + below[at + v])
    if not np.isfinite(top):
        return top
    total = 0.0
    for v in range(n):
        total += math.exp(table[row + v, k] + below[at + v] - top)
    return top + math.log(total)


@kernel
def _upward(codes, i, found, n, k, parent, levels, first, start, rows, phi, alone, below, up, says):
    """Return what part i adds to the score of class k, and fill below_j from place first[j] on, up_j from start[j] on,
    and says (a,): whether a column or anything below it has a level.
    """
    for x in range(n):
        j = found[x]
        says[j] = codes[j, i] < levels[j]
        if not says[j]:
            for v in range(first[j], first[j] + levels[j]):
                below[v] = 0.0
    for x in range(n - 1, 0, -1):
        j = found[x]
        if not says[j]:
            continue
        above, own, top = parent[j], np.int64(codes[j, i]), levels[j]
        says[above] = True
        for u in range(levels[above]):
            row = rows[start[j] + u]
            if own < top:
                value = phi[row + own, k] if row >= 0 else alone[first[j] + own, k]
            else:
                if row >= 0:
                    value = _log_sum(phi, row, top, k, below, first[j])
                else:
                    value = _log_sum(alone, first[j], top, k, below, first[j])
                up[start[j] + u] = value
            below[first[above] + u] += value
    j = found[0]
    row = rows[start[j] + (np.int64(codes[parent[j], i]) if parent[j] >= 0 else 0)]
    if row >= 0:
        return _log_sum(phi, row, levels[j], k, below, first[j])
    return _log_sum(alone, first[j], levels[j], k, below, first[j])


@kernel
def log_sums(codes, tops, begin, end, k, tree, phi, alone, sums):
    """Write to sums (parts, C) what parts begin .. end - 1 add to the score of class k; codes (a, parts)."""
    order, place, last, parent, levels, first, start, rows = tree
    found, says = np.empty(len(order), np.int64), np.empty(len(order), np.bool_)
    below, up = np.empty(len(alone)), np.empty(len(rows))
    for i in range(begin, end):
        n = _part(codes, i, tops[i], order, place, last, levels, found)
        sums[i, k] = _upward(codes, i, found, n, k, parent, levels, first, start, rows, phi, alone, below, up, says)


@kernel
def add_shares(codes, tops, begin, end, k, tree, phi, alone, residual, gradient):
    """Add to gradient (S, C) the slopes of class k along phi that parts begin .. end - 1 have: residual (parts, C)
    times the share p(u, v | x, k) of each pair of levels.
    """
    order, place, last, parent, levels, first, start, rows = tree
    found, says = np.empty(len(order), np.int64), np.empty(len(order), np.bool_)
    below, up, share = np.empty(len(alone)), np.empty(len(rows)), np.empty(len(alone))
    for i in range(begin, end):
        slope, top = residual[i, k], tops[i]
        n = _part(codes, i, top, order, place, last, levels, found)
        total = _upward(codes, i, found, n, k, parent, levels, first, start, rows, phi, alone, below, up, says)
        row = rows[start[top] + (np.int64(codes[parent[top], i]) if parent[top] >= 0 else 0)]
        for v in range(levels[top]):
            at = first[top] + v
            share[at] = math.exp((phi[row + v, k] if row >= 0 else alone[at, k]) + below[at] - total)
            if row >= 0:
                gradient[row + v, k] += slope * share[at]
        for x in range(1, n):
            j = found[x]
            if not says[j]:  # its shares are its table's own: softmax takes their slopes away
                continue
            above, own = parent[j], np.int64(codes[j, i])
            if own >= levels[j]:
                for v in range(first[j], first[j] + levels[j]):
                    share[v] = 0.0
            for u in range(levels[above]):
                row, p = rows[start[j] + u], share[first[above] + u]
                if own < levels[j]:
                    if row >= 0:
                        gradient[row + own, k] += slope * p
                    continue
                for v in range(levels[j]):
                    at = first[j] + v
                    log_p = phi[row + v, k] if row >= 0 else alone[at, k]
                    q = p * math.exp(log_p + below[at] - up[start[j] + u])
                    share[at] += q
                    if row >= 0:
                        gradient[row + v, k] += slope * q


@kernel
def add_to_rows(sums, of, rows, z):
    """Add sums[of[m]] to the first C columns of z[rows[m]], for every m."""
    for m in range(len(rows)):
        for k in range(sums.shape[1]):
            z[rows[m], k] += sums[of[m], k]


@kernel
def add_of_rows(z, of, rows, sums):
    """Add the first C columns of z[rows[m]] to sums[of[m]], for every m."""
    for m in range(len(rows)):
        for k in range(sums.shape[1]):
            sums[of[m], k] += z[rows[m], k]
