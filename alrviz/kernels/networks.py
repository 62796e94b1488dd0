"""Tables of a Bayesian network classifier: counting and scoring by the cells in which rows were found.

cell_rows  (n, T) uint32 rows of a cell table (kernels/cells.py): t unseen, T + t no level, 2T + s seen cell s
scores     z[i, k] = bias[k] + sum over the T columns of log p(child level | parents' levels, k)
"""

import numpy as np

from alrviz.kernels import kernel

# A sum of weights without its only row is at most this: the rounding error.
_MIN_WEIGHT = 1e-9
# Lower bound of probabilities: a class at 0 could not become likely again by later columns.
_MIN_PROBABILITY = 1e-290


@kernel
def count(cell_rows, begin, y, weights, counts):
    """Add the weight of each row begin, begin + 1, ... to counts (S, C) at its seen cells and class; y, weights
    (N,).
    """
    n_rows, n_tuples = cell_rows.shape
    for i in range(n_rows):
        for t in range(n_tuples):
            s = np.int64(cell_rows[i, t]) - 2 * n_tuples
            if s >= 0:
                counts[s, y[begin + i]] += weights[begin + i]


@kernel
def score(
    cell_rows, parent_rows, codes, begin, tuples, child, phi, unseen_log_p, level_log_p, first, sum_missing, bias, z
):
    """Write to z (n, C) the bias plus what `tuples` add to the scores of rows begin, begin + 1, ...

    Args:
        cell_rows, parent_rows: (n, T) rows of the cell tables of parents with child, and of parents.
        codes: (a, N) of the rows.
        child: (T,) the child column of each tuple.
        phi: (S, C) what a seen cell adds.
        unseen_log_p: (P, C) what an unseen level adds under seen parents, NaN where the class has none of them.
        level_log_p, first: what a level adds by itself, column j's from row first[j] on.
        sum_missing: whether missing levels are summed out elsewhere, so that a tuple with a missing parent adds
            nothing.
        bias: (C,).
    """
    n_rows, n_tuples = cell_rows.shape
    for i in range(n_rows):
        for k in range(z.shape[1]):
            z[i, k] = bias[k]
        for t in tuples:
            s = np.int64(cell_rows[i, t])
            if s >= 2 * n_tuples:
                for k in range(z.shape[1]):
                    z[i, k] += phi[s - 2 * n_tuples, k]
                continue
            if sum_missing and s >= n_tuples:  # the column or a parent has no level
                continue
            j = child[t]
            level = np.int64(codes[j, begin + i])
            if first[j] + level >= first[j + 1]:  # the column has no level and adds nothing
                continue
            p = np.int64(parent_rows[i, t]) - 2 * n_tuples
            for k in range(z.shape[1]):
                value = unseen_log_p[p, k] if p >= 0 else np.nan
                z[i, k] += level_log_p[first[j] + level, k] if np.isnan(value) else value


@kernel
def leave_one_out(
    cell_rows, parent_cells, level, child, begin, y, weights, counts, parent_counts, level_counts, class_counts,
    shares, m, errors,
):  # fmt: skip
    """Add to errors (T + 1,) the squared errors of rows begin, begin + 1, ..., each scored by the counts of the other
    rows.

        errors[s]  sum of weight * (1/C) sum_k (p_k - 1[k = y])^2         p by the class shares and the first s columns

    A row removes min(1, weight) from the counts of its class.

    Args:
        cell_rows: (n, T) as above.
        parent_cells, level: (S,) each cell's parents among parent_counts, -1 for none, and its child's level.
        child: (T,) the child column of each tuple.
        y, weights: (N,) classes and weights of the rows.
        counts, parent_counts, level_counts, class_counts: (S, C), (P, C), (sum of levels, C) and (C,) sums of weights.
        shares: (a,) m / card of each column.
        m: the smoothing.
    """
    n_rows, n_tuples = cell_rows.shape
    n_classes = len(class_counts)
    total_weight = class_counts.sum()
    p = np.empty(n_classes)
    for i in range(n_rows):
        label, weight = y[begin + i], weights[begin + i]
        row_weight = min(1.0, weight)
        for k in range(n_classes):
            removed = row_weight if k == label else 0.0
            p[k] = (class_counts[k] - removed + m / n_classes) / (total_weight - row_weight + m)
        errors[0] += weight * _squared_error(p, label)
        for t in range(n_tuples):
            s = np.int64(cell_rows[i, t]) - 2 * n_tuples
            share = shares[child[t]]
            p_sum = 0.0
            for k in range(n_classes):
                removed = row_weight if k == label else 0.0
                parent_weight = parent_counts[parent_cells[s], k] - removed if parent_cells[s] >= 0 else 0.0
                if parent_weight > _MIN_WEIGHT:
                    p[k] *= (counts[s, k] - removed + share) / (parent_weight + m)
                else:
                    p[k] *= (level_counts[level[s], k] - removed + share) / (class_counts[k] - removed + m)
                p[k] = max(p[k], _MIN_PROBABILITY)
                p_sum += p[k]
            for k in range(n_classes):
                p[k] /= p_sum
            errors[t + 1] += weight * _squared_error(p, label)


@kernel
def _squared_error(p, label):
    """Return (1/C) sum over classes of (p_k - 1[k = label])^2."""
    error_sum = 0.0
    for k in range(len(p)):
        error = p[k] - (1.0 if k == label else 0.0)
        error_sum += error * error
    return error_sum / len(p)
