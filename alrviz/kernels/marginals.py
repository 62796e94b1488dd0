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
def _part(codes, i, top, tree, found):
    """Write to found (a,) the columns of part i, parents first, and return how many they are."""
    n, at = 0, tree.place[top]
    while at < tree.last[top]:
        j = tree.order[at]
        found[n] = j
        n += 1
        at = tree.last[j] if codes[j, i] < tree.levels[j] else at + 1
    return n


@kernel
def _log_p(j, u, v, k, tree, phi, alone):
    """log p(v | u, k) of column j; u is 0 where it has no parent."""
    row = tree.rows[tree.start[j] + u]
    return phi[row + v, k] if row >= 0 else alone[tree.first[j] + v, k]


@kernel
def _log_sum(j, u, k, tree, phi, alone, below):
    """up_j(u)."""
    top = -np.inf
    for v in range(tree.levels[j]):
        top = max(top, _log_p(j, u, v, k, tree, phi, alone) + below[tree.first[j] + v])
    if not np.isfinite(top):
        return top
    total = 0.0
    for v in range(tree.levels[j]):
        total += math.exp(_log_p(j, u, v, k, tree, phi, alone) + below[tree.first[j] + v] - top)
    return top + math.log(total)


@kernel
def _upward(codes, i, found, n, k, tree, phi, alone, below, up, says):
    """Return what part i adds to the score of class k, and fill below_j from place tree.first[j] on, up_j from
    tree.start[j] on, and says (a,): whether a column or anything below it has a level.
    """
    for x in range(n):
        j = found[x]
        says[j] = codes[j, i] < tree.levels[j]
        if not says[j]:
            below[tree.first[j] : tree.first[j] + tree.levels[j]] = 0.0
    for x in range(n - 1, 0, -1):
        j = found[x]
        if not says[j]:
            continue
        above = tree.parent[j]
        says[above] = True
        v = np.int64(codes[j, i])
        for u in range(tree.levels[above]):
            if v < tree.levels[j]:
                value = _log_p(j, u, v, k, tree, phi, alone)
            else:
                value = _log_sum(j, u, k, tree, phi, alone, below)
                up[tree.start[j] + u] = value
            below[tree.first[above] + u] += value
    top = found[0]
    at = np.int64(codes[tree.parent[top], i]) if tree.parent[top] >= 0 else np.int64(0)
    return _log_sum(top, at, k, tree, phi, alone, below)


@kernel
def log_sums(codes, tops, begin, end, k, tree, phi, alone, sums):
    """Write to sums (parts, C) what parts begin .. end - 1 add to the score of class k; codes (a, parts)."""
    found, says = np.empty(len(tree.order), np.int64), np.empty(len(tree.order), np.bool_)
    below, up = np.empty(len(alone)), np.empty(len(tree.rows))
    for i in range(begin, end):
        n = _part(codes, i, tops[i], tree, found)
        sums[i, k] = _upward(codes, i, found, n, k, tree, phi, alone, below, up, says)


@kernel
def add_shares(codes, tops, begin, end, k, tree, phi, alone, residual, gradient):
    """Add to gradient (S, C) the slopes of class k along phi that parts begin .. end - 1 have: residual (parts, C)
    times the share p(u, v | x, k) of each pair of levels.
    """
    found, says = np.empty(len(tree.order), np.int64), np.empty(len(tree.order), np.bool_)
    below, up, share = np.empty(len(alone)), np.empty(len(tree.rows)), np.empty(len(alone))
    for i in range(begin, end):
        slope, top = residual[i, k], tops[i]
        n = _part(codes, i, top, tree, found)
        total = _upward(codes, i, found, n, k, tree, phi, alone, below, up, says)
        at = np.int64(codes[tree.parent[top], i]) if tree.parent[top] >= 0 else np.int64(0)
        row = tree.rows[tree.start[top] + at]
        for v in range(tree.levels[top]):
            p = math.exp(_log_p(top, at, v, k, tree, phi, alone) + below[tree.first[top] + v] - total)
            share[tree.first[top] + v] = p
            if row >= 0:
                gradient[row + v, k] += slope * p
        for x in range(1, n):
            j = found[x]
            if not says[j]:  # its shares are its table's own: softmax takes their slopes away
                continue
            above, own = tree.parent[j], np.int64(codes[j, i])
            if own >= tree.levels[j]:
                share[tree.first[j] : tree.first[j] + tree.levels[j]] = 0.0
            for u in range(tree.levels[above]):
                row, p = tree.rows[tree.start[j] + u], share[tree.first[above] + u]
                if own < tree.levels[j]:
                    if row >= 0:
                        gradient[row + own, k] += slope * p
                    continue
                for v in range(tree.levels[j]):
                    log_q = _log_p(j, u, v, k, tree, phi, alone) + below[tree.first[j] + v] - up[tree.start[j] + u]
                    q = p * math.exp(log_q)
                    share[tree.first[j] + v] += q
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
