"""Tables of a Bayesian network classifier: counting and scoring by the cells that rows were found in.

found    (n, T) uint32 rows of a cell table (kernels/cells.py): t unseen, T + t no level, 2T + s seen cell s
scores   z[i, k] = bias[k] + sum over the T columns of log p(child level | parents' levels, k)
"""

import numpy as np

from alrviz.kernels import kernel

# What is left of a sum of weights when its only row is taken away, but for rounding.
_NOTHING = 1e-9
# A class that is this unlikely may become likely again by later columns; at 0 it could not.
_FLOOR = 1e-290


@kernel
def count(found, begin, y, weights, counts):
    """Add the weight of each row begin, begin + 1, ... to counts (S, C), at each of its seen cells and its class."""
    rows, tuples = found.shape
    for i in range(rows):
        for t in range(tuples):
            s = np.int64(found[i, t]) - 2 * tuples
            if s >= 0:
                counts[s, y[begin + i]] += weights[begin + i]


@kernel
def score(found, above, codes, begin, chosen, child, phi, rest, alone, first, summed, bias, z):
    """Write to z (n, C) the bias plus what the tuples `chosen` add to the scores of rows begin, begin + 1, ...

    found: where the rows' parents and child lie; above: where their parents lie. phi (S, C): what a seen cell adds;
    rest (P, C): what an unseen level adds under seen parents, NaN where the class has none of them; alone: what a level
    adds by itself, column j's from row first[j]. summed: nothing is added where a parent has no level, either.
    """
    rows, tuples = found.shape
    for i in range(rows):
        for k in range(z.shape[1]):
            z[i, k] = bias[k]
        for t in chosen:
            s = np.int64(found[i, t])
            if s >= 2 * tuples:
                for k in range(z.shape[1]):
                    z[i, k] += phi[s - 2 * tuples, k]
                continue
            if summed and s >= tuples:  # no level: of the column, or of its parent
                continue
            j = child[t]
            level = np.int64(codes[j, begin + i])
            if first[j] + level >= first[j + 1]:  # no level: the column says nothing
                continue
            p = np.int64(above[i, t]) - 2 * tuples
            for k in range(z.shape[1]):
                value = rest[p, k] if p >= 0 else np.nan
                z[i, k] += alone[first[j] + level, k] if np.isnan(value) else value


@kernel
def leave_one_out(found, of, level, child, begin, y, weights, counts, totals, alone, classes, shares, m, errors):
    """Add to errors (T + 1,) the squared errors of rows begin, begin + 1, ..., each scored by the others.

        errors[s]  sum of weight * (1/C) sum_k (p_k - 1[k = y])^2         p by the class shares and the first s columns

    A row takes min(1, weight) from the counts of its own class. counts (S, C), totals (P, C), alone (sum of levels, C)
    and classes (C,) are sums of weights; of and level (S,): a cell's parents (-1 for none) and its child's level.
    """
    rows, tuples = found.shape
    k_all = len(classes)
    mass = classes.sum()
    p = np.empty(k_all)
    for i in range(rows):
        own, weight = y[begin + i], weights[begin + i]
        away = min(1.0, weight)
        for k in range(k_all):
            take = away if k == own else 0.0
            p[k] = (classes[k] - take + m / k_all) / (mass - away + m)
        errors[0] += weight * _squares(p, own)
        for t in range(tuples):
            s = np.int64(found[i, t]) - 2 * tuples
            share = shares[child[t]]
            total = 0.0
            for k in range(k_all):
                take = away if k == own else 0.0
                under = totals[of[s], k] - take if of[s] >= 0 else 0.0
                if under > _NOTHING:
                    p[k] *= (counts[s, k] - take + share) / (under + m)
                else:
                    p[k] *= (alone[level[s], k] - take + share) / (classes[k] - take + m)
                p[k] = max(p[k], _FLOOR)
                total += p[k]
            for k in range(k_all):
                p[k] /= total
            errors[t + 1] += weight * _squares(p, own)


@kernel
def _squares(p, own):
    """(1/C) sum over classes of (p_k - 1[k = own])^2."""
    total = 0.0
    for k in range(len(p)):
        off = p[k] - (1.0 if k == own else 0.0)
        total += off * off
    return total / len(p)
