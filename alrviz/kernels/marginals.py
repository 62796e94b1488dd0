"""Missing columns of a tree, summed out: messages upward for the sums, beliefs downward for their slopes (Pearl 1988).

    collected_j(v)   sum over the children c of j that have evidence of
                         log p(x_c | v, k)                                where c has a level
                         message_c(v)                                     where it has none
    message_j(u)     log of the sum over v of  p(v | u, k) exp(collected_j(v))

A column has evidence where it or a column below it has a level. A *part* is a maximal set of missing columns that are
connected in the tree; its root's parent has a level, or the root has no parent. All sums are of logarithms, so that
products of many tables do not underflow.

    tree     order (a,): the columns, each followed by all below it; place (a,) of a column in `order`, last (a,) the
             end of what is below it; parent (a,), -1 for none; levels (a,); first (a,) where a column's levels
             begin in level_log_p; start, rows: the table of j under its parent's level u begins in phi at
             rows[start[j] + u], -1 where it has no weights and level_log_p is used
    codes    (a, N) of rows; a code >= levels[j] is missing
    row_of_part  (P,) a row of `codes` that has each part; roots (P,) the part's root
    phi      (S, C), level_log_p (L, C) as in models/networks.py; k is the class
"""

import math

import numpy as np

from alrviz.kernels import kernel


@kernel
def _part_columns(codes, i, root, order, place, last, levels, columns):
    """Write to columns (a,) the columns of row i's part below `root`, with those that end it, parents first; return how
    many.

    codes, order, place, last and levels as in the module.
    """
    n_columns, position = 0, place[root]
    while position < last[root]:
        j = order[position]
        columns[n_columns] = j
        n_columns += 1
        position = last[j] if codes[j, i] < levels[j] else position + 1
    return n_columns


@kernel
def _log_sum(table, begin, n, k, collected, offset):
    """Return log of the sum of exp(table[begin + v, k] + collected[offset + v]) over n levels v."""
    largest = -np.inf
    for v in range(n):
        largest = max(largest, table[begin + v, k] + collected[offset + v])
    if not np.isfinite(largest):
        return largest
    exp_sum = 0.0
    for v in range(n):
        exp_sum += math.exp(table[begin + v, k] + collected[offset + v] - largest)
    return largest + math.log(exp_sum)


@kernel
def _upward(
    codes, i, columns, n, k, parent, levels, first, start, rows, phi, level_log_p, collected, message, evidence
):
    """Return what the part of row i in the first n of `columns` adds to the score of class k.

    Fills collected (L,) from first[j] on, message (len(rows),) from start[j] on, and evidence (a,). The other arguments
    are those of the module.
    """
    for x in range(n):
        j = columns[x]
        evidence[j] = codes[j, i] < levels[j]
        if not evidence[j]:
            for v in range(first[j], first[j] + levels[j]):
                collected[v] = 0.0
    for x in range(n - 1, 0, -1):
        j = columns[x]
        if not evidence[j]:
            continue
        parent_column, code, n_levels = parent[j], np.int64(codes[j, i]), levels[j]
        evidence[parent_column] = True
        for u in range(levels[parent_column]):
            table_row = rows[start[j] + u]
            if code < n_levels:
                value = phi[table_row + code, k] if table_row >= 0 else level_log_p[first[j] + code, k]
            else:
                if table_row >= 0:
                    value = _log_sum(phi, table_row, n_levels, k, collected, first[j])
                else:
                    value = _log_sum(level_log_p, first[j], n_levels, k, collected, first[j])
                message[start[j] + u] = value
            collected[first[parent_column] + u] += value
    j = columns[0]
    table_row = rows[start[j] + (np.int64(codes[parent[j], i]) if parent[j] >= 0 else 0)]
    if table_row >= 0:
        return _log_sum(phi, table_row, levels[j], k, collected, first[j])
    return _log_sum(level_log_p, first[j], levels[j], k, collected, first[j])


@kernel
def log_sums(codes, row_of_part, roots, begin, end, k, tree, phi, level_log_p, sums):
    """Write to sums (P, C) what parts begin .. end - 1 add to the score of class k; the arguments are those of the
    module.
    """
    order, place, last, parent, levels, first, start, rows = tree
    columns, evidence = np.empty(len(order), np.int64), np.empty(len(order), np.bool_)
    collected, message = np.empty(len(level_log_p)), np.empty(len(rows))
    for m in range(begin, end):
        i = row_of_part[m]
        n = _part_columns(codes, i, roots[m], order, place, last, levels, columns)
        sums[m, k] = _upward(
            codes, i, columns, n, k, parent, levels, first, start, rows, phi, level_log_p, collected, message, evidence
        )


@kernel
def add_slopes(codes, row_of_part, roots, begin, end, k, tree, phi, level_log_p, residual, gradient):
    """Add to gradient (S, C) the slopes of class k along phi of parts begin .. end - 1.

    A slope is residual (P, C) times the posterior p(u, v | x, k) of a pair of levels. The other arguments are those of
    the module.
    """
    order, place, last, parent, levels, first, start, rows = tree
    columns, evidence = np.empty(len(order), np.int64), np.empty(len(order), np.bool_)
    collected, message, belief = np.empty(len(level_log_p)), np.empty(len(rows)), np.empty(len(level_log_p))
    for m in range(begin, end):
        i, slope, root = row_of_part[m], residual[m, k], roots[m]
        n = _part_columns(codes, i, root, order, place, last, levels, columns)
        log_sum = _upward(
            codes, i, columns, n, k, parent, levels, first, start, rows, phi, level_log_p, collected, message, evidence
        )
        table_row = rows[start[root] + (np.int64(codes[parent[root], i]) if parent[root] >= 0 else 0)]
        for v in range(levels[root]):
            entry = first[root] + v
            belief[entry] = math.exp(
                (phi[table_row + v, k] if table_row >= 0 else level_log_p[entry, k]) + collected[entry] - log_sum
            )
            if table_row >= 0:
                gradient[table_row + v, k] += slope * belief[entry]
        for x in range(1, n):
            j = columns[x]
            if not evidence[j]:  # its posterior equals its table, and softmax removes such slopes
                continue
            parent_column, code = parent[j], np.int64(codes[j, i])
            if code >= levels[j]:
                for v in range(first[j], first[j] + levels[j]):
                    belief[v] = 0.0
            for u in range(levels[parent_column]):
                table_row, p = rows[start[j] + u], belief[first[parent_column] + u]
                if code < levels[j]:
                    if table_row >= 0:
                        gradient[table_row + code, k] += slope * p
                    continue
                for v in range(levels[j]):
                    entry = first[j] + v
                    log_p = phi[table_row + v, k] if table_row >= 0 else level_log_p[entry, k]
                    q = p * math.exp(log_p + collected[entry] - message[start[j] + u])
                    belief[entry] += q
                    if table_row >= 0:
                        gradient[table_row + v, k] += slope * q


@kernel
def add_to_rows(sums, part, rows, z):
    """Add sums (P, C) at part[m] to the first C columns of z (N, C or more) at rows[m], for every m."""
    for m in range(len(rows)):
        for k in range(sums.shape[1]):
            z[rows[m], k] += sums[part[m], k]


@kernel
def add_from_rows(z, part, rows, sums):
    """Add the first C columns of z (N, C or more) at rows[m] to sums (P, C) at part[m], for every m."""
    for m in range(len(rows)):
        for k in range(sums.shape[1]):
            sums[part[m], k] += z[rows[m], k]
