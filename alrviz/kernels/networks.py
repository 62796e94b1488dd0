"""Tables of a Bayesian network classifier: counting and scoring by the cells that rows were found in.

found    (n, T) uint32 rows of a cell table (kernels/cells.py): t unseen, T + t no level, 2T + s seen cell s
scores   z[i, k] = bias[k] + sum over the T columns of log p(child level | parents' levels, k)
"""

import numpy as np

from alrviz.kernels import kernel


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
def score(found, above, codes, begin, chosen, child, phi, rest, alone, first, bias, z):
    """Write to z (n, C) the bias plus what the tuples `chosen` add to the scores of rows begin, begin + 1, ...

    found: where the rows' parents and child lie; above: where their parents lie. phi (S, C): what a seen cell adds;
    rest (P, C): what an unseen level adds under seen parents, NaN where the class has none of them; alone: what a level
    adds by itself, column j's from row first[j].
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
            j = child[t]
            level = np.int64(codes[j, begin + i])
            if first[j] + level >= first[j + 1]:  # no level: the column says nothing
                continue
            p = np.int64(above[i, t]) - 2 * tuples
            for k in range(z.shape[1]):
                value = rest[p, k] if p >= 0 else np.nan
                z[i, k] += alone[first[j] + level, k] if np.isnan(value) else value
